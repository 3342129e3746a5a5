"""A small JSON file that a person may have written: read whole, checked, and kept until it changes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from celadon.core import InputError
from celadon.io.remote import is_url, shown_name
from celadon.io.sources import STDIN, find_sources, open_stream

MAX_BYTES = 1 << 20

Parsed = TypeVar("Parsed")


class JsonObject(NamedTuple):
    """The content of a file, which is not to be changed, and the sha256 of its bytes."""

    content: Mapping[str, Any]
    sha256: str


def read_json_object(path: str, what: str) -> JsonObject:
    """Read a JSON object.

    Parameters
    ----------
    path
        The file.
    what
        What it should hold, for messages: ``a formula``.

    Raises
    ------
    InputError
        The file cannot be read or is no JSON object; the message says where.
    """

    def checked(content: Any, digest: str) -> JsonObject:
        if not isinstance(content, dict):
            raise InputError(f"{path}: is not a JSON object, as {what} must be")
        return JsonObject(content, digest)

    return read_json(path, what, checked)


def read_json(path: str, what: str, parse: Callable[[Any, str], Parsed], most_bytes: int = MAX_BYTES) -> Parsed:
    """Read JSON and make something of it.

    Parameters
    ----------
    path
        The file.
    what
        What it should hold, for messages: ``a combination``. Together with the path it says what is kept.
    parse
        Makes the result from the content and the sha256 of the file's bytes. The result is kept until the file changes.
    most_bytes
        A larger file is refused.

    Raises
    ------
    InputError
        The file cannot be read or is no JSON; the message says where.
    """
    if path == STDIN:
        raise InputError(f"{what} cannot be read from the standard input; give a file")
    place = find_sources([path], "jsonl")[0].path or path
    if is_url(place):
        # nobody tells when it changes
        return parse(*_content(place, what, most_bytes))
    stamp = Path(place).stat()
    key = (what, stamp.st_mtime_ns, stamp.st_size)
    kept = _kept(place)
    if key not in kept:
        kept.clear()
        kept[key] = parse(*_content(place, what, most_bytes))
    result: Parsed = kept[key]
    return result


def number_of(path: str, name: str, value: Any) -> float:
    """Return a value of such a file that must be a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{path}: {name} must be a number, not {json.dumps(value)}")
    return float(value)


@lru_cache(maxsize=64)
def _kept(path: str) -> dict[tuple[str, int, int], Any]:
    """What was made of a file, by what it was read as, its time and its size: one written anew is read anew."""
    return {}


def _content(path: str, what: str, most_bytes: int) -> tuple[Any, str]:
    with open_stream(find_sources([path], "jsonl")[0]) as stream:
        data = stream.buffer.read(most_bytes + 1)
    path = shown_name(path)
    if len(data) > most_bytes:
        raise InputError(f"{path}: is larger than {most_bytes >> 20} MiB; that is not {what}")
    try:
        content = json.loads(data)
    except UnicodeDecodeError:
        raise InputError(f"{path}: not valid UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not usable JSON") from None
    return content, hashlib.sha256(data).hexdigest()
