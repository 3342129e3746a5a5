"""The file of a fitted formula: JSON with a name, an intercept and terms."""

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


class FormulaFile(NamedTuple):
    """A formula as it is in its file; ``sha256`` is of its bytes, ``fitted_on`` what it says of its making."""

    name: str
    intercept: float
    terms: Mapping[str, float]
    fitted_on: str
    sha256: str


def read_formula(path: str) -> FormulaFile:
    """Read and check a formula.

    Parameters
    ----------
    path
        A JSON file: ``{"name": "quality", "intercept": -0.2, "terms": {"rougeL": 1.3, "ter.edits": -0.1}}``.

    Raises
    ------
    InputError
        The file cannot be read or is no formula; the message says where.
    """
    if path == STDIN:
        raise InputError("a formula cannot be read from the standard input; give a file")
    source = find_sources([path], "jsonl")[0]
    stamp = Path(source.path or path).stat()
    return _read(source.path or path, stamp.st_mtime_ns, stamp.st_size)


# The key has the file's time and size, so that a formula written anew is read anew.
@lru_cache(maxsize=64)
def _read(path: str, _time: int, _size: int) -> FormulaFile:
    with open_stream(find_sources([path], "jsonl")[0]) as stream:
        data = stream.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: is larger than {MAX_BYTES >> 20} MiB; that is no formula")
    try:
        content = json.loads(data)
    except UnicodeDecodeError:
        raise InputError(f"{path}: not valid UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not usable JSON") from None
    return _checked(path, content, hashlib.sha256(data).hexdigest())


def _checked(path: str, content: Any, digest: str) -> FormulaFile:
    if not isinstance(content, dict):
        raise InputError(f"{path}: a formula is a JSON object with name, intercept and terms")
    terms = content.get("terms")
    if not isinstance(terms, dict) or not terms:
        raise InputError(f"{path}: a formula needs terms: an object of metrics and their coefficients")
    name = content.get("name", Path(path).stem)
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{path}: the name of a formula must be a text")
    made = content.get("fitted_on", "")
    return FormulaFile(
        name=name,
        intercept=_number(path, "the intercept", content.get("intercept", 0.0)),
        terms={term: _number(path, f"the term {term!r}", value) for term, value in terms.items()},
        fitted_on=made if isinstance(made, str) else json.dumps(made, sort_keys=True),
        sha256=digest,
    )


def _number(path: str, what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{path}: {what} must be a number, not {json.dumps(value)}")
    return float(value)
