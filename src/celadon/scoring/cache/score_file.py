"""The SQLite file that scores are kept in: several processes may read and write it at once.

Rows are numbered as they come, and one that is used while it is old gets a new number; so the lowest numbers are the
least recently used, and what goes first lies together in the file.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from celadon.models.store.places import Say

# "clsc", and the version of the tables
_APPLICATION = 0x636C7363
_VERSION = 2
_PATIENCE_SECONDS = 60
_CORRUPT, _NOT_A_DATABASE = 11, 26
_DAMAGED = "is damaged"
# After a trim so much of the room is in use.
_FULL = 0.95
# So much is removed in one transaction.
_STEPS = 128
_TABLES = """
CREATE TABLE IF NOT EXISTS layouts (id INTEGER PRIMARY KEY, layout TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS scores
    (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, layout INTEGER NOT NULL, data BLOB NOT NULL, reason BLOB);
"""
_ADD_LAYOUT = "INSERT OR IGNORE INTO layouts (layout) VALUES (?)"
# What another process has kept meanwhile stays, unless it could not be used.
_ADD_SCORES = """
INSERT INTO scores (key, layout, data, reason) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE
SET layout = excluded.layout, data = excluded.data, reason = excluded.reason
WHERE layout <> excluded.layout OR length(data) <> length(excluded.data)
"""
# apart: both at once would be found by going through all rows
_ENDS = "SELECT (SELECT min(id) FROM scores), (SELECT max(id) FROM scores)"


class KeptRow(NamedTuple):
    """What is kept of one text under one metric: how its numbers follow each other, these, and why there is none."""

    layout: str
    data: bytes
    reason: str | None


class UnusableFileError(Exception):
    """The file is a database, but damaged or not one of ours."""


class ScoreFile:
    """An open file, made where there is none; every failure of SQLite is the caller's."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._database = sqlite3.connect(path, timeout=_PATIENCE_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            _prepare(self._database, max_bytes)
            self._page = int(self._one("PRAGMA page_size"))
            self._at_once = self._database.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
        except BaseException:
            self._database.close()
            raise
        self._old: dict[bytes, None] = {}

    def look_up(self, keys: Sequence[bytes]) -> dict[bytes, KeptRow]:
        """What is kept under these keys."""
        kept: dict[bytes, KeptRow] = {}
        oldest_safe = self._oldest_safe()
        for at in range(0, len(keys), self._at_once):
            some = keys[at : at + self._at_once]
            rows = self._database.execute(
                "SELECT scores.id, key, layouts.layout, data, reason FROM scores JOIN layouts ON layouts.id = "
                f"scores.layout WHERE key IN ({','.join('?' * len(some))})",
                some,
            )
            for number, key, layout, data, reason in rows:
                kept[key] = KeptRow(layout, data, None if reason is None else reason.decode("utf-8", "surrogatepass"))
                if number < oldest_safe:
                    self._old[key] = None
        return kept

    def keep(self, rows: Iterable[tuple[bytes, KeptRow]]) -> None:
        """Keep rows, in one transaction."""
        rows = list(rows)
        with self._writing():
            layouts = list(dict.fromkeys(row.layout for _, row in rows))
            self._database.executemany(_ADD_LAYOUT, [(layout,) for layout in layouts])
            numbers = {layout: self._one("SELECT id FROM layouts WHERE layout = ?", layout) for layout in layouts}
            self._database.executemany(
                _ADD_SCORES, [(key, numbers[row.layout], row.data, _encoded(row.reason)) for key, row in rows]
            )
            self._renumber()
        self._trim()

    def close(self) -> None:
        """Note what was used, and close."""
        try:
            if self._old:
                with self._writing():
                    self._renumber()
                self._trim()
        finally:
            self._database.close()

    def _oldest_safe(self) -> int:
        """Rows from this number on were used within the last half of the room; only older ones are worth a write."""
        first, last = self._database.execute(_ENDS).fetchone()
        in_use = self._bytes_in_use()
        if first is None or in_use <= self._max_bytes // 2:
            return 0
        return int(last - (last - first + 1) * (self._max_bytes // 2) // in_use)

    def _renumber(self) -> None:
        self._database.executemany(
            "UPDATE scores SET id = (SELECT max(id) + 1 FROM scores) WHERE key = ?", [(key,) for key in self._old]
        )
        self._old.clear()

    def _trim(self) -> None:
        """Remove the least recently used rows where the room is used up, a little at a time: others want to write."""
        if self._bytes_in_use() > self._max_bytes:
            while self._bytes_in_use() > self._max_bytes * _FULL and self._remove_oldest():
                pass
        surplus = self._one("PRAGMA page_count") - self._max_bytes // self._page
        if surplus > 0:
            # as a script, which goes on to its end: a plain statement would give back a single page
            self._database.executescript(f"PRAGMA incremental_vacuum({surplus});")

    def _remove_oldest(self) -> bool:
        """Remove some of the least recently used rows; False where there is none."""
        with self._writing():
            first, last = self._database.execute(_ENDS).fetchone()
            if first is None:
                return False
            self._database.execute("DELETE FROM scores WHERE id <= ?", (first + (last - first) // _STEPS,))
        return True

    def _bytes_in_use(self) -> int:
        return (self._one("PRAGMA page_count") - self._one("PRAGMA freelist_count")) * self._page

    def _one(self, statement: str, *values: object) -> int:
        return int(self._database.execute(statement, values).fetchone()[0])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        # immediate: a reader that becomes a writer could not wait for another writer
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def _encoded(reason: str | None) -> bytes | None:
    return None if reason is None else reason.encode("utf-8", "surrogatepass")


def _prepare(database: sqlite3.Connection, max_bytes: int) -> None:
    """Make the tables of a new file; refuse one that is not ours."""

    def one(statement: str) -> int:
        return int(database.execute(statement).fetchone()[0])

    mark = (one("PRAGMA application_id"), one("PRAGMA user_version"))
    if mark == (0, 0) and not one("SELECT count(*) FROM sqlite_master"):
        database.execute("PRAGMA auto_vacuum = INCREMENTAL")
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(_TABLES)
        # last, so that a file with the mark is whole
        database.executescript(f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION};")
    elif mark != (_APPLICATION, _VERSION):
        raise UnusableFileError("is not a cache of this version of celadon")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute(f"PRAGMA journal_size_limit = {max(max_bytes // 8, 1 << 20)}")


def open_or_replace(path: Path, max_bytes: int, say: Say, *, check: bool = False) -> ScoreFile | None:
    """Open the file; one that is damaged or not ours is set aside for a new one.

    With ``check`` the whole file is searched for damage. Returns None where there can be none: no permission, no space,
    another process that never ends its transaction.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(path):
            try:
                if check:
                    _look_through(path)
                return ScoreFile(path, max_bytes)
            except (sqlite3.DatabaseError, UnusableFileError) as error:
                if not is_damage(error):
                    raise
                aside = _set_aside(path)
                what = _DAMAGED if isinstance(error, sqlite3.Error) else error
                say(f"{path}: {what}; set aside as {aside.name}, and a new one is begun")
                return ScoreFile(path, max_bytes)
    except (OSError, sqlite3.Error) as error:
        say(f"{path}: {error}; going on without the cache")
        return None


def is_damage(error: Exception) -> bool:
    """Tell a file that cannot be used from one that cannot be had at the moment."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, UnusableFileError) or code in (_CORRUPT, _NOT_A_DATABASE)


def _look_through(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=_PATIENCE_SECONDS)) as database:
        if database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise UnusableFileError(_DAMAGED)


def _set_aside(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    path.rename(aside)
    for more in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + more).rename(aside.with_name(aside.name + more))
    return aside


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    """While a file is made or set aside, nobody else looks at it."""
    descriptor = os.open(path.with_name(f"{path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o666)
    try:
        with suppress(ImportError):  # a system without flock
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
