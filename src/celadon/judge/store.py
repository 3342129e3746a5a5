"""The answers: who takes part, what each person is shown, and what they said.

An answer is written in one transaction, by its person, unit and question: the same answer given twice is one answer.
Another answer to the same question takes its place, and the old one is kept in a table of its own. When somebody has
finished, their answers are closed.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from celadon.core import InputError
from celadon.judge.assignment import Page
from celadon.judge.database import Database, links, migrate, pages, participants, ratings, replaced
from celadon.judge.database import experiment as experiment_table
from celadon.judge.experiment import DATABASE, Experiment
from celadon.web.security import digest, new_token

_AGAIN_AFTER = 5.0


class Participant(NamedTuple):
    """A person: a random name, a place in line, and when they did what (seconds since 1970)."""

    id: str
    place: int | None
    consented: float | None
    last_seen: float | None
    completed: float | None


class KeptPage(NamedTuple):
    """A page of a person's way and when it was shown and answered."""

    position: int
    page: Page
    first_shown: float | None
    last_shown: float | None
    answered: float | None
    seconds: float | None


class Answer(NamedTuple):
    """What was said about a unit: a number, or a text."""

    number: float | None = None
    text: str | None = None


class Rating(NamedTuple):
    """An answer as it is kept."""

    participant: str
    unit: str
    question: str
    position: int
    answer: Answer
    given: float
    revised: int


