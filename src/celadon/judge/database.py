"""The connection to the database, SQLite in the experiment's folder or PostgreSQL by a URL, and its tables."""

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

    ``address``: a path of an SQLite file, or the URL of a PostgreSQL database.
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


TABLES = sa.MetaData()

experiment = sa.Table(
    "experiment",
    TABLES,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    # counted up by whoever gives out a place in line, which keeps all others waiting
    sa.Column("joined", sa.Integer, nullable=False),
)

participants = sa.Table(
    "participants",
    TABLES,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("platform_hash", sa.String(64), unique=True),
    sa.Column("place", sa.Integer, index=True),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("consented", sa.Float),
    sa.Column("last_seen", sa.Float),
    sa.Column("completed", sa.Float),
)

links = sa.Table(
    "links",
    TABLES,
    sa.Column("link_sha256", sa.String(64), primary_key=True),
    sa.Column("participant", sa.ForeignKey("participants.id"), nullable=False),
)

pages = sa.Table(
    "pages",
    TABLES,
    sa.Column("participant", sa.ForeignKey("participants.id"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("cell", sa.Text, nullable=False),
    sa.Column("items", sa.Text, nullable=False),
    sa.Column("first_shown", sa.Float),
    sa.Column("last_shown", sa.Float),
    sa.Column("answered", sa.Float),
    sa.Column("seconds", sa.Float),
)

ratings = sa.Table(
    "ratings",
    TABLES,
    sa.Column("participant", sa.ForeignKey("participants.id"), primary_key=True),
    sa.Column("unit", sa.Text, primary_key=True),
    sa.Column("question", sa.String(40), primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("number", sa.Float),
    sa.Column("text", sa.Text),
    sa.Column("given", sa.Float, nullable=False),
    sa.Column("revised", sa.Integer, nullable=False),
)

replaced = sa.Table(
    "replaced",
    TABLES,
    sa.Column("number_of", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("participant", sa.ForeignKey("participants.id"), nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("question", sa.String(40), nullable=False),
    sa.Column("number", sa.Float),
    sa.Column("text", sa.Text),
    sa.Column("given", sa.Float, nullable=False),
)

_version = sa.Table("schema_version", sa.MetaData(), sa.Column("version", sa.Integer, primary_key=True))


def _first(connection: sa.Connection) -> None:
    TABLES.create_all(connection)


def _replaced_by_person(connection: sa.Connection) -> None:
    connection.execute(sa.text("CREATE INDEX replaced_by_participant ON replaced (participant)"))


MIGRATIONS = (_first, _replaced_by_person)
"""What leads from each version to the next, from an empty database on; only ever added to."""


def migrate(connection: sa.Connection) -> int:
    """Bring a database to the newest version, inside the transaction that is open.

    Returns how many steps were taken.
    Raises InputError if the database is of a later version than this program.
    """
    _version.metadata.create_all(connection)
    current: int = connection.scalar(sa.select(sa.func.max(_version.c.version))) or 0
    if current > len(MIGRATIONS):
        raise InputError(
            f"the database is of version {current}, and this celadon knows {len(MIGRATIONS)}; use the newer celadon"
        )
    for number, step in enumerate(MIGRATIONS[current:], current + 1):
        step(connection)
        connection.execute(_version.insert().values(version=number))
    return len(MIGRATIONS) - current
