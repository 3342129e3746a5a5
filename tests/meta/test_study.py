"""Tables out of rows: nested names, single ratings, which columns are metrics, and their direction."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from celadon.cli.meta.tables import known_metric
from celadon.core import Direction, InputError, UsageError
from celadon.meta.study import PARTS, Study, make_study
from celadon.meta.study.people import rating_levels
from celadon.meta.table import Table, make_ratings, make_table


def many(row: dict[str, Any], count: int = 4) -> list[dict[str, Any]]:
    return [{key: at if value == "#" else value for key, value in row.items()} for at in range(count)]


def test_a_nested_rating_is_found_and_a_literal_name_goes_first() -> None:
    rows = [{"scores": {"overall": n}, "m": n} for n in range(4)]
    for name in ("overall", "scores.overall"):
        assert make_table(rows, humans=[name]).columns[name].tolist() == [0, 1, 2, 3]
    both = [{"scores": {"overall": n}, "scores.overall": 10 + n, "m": n} for n in range(4)]
    assert make_table(both, humans=["scores.overall"]).columns["scores.overall"].tolist() == [10, 11, 12, 13]
    plain = [{"scores": {"overall": n}, "overall": 20 + n, "m": n} for n in range(4)]
    assert make_table(plain, humans=["overall"]).columns["overall"].tolist() == [20, 21, 22, 23]


@pytest.mark.parametrize(
    "row",
    [
        {"ratings": {"overall": [1, 2, 6]}, "overall": 2.5},
        {"ratings.overall": "[1, 2, 6]", "overall": "2.5"},
        {"overall": [1, 2, 6]},
        {"overall.1": 1, "overall.2": "2", "overall.10": 6},
        {"scores.overall": 2.5, "ratings.overall": [1, 2, 6]},
    ],
)
def test_single_ratings(row: dict[str, Any]) -> None:
    table = make_table(many({**row, "m": "#"}), humans=["overall"])
    assert table.ratings["overall"].tolist() == [[1, 2, 6]] * 4
    # the published rating stands where there is one; else it is the mean
    assert table.columns["overall"][0] == (2.5 if 2.5 in row.values() or "2.5" in row.values() else 3.0)
    assert table.metrics == ("m",)


def test_lists_of_different_lengths_have_gaps() -> None:
    ratings = make_ratings([{"overall": [1, 2]}, {"overall": [3]}, {"overall": None}], humans=["overall"])["overall"]
    np.testing.assert_array_equal(ratings, [[1, 2], [3, np.nan], [np.nan, np.nan]])


def test_registered_metrics_are_taken_and_their_parts_are_not() -> None:
    row = {
        "id": "x",
        "overall": "#",
        "rougeW[weight=1.5]": "#",
        "rougeW[weight=1.5].precision": "#",
        "ter": "#",
        "ter[case_sensitive=true]": "#",
        "length": "#",
        "text": "words",
    }
    table = make_table(many(row), humans=["overall"], known=known_metric)
    assert table.metrics == ("rougeW[weight=1.5]", "ter", "ter[case_sensitive=true]")
    assert table.lower_is_better == {"ter", "ter[case_sensitive=true]"}
    assert table.parts("rougeW[weight=1.5]") == ("rougeW[weight=1.5].precision",)
    assert "length" in table.columns
    assert table.texts == ("words",) * 4
    assert known_metric("rougeL") is Direction.HIGHER
    assert known_metric("rougeL.precision") is None


def test_without_registered_metrics_every_other_numeric_column_is_one() -> None:
    row = {"id": 7, "overall": "#", "scores.grammar": "#", "mine": "#", "mine.part": "#", "hter": "#", "note": "x"}
    table = make_table(many(row), humans=["overall"])
    assert table.metrics == ("mine", "hter")
    assert table.lower_is_better == {"hter"}
    asked = make_table(many(row), humans=["overall"], metrics=["mine.part"], lower_is_better=["mine.part"])
    assert asked.metrics == ("mine.part",)
    np.testing.assert_array_equal(asked.good("mine.part"), [0, -1, -2, -3])


def test_systems_domains_items_by_their_usual_and_by_other_names() -> None:
    rows = [{"id": 1, "system": "a", "domain": None, "model": {"name": "b"}, "o": n, "m": n} for n in range(3)]
    table = make_table(rows, humans=["o"])
    assert (table.items, table.systems, table.domains) == (("1",) * 3, ("a",) * 3, None)
    assert make_table(rows, humans=["o"], system_field="model.name").systems == ("b",) * 3
    assert table.name_of(2) == "1 a"
    with pytest.raises(InputError, match="no item column 'document'"):
        make_table(rows, humans=["o"], item_field="document")


@pytest.mark.parametrize("nothing", [None, "", "NaN", "null", "n/a", "-", float("nan")])
def test_what_is_nothing(nothing: object) -> None:
    rows = [{"o": n, "m": n} for n in range(3)]
    table = make_table([*rows, {"o": nothing, "m": 1}], humans=["o"])
    assert np.isnan(table.columns["o"][3])


def test_errors_name_the_row_and_the_value() -> None:
    rows = [{"o": n, "m": n} for n in range(3)]
    with pytest.raises(InputError, match=r"row 4: the rating column 'o' is 'fine', not a number"):
        make_table([*rows, {"o": "fine", "m": 1}], humans=["o"])
    with pytest.raises(InputError, match=r"row 4: the rating column 'o' is 'x', not a number"):
        make_table([*rows, {"o": [1, "x"], "m": 1}], humans=["o"])
    with pytest.raises(InputError, match="2 rows of 2 have both"):
        make_table(rows[:2], humans=["o"])
    with pytest.raises(InputError, match="no rows of 4 have both"):
        make_table(many({"o": None, "m": 1}), humans=["o"])
    with pytest.raises(InputError, match="there are no rows"):
        make_table([], humans=["o"])
    with pytest.raises(UsageError, match="no rating was named"):
        make_table(rows, humans=[])


def test_rows_are_not_changed() -> None:
    rows = [{"scores": {"o": n}, "m": [n]} for n in range(3)]
    before = repr(rows)
    make_table([{**row, "x": 1.0 * at} for at, row in enumerate(rows)], humans=["o"])
    assert repr(rows) == before


def test_columns_that_nobody_named_are_told() -> None:
    rows = [
        {"overall": n % 5, "rougeL": n / 9, "rougeL.recall": n / 8, "mine": -n, "scores.other": n} for n in range(9)
    ]
    known = known_metric
    table = make_table(rows, humans=["overall"], known=known)
    assert table.metrics == ("rougeL",)
    assert table.passed_over == ("mine",)
    assert make_table(rows, humans=["overall"], metrics=["rougeL", "mine"], known=known).passed_over == ()
    notes = make_study(table, resamples=20).notes
    assert "not taken for metrics, because they were not named: mine" in notes


SYSTEMS, ITEMS = 4, 12


def made_up() -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    rows = []
    for item in range(ITEMS):
        for system in range(SYSTEMS):
            quality = rng.normal() + 0.5 * system
            ratings = np.clip(np.round(3 + quality + 0.5 * rng.normal(size=3)), 1, 5)
            good, less = quality + rng.normal(), -quality + 2 * rng.normal()
            rows.append(
                {
                    "id": f"i{item}",
                    "system": f"s{system}",
                    "domain": ["news", "chat"][item % 2],
                    "text": f"text {item} {system}",
                    "overall": ratings.tolist(),
                    "hter": -quality,
                    "good": good,
                    "good.a": 0.25 * good + 1,
                    "good.b": 0.75 * good - 1,
                    "less": less if item else None,
                }
            )
    return rows


@pytest.fixture(scope="module")
def table() -> Table:
    return make_table(made_up(), humans=["overall", "hter"], lower_is_better=["less"])


@pytest.fixture(scope="module")
def study(table: Table) -> Study:
    return make_study(table, resamples=100)


def test_every_part_is_there(study: Study) -> None:
    assert all(getattr(study, part) for part in PARTS)
    assert study.table.metrics == ("good", "less")
    assert study.table.lower_is_better == {"less", "hter"}
    assert (study.seed, study.resamples) == (20000601, 100)


def test_agreement_is_positive_whichever_way_either_side_counts(study: Study) -> None:
    whole = [row for row in study.correlations if not row.group and row.level == "instance"]
    assert len(whole) == 4
    for row in whole:
        assert row.value > 0
        x, y = study.column(row.metric), study.column(row.human)
        there = np.isfinite(x)
        assert row.value == pytest.approx(abs(stats.pearsonr(x[there], y[there]).statistic))
        assert row.nulls == (SYSTEMS if row.metric == "less" else 0)


def test_parts_and_levels_are_chosen_and_checked(table: Table) -> None:
    some = make_study(table, parts=["correlations"], levels=["system"], groups=(), resamples=0)
    assert {row.level for row in some.correlations} == {"system"}
    assert some.comparisons == ()
    assert math.isnan(some.correlations[0].low)
    with pytest.raises(UsageError, match="no part 'plots'"):
        make_study(table, parts=["plots"])
    with pytest.raises(UsageError, match="unknown level"):
        make_study(table, levels=["word"])  # type: ignore[list-item]
    ticks: list[tuple[int, int]] = []
    make_study(table, parts=["correlations"], resamples=0, tick=lambda done, total: ticks.append((done, total)))
    assert ticks[-1][0] == ticks[-1][1] == len(ticks)


def test_pairwise_accuracies(study: Study) -> None:
    row = next(row for row in study.accuracies if (row.metric, row.human) == ("good", "overall"))
    x = study.column("good").reshape(ITEMS, SYSTEMS)
    y = study.column("overall").reshape(ITEMS, SYSTEMS)

    def accuracy(threshold: float) -> float:
        right = []
        for scores, people in zip(x, y, strict=True):
            for one, other in combinations(range(SYSTEMS), 2):
                difference = scores[one] - scores[other]
                said = 0.0 if abs(difference) <= threshold else np.sign(difference)
                right.append(said == np.sign(people[one] - people[other]))
        return float(np.mean(right))

    thresholds = [0.0, *(abs(s[i] - s[j]) for s in x for i, j in combinations(range(SYSTEMS), 2))]
    assert row.pairwise == pytest.approx(max(map(accuracy, thresholds)))
    assert accuracy(row.tie_threshold) == pytest.approx(row.pairwise)
    means = x.mean(axis=0), y.mean(axis=0)
    pairs = combinations(range(SYSTEMS), 2)
    expected = np.mean([np.sign(means[0][i] - means[0][j]) == np.sign(means[1][i] - means[1][j]) for i, j in pairs])
    assert row.system_pairwise == pytest.approx(expected)
    assert 0 <= row.soft_pairwise <= 1


def test_disagreements_rank_from_worst_to_best(study: Study) -> None:
    rows = [row for row in study.disagreements if (row.metric, row.human) == ("good", "hter")]
    assert len(rows) == 10
    gaps = [abs(row.metric_rank - row.human_rank) for row in rows]
    assert gaps == sorted(gaps, reverse=True)
    for row in rows:
        better = np.mean(study.column("hter") > row.human_value)
        assert row.human_rank == pytest.approx(better * ITEMS * SYSTEMS / (ITEMS * SYSTEMS - 1))
        assert row.human_value == study.column("hter")[row.row]


def test_levels(study: Study) -> None:
    rows = [row for row in study.levels if (row.metric, row.human) == ("good", "overall")]
    assert 2 <= len(rows) <= 7
    assert sum(row.count for row in rows) == ITEMS * SYSTEMS
    for row in rows:
        assert row.quartiles == tuple(sorted(row.quartiles))
    assert [label for label, _ in rating_levels(np.array([1.0, 2, 2, 5, np.nan]))] == ["1", "2", "5"]
    means = np.linspace(1, 5, 41)
    assert [label for label, _ in rating_levels(means)] == ["1", "2", "3", "4", "5"]
    fine = rating_levels(np.linspace(0, 1, 101))
    assert len(fine) == 5
    assert sum(int(members.sum()) for _, members in fine) == 101
    assert rating_levels(np.array([np.nan])) == []


def test_ablation_finds_how_the_parts_make_the_metric(study: Study) -> None:
    rows = [row for row in study.ablations if row.human == "overall"]
    assert [row.without for row in rows] == ["", "a", "b"]
    assert rows[0].combination == "sum"
    whole = next(row for row in study.correlations if (row.metric, row.human, row.group) == ("good", "overall", ""))
    assert rows[0].value == pytest.approx(whole.value)


def test_parts_that_do_not_add_up_are_fitted() -> None:
    rng = np.random.default_rng(0)
    a, b, human = rng.normal(size=(3, 30))
    rows = [{"human": h, "m": x * y, "m.a": x, "m.b": y, "m.c": 7.0} for x, y, h in zip(a, b, human, strict=True)]
    (full, *_) = make_study(make_table(rows, humans=["human"]), parts=["ablations"]).ablations
    assert full.combination == "best fit"
    design = np.column_stack([np.ones(30), a, b])
    fitted = design @ np.linalg.lstsq(design, human, rcond=None)[0]
    assert full.value == pytest.approx(stats.pearsonr(fitted, human).statistic)


def test_between_metrics_is_symmetric(study: Study) -> None:
    there = np.isfinite(study.column("less"))
    expected = stats.pearsonr(study.column("good")[there], -study.column("less")[there]).statistic
    assert study.between_metrics["good", "less"] == pytest.approx(expected)
    assert study.between_metrics["less", "good"] == study.between_metrics["good", "less"]
    assert study.between_metrics["good", "good"] == 1.0


def test_notes_say_what_is_shown_and_what_is_not(study: Study) -> None:
    said = "\n".join(study.notes)
    assert "overall, over all texts: good agrees best of 2 metrics (pearson 0." in said
    assert "less: 4 of 48 rows have no score" in said
    assert "even a perfect metric would reach a correlation of about 0." in said
    (row,) = [row for row in study.comparisons if row.human == "overall"]
    claim = f"good agrees with overall better than less ({row.first_value:.3f} against {row.second_value:.3f}"
    assert (claim if row.shown else f"not shown: that {claim}") in said


def test_raters_who_agree_on_nothing_have_a_reason() -> None:
    rows = [{"overall": [3, 3], "m": n} for n in range(5)]
    (row,) = make_study(make_table(rows, humans=["overall"]), resamples=0).agreements
    assert math.isnan(row.ceiling)
    assert row.reason == "no two ratings differ"


def test_texts_without_items_and_systems() -> None:
    rng = np.random.default_rng(1)
    rows = [{"overall": float(r), "a": float(x), "b": float(y)} for r, x, y in rng.normal(size=(30, 3))]
    study = make_study(make_table(rows, humans=["overall"]), resamples=50, test="permutation")
    assert study.accuracies == ()
    assert study.agreements == ()
    assert {row.level for row in study.correlations} == {"instance"}
    (comparison,) = study.comparisons
    assert 0 < comparison.pvalue <= 1
    assert comparison.used == 30
