"""The answers, in SQLite and in a real PostgreSQL: nothing is lost, nothing is there twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from celadon.core import InputError, UsageError
from celadon.judge.assignment import TRIAL
from celadon.judge.database import MIGRATIONS, Database, migrate
from celadon.judge.experiment import Experiment, open_experiment
from celadon.judge.store import Answer, Store
from celadon.web.security import digest
from tests.judge.conftest import MakeExperiment


class Clock:
    """A time that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def experiment(made: MakeExperiment) -> Experiment:
    return made("duc", ratings_per_item=1, release_after_minutes=60)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(experiment: Experiment, url: str | None, clock: Clock) -> Iterator[Store]:
    opened = Store(experiment, url, clock)
    yield opened
    opened.close()


def begun(store: Store) -> str:
    person = store.participant(store.new_links(1)[0])
    assert person is not None
    assert store.begin(person.id)
    return person.id


def answers_to(experiment: Experiment, store: Store, person: str, position: int, value: float) -> dict:
    page = store.way(person)[position].page
    units, questions = experiment.units(page), experiment.config.questions
    return {(unit.key, question.name): Answer(value) for unit in units for question in questions}


def finish(experiment: Experiment, store: Store, person: str, value: float = 3.0) -> None:
    for position in range(len(store.way(person))):
        assert store.answer(person, position, answers_to(experiment, store, person, position, value))


def test_a_link_is_stored_only_as_its_hash(store: Store, experiment: Experiment, url: str | None) -> None:
    link = store.new_links(1)[0]
    person = store.participant(link)
    assert person is not None
    assert store.participant(link[:-1]) is None
    assert store.participant(digest(link)) is None
    assert store.participant("") is None
    if url is None:
        files = b"".join(path.read_bytes() for path in experiment.folder.glob("answers.sqlite*"))
        assert digest(link).encode() in files
        assert link.encode() not in files


def test_a_rating_given_twice_is_one_and_another_takes_its_place(store: Store, experiment: Experiment) -> None:
    person = begun(store)
    position = next(kept.position for kept in store.way(person) if kept.page.kind == TRIAL)
    for before in range(position):
        store.answer(person, before, answers_to(experiment, store, person, before, 1.0))
    for value in (2.0, 2.0, 5.0, 2.0):
        assert store.answer(person, position, answers_to(experiment, store, person, position, value))
    kept = [rating for rating in store.all_ratings() if rating.position == position]
    assert len(kept) == 5
    assert {rating.answer for rating in kept} == {Answer(2.0)}
    assert {rating.revised for rating in kept} == {2}
    old = [row.number for row in store.replaced_answers() if row.question == "overall"]
    assert old == [2.0, 5.0]


def test_a_page_is_answered_in_its_turn_and_not_after_the_end(store: Store, experiment: Experiment) -> None:
    person = begun(store)
    last = len(store.way(person)) - 1
    for wrong in (2, last, last + 1, -1):
        assert not store.answer(person, wrong, {("x", "overall"): Answer(1.0)})
    assert store.all_ratings() == ()
    finish(experiment, store, person)
    before = store.all_ratings()
    assert not store.answer(person, last, answers_to(experiment, store, person, last, 5.0))
    assert store.all_ratings() == before


def test_two_tabs_at_once_leave_one_answer_each(store: Store, experiment: Experiment) -> None:
    person = begun(store)
    values = [1.0, 2.0, 3.0, 4.0, 5.0] * 4
    for position in range(3):
        given = [answers_to(experiment, store, person, position, value) for value in values]
        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(lambda some, at=position: store.answer(person, at, some), given))
    ratings = store.all_ratings()
    assert len({(rating.unit, rating.question) for rating in ratings}) == len(ratings) == 10
    changes = sum(rating.revised for rating in ratings)
    assert len(store.replaced_answers()) == changes
    assert [kept.answered is not None for kept in store.way(person)][:4] == [True, True, True, False]


def test_people_who_come_at_once_get_places_of_their_own(store: Store, experiment: Experiment) -> None:
    people = [store.participant(link) for link in store.new_links(12)]
    with ThreadPoolExecutor(12) as pool:
        let_in = list(pool.map(lambda person: store.begin(person.id), people))
    assert experiment.people_needed == 3
    assert sum(let_in) == 3
    assert sorted(person.place for person in store.people()) == [0, 1, 2]
    assert store.is_full()