class Store:
    """The answers of one experiment.

    ``url``: of a PostgreSQL database; by default the answers are in an SQLite file in the experiment's folder.
    ``clock``: tells the time, in seconds since 1970.
    Raises InputError if the database belongs to another experiment, or this one was changed after people had begun.
    """

    def __init__(self, experiment: Experiment, url: str | None = None, clock: Callable[[], float] = time.time) -> None:
        self._experiment = experiment
        self._clock = clock
        place: Path | str = url or experiment.folder / DATABASE
        self._database = Database(place)
        with self._database.writing() as connection:
            self._database.lock(connection)
            migrate(connection)
            self._claim(connection)

    def _claim(self, connection: sa.Connection) -> None:
        known = connection.execute(sa.select(experiment_table)).first()
        own = self._experiment
        if known is None:
            values = {"id": own.config.id, "fingerprint": own.fingerprint, "joined": 0}
            connection.execute(experiment_table.insert().values(values))
            return
        if known.id != own.config.id:
            raise InputError(f"the database holds the answers of another experiment, {known.id}; use one of its own")
        if known.fingerprint == own.fingerprint:
            return
        if known.joined:
            raise InputError(
                f"{own.folder}: the items, the questions or the assignment have changed since the first person began; "
                "put them back as they were, or make a new experiment"
            )
        connection.execute(experiment_table.update().values(fingerprint=own.fingerprint))

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def new_links(self, count: int) -> list[str]:
        """Make people who have not begun, and the secret part of each one's link."""
        links = []
        with self._database.writing() as connection:
            for _ in range(count):
                links.append(self._add(connection)[1])
        return links

    def new_link_for(self, participant: str) -> str | None:
        """Give a person another link beside those they have; None where there is no such person."""
        with self._database.writing() as connection:
            if connection.scalar(sa.select(participants.c.id).where(participants.c.id == participant)) is None:
                return None
            link = new_token()
            connection.execute(links.insert().values(link_sha256=digest(link), participant=participant))
            return link

    def join(self, platform_hash: str | None) -> str | None:
        """Make a person who came by the open link; None where the platform's person is here already."""
        with self._database.writing() as connection:
            if platform_hash is not None:
                known = sa.select(participants.c.id).where(participants.c.platform_hash == platform_hash)
                self._wait_in_line(connection)
                if connection.scalar(known) is not None:
                    return None
            return self._add(connection, platform_hash)[1]

    def _add(self, connection: sa.Connection, platform_hash: str | None = None) -> tuple[str, str]:
        person, link = f"P{secrets.token_hex(5)}", new_token()
        values = {"id": person, "platform_hash": platform_hash, "created": self._clock()}
        connection.execute(participants.insert().values(values))
        connection.execute(links.insert().values(link_sha256=digest(link), participant=person))
        return person, link

    def participant(self, link: str) -> Participant | None:
        """The person whose link this is."""
        query = (
            sa.select(*(participants.c[name] for name in Participant._fields))
            .join(links, links.c.participant == participants.c.id)
            .where(links.c.link_sha256 == digest(link))
        )
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        return None if row is None else Participant(*row)

    def begin(self, participant: str) -> bool:
        """Give a person who agreed a place in line and all of their pages; False where no more people are needed."""
        now = self._clock()
        with self._database.writing() as connection:
            self._wait_in_line(connection)
            place = connection.scalar(sa.select(participants.c.place).where(participants.c.id == participant))
            if place is not None:
                return True
            place = self._free_place(connection, now)
            if place is None:
                return False
            connection.execute(
                participants.update()
                .where(participants.c.id == participant)
                .values(place=place, consented=now, last_seen=now)
            )
            rows = [
                {
                    "participant": participant,
                    "position": position,
                    "kind": page.kind,
                    "cell": page.cell,
                    "items": json.dumps(page.items, ensure_ascii=False),
                }
                for position, page in enumerate(self._experiment.plan(place))
            ]
            connection.execute(pages.insert(), rows)
        return True

    @staticmethod
    def _wait_in_line(connection: sa.Connection) -> None:
        connection.execute(experiment_table.update().values(joined=experiment_table.c.joined + 1))

    def _free_place(self, connection: sa.Connection, now: float) -> int | None:
        """The first place that nobody has filled or is filling."""
        since = now - 60.0 * self._experiment.config.assignment.release_after_minutes
        held = sa.select(participants.c.place).where(
            participants.c.place.is_not(None),
            participants.c.completed.is_not(None) | (participants.c.last_seen >= since),
        )
        taken = set(connection.scalars(held))
        return next((place for place in range(self._experiment.people_needed) if place not in taken), None)

    def is_full(self) -> bool:
        """Whether nobody else is needed at present."""
        with self._database.reading() as connection:
            return self._free_place(connection, self._clock()) is None

    def way(self, participant: str) -> tuple[KeptPage, ...]:
        """All pages of a person, in their order."""
        query = sa.select(pages).where(pages.c.participant == participant).order_by(pages.c.position)
        with self._database.reading() as connection:
            return tuple(_kept_page(row) for row in connection.execute(query))

    def note_shown(self, participant: str, kept: KeptPage) -> None:
        """Note that a page is being shown, unless that was noted just now."""
        now = self._clock()
        if kept.last_shown is not None and now - kept.last_shown < _AGAIN_AFTER:
            return
        with self._database.writing() as connection:
            _note_shown(connection, participant, kept.position, now)
            _note_seen(connection, participant, now)

    def answers(self, participant: str, position: int) -> dict[tuple[str, str], Answer]:
        """What a person said on a page, by unit and question."""
        query = sa.select(ratings).where(ratings.c.participant == participant, ratings.c.position == position)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return {(row.unit, row.question): Answer(row.number, row.text) for row in rows}

    def answer(self, participant: str, position: int, answers: Mapping[tuple[str, str], Answer]) -> bool:
        """Keep the answers of a page, for good before this returns.

        Returns False where the page is not the person's to answer: they have not come to it yet, or have finished.
        """
        now = self._clock()
        with self._database.writing() as connection:
            # the person's row keeps a second tab waiting, so that what follows is done by one at a time
            _note_seen(connection, participant, now)
            way = connection.execute(
                sa.select(pages.c.position, pages.c.answered, pages.c.last_shown)
                .where(pages.c.participant == participant)
                .order_by(pages.c.position)
            ).all()
            to_come = [row.position for row in way if row.answered is None]
            if not to_come or not 0 <= position <= to_come[0]:
                return False
            self._keep(connection, participant, position, answers, now)
            if position == to_come[0]:
                last_shown = way[position].last_shown
                seconds = None if last_shown is None else now - last_shown
                connection.execute(_page(participant, position).values(answered=now, seconds=seconds))
                if len(to_come) > 1:
                    _note_shown(connection, participant, to_come[1], now)
                else:
                    done = participants.update().where(participants.c.id == participant)
                    connection.execute(done.values(completed=now))
        return True

    def _keep(
        self,
        connection: sa.Connection,
        participant: str,
        position: int,
        answers: Mapping[tuple[str, str], Answer],
        now: float,
    ) -> None:
        if not answers:
            return
        query = sa.select(ratings).where(ratings.c.participant == participant, ratings.c.position == position)
        before = {(row.unit, row.question): row for row in connection.execute(query)}
        old, new = [], []
        for (unit, question), answer in answers.items():
            known = before.get((unit, question))
            if known is not None and (known.number, known.text) == tuple(answer):
                continue
            who = {"participant": participant, "unit": unit, "question": question}
            if known is not None:
                old.append({**who, "number": known.number, "text": known.text, "given": known.given})
            revised = 0 if known is None else known.revised + 1
            new.append({**who, "position": position, **answer._asdict(), "given": now, "revised": revised})
        if old:
            connection.execute(replaced.insert(), old)
        if new:
            insert = self._database.insert(ratings)
            changed = {name: insert.excluded[name] for name in ("position", "number", "text", "given", "revised")}
            connection.execute(
                insert.on_conflict_do_update(index_elements=["participant", "unit", "question"], set_=changed), new
            )

    def people(self) -> tuple[Participant, ...]:
        """Everybody who has agreed to take part, in the order in which they did."""
        query = (
            sa.select(*(participants.c[name] for name in Participant._fields))
            .where(participants.c.consented.is_not(None))
            .order_by(participants.c.consented, participants.c.id)
        )
        with self._database.reading() as connection:
            return tuple(Participant(*row) for row in connection.execute(query))

    def all_pages(self) -> dict[str, tuple[KeptPage, ...]]:
        """Every person's pages."""
        by_person: dict[str, list[KeptPage]] = {}
        with self._database.reading() as connection:
            for row in connection.execute(sa.select(pages).order_by(pages.c.participant, pages.c.position)):
                by_person.setdefault(row.participant, []).append(_kept_page(row))
        return {person: tuple(way) for person, way in by_person.items()}

    def all_ratings(self) -> tuple[Rating, ...]:
        """Every answer, by person and page."""
        query = sa.select(ratings).order_by(
            ratings.c.participant, ratings.c.position, ratings.c.unit, ratings.c.question
        )
        with self._database.reading() as connection:
            return tuple(
                Rating(
                    row.participant,
                    row.unit,
                    row.question,
                    row.position,
                    Answer(row.number, row.text),
                    row.given,
                    row.revised,
                )
                for row in connection.execute(query)
            )

    def replaced_answers(self) -> Sequence[sa.Row[tuple[str, str, str, float, str, float]]]:
        """Answers that another took the place of, in the order in which they were given."""
        names = ("participant", "unit", "question", "number", "text", "given")
        query = sa.select(*(replaced.c[name] for name in names)).order_by(replaced.c.number_of)
        with self._database.reading() as connection:
            return connection.execute(query).all()


def _kept_page(row: sa.Row[tuple[object, ...]]) -> KeptPage:
    page = Page(row.kind, row.cell, tuple(json.loads(row.items)))
    return KeptPage(row.position, page, row.first_shown, row.last_shown, row.answered, row.seconds)


def _page(participant: str, position: int) -> sa.Update:
    return pages.update().where(pages.c.participant == participant, pages.c.position == position)


def _note_shown(connection: sa.Connection, participant: str, position: int, now: float) -> None:
    first = sa.func.coalesce(pages.c.first_shown, now)
    connection.execute(_page(participant, position).values(first_shown=first, last_shown=now))


def _note_seen(connection: sa.Connection, participant: str, now: float) -> None:
    connection.execute(participants.update().where(participants.c.id == participant).values(last_seen=now))
