"""From answers to tables: normalisation, repairs, pairs, flags, and a known correlation found again."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from celadon.cli import main
from celadon.judge.analysis import rated_table
from celadon.judge.conduct import collect, overview
from celadon.judge.experiment import Experiment, new_experiment
from celadon.judge.export import export_bytes, export_rows
from celadon.judge.judged import repair
from celadon.judge.store import Answer, Store
from tests.conftest import ROOT
from tests.judge.conftest import MakeExperiment
from tests.judge.visitors import Visitor, client_of

Say = Callable[[str, str, str], Answer]


def simulate(experiment: Experiment, store: Store, people: int, say: Say, heed: bool = True) -> list[str]:
    """People who answer as ``say`` tells, from person, unit and question."""
    names = []
    for link in store.new_links(people):
        person = store.participant(link)
        assert person is not None
        assert store.begin(person.id)
        names.append(person.id)
        for kept in store.way(person.id):
            answers: dict[tuple[str, str], Answer] = {}
            for unit in experiment.units(kept.page):
                for question in experiment.config.questions:
                    given = say(person.id, unit.key, question.name)
                    if kept.page.kind == "check" and heed:
                        given = Answer(float(experiment.config.checks[0].answer or 0))
                    answers[unit.key, question.name] = given
            assert store.answer(person.id, kept.position, answers)
    return names


def test_ratings_are_normalised_as_the_papers_did(made: MakeExperiment) -> None:
    experiment = made("likert")
    store = Store(experiment)
    numbers = {key: float(1 + at % 7) for at, key in enumerate(experiment.by_key)}
    simulate(experiment, store, 2, lambda person, unit, question: Answer(numbers.get(unit, 1.0)))
    rows = export_rows(experiment, collect(experiment, store))
    assert len(rows) == 2 * 12 * 2
    own = [row for row in rows if row["participant"] == rows[0]["participant"] and row["question"] == "quality"]
    values = np.array([row["value"] for row in own])
    expected = (values - values.mean()) / values.std(ddof=1)
    np.testing.assert_allclose([row["z"] for row in own], expected, atol=1e-12)
    assert {row["item"] for row in own} == set(experiment.by_key)
    # the order in which the texts stood is told: 1, 2, 3 on each of four pages
    assert sorted(row["on_page"] for row in own) == [1] * 4 + [2] * 4 + [3] * 4
    store.close()


def test_magnitudes_go_to_0_and_1_by_their_logarithms(made: MakeExperiment) -> None:
    experiment = made("magnitude", one_page_per_cell=False)
    store = Store(experiment)
    numbers = {key: 10.0 * 2.0**at for at, key in enumerate(experiment.by_key)}
    first, second = simulate(
        experiment, store, 2, lambda person, unit, question: Answer(numbers.get(unit, 1.0) * len(store.people()))
    )
    rows = export_rows(experiment, collect(experiment, store))
    for person in (first, second):
        found = {row["item"]: row["normalised"] for row in rows if row["participant"] == person}
        # powers of two are evenly spaced on a scale of ratios, whatever number a person begins with
        np.testing.assert_allclose([found[key] for key in numbers], np.linspace(0, 1, 12), atol=1e-12)
    store.close()


def test_a_repair_is_counted_in_edits_per_word_of_the_repaired_text() -> None:
    before = "the cats sits on mat"
    assert repair(before, before) == (0.0, 0.0)
    assert repair(before, "the cat sits on mat") == (pytest.approx(1 / 5), 1.0)
    assert repair(before, "the cat sits on the mat") == (pytest.approx(2 / 6), 2.0)
    # a block that moves is one edit
    assert repair("on the mat the cat sits", "the cat sits on the mat") == (pytest.approx(1 / 6), 1.0)
    # case counts: it is one of the things that people repair
    assert repair("the cat", "The cat") == (pytest.approx(1 / 2), 1.0)


def test_repairs_become_hter(made: MakeExperiment) -> None:
    experiment = made("postedit")
    store = Store(experiment)
    simulate(
        experiment, store, 3, lambda person, unit, question: Answer(text="The alpha text of system x."), heed=False
    )
    collected = collect(experiment, store)
    rows = [row for row in export_rows(experiment, collected) if row["cell"] == "alpha"]
    assert rows
    assert {(row["question"], row["edits"], round(row["value"], 6)) for row in rows} == {("hter", 1.0, round(1 / 6, 6))}
    table = rated_table(experiment, collected)
    assert table.humans == ("hter",)
    store.close()


def test_pairs_become_shares_of_wins(made: MakeExperiment) -> None:
    experiment = made("pairwise", one_page_per_cell=False)
    store = Store(experiment)
    rank = {"one": 0, "two": 1, "three": 2}

    def better(person: str, unit: str, question: str) -> Answer:
        first, second = json.loads(unit)
        wins = rank.get(first.rpartition("/")[2], 0) > rank.get(second.rpartition("/")[2], 1)
        return Answer(float(wins), first if wins else second)

    simulate(experiment, store, 3, better, heed=False)
    collected = collect(experiment, store)
    shares = {row["item"]: row["scores.preference"] for row in rated_table(experiment, collected).rows}
    assert shares == {key: rank[key.rpartition("/")[2]] / 2 for key in experiment.by_key}
    assert overview(experiment, collected).agreement[0].alpha == pytest.approx(1.0)
    # a row for each of 3 pairs in 4 cells of 3 people; value 1 means that `item` won
    rows = export_rows(experiment, collected)
    assert len(rows) == 3 * 4 * 3
    assert all(row["value"] == (row["answer"] == row["item"]) for row in rows)
    store.close()


def test_people_are_flagged_for_what_they_did(made: MakeExperiment) -> None:
    experiment = made("likert", seconds_per_page=-1.0)
    store = Store(experiment)
    good = {key: float(1 + at % 7) for at, key in enumerate(experiment.by_key)}
    fine = simulate(experiment, store, 4, lambda person, unit, question: Answer(good.get(unit, 1.0)))
    careless = simulate(experiment, store, 1, lambda person, unit, question: Answer(good.get(unit, 1.0)), heed=False)
    contrary = simulate(experiment, store, 1, lambda person, unit, question: Answer(8 - good.get(unit, 1.0)))
    bored = simulate(experiment, store, 1, lambda person, unit, question: Answer(4.0))
    collected = collect(experiment, store)
    flags = {person.participant: person.flags for person in collected.conduct}
    assert [flags[name] for name in fine] == [()] * 4
    assert flags[careless[0]] == ("failed 1 of 1 checks",)
    assert len(flags[contrary[0]]) == 1
    assert flags[contrary[0]][0].startswith("correlation of -1.00")
    assert flags[bored[0]] == ("the same answer throughout",)
    without = rated_table(experiment, collected, without=collected.flagged)
    assert without.people == 4
    assert len(without.rows[0]["ratings.quality"]) == 4
    store.close()


def test_all_three_formats_say_the_same(made: MakeExperiment) -> None:
    experiment = made("postedit")
    store = Store(experiment)
    simulate(
        experiment, store, 2, lambda person, unit, question: Answer(text='=HYPERLINK("x"), "é"\nand\tmore'), heed=False
    )
    rows = export_rows(experiment, collect(experiment, store))
    tables = {
        "jsonl": pl.read_ndjson(io.BytesIO(export_bytes(rows, "jsonl"))),
        "parquet": pl.read_parquet(io.BytesIO(export_bytes(rows, "parquet"))),
        "csv": pl.read_csv(io.BytesIO(export_bytes(rows, "csv")), infer_schema_length=None),
    }
    for name, table in tables.items():
        assert table.height == len(rows)
        assert table["participant"].to_list() == [row["participant"] for row in rows]
        np.testing.assert_allclose(table["value"].cast(pl.Float64).to_numpy(), [row["value"] for row in rows])
        # only in CSV, which is opened in spreadsheets, may a text not begin like a formula
        begins = "'=HYPERLINK" if name == "csv" else "=HYPERLINK"
        assert all(answer.startswith(begins) for answer in table["answer"])
    store.close()


QUALITY_SHARE, NOISE, SCALE = 0.8, 0.7, 1.2


def known_truth(keys: list[str], seed: int) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Qualities, and a metric that has the wanted correlation with them in the long run."""
    draw = np.random.default_rng(seed)
    quality = draw.standard_normal(len(keys))
    metric = QUALITY_SHARE * quality + math.sqrt(1 - QUALITY_SHARE**2) * draw.standard_normal(len(keys))
    return dict(zip(keys, quality, strict=True)), dict(zip(keys, metric, strict=True))


