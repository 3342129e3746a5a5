"""Rows of two sets side by side: by their ids, or by their order. They wait on disk, so that memory does not grow."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError, OutputError

SIDES = ("a", "b")
# Of a longer text the beginning is kept: nothing more is ever shown.
KEPT_CHARS = 4_000
_CHUNK_ROWS = 8192
_SYSTEMS = 3


class Row(NamedTuple):
    """One row of a set: who it is, where it stands, its text if it has one, and a number per column."""

    id: str | None
    system: str | None
    where: str
    text: str | None
    values: FloatArray


class Pairs(NamedTuple):
    """Consecutive pairs: their numbers, and the values of both sides, pairs x columns."""

    numbers: range
    first: FloatArray
    second: FloatArray


class Pairing(NamedTuple):
    """How rows were paired."""

    by: str  # ``id and system``, ``id`` or ``order``
    pairs: int
    alone: tuple[int, int]  # how many rows of each side have no partner


class Largest:
    """Keeps the pairs with the largest positive values, of equal ones the first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._kept: list[tuple[float, int]] = []

    def add(self, numbers: range, values: FloatArray) -> None:
        """Take the values of consecutive pairs."""
        new = [(float(values[at]), -numbers[int(at)]) for at in np.flatnonzero(values > 0)]
        self._kept = heapq.nlargest(self._size, [*self._kept, *new])

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Give the number of each pair and its value, the largest first."""
        return ((-number, value) for value, number in self._kept)


class PairStore:
    """Takes the rows of two sets and pairs them.

    ``names``: what the two sets are called in messages.
    """

    def __init__(self, names: tuple[str, str]) -> None:
        self._names = names
        # a database without a name lies in the folder of temporary files and is gone when it is closed
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._systems: dict[str, set[str | None]] = {side: set() for side in SIDES}
        self._counts = dict.fromkeys(SIDES, 0)
        for side in SIDES:
            self._database.execute(
                f"CREATE TABLE {side} (number INTEGER PRIMARY KEY, place BLOB, item BLOB, id BLOB, system BLOB, "
                "origin BLOB, text BLOB, data BLOB)"
            )
        self._database.execute("CREATE TABLE pairs (number INTEGER PRIMARY KEY, a INTEGER, b INTEGER)")

    def add(self, side: str, rows: Iterable[Row]) -> None:
        """Take the next rows of a side, ``a`` or ``b``."""
        packed = []
        systems = self._systems[side]
        for row in rows:
            self._counts[side] += 1
            if len(systems) < _SYSTEMS:
                systems.add(row.system)
            packed.append((self._counts[side], *_packed(row)))
        with _disk():
            self._database.execute("BEGIN")
            self._database.executemany(f"INSERT INTO {side} VALUES (?, ?, ?, ?, ?, ?, ?, ?)", packed)
            self._database.execute("COMMIT")

    def pair(self) -> Pairing:
        """Pair all rows.

        Raises InputError if ids are there, but none of one side is on the other; or there are none, and the counts
        differ.
        """
        with _disk():
            with_ids = [self._one(f"SELECT count(*) FROM {side} WHERE item IS NOT NULL") for side in SIDES]
            by = self._by_ids() if all(with_ids) else self._by_order()
        pairs = self._one("SELECT count(*) FROM pairs")
        return Pairing(by, pairs, (self._counts["a"] - pairs, self._counts["b"] - pairs))

    def chunks(self) -> Iterator[Pairs]:
        """The values of all pairs, in the order of the first side."""
        cursor = self._database.execute(
            "SELECT a.data, b.data FROM pairs JOIN a ON a.number = pairs.a JOIN b ON b.number = pairs.b "
            "ORDER BY pairs.number"
        )
        done = 0
        while rows := cursor.fetchmany(_CHUNK_ROWS):
            first, second = (
                np.frombuffer(b"".join(row[side] for row in rows)).reshape(len(rows), -1) for side in (0, 1)
            )
            yield Pairs(range(done, done + len(rows)), first, second)
            done += len(rows)

    def rows(self, pair: int) -> tuple[Row, Row]:
        """Both rows of a pair, by its number."""
        places = self._database.execute("SELECT a, b FROM pairs WHERE number = ?", (pair + 1,)).fetchone()
        first, second = (
            self._database.execute(
                f"SELECT id, system, origin, text, data FROM {side} WHERE number = ?", (place,)
            ).fetchone()
            for side, place in zip(SIDES, places, strict=True)
        )
        return _unpacked(first), _unpacked(second)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def __enter__(self) -> PairStore:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _by_ids(self) -> str:
        """Rows of one id and system are paired in their order, so that an id may come several times."""
        self._join("place")
        if self._one("SELECT count(*) FROM pairs"):
            return "id and system" if any(self._systems[side] != {None} for side in SIDES) else "id"
        # two systems, one on each side: their names differ, and that is why they are compared
        if all(len(self._systems[side]) == 1 for side in SIDES):
            self._join("item")
        if not self._one("SELECT count(*) FROM pairs"):
            raise InputError(f"{self._names[0]} and {self._names[1]} have no row of the same id and system in common")
        return "id"

    def _join(self, key: str) -> None:
        counted = ", ".join(
            f"{side}_keys AS MATERIALIZED (SELECT number, {key} AS key, row_number() OVER (PARTITION BY {key} ORDER BY "
            f"number) AS time FROM {side} WHERE {key} IS NOT NULL)"
            for side in SIDES
        )
        self._database.execute(
            f"INSERT INTO pairs (a, b) WITH {counted} SELECT a_keys.number, b_keys.number FROM a_keys JOIN b_keys "
            "USING (key, time) ORDER BY a_keys.number"
        )

    def _by_order(self) -> str:
        first, second = (self._counts[side] for side in SIDES)
        if first != second:
            raise InputError(
                f"{self._names[0]} has {first:,} rows and {self._names[1]} {second:,}; rows without ids are paired by "
                "their order, and so there must be as many of one as of the other"
            )
        self._database.execute("INSERT INTO pairs (a, b) SELECT number, number FROM a ORDER BY number")
        return "order"

    def _one(self, statement: str) -> int:
        return int(self._database.execute(statement).fetchone()[0])


def _packed(row: Row) -> Sequence[bytes | None]:
    item = None if row.id is None else blake2b(_data(row.id) or b"", digest_size=16).digest()
    place = None
    if item is not None:
        place = blake2b(item + (b"-" if row.system is None else b"+" + (_data(row.system) or b"")), digest_size=16)
    text = None if row.text is None else row.text[:KEPT_CHARS]
    return (
        None if place is None else place.digest(),
        item,
        *(_data(each) for each in (row.id, row.system, row.where, text)),
        np.asarray(row.values, dtype=np.float64).tobytes(),
    )


def _data(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogatepass")


def _unpacked(stored: Sequence[bytes | None]) -> Row:
    *labels, data = stored
    ident, system, where, text = (None if each is None else each.decode("utf-8", "surrogatepass") for each in labels)
    return Row(ident, system, where or "", text, np.frombuffer(data or b""))


@contextmanager
def _disk() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OutputError(f"rows that wait for their partners: {error}; TMPDIR names another place for them") from None
