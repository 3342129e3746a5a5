"""Audits of judges whose faults are known, and of tables that cannot be audited."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import celadon.meta
from celadon.core import CeladonError, InputError, UsageError
from celadon.meta.judges import Audit, JudgeAudit, next_items
from celadon.meta.judges.inputs import packed
from celadon.meta.study.people import agreement
from tests.conftest import DATA
from tests.meta.judged_texts import judged_texts

OPTIONS: dict[str, Any] = {"judge": "judge.run*", "human": "rater*.overall", "resamples": 200}


def audited(rows: Any, **options: Any) -> JudgeAudit:
    return celadon.meta.audit(rows, **{**OPTIONS, **options}).judges[0]


def bias(one: JudgeAudit, name: str) -> Any:
    return next(row for row in one.biases if row.name == name)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return judged_texts(80, 4)


@pytest.fixture(scope="module")
def whole(rows: list[dict[str, Any]]) -> Audit:
    return celadon.meta.audit(
        rows, gate=3.0, alternatives=["better", "noise"], time_field="day", position_field="position", **OPTIONS
    )


def matrix(rows: list[dict[str, Any]], start: str) -> np.ndarray:
    return np.array([[row[name] for name in rows[0] if name.startswith(start)] for row in rows], dtype=float)


def test_agreement_is_scipys_at_every_level(rows: list[dict[str, Any]], whole: Audit) -> None:
    at = {row.level: row for row in whole.judges[0].agreement}
    judge, ratings = matrix(rows, "judge.").mean(axis=1), matrix(rows, "rater")
    people = ratings.mean(axis=1)
    assert at["instance"].value == pytest.approx(stats.pearsonr(judge, people).statistic)
    square, other = judge.reshape(80, 4), people.reshape(80, 4)
    assert at["system"].value == pytest.approx(stats.pearsonr(square.mean(axis=0), other.mean(axis=0)).statistic)
    within = [stats.pearsonr(a, b).statistic for a, b in zip(square, other, strict=True) if np.ptp(b) > 0]
    assert at["within_item"].value == pytest.approx(np.mean(within))
    for level in at.values():
        assert level.low < level.value < level.high
    one, rest = zip(*((ratings[:, n], np.delete(ratings, n, axis=1).mean(axis=1)) for n in range(3)), strict=True)
    of_raters = np.mean([stats.pearsonr(a, b).statistic for a, b in zip(one, rest, strict=True)])
    of_judge = np.mean([stats.pearsonr(judge, b).statistic for b in rest])
    assert at["instance"].rater == pytest.approx(of_raters)
    assert at["instance"].judge_as_rater == pytest.approx(of_judge)
    assert at["instance"].advantage.value == pytest.approx(of_judge - of_raters)


def test_spearman_is_scipys(rows: list[dict[str, Any]]) -> None:
    one = audited(rows, correlation="spearman", alternatives=["better"])
    judge, people = matrix(rows, "judge.").mean(axis=1), matrix(rows, "rater").mean(axis=1)
    assert one.agreement[0].value == pytest.approx(stats.spearmanr(judge, people).statistic)
    alternative = next(row for row in one.alternatives if row.name == "better")
    better = stats.spearmanr([row["better"] for row in rows], people).statistic
    assert alternative.difference.value == pytest.approx(one.agreement[0].value - better)


def test_people_are_described_as_by_meta_agreement(rows: list[dict[str, Any]], whole: Audit) -> None:
    assert whole.people == agreement("rater*.overall", matrix(rows, "rater"), "pearson")
    assert (whole.raters, whole.table.rows, whole.judges[0].rated) == (3, 320, 320)


def test_frames_give_the_same_audit(rows: list[dict[str, Any]], whole: Audit) -> None:
    options = {"gate": 3.0, "alternatives": ["better", "noise"], "time_field": "day", "position_field": "position"}
    for frame in (pd.DataFrame(rows), pl.DataFrame(rows)):
        assert repr(celadon.meta.audit(frame, **options, **OPTIONS).judges) == repr(whole.judges)


def test_a_sound_judge_shows_no_bias_but_longer_texts_are_better(whole: Audit) -> None:
    one = whole.judges[0]
    assert not [row.name for row in one.biases if row.shown]
    assert {"length", "lists", "drift", "position", "leniency", "compression", "system system0"} <= {
        row.name for row in one.biases
    }
    assert bias(one, "length").judge_correlation > 0.2
    assert bias(one, "length").human_correlation > 0.2
    assert any("No bias is shown" in line for line in one.verdict.may)


@pytest.mark.parametrize(
    ("planted", "name", "size"),
    [
        ({"length_bias": 0.4}, "length", 0.4),
        ({"lists_bias": 0.3}, "lists", 0.3),
        ({"lenient": 0.7}, "leniency", 0.7),
    ],
)
def test_a_planted_bias_is_found_with_its_size(planted: dict[str, float], name: str, size: float) -> None:
    one = audited(judged_texts(150, 4, seed=1, **planted))
    row = bias(one, name)
    assert row.shown
    assert row.effect.low < size < row.effect.high
    assert any(name.rstrip("s") in line or "above people" in line for line in one.verdict.may_not)


def test_own_family_drift_and_position() -> None:
    rows = judged_texts(150, 4, seed=2, own_bias=0.8, drift=0.9)
    one = audited(rows, family={"judge.run": ["system0"]}, time_field="day", position_field="position")
    assert one.judge == "judge.run"
    # against the other systems at the same quality
    assert bias(one, "own family").effect.low < 0.8 < bias(one, "own family").effect.high
    assert bias(one, "own family").shown
    assert bias(one, "drift").effect.low < 0.9 < bias(one, "drift").effect.high
    assert bias(one, "drift").shown
    assert not bias(one, "position").shown
    dated = [{**row, "day": f"2025-03-{1 + row['day'] % 28:02d}T10:00:00Z"} for row in rows]
    assert math.isfinite(bias(audited(dated, time_field="day"), "drift").effect.value)


def test_a_judge_that_uses_few_values_clumps() -> None:
    rows = judged_texts(100, 3, seed=3)
    for row in rows:
        for run in (1, 2, 3):
            row[f"judge.run{run}"] = 4.0 if row[f"judge.run{run}"] > 2.2 else 2.0
    row = bias(audited(rows), "clumping")
    people, judge = matrix(rows, "rater"), matrix(rows, "judge.")

    def same(values: np.ndarray) -> float:
        pairs = values[:, None] == values[None, :]
        return float((pairs.sum() - len(values)) / (len(values) * (len(values) - 1)))

    expected = np.mean([same(column) for column in judge.T]) - np.mean([same(column) for column in people.T])
    assert row.effect.value == pytest.approx(expected)
    assert row.shown


def test_a_better_alternative_is_named_and_a_useless_one_too(whole: Audit) -> None:
    one = whole.judges[0]
    better = {row.name: row.better for row in one.alternatives}
    assert better == {"length": "judge", "no repetition": "judge", "better": "alternative", "noise": "judge"}
    assert one.combination is not None
    assert one.combination.correlation > one.agreement[0].value
    assert any("better, which is free, agrees better" in line for line in one.verdict.may_not)


def test_few_labels_and_many_scores_tell_mean_ratings() -> None:
    rows = judged_texts(400, 2, seed=4, unrated=0.85, noise=0.2)
    truth = {row.system: row.mean for row in audited(judged_texts(400, 2, seed=4, noise=0.2)).means}
    one = audited(rows, width=0.2)
    assert [row.system for row in one.means] == ["system1", "system0"]
    for row in one.means:
        assert row.mean.labels < 80 < row.mean.unlabeled
        assert row.mean.high - row.mean.low < row.mean.classical_high - row.mean.classical_low
        assert row.mean.equivalent > 1.2 * row.mean.labels
        assert row.mean.low < truth[row.system].classical < row.mean.high
        assert row.needed is not None
        assert row.needed_alone is not None
        assert row.mean.labels < row.needed < row.needed_alone
    (difference,) = one.differences
    assert difference.difference.paired
    assert difference.difference.low < 0.3 < difference.difference.high
    assert any("more texts" in line for line in one.verdict.next_steps)


def test_next_items_are_unrated_and_named(rows: list[dict[str, Any]]) -> None:
    some = judged_texts(100, 3, seed=5, unrated=0.7)
    result = celadon.meta.audit(some, **OPTIONS)
    items = next_items(result.table, "judge.run", 30)
    unrated = {f"{row['id']}/{row['system']}": row["text"] for row in some if row["rater1.overall"] is None}
    assert len({item["id"] for item in items}) == 30
    assert all(unrated[item["id"]] == item["text"] for item in items)
    assert len({item["cell"] for item in items}) < 20
    whole = celadon.meta.audit(rows, **OPTIONS)
    with pytest.raises(InputError, match=r"every text with a score of .* is rated already"):
        next_items(whole.table, "judge.run", 5)


def test_answers_are_added_to_the_ratings() -> None:
    rows = judged_texts(40, 2, seed=6, unrated=0.5)
    answers = [
        {"item": f"{row['id']}/{row['system']}", "question": "overall", "value": value}
        for row in rows
        if row["rater1.overall"] is None
        for value in (2, 4)
    ]
    one = audited(rows, answers=answers)
    assert (audited(rows).rated, one.rated) == (len(rows) - len(answers) // 2, len(rows))
    with pytest.raises(InputError, match="answer 1: the item 'nobody' is not in the table"):
        audited(rows, answers=[{"item": "nobody", "question": "overall", "value": 1}])
    both = [*answers, {**answers[0], "question": "style"}]
    with pytest.raises(UsageError, match="overall, style; choose one with --question"):
        audited(rows, answers=both)
    assert audited(rows, answers=both, question="overall").rated == len(rows)
    with pytest.raises(InputError, match="nobody answered the question 'length'"):
        audited(rows, answers=both, question="length")


def test_ratings_are_packed_to_the_left() -> None:
    nan = np.nan
    gapped = np.array([[nan, 1.0, nan, 2.0], [3.0, nan, nan, nan], [nan] * 4])
    np.testing.assert_array_equal(packed(gapped), [[1.0, 2.0], [3.0, nan], [nan, nan]])


def test_one_rating_a_text_has_no_ceiling_and_says_so() -> None:
    rows = judged_texts(60, 2, raters=1)
    result = celadon.meta.audit(rows, **OPTIONS)
    one = result.judges[0]
    assert result.people is None
    assert math.isnan(one.agreement[0].rater)
    assert not bias(one, "length").corrected
    assert any("no text has two ratings" in note for note in result.notes)
    assert "nobody can say how well people do" in one.verdict.headline


def test_a_judge_that_contradicts_people_is_told_so(rows: list[dict[str, Any]]) -> None:
    turned = [{**row, **{f"judge.run{n}": -row[f"judge.run{n}"] for n in (1, 2, 3)}} for row in rows]
    assert "contradicts people" in audited(turned).verdict.headline
    mended = audited(turned, lower_is_better=["judge.run1", "judge.run2", "judge.run3"])
    assert mended.agreement[0].value == pytest.approx(audited(rows).agreement[0].value)


def test_raters_who_do_not_agree_are_the_first_thing_said(rows: list[dict[str, Any]]) -> None:
    rng = np.random.default_rng(0)
    noise = [{**row, **{f"rater{n}.overall": float(rng.integers(1, 6)) for n in (1, 2, 3)}} for row in rows]
    assert audited(noise).verdict.may_not[0].startswith("Nothing can be said of single texts")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judge": "gpt*"}, "there is no judge's column 'gpt\\*'"),
        ({"judge": "text"}, "row 1: the judge's column 'text' is .* not a number"),
        ({"judge": "rater1.overall"}, "named both as a rating and as a score"),
        ({"human": "rater9"}, "there is no rating column 'rater9'"),
        ({"human": []}, "no rating column was named"),
        ({"judge": {}}, "no judge was named"),
        ({"alternatives": ["length_"]}, "there is no alternative 'length_'"),
        ({"covariates": ["nothing"]}, "there is no covariate 'nothing'"),
        ({"system_field": "model"}, "there is no system column 'model'"),
        ({"text_field": "answer"}, "there is no text column 'answer'"),
        ({"time_field": "text"}, "row 1: the time column 'text' is .*; write numbers or dates"),
        ({"family": {"judge.run": ["gpt*"]}}, "no system is gpt\\*; the systems are system0"),
        ({"family": {"other": ["system0"]}}, "there is no judge 'other'"),
        ({"correlation": "kendall"}, "unknown correlation 'kendall'; known: pearson, spearman"),
        ({"repeats": "days"}, "repetitions are runs or prompts"),
        ({"width": 0.0}, "the width of an interval is above 0"),
    ],
)
def test_what_cannot_be_audited_is_refused(rows: list[dict[str, Any]], options: dict[str, Any], message: str) -> None:
    with pytest.raises(CeladonError, match=message):
        audited(rows, **options)


def test_too_few_ratings_are_refused(rows: list[dict[str, Any]]) -> None:
    few = [{**row, "rater1.overall": None} if at > 2 else row for at, row in enumerate(rows)]
    with pytest.raises(InputError, match=r"3 rows of 320 have both a score of .* and a rating"):
        audited(few, human="rater1.overall")
    with pytest.raises(InputError, match="there are no rows"):
        audited([])


def test_odd_tables_do_not_crash() -> None:
    rows = judged_texts(12, 1, seed=7, runs=1)
    for row in rows:
        row["judge.run1"] = 3.0
    one = audited(rows, gate=3.0)
    assert "the metric is constant" in one.verdict.headline
    bare = [{"judge.run1": float(n), "rater1.overall": float(n % 4)} for n in range(8)]
    assert audited(bare, gate=2.0).agreement[0].used == 8


@pytest.mark.skipif(
    not (DATA / "judgements/hanna_llm_judges.jsonl.gz").exists(), reason="needs hanna_llm_judges in CELADON_DATA"
)
def test_judges_of_stories_are_better_over_systems_than_over_texts() -> None:
    from celadon.io import read_table_rows

    rows = list(read_table_rows(str(DATA / "judgements/hanna_llm_judges.jsonl.gz")))
    judges = [f"{name}.complexity.*" for name in ("beluga-13b", "mistral-7b", "llama-13b", "chatgpt")]
    result = celadon.meta.audit(rows, judge=judges, human="rater*.complexity", repeats="prompts", resamples=200)
    for one in result.judges:
        at = {row.level: row.value for row in one.agreement}
        assert one.repeatability is not None
        assert one.repeatability.repetitions == 4
        assert at["system"] > at["instance"] > 0.2