def expected_correlation(people: int) -> float:
    """What the noise of people and of whole numbers leaves of the correlation (classical test theory)."""
    noise = NOISE**2 + (1 / 12) / SCALE**2
    return QUALITY_SHARE / math.sqrt(1 + noise / people)


def test_the_experiment_of_2000_finds_a_known_correlation_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ten people of known noise, through the pages to the report; the paper's number of items and judgements."""
    folder = ROOT / "examples" / "judge-2000"
    rows = [json.loads(line) for line in (folder / "items.jsonl").read_text(encoding="utf-8").splitlines()]
    quality, metric = known_truth([row["id"] for row in rows], seed=2000)
    items = tmp_path / "items.jsonl"
    items.write_text("".join(json.dumps({**row, "known": metric[row["id"]]}) + "\n" for row in rows), encoding="utf-8")
    experiment, _ = new_experiment(tmp_path / "study", str(items), None, config=folder / "experiment.toml")
    store = Store(experiment)
    draw = np.random.default_rng(1)
    client = client_of(experiment, store)
    for _ in range(10):
        client.cookies.clear()
        visitor = Visitor(client, experiment, store)
        visitor.agree()
        middle, spread = 4 + draw.normal(0, 0.4), SCALE * draw.uniform(0.8, 1.2)
        for kept in store.way(visitor.id):
            fields = {"form_token": visitor.token}
            for at, key in enumerate(kept.page.items):
                for question in experiment.config.questions:
                    felt = quality[key] + NOISE * draw.standard_normal()
                    fields[f"{at}.{question.name}"] = str(int(np.clip(round(middle + spread * felt), 1, 7)))
            assert client.post(f"/task/{kept.position}", data=fields).status_code == 303
    assert all(person.completed for person in store.people())
    # ten people of 24 items and two questions
    assert len(store.all_ratings()) == 10 * 24 * 2
    store.close()
    capsys.readouterr()
    command = ["judge", "analyse", str(experiment.folder), "--json", "--resamples", "400"]
    assert main([*command, "--report", str(tmp_path / "r.html")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["metrics"] == ["known"]
    assert report["humans"] == ["understandability", "quality"]
    whole = [row for row in report["correlations"] if not row["group"] and row["level"] == "instance"]
    assert len(whole) == 2
    for row in whole:
        assert row["low"] <= expected_correlation(10) <= row["high"]
        assert row["used"] == 24
        # an interval that would hold anything proves nothing
        assert row["high"] - row["low"] < 0.6
    assert all(row["raters"] == 10 and row["ceiling"] > 0.9 for row in report["agreements"])
    assert "<html" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_metrics_are_computed_where_they_are_asked_for(
    made: MakeExperiment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = made("likert")
    store = Store(experiment)
    draw = np.random.default_rng(3)
    simulate(experiment, store, 3, lambda person, unit, question: Answer(float(draw.integers(1, 8))))
    store.close()
    table = tmp_path / "table.jsonl"
    assert main(["judge", "analyse", str(experiment.folder), "--output", str(table)]) == 0
    assert "there are no metrics" in capsys.readouterr().out
    command = ["judge", "analyse", str(experiment.folder), "--metric", "rougeL,chrf", "--output", str(table)]
    assert main([*command, "--resamples", "50"]) == 0
    printed = capsys.readouterr().out
    assert "rougeL" in printed
    row = json.loads(table.read_text(encoding="utf-8").splitlines()[0])
    assert {"rougeL", "chrf", "scores.quality", "ratings.quality", "id", "system"} <= set(row)
    assert row["id"] == "alpha"
    assert len(row["ratings.quality"]) == 3
    # the table is one that celadon meta reads as it is
    assert main(["meta", "correlate", str(table), "--human", "quality", "--resamples", "50"]) == 0
