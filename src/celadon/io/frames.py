"""Rows of what Python users hold: pandas and polars frames, datasets, lists of dicts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any


def frame_rows(table: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of anything with named columns as plain dicts."""
    if hasattr(table, "iter_rows"):
        yield from table.iter_rows(named=True)
    elif hasattr(table, "itertuples"):
        names = [str(name) for name in table.columns]
        for values in table.itertuples(index=False, name=None):
            yield {name: _plain(value) for name, value in zip(names, values, strict=True)}
    else:
        for row in table:
            yield dict(row)


def _plain(value: Any) -> Any:
    """What pandas keeps as NaN or as an array, as None or a list."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, tuple) else value
