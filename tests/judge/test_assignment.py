"""Who sees what: the laws of a balanced experiment, over experiments of any shape."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import InputError
from celadon.judge.assignment import (
    BREAK,
    CHECK,
    INSTRUCTIONS,
    PRACTICE,
    TRIAL,
    assigned,
    make_cells,
    pages_each,
    people_needed,
)
from celadon.judge.config import Assignment, Config, PageTexts, Question, SetPage
from celadon.judge.experiment import pair_key, pair_of
from celadon.judge.items import Item
from tests.judge.conftest import MakeExperiment


def config(design: str = "duc", *, seed: int = 1, **changes: int | bool) -> Config:
    usual: dict[str, int | bool] = {
        "ratings_per_item": 3,
        "variants_per_page": 2 if design == "pairwise" else 1,
        "one_page_per_cell": True,
        "pages_per_person": 0,
        "checks_per_person": 0,
        "break_every": 0,
    }
    assignment = Assignment(**{**usual, **changes}, release_after_minutes=60.0)  # type: ignore[arg-type]
    question = Question("overall", "scale", "How well?", 1, 5)
    texts = PageTexts("c", "i")
    return Config("x", "t", design, assignment, texts, (question,), seed=seed, checks=(SetPage(("check",)),))


def items_of(sizes: list[int]) -> list[Item]:
    return [
        Item(f"{cell}/{system}", str(cell), "text", f"s{system}")
        for cell, size in enumerate(sizes)
        for system in range(size)
    ]


shapes = st.lists(st.integers(1, 7), min_size=1, max_size=6)


@given(shapes, st.integers(0, 12), st.integers(1, 6), st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=50)
def test_everybody_sees_a_cell_once_and_every_item_gets_its_ratings(
    sizes: list[int], each: int, many: int, target: int, seed: int
) -> None:
    items = items_of(sizes)
    study = config(seed=seed, pages_per_person=each, variants_per_page=many, ratings_per_item=target)
    cells = make_cells(items, study)
    seen: Counter[str] = Counter()
    for place in range(people_needed(cells, study.assignment)):
        way = assigned(cells, study.assignment, place)
        names = [cell for cell, _ in way]
        assert len(names) == len(set(names)) == min(each or len(sizes), len(sizes))
        for cell, keys in way:
            assert len(set(keys)) == len(keys) == min(many, sizes[int(cell)])
            assert all(key.startswith(f"{cell}/") for key in keys)
            seen.update(keys)
    assert min(seen[item.key] for item in items) >= target


@given(shapes, st.integers(0, 12), st.integers(1, 6), st.integers(1, 25))
@settings(max_examples=50)
def test_variants_of_a_cell_are_seen_equally_often_at_every_moment(
    sizes: list[int], each: int, many: int, people: int
) -> None:
    study = config(pages_per_person=each, variants_per_page=many)
    cells = make_cells(items_of(sizes), study)
    seen = Counter(
        key for place in range(people) for _, keys in assigned(cells, study.assignment, place) for key in keys
    )
    for cell, size in enumerate(sizes):
        counts = [seen[f"{cell}/{system}"] for system in range(size)]
        assert max(counts) - min(counts) <= 1


@given(st.integers(2, 6), st.integers(1, 4), st.integers(0, 50))
def test_a_person_sees_the_systems_in_equal_shares(systems: int, rounds: int, place: int) -> None:
    """As many cells as systems, or a multiple: each row and each column of a Latin square."""
    study = config()
    cells = make_cells(items_of([systems] * (systems * rounds)), study)
    shown = Counter(keys[0].partition("/")[2] for _, keys in assigned(cells, study.assignment, place))
    assert set(shown.values()) == {rounds}
    assert len(shown) == systems


@given(st.integers(2, 7), st.integers(1, 6))
def test_pairs_give_every_item_its_ratings_and_waste_little(variants: int, target: int) -> None:
    study = config("pairwise", ratings_per_item=target)
    cells = make_cells(items_of([variants]), study)
    people = people_needed(cells, study.assignment)
    pairs = [assigned(cells, study.assignment, place)[0][1] for place in range(people)]
    played = Counter(key for pair in pairs for key in pair)
    assert min(played.values()) >= target
    assert len(played) == variants
    # no fewer people could do it, save for what an odd number of variants costs
    assert people <= -(-target * variants // 2) + variants
    whole = variants * (variants - 1) // 2
    assert len(set(pairs[:whole])) == min(len(pairs), whole)


def test_a_pair_needs_two_texts() -> None:
    with pytest.raises(InputError, match=r"cell '1'.*pairwise needs two"):
        make_cells(items_of([2, 1]), config("pairwise"))


@given(shapes, st.integers(1, 6))
@settings(max_examples=30)
def test_a_design_may_say_that_everything_is_seen(sizes: list[int], many: int) -> None:
    study = config(one_page_per_cell=False, variants_per_page=many)
    cells = make_cells(items_of(sizes), study)
    assert pages_each(cells, study.assignment) == len(cells)
    shown = [key for _, keys in assigned(cells, study.assignment, 3) for key in keys]
    assert sorted(shown) == sorted(item.key for item in items_of(sizes))
    assert all(len(keys) <= many for _, keys in assigned(cells, study.assignment, 3))


def test_a_way_has_instructions_practice_checks_and_breaks(made: MakeExperiment) -> None:
    experiment = made("duc", checks_per_person=2, break_every=2)
    way = experiment.plan(0)
    kinds = [page.kind for page in way]
    assert kinds[:2] == [INSTRUCTIONS, PRACTICE]
    assert kinds.count(TRIAL) == 4
    assert kinds.count(CHECK) == 2
    assert kinds.count(BREAK) == 1
    assert kinds[2] == TRIAL
    # the break is in the middle: two trials before it, two after it
    assert kinds[: kinds.index(BREAK)].count(TRIAL) == 2
    assert kinds[-1] in (TRIAL, CHECK)


def test_the_order_is_the_seeds(made: MakeExperiment) -> None:
    one, same, other = made(seed=5), made(seed=5), made(seed=6)
    assert [one.plan(place) for place in range(6)] == [same.plan(place) for place in range(6)]
    assert [one.plan(place) for place in range(6)] != [other.plan(place) for place in range(6)]
    assert len({one.plan(place) for place in range(6)}) > 4


def test_a_page_of_variants_shows_them_in_another_order_to_another_person(made: MakeExperiment) -> None:
    experiment = made("likert", seed=1)
    orders = {page.items for place in range(30) for page in experiment.plan(place) if page.cell == "alpha"}
    assert len(orders) == 6
    assert {frozenset(order) for order in orders} == {frozenset(f"alpha/{name}" for name in ("one", "two", "three"))}


@given(st.text(min_size=1), st.text(min_size=1))
def test_a_pair_has_one_name_whichever_stands_first(one: str, other: str) -> None:
    assert pair_key([one, other]) == pair_key([other, one])
    assert sorted(pair_of(pair_key([one, other]))) == sorted([one, other])
