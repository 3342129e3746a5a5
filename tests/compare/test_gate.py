"""The gate's parts: limits, pairs of rows, baselines."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.compare.baseline import Baseline
from celadon.compare.columns import limits_of, metrics_among
from celadon.compare.gate import Check, Verdict, run_check
from celadon.compare.pairing import Pairing, PairStore, Row
from celadon.core import InputError, UsageError
from celadon.runs.local import Job
from tests.cli.test_score import celadon, write_rows


def row(ident: str | None, value: float = 0.0, system: str | None = None, text: str | None = None) -> Row:
    return Row(ident, system, f"f:{ident}", text, np.array([value]))


def paired(first: list[Row], second: list[Row]) -> tuple[Pairing, list[tuple[float, float]]]:
    with PairStore(("A", "B")) as store:
        # in two pieces each, as they come from a stream
        for side, rows in (("a", first), ("b", second)):
            store.add(side, rows[:2])
            store.add(side, rows[2:])
        found = store.pair()
        values = [
            (float(a), float(b))
            for chunk in store.chunks()
            for a, b in zip(chunk.first[:, 0], chunk.second[:, 0], strict=True)
        ]
        for number, pair in enumerate(values):
            assert tuple(float(side.values[0]) for side in store.rows(number)) == pair
    return found, values


def test_rows_are_paired_by_id_whatever_their_order() -> None:
    found, values = paired([row("x", 1), row("y", 2), row("z", 3)], [row("z", 30), row("new", 9), row("x", 10)])
    assert found == ("id", 2, (1, 1))
    assert values == [(1, 10), (3, 30)]


def test_an_id_of_several_systems_or_times() -> None:
    first = [row("x", 1, "s"), row("x", 2, "t"), row("x", 3, "s")]
    found, values = paired(first, [row("x", 10, "s"), row("x", 20, "t"), row("x", 30, "s"), row("x", 40, "s")])
    assert found == ("id and system", 3, (0, 1))
    assert values == [(1, 10), (2, 20), (3, 30)]


def test_two_systems_with_other_names_are_paired_by_id_alone() -> None:
    found, values = paired([row("x", 1, "old"), row("y", 2, "old")], [row("y", 20, "new"), row("x", 10, "new")])
    assert (found.by, values) == ("id", [(1, 10), (2, 20)])
    with pytest.raises(InputError, match="A and B have no row of the same id and system"):
        paired([row("x", 1, "old"), row("x", 2, "older")], [row("x", 20, "new")])


def test_without_ids_by_order() -> None:
    found, values = paired([row(None, 1), row(None, 2)], [row("x", 10), row("y", 20)])
    assert (found.by, values) == ("order", [(1, 10), (2, 20)])
    with pytest.raises(InputError, match="A has 1 rows and B 2"):
        paired([row(None)], [row(None), row(None)])


LABELS = st.none() | st.text(st.characters(), max_size=2)


@given(
    st.lists(st.tuples(st.text(st.characters(), min_size=1, max_size=1), LABELS), min_size=1, max_size=6),
    st.permutations(range(6)),
)
def test_pairing_agrees_with_a_plain_loop(names: list[tuple[str, str | None]], order: list[int]) -> None:
    first = [row(ident, number, system) for number, (ident, system) in enumerate(names)]
    second = [first[at] for at in order if at < len(first)]
    _, values = paired(first, second)
    free = list(second)
    expected = []
    for one in first:
        other = next(each for each in free if (each.id, each.system) == (one.id, one.system))
        free.remove(other)
        expected.append((float(one.values[0]), float(other.values[0])))
    assert values == expected


def test_limits() -> None:
    least, most, part = limits_of(["rougeL=0.5"], ["rougeW[weight=1.5]=0.9", "rougeL.precision=.8"])
    assert (str(least), str(most)) == ("rougeL at least 0.5", "rougeW[weight=1.5] at most 0.9")
    assert (part.column.name, part.column.part, part.bound) == ("rougeL.precision", "precision", 0.8)
    assert least.kept_by(0.5)
    assert not least.kept_by(0.4999)
    assert most.kept_by(-1)
    assert not any(limit.kept_by(math.nan) for limit in (least, most))
    (negative,) = limits_of(["slor=-1e-3"], [])
    assert negative.bound == -0.001


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rougeL", "is not a limit"),
        ("rougeL=", "is not a limit"),
        ("rougeL=nan", "is not a limit"),
        ("rougeW[weight=1.5]", "is not a limit"),
        ("rougeW[weight=1]", "is not a limit"),
        ("=1", "neither a metric"),
        ("rougeLL=1", "did you mean rougeL"),
        ("celadon.coherent=1", "did you mean celadon.coherence"),
        ("rougeL.x=1", "its parts: precision, recall"),
        ("rougeW[weigth=1]=1", "unknown option 'weigth'"),
    ],
)
def test_what_is_no_limit(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        limits_of([text], [])


@pytest.mark.parametrize("given", ["file", "file:", ":1", "file:-1", "file:nan", "file:inf", "-:1"])
def test_what_is_no_baseline(given: str) -> None:
    with pytest.raises(UsageError):
        Baseline.read(given)
    assert Baseline.read("s3://a:b/c:0.5") == Baseline("s3://a:b/c", 0.5)


def test_metrics_among_columns() -> None:
    columns = ["id", "text", "rougeL", "rougeL.precision", "gruen", "gruen.focus", "rougeW[weight=2]", "rougeW[x=2]"]
    assert list(metrics_among(columns)) == ["rougeL", "gruen", "rougeW[weight=2]"]
    assert list(metrics_among(["gruen.focus"])) == ["gruen.focus"]


GOOD, BAD = "a cat sat on the mat", "mat the on"


def texts(path: Path, *made: str, ids: bool = True) -> Path:
    rows = [{"text": text, "references": [GOOD], **({"id": str(at)} if ids else {})} for at, text in enumerate(made)]
    return write_rows(path, list(rows))


def checked(path: Path, baseline: Path, tolerance: float, least: tuple[str, ...] = ("rougeL=0",)) -> Verdict:
    return run_check(Check(Job([str(path)]), limits_of(least, []), Baseline(str(baseline), tolerance)))


def test_a_worse_mean_fails_from_texts_and_from_scores_alike(tmp_path: Path) -> None:
    old, new = texts(tmp_path / "old.jsonl", GOOD, GOOD, GOOD), texts(tmp_path / "new.jsonl", GOOD, BAD, GOOD)
    scored = tmp_path / "scored.jsonl"
    assert celadon("score", str(old), "-m", "rougeL", "-o", str(scored)).returncode == 0
    # the columns are taken, not made again
    rows = [json.loads(line) for line in scored.read_text(encoding="utf-8").splitlines()]
    without_text = write_rows(
        tmp_path / "scores.jsonl", [{"id": each["id"], "rougeL": each["rougeL"]} for each in rows]
    )
    # unigram overlap by hand: 3 of 3 and 3 of 6 words, but in another order, so that one word is the longest sequence
    fallen = 2 * (1 / 3) * (1 / 6) / (1 / 3 + 1 / 6)
    for baseline in (old, scored, without_text):
        (found,) = checked(new, baseline, 0.25).regressions
        assert (found.old, found.pairs, found.lost) == (1.0, 3, 0)
        assert found.worse_by == pytest.approx((1 - fallen) / 3)
        assert not found.passed
        assert [(each.now.id, each.now.text) for each in found.fallen] == [("1", BAD)]
        assert checked(new, baseline, 0.27).passed
        assert checked(old, baseline, 0).passed
    better = checked(scored, new, 0).regressions[0]
    assert better.passed
    assert better.worse_by == pytest.approx((fallen - 1) / 3)


def test_lower_is_better_and_a_lost_value(tmp_path: Path) -> None:
    old, new = texts(tmp_path / "old.jsonl", GOOD, GOOD), texts(tmp_path / "new.jsonl", BAD, GOOD)
    (found,) = checked(new, old, 0.1, ("ter=0",)).regressions
    assert found.worse_by > 0.1
    assert not found.passed
    empty = texts(tmp_path / "empty.jsonl", GOOD, "")
    (lost,) = checked(empty, old, 1).regressions
    assert (lost.column, lost.pairs, lost.lost, lost.passed) == ("rougeL", 1, 1, False)


def test_what_is_compared_without_limits(tmp_path: Path) -> None:
    old = texts(tmp_path / "old.jsonl", GOOD, GOOD)
    scored = tmp_path / "scored.csv"
    celadon("score", str(old), "-m", "rouge1,chrf", "-o", str(scored))
    verdict = run_check(Check(Job([str(old)]), baseline=Baseline(str(scored), 0)))
    assert [found.column for found in verdict.regressions] == ["rouge1", "chrf"]
    with pytest.raises(UsageError, match="--standardize-on"):
        checked(old, old, 0, ("rouge_lm=0",))
    with pytest.raises(UsageError, match="nothing to check"):
        run_check(Check(Job([str(old)])))


def test_memory_does_not_grow_with_offences(tmp_path: Path) -> None:
    many = texts(tmp_path / "many.jsonl", *[BAD] * 300, ids=False)
    verdict = run_check(Check(Job([str(many)], batch_rows=64), limits_of(["rougeL=0.9"], []), most_listed=5))
    assert (verdict.rows, verdict.failed_rows, len(verdict.offences)) == (300, 300, 5)
    assert [offence.line for offence in verdict.offences] == [1, 2, 3, 4, 5]
