"""JSON files of ours: decoded and checked against a declared type, and cached until they change."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import msgspec
import numpy as np

from celadon.core import InputError
from celadon.io.remote import is_url, shown_name
from celadon.io.sources import STDIN, find_sources, open_stream

MAX_BYTES = 1 << 20

_KINDS = {
    "`float`": "a number",
    "`int`": "a whole number",
    "`str`": "a text",
    "`bool`": "true or false",
    "`array`": "a list",
    "`object`": "an object",
    "`null`": "null",
}

Text: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"\S")]
Positive: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]
T = TypeVar("T")


class JsonFile(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What a file of ours holds."""

    FORMAT: ClassVar[str] = ""
    MAX_BYTES: ClassVar[int] = MAX_BYTES

    facts: Mapping[str, Any] = {}  # what else the file says, by key
    sha256: str = ""  # of the file's bytes; empty for what is not from a file


FileType = TypeVar("FileType", bound=JsonFile)


def read_json(path: str, what: str, kind: type[FileType]) -> FileType:
    """Read a file; a field ``name`` that it lacks is the file's own name.

    ``what``: what it should hold, for messages: ``a formula``.
    ``kind``: its type. The result is cached until the file changes.
    Raises InputError if the file cannot be read or is not of that type; the message names the file and the field.
    """
    if path == STDIN:
        raise InputError(f"{what} cannot be read from the standard input; give a file")
    place = find_sources([path], "jsonl")[0].path or path
    if is_url(place):
        # nobody tells when it changes
        return _read(place, what, kind)
    stamp = Path(place).stat()
    key = (kind, what, stamp.st_mtime_ns, stamp.st_size)
    cached = _cached(place)
    if key not in cached:
        cached.clear()
        cached[key] = _read(place, what, kind)
    result: FileType = cached[key]
    return result


@lru_cache(maxsize=64)
def _cached(path: str) -> dict[tuple[type, str, int, int], Any]:
    """The content of a file by its type, time and size: one that is rewritten is read again."""
    return {}


def _read(path: str, what: str, kind: type[FileType]) -> FileType:
    with open_stream(find_sources([path], "jsonl")[0]) as stream:
        data = stream.buffer.read(kind.MAX_BYTES + 1)
    path = shown_name(path)
    if len(data) > kind.MAX_BYTES:
        raise InputError(f"{path}: is larger than {kind.MAX_BYTES >> 20} MiB; that is not {what}")
    content = parse_json(data, path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: is not a JSON object, as {what} must be")
    if kind.FORMAT and content.get("format") != kind.FORMAT:
        raise InputError(f"{path}: is not {what}: its format is not {kind.FORMAT}")
    fields = kind.__struct_encode_fields__
    if "name" in fields:
        content = {"name": Path(path).stem, **content}
    facts = {key: value for key, value in content.items() if key not in (*fields, "format")}
    return msgspec.structs.replace(
        convert(content, kind, f"{path}: is not {what}"), facts=facts, sha256=hashlib.sha256(data).hexdigest()
    )


def parse_json(data: bytes, path: str) -> Any:
    """Parse a file's bytes; a message names the file and the line."""
    try:
        return msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except UnicodeDecodeError:
        raise InputError(f"{path}: not valid UTF-8") from None
    except RecursionError:
        raise InputError(f"{path}: not usable JSON") from None
    except msgspec.DecodeError as error:
        problem = error
    try:
        # the module of the standard library knows the line
        json.loads(data)
    except UnicodeDecodeError:
        raise InputError(f"{path}: not valid UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError):
        pass
    raise InputError(f"{path}: not valid JSON: {str(problem).removeprefix('JSON is malformed: ')}")


def convert(content: Any, kind: type[T], where: str) -> T:
    """Return parsed JSON or TOML as a declared type.

    ``kind``: the type; an array of numpy stands for nested lists of numbers of the same length.
    ``where``: the file, for messages.
    Raises InputError if the content is not of that type; the message names the field and what was expected.
    """
    try:
        return msgspec.convert(content, kind, dec_hook=_array, str_keys=True)
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        path = _with_keys(content, kind, path.removesuffix("`"))
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", problem):
        close = get_close_matches(unknown[1], _field_names(msgspec.inspect.type_info(kind)), n=1)
        path, problem = f"{path}.{unknown[1]}", f"is not known; {f'did you mean {close[0]}?' if close else 'remove it'}"
    elif missing := re.fullmatch(r"Object missing required field `(.*)`", problem):
        path, problem = f"{path}.{missing[1]}", "is missing"
    for name, words in _KINDS.items():
        problem = problem.replace(name, words)
    problem = problem[:1].lower() + problem[1:]
    raise InputError(": ".join(filter(None, (where, path.lstrip("."), problem))))


def _array(kind: Any, value: Any) -> Any:
    try:
        array = np.array(value)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in "if" or not array.ndim:
        raise ValueError("Expected a list of numbers, or lists of numbers of the same length")
    return array.astype(np.float64)


def _with_keys(content: Any, kind: Any, path: str) -> str:
    """Return the path of an error with the keys of mappings, which msgspec writes as ``[...]``."""
    while "[...]" in path:
        before, _, after = path.partition("[...]")
        steps = re.findall(r"\.([^.\[]+)|\[(\d+)\]", before)
        mapping = content
        for name, index in steps:
            mapping = mapping[name] if name else mapping[int(index)]
        key = next(key for key in mapping if _fails(_narrowed(content, steps, key), kind))
        content = _narrowed(content, steps, key)
        path = f"{before}.{key}{after}"
    return path


def _narrowed(content: Any, steps: list[tuple[str, str]], key: str) -> Any:
    """Return the content with only one key of the mapping at a place."""
    if not steps:
        return {key: content[key]}
    (name, index), *rest = steps
    if name:
        return {**content, name: _narrowed(content[name], rest, key)}
    at = int(index)
    return [*content[:at], _narrowed(content[at], rest, key), *content[at + 1 :]]


def _fails(content: Any, kind: Any) -> bool:
    try:
        msgspec.convert(content, kind, dec_hook=_array, str_keys=True)
    except msgspec.ValidationError:
        return True
    return False


def _field_names(kind: Any) -> set[str]:
    if isinstance(kind, msgspec.inspect.StructType):
        fields = {field.encode_name: field.type for field in kind.fields}
        return {*fields}.union(*map(_field_names, fields.values()))
    inner = [getattr(kind, name, None) for name in ("item_type", "value_type", "type")]
    return set().union(*(_field_names(each) for each in (*inner, *getattr(kind, "types", ())) if each is not None))