def test_a_place_is_free_again_when_somebody_stays_away_but_not_when_they_finished(
    store: Store, experiment: Experiment, clock: Clock
) -> None:
    first, second, third = begun(store), begun(store), begun(store)
    finish(experiment, store, first)
    clock.now += 59 * 60
    store.note_shown(third, store.way(third)[0])
    assert store.is_full()
    clock.now += 2 * 60
    assert not store.is_full()
    newcomer = begun(store)
    places = {person.id: person.place for person in store.people()}
    assert places[newcomer] == places[second] == 1
    # the one who stayed away comes back, and what they say is kept
    finish(experiment, store, second)
    assert {rating.participant for rating in store.all_ratings()} == {first, second}
    assert begun_again(store, second)


def begun_again(store: Store, person: str) -> bool:
    before = store.way(person)
    return store.begin(person) and store.way(person) == before


def test_time_is_counted_from_when_a_page_was_last_shown(store: Store, experiment: Experiment, clock: Clock) -> None:
    person = begun(store)
    store.note_shown(person, store.way(person)[0])
    clock.now += 10
    store.answer(person, 0, {})
    clock.now += 3_600
    store.note_shown(person, store.way(person)[1])
    clock.now += 7
    store.answer(person, 1, answers_to(experiment, store, person, 1, 3.0))
    first, second = store.way(person)[:2]
    assert first.seconds == pytest.approx(10)
    assert second.seconds == pytest.approx(7)
    assert second.answered is not None
    assert second.first_shown is not None
    assert second.answered - second.first_shown == pytest.approx(3_607)


def test_answers_outlive_the_server(store: Store, experiment: Experiment, url: str | None) -> None:
    person = begun(store)
    finish(experiment, store, person)
    store.close()
    again = Store(open_experiment(experiment.folder), url)
    assert len(again.all_ratings()) == sum(
        5 for kept in again.way(person) if kept.page.kind not in ("instructions", "break")
    )
    assert [p.completed is not None for p in again.people()] == [True]
    again.close()


def test_nobody_joins_twice_under_one_name_of_a_platform(store: Store) -> None:
    with ThreadPoolExecutor(6) as pool:
        links = list(pool.map(store.join, ["same"] * 6))
    assert sum(link is not None for link in links) == 1
    assert store.join("other") is not None
    assert store.join(None) is not None
    assert store.join(None) is not None


def test_another_link_for_the_same_person(store: Store) -> None:
    link = store.new_links(1)[0]
    person = store.participant(link)
    assert person is not None
    again = store.new_link_for(person.id)
    assert again is not None
    assert store.participant(again) == person == store.participant(link)
    assert store.new_link_for("P0") is None


def test_an_experiment_is_not_changed_under_peoples_hands(
    store: Store, experiment: Experiment, url: str | None, made: MakeExperiment
) -> None:
    path = experiment.folder / "experiment.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("seed = 7", "seed = 8"), encoding="utf-8")
    Store(open_experiment(experiment.folder), url).close()
    begun(store)
    path.write_text(path.read_text(encoding="utf-8").replace("seed = 8", "seed = 9"), encoding="utf-8")
    with pytest.raises(InputError, match="have changed since the first person began"):
        Store(open_experiment(experiment.folder), url)
    if url is not None:
        with pytest.raises(InputError, match="the answers of another experiment"):
            Store(made("duc"), url)


def test_a_database_is_brought_up_to_date_step_by_step(experiment: Experiment, url: str | None) -> None:
    database = Database(url or experiment.folder / "answers.sqlite")
    with database.writing() as connection:
        assert migrate(connection) == len(MIGRATIONS)
        assert migrate(connection) == 0
        # one version back, as an older program left it
        connection.execute(sa.text("DROP INDEX replaced_by_participant"))
        connection.execute(sa.text(f"DELETE FROM schema_version WHERE version = {len(MIGRATIONS)}"))
    store = Store(experiment, url)
    begun(store)
    store.close()
    with database.writing() as connection:
        assert migrate(connection) == 0
        connection.execute(sa.text(f"INSERT INTO schema_version VALUES ({len(MIGRATIONS) + 1})"))
    with pytest.raises(InputError, match="use the newer celadon"):
        Store(experiment, url)
    database.close()


def test_sqlite_writes_through_to_the_disk(experiment: Experiment) -> None:
    store = Store(experiment)
    begun(store)
    with store._database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    store.close()
    with sqlite3.connect(experiment.folder / "answers.sqlite") as other:
        columns = {
            row[1]
            for table in ("participants", "pages", "ratings")
            for row in other.execute(f"PRAGMA table_info({table})")
        }
    assert not {name for name in columns if "ip" in name.split("_") or "address" in name or "agent" in name}


@pytest.mark.parametrize("address", ["mysql://somebody:secret@host/name", "no url at all"])
def test_an_unknown_database_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        Database(address)
    assert "secret" not in str(caught.value)
