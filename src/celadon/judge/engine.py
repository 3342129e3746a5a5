"""The connection to the database: SQLite in the experiment's folder, or PostgreSQL by a URL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from celadon.core import CeladonError, InputError, UsageError

_WRITES = "celadon_writes"
_BUSY_SECONDS = 30
_POOL = 20
# a number that others who use the same PostgreSQL server are not likely to choose
_LOCK = 0x63656C61646F6E


class DatabaseError(CeladonError):
    """The database does not answer; the message has no password in it."""


class Database:
    """Reads and writes in transactions; what is written is on the disk when the block of a write ends.

    Parameters
    ----------
    address
        A path of an SQLite file, or the URL of a PostgreSQL database.
    """

    def __init__(self, address: Path | str) -> None:
        self._engine = _sqlite(address) if isinstance(address, Path) else _postgresql(address)
        self.is_sqlite = self._engine.dialect.name == "sqlite"
        # SQLite has one writer: waiting in line for it is fairer, and quicker, than trying again and again
        self._line = threading.Lock() if self.is_sqlite else nullcontext()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A transaction that sees one state of the database."""
        with self._answering(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction; nothing of it stays if the block fails."""
        with self._answering(), self._line, self._engine.connect() as connection:
            connection.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.OperationalError as error:
            why = " ".join(str(error.orig).split())
            raise DatabaseError(f"the database does not answer: {why}") from None

    def lock(self, connection: sa.Connection) -> None:
        """Keep other servers that want the same waiting until the transaction ends."""
        if not self.is_sqlite:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))

    def insert(self, table: sa.Table) -> Any:
        """An INSERT that can say what to do where the row is there already."""
        from sqlalchemy.dialects import postgresql, sqlite

        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()


def _sqlite(path: Path) -> sa.Engine:
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a database")
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        hide_parameters=True,
        pool_size=_POOL,
        max_overflow=_POOL,
        connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False},
    )

    @sa.event.listens_for(engine, "connect")
    def _opened(connection: Any, record: object) -> None:
        # transactions are begun below, not by the driver
        connection.isolation_level = None
        for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {setting}").close()

    @sa.event.listens_for(engine, "begin")
    def _begun(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _postgresql(address: str) -> sa.Engine:
    from celadon.core import MissingExtraError

    try:
        url = sa.make_url(address)
    except sa.exc.ArgumentError:
        raise UsageError("the database's URL cannot be read; it looks like postgresql://user@host/name") from None
    if url.get_backend_name() not in ("postgresql", "postgres"):
        raise UsageError(f"{url.get_backend_name()} is not known; a URL must begin with postgresql://")
    try:
        return sa.create_engine(
            url.set(drivername="postgresql+psycopg"),
            hide_parameters=True,
            pool_size=_POOL,
            max_overflow=_POOL,
            pool_pre_ping=True,
        )
    except ModuleNotFoundError:
        raise MissingExtraError("psycopg", "serve") from None
