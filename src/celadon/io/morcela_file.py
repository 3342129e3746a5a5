"""The file of MORCELA's weights: JSON with beta and gamma."""

from __future__ import annotations

import hashlib
import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from celadon.core import InputError
from celadon.io.sources import STDIN, find_sources, open_stream

MAX_BYTES = 1 << 20


class MorcelaWeights(NamedTuple):
    """What MORCELA was fitted to: the weight of the unigram log-probability and the constant.

    ``sha256`` is of the file's bytes; ``model`` is the language model that the file says it was fitted with.
    """

    beta: float
    gamma: float
    sha256: str = ""
    model: str = ""


def read_morcela(path: str) -> MorcelaWeights:
    """Read and check MORCELA's weights.

    Parameters
    ----------
    path
        A JSON file: ``{"beta": 0.71, "gamma": 1.9, "model": "builtin"}``, as ``celadon train morcela`` writes it.

    Raises
    ------
    InputError
        The file cannot be read or has no such weights; the message says where.
    """
    if path == STDIN:
        raise InputError("MORCELA's weights cannot be read from the standard input; give a file")
    source = find_sources([path], "jsonl")[0]
    stamp = Path(source.path or path).stat()
    return _read(source.path or path, stamp.st_mtime_ns, stamp.st_size)


# The key has the file's time and size, so that weights written anew are read anew.
@lru_cache(maxsize=64)
def _read(path: str, _time: int, _size: int) -> MorcelaWeights:
    with open_stream(find_sources([path], "jsonl")[0]) as stream:
        data = stream.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: is larger than {MAX_BYTES >> 20} MiB; these are no weights of MORCELA")
    try:
        content = json.loads(data)
    except UnicodeDecodeError:
        raise InputError(f"{path}: not valid UTF-8") from None
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not usable JSON") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: MORCELA's weights are a JSON object with beta and gamma")
    model = content.get("model", "")
    return MorcelaWeights(
        beta=_number(path, "beta", content.get("beta")),
        gamma=_number(path, "gamma", content.get("gamma")),
        sha256=hashlib.sha256(data).hexdigest(),
        model=model if isinstance(model, str) else "",
    )


def _number(path: str, name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{path}: {name} must be a number, not {json.dumps(value)}")
    return float(value)
