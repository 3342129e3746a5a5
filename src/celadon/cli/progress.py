"""A progress bar on the standard error stream for anything that takes over two seconds."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celadon.io import Reader, Spill

_PATIENCE = 2.0
_INTERVAL = 0.2


class RowProgress:
    """Shows how far the reader, or the second pass, has come, where there is a terminal to show it on."""

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled and sys.stderr.isatty()
        self._next = time.monotonic() + _PATIENCE
        self._bar: Any = None

    def __enter__(self) -> RowProgress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, reader: Reader | Spill, rows: int) -> None:
        """Move the bar to where the reader is."""
        if not self._enabled or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _INTERVAL
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(total=reader.bytes_total, unit="B", unit_scale=True, leave=False, mininterval=0)
        self._bar.set_postfix_str(f"{rows:,} rows", refresh=False)
        self._bar.total = reader.bytes_total
        self._bar.n = reader.bytes_read
        self._bar.refresh()


class CountProgress:
    """A bar for work that tells how much is done and of how much; one that is full makes room for the next.

    ``unit``: what is counted: ``texts``.
    """

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._bar: Any = None

    def __enter__(self) -> CountProgress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, done: int, total: int) -> None:
        """Move the bar."""
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit=f" {self._unit}", delay=_PATIENCE, disable=None, leave=False)
        self._bar.update(done - self._bar.n)
        if done >= total:
            self._bar.close()
            self._bar = None


class TallyProgress:
    """A bar for rows of which nobody knows how many there are.

    ``what``: what is done with them: ``reading``.
    ``shown``: whether there is to be a bar at all.
    """

    def __init__(self, what: str, *, enabled: bool) -> None:
        self._what = what
        self._enabled = enabled
        self._bar: Any = None

    def __enter__(self) -> TallyProgress:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, more: int) -> None:
        """Count so many more."""
        if self._bar is None:
            from tqdm import tqdm

            disable = None if self._enabled else True
            self._bar = tqdm(desc=self._what, unit=" rows", delay=_PATIENCE, disable=disable, leave=False)
        self._bar.update(more)
