"""Rows that cannot be scored: set aside, or the end of the run."""

from __future__ import annotations

from collections.abc import Sequence

from celadon.core import InputError
from celadon.io import BadRow, Rejects

SHOWN_BAD_ROWS = 10
NOTHING_WRITTEN = "nothing was written (--skip-bad scores the rest)"


class BadRowsError(InputError):
    """The input has malformed rows; the message lists the first of them and counts the rest."""

    def __init__(self, first: Sequence[BadRow | str], count: int, then: str = NOTHING_WRITTEN) -> None:
        lines = [str(bad) for bad in first]
        if count > len(first):
            lines.append(f"... and {count - len(first):,} more")
        rows = "row is" if count == 1 else "rows are"
        lines.append(f"{count:,} {rows} malformed; {then}")
        super().__init__("\n".join(lines))


class BadRows:
    """Collects malformed rows: in the rejects, or the first few for the error that ends the run."""

    def __init__(self, rejects: Rejects | None) -> None:
        self.rejects = rejects
        self.first: list[BadRow] = []
        self.count = 0

    def add(self, bad: BadRow) -> None:
        """Add a row."""
        self.count += 1
        if self.rejects is not None:
            self.rejects.add(bad)
        elif len(self.first) < SHOWN_BAD_ROWS:
            self.first.append(bad)

    @property
    def fatal(self) -> bool:
        """Whether there are bad rows and nowhere to set them aside."""
        return self.rejects is None and self.count > 0
