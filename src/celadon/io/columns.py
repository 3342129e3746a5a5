"""The names of the output's columns: nothing of the user's is lost to a score of the same name."""

from __future__ import annotations

from collections.abc import Iterable

from celadon.io.values import mend_surrogates

REASON = "reason"
PREFIX = "input."

# Rows with random keys would otherwise make the cache as large as the output.
_CACHED_NAMES = 1024


class Names:
    """Gives input columns whose names the scores need another name.

    Parameters
    ----------
    score_columns
        The names that the scores take; ``reason`` is taken as well.
    mend
        Whether names without a UTF-8 form are mended, for formats that have no escapes.
    """

    def __init__(self, score_columns: Iterable[str], *, mend: bool) -> None:
        self._taken = frozenset(score_columns) | {REASON}
        self._mend = mend
        self._known: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.renamed: dict[str, str] = {}

    def collide(self, columns: Iterable[str]) -> bool:
        """Whether a score has the name of any of these columns."""
        return not self._taken.isdisjoint(columns)

    def of(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The output names of a row's columns, in their order."""
        key = tuple(columns)
        names = self._known.get(key)
        if names is None:
            if len(self._known) >= _CACHED_NAMES:
                self._known.clear()
            names = self._known[key] = self._make(key)
        return names

    def _make(self, columns: tuple[str, ...]) -> tuple[str, ...]:
        used = {column for column in columns if column not in self._taken}
        names = []
        for column in columns:
            name = mend_surrogates(column) if self._mend else column
            while name in self._taken or (name in used and name != column):
                name = PREFIX + name
            if name != column:
                used.add(name)
                self.renamed[column] = name
            names.append(name)
        return tuple(names)
