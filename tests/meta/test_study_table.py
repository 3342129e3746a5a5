"""Tables out of rows: nested names, single ratings, which columns are metrics, and their direction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from celadon.cli.meta.tables import known_metric
from celadon.core import Direction, InputError, UsageError
from celadon.meta.study import make_study
from celadon.meta.table import make_ratings, make_table


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
