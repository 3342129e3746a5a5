"""How a value is written where there are only strings: as JSON, as a CSV cell."""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import re
from collections.abc import Mapping
from typing import Any

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


def mend_surrogates(text: str) -> str:
    """The text with each lone surrogate replaced by U+FFFD, so that it has a UTF-8 form."""
    return _LONE_SURROGATES.sub("\ufffd", text)


def _plain(value: Any) -> Any:
    """What JSON has no word for: dates, decimals and bytes out of Parquet."""
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


def _finite(value: Any) -> Any:
    """A copy in which NaN and the infinities, which JSON cannot write, are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


_unicode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain).encode
_ascii = json.JSONEncoder(ensure_ascii=True, allow_nan=False, default=_plain).encode


def to_json_text(value: Any) -> str:
    """One line of valid JSON."""
    try:
        return _unicode(value)
    except ValueError:
        return _unicode(_finite(value))


def to_json(value: Any) -> bytes:
    """One line of valid JSON in UTF-8; escaped throughout when it holds a lone surrogate, which UTF-8 has not."""
    try:
        return to_json_text(value).encode("utf-8")
    except UnicodeEncodeError:
        return _ascii(_finite(value)).encode("ascii")


def number_text(value: float | None, null: str) -> str:
    """A score in full precision; ``null`` where there is none."""
    if value is None:
        return null
    number = float(value)
    return repr(number) if math.isfinite(number) else null


def to_cell(value: Any) -> str:
    """The value as a CSV cell: strings as they are, nothing for null, JSON for what is nested."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    if isinstance(value, (list, tuple, Mapping)):
        return to_json_text(value)
    return str(value if isinstance(value, int) else _plain(value))


def number_or_none(value: float | None) -> float | None:
    """A score where there is a finite one."""
    if value is None:
        return None
    number = float(value)
    return number if math.isfinite(number) else None
