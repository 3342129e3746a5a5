"""A small JSON file that a person may have written: read whole, checked, and kept until it changes."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from celadon.core import InputError
from celadon.io.sources import STDIN, find_sources, open_stream

MAX_BYTES = 1 << 20


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
    if path == STDIN:
        raise InputError(f"{what} cannot be read from the standard input; give a file")
    source = find_sources([path], "jsonl")[0]
    stamp = Path(source.path or path).stat()
    return _read(source.path or path, what, stamp.st_mtime_ns, stamp.st_size)


def number_of(path: str, name: str, value: Any) -> float:
    """Return a value of such a file that must be a number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{path}: {name} must be a number, not {json.dumps(value)}")
    return float(value)


# The key has the file's time and size, so that a file written anew is read anew.
@lru_cache(maxsize=64)
def _read(path: str, what: str, _time: int, _size: int) -> JsonObject:
    with open_stream(find_sources([path], "jsonl")[0]) as stream:
        data = stream.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: is larger than {MAX_BYTES >> 20} MiB; that is not {what}")
    try:
        content = json.loads(data)
    except UnicodeDecodeError:
        raise InputError(f"{path}: not valid UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not usable JSON") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: is not a JSON object, as {what} must be")
    return JsonObject(content, hashlib.sha256(data).hexdigest())
