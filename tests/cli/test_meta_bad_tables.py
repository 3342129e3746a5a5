"""``celadon meta`` on tables that cannot be used: a clear line each, never a traceback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_score import celadon, write_rows


def rows(count: int, **fixed: Any) -> list[object]:
    return [
        {"id": f"i{n}", "system": f"s{n % 3}", "overall": n % 5, "rougeL": n / 7, "chrf": (n * n) % 11, **fixed}
        for n in range(count)
    ]


def refused(*arguments: str) -> str:
    done = celadon("meta", *arguments)
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert done.stderr.startswith("celadon: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "t.jsonl", rows(9))
    said = refused("correlate", str(path), "--human", "overal")
    assert f"{path}: there is no rating column 'overal'; did you mean overall? the columns are id, system" in said
    said = refused("compare", str(path), "--human", "overall", "--metric", "rougeL,bleurt")
    assert "no metric column 'bleurt'" in said
    said = refused("correlate", str(path), "--human", "overall", "--system-field", "model")
    assert "no system column 'model'" in said
    said = refused("correlate", str(path), "--human", "overall", "--lower-is-better", "wer")
    assert "'wer'" in said


def test_no_rating_and_no_metric(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "t.jsonl", [{"id": str(n), "overall": n} for n in range(5)])
    assert "--human overall" in refused("correlate", str(path))
    assert "there is no metric" in refused("correlate", str(path), "--human", "overall")
    path = write_rows(tmp_path / "one.jsonl", [{"overall": n, "rougeL": n} for n in range(5)])
    assert "needs two metrics" in refused("compare", str(path), "--human", "overall")
    assert "both as a metric and as a rating" in refused(
        "correlate", str(path), "--human", "overall", "--metric", "overall"
    )


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_text_in_a_rating_column_is_shown_with_its_place(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        path.write_text("overall,rougeL\n1,0.1\n2,0.2\ngood,0.3\n3,0.2\n", encoding="utf-8")
        line = 4
    else:
        write_rows(path, [*rows(4), {"overall": "good", "rougeL": 1}])
        line = 5
    said = refused("correlate", str(path), "--human", "overall")
    assert f"{path}:{line}: the rating column 'overall' is 'good', not a number; leave the cell empty" in said


def test_text_in_a_metric_that_was_asked_for(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "t.jsonl", [*rows(4), {"overall": 1, "chrf": "high"}])
    said = refused("correlate", str(path), "--human", "overall", "--metric", "chrf")
    assert f"{path}:5: the metric column 'chrf' is 'high'" in said


def test_one_system(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "t.jsonl", rows(9, system="ours"))
    said = refused("correlate", str(path), "--human", "overall", "--level", "system")
    assert "needs at least 3 systems, and all rows are of one (ours)" in said
    # where the level is not asked for, what can be done is done
    done = celadon("meta", "correlate", str(path), "--human", "overall")
    assert done.returncode == 0
    assert "over systems" not in done.stdout


def test_levels_without_their_columns(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "t.jsonl", [{"overall": n % 4, "rougeL": n} for n in range(9)])
    assert "--system-field" in refused("correlate", str(path), "--human", "overall", "--level", "system")
    assert "--item-field" in refused("correlate", str(path), "--human", "overall", "--level", "within-item")
    path = write_rows(tmp_path / "alone.jsonl", rows(9))
    assert "here each has one" in refused("correlate", str(path), "--human", "overall", "--level", "within-item")


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_rows(tmp_path: Path, count: int) -> None:
    path = write_rows(tmp_path / "t.jsonl", rows(count))
    for question in (["correlate"], ["compare"], ["regress", "--predictors", "rougeL"]):
        said = refused(question[0], str(path), "--human", "overall", *question[1:])
        assert f"{count} row" in said
        assert "at least 3 are needed" in said


def test_three_rows_give_what_three_rows_can(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "t.jsonl", rows(3))
    done = celadon("meta", "correlate", str(path), "--human", "overall", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["correlations"]
    assert next(row for row in found if row["metric"] == "rougeL")["value"] == pytest.approx(1.0)
    done = celadon("meta", "compare", str(path), "--human", "overall")
    assert done.returncode == 0, done.stderr
    assert "not compared: rougeL and chrf with overall: fewer than 4 rows" in done.stdout


def test_all_ties_are_a_stated_reason(tmp_path: Path) -> None:
    tied = write_rows(tmp_path / "tied.jsonl", rows(9, overall=3))
    done = celadon("meta", "correlate", str(tied), "--human", "overall", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {row["value"] for row in found["correlations"]} == {None}
    assert found["correlations"][0]["reason"] == "the human scores are constant"
    flat = write_rows(tmp_path / "flat.jsonl", rows(9, rougeL=0.5))
    done = celadon("meta", "correlate", str(flat), "--human", "overall")
    assert done.returncode == 0, done.stderr
    assert "no correlation of rougeL with overall over all texts: the metric is constant" in done.stdout
    done = celadon("meta", "compare", str(flat), "--human", "overall")
    assert "not compared: rougeL and chrf with overall: the metric is constant" in done.stdout
    said = refused("regress", str(tied), "--human", "overall", "--predictors", "rougeL")
    assert "the same overall" in said


def test_broken_files(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"overall": 1, "m": 2}\n{"overall": \n', encoding="utf-8")
    assert f"{path}:2: not valid JSON" in refused("correlate", str(path), "--human", "overall")
    assert "no such file" in refused("correlate", str(tmp_path / "none.csv"), "--human", "overall")
    ragged = tmp_path / "t.csv"
    ragged.write_text("overall,m\n1,2\n3\n", encoding="utf-8")
    assert f"{ragged}:3: too few cells" in refused("correlate", str(ragged), "--human", "overall")


def test_references_need_two_of_them(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "t.jsonl", rows(5, text="a cat", references=["a dog"]))
    assert "fewer than two different references" in refused("references", str(path), "--human", "overall")
    path = write_rows(tmp_path / "none.jsonl", rows(5))
    assert "no text" in refused("references", str(path), "--human", "overall")
