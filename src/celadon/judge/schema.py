"""The tables of the answers, and how a database comes from one version of them to the next."""

from __future__ import annotations

import sqlalchemy as sa

from celadon.core import InputError

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

    Returns
    -------
    int
        How many steps were taken.

    Raises
    ------
    InputError
        The database is of a later version than this program.
    """
    _version.metadata.create_all(connection)
    found: int = connection.scalar(sa.select(sa.func.max(_version.c.version))) or 0
    if found > len(MIGRATIONS):
        raise InputError(
            f"the database is of version {found}, and this celadon knows {len(MIGRATIONS)}; use the newer celadon"
        )
    for number, step in enumerate(MIGRATIONS[found:], found + 1):
        step(connection)
        connection.execute(_version.insert().values(version=number))
    return len(MIGRATIONS) - found
