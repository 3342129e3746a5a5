"""The figures against scipy and numpy on numbers that the test reads by itself."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import celadon
from celadon.core import UsageError
from celadon.reproduce import published
from celadon.reproduce.blocks import BEGIN, END, replaced
from tests.conftest import builtin_is_there, missing_part

METRICS = ("rouge1", "rougeL", "ter", "bleu1")
KINDS: dict[str, Callable[..., Any]] = {
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
    "pearson": stats.pearsonr,
}


def _rows(data: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(data / "judgements" / name, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return [row for row in rows if row.get("system") != "reference"]


def _scores(rows: list[dict[str, Any]]) -> celadon.Scores:
    references = [row.get("references") or [row["reference"]] for row in rows]
    return celadon.score([row["output"] for row in rows], references, metrics=list(METRICS))


def _human(rows: list[dict[str, Any]], rating: str) -> npt.NDArray[np.float64]:
    return np.array([row["scores"][rating] for row in rows], dtype=float)


@pytest.fixture
def figures(reproduce: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Every figure of a run."""
    assert reproduce("--metric", ",".join(METRICS), "--json") == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["figures"]
    return found


def _of(figures: list[dict[str, Any]], table: str, data: str, metric: str) -> list[dict[str, Any]]:
    found = [f for f in figures if (f["table"], f["data"], f["metric"]) == (table, data, metric)]
    assert found
    return found


@pytest.mark.parametrize(
    ("table", "title", "file"),
    [
        ("gruen2", "CNN/Daily Mail", "chaganty2018_cnndm.jsonl.gz"),
        ("gruen3", "BAGEL", "novikova2017_bagel.jsonl.gz"),
        ("gruen3", "SFREST", "novikova2017_sfres.jsonl.gz"),
    ],
)
def test_correlations_equal_scipy(figures: list[dict[str, Any]], data: Path, table: str, title: str, file: str) -> None:
    rows = _rows(data, file)
    scores = _scores(rows)
    for shown, metric, sign in (("ROUGE-L: rougeL", "rougeL", 1), ("TER: ter", "ter", -1)):
        for figure in _of(figures, table, title, shown):
            expected = KINDS[figure["statistic"]](sign * scores[metric], _human(rows, figure["rating"])).statistic
            assert figure["ours"] == pytest.approx(expected, abs=1e-12)
            assert (figure["count"], figure["nulls"]) == (len(rows), 0)
            assert figure["low"] < figure["ours"] < figure["high"]


def test_embeddings_and_movers_stand_in_the_rows_of_the_paper(
    reproduce: Callable[..., int], data: Path, tmp_path: Path
) -> None:
    if not builtin_is_there():
        missing_part("the builtin encoder", "train it, or check out its weights")
    names = ("wmd", "smd", "s_wmd", "moverscore", "bertscore")
    assert reproduce("--metric", ",".join(names), "--only", "gruen3,gruen4") == 0
    made = (tmp_path / "out.md").read_text()
    rows = _rows(data, "novikova2017_bagel.jsonl.gz")
    references = [list(dict.fromkeys(row["references"])) for row in rows]
    scores = celadon.score([row["output"] for row in rows], references, metrics=list(names))

    def rho(name: str, rating: str) -> float:
        return float(stats.spearmanr(scores[name], _human(rows, rating), nan_policy="omit").statistic)

    first = next(line for line in made.splitlines() if line.startswith("| MoverScore: moverscore"))
    assert f"| {rho('moverscore', 'naturalness'):.3f} (0.07) |" in first
    # what is called best is so on average over both of the paper's ratings
    average = {name: rho(name, "naturalness") + rho(name, "quality") for name in names[:3]}
    best = next(line for line in made.splitlines() if line.startswith("| WMD-best: "))
    assert best.startswith(f"| WMD-best: {max(average, key=lambda name: average[name])} ")
    assert "| bertscore " in made
    assert "Xu et al. (2016): no data" in made
    assert "– (0.62)" in made


def test_reliable_items_are_those_whose_raters_agree(figures: list[dict[str, Any]], data: Path) -> None:
    rows = [
        row
        for row in _rows(data, "chaganty2018_cnndm.jsonl.gz")
        if row["ratings"] and len(set(row["ratings"]["overall"])) == 1
    ]
    scores = _scores(rows)
    for figure in _of(figures, "gruen9", "CNN/Daily Mail, reliable items", "TER: ter"):
        expected = KINDS[figure["statistic"]](-scores["ter"], _human(rows, figure["rating"])).statistic
        assert figure["ours"] == pytest.approx(expected, abs=1e-12)
        assert figure["count"] == len(rows)


def test_errors_after_the_fit_equal_numpy(figures: list[dict[str, Any]], data: Path) -> None:
    rows = _rows(data, "novikova2017_bagel.jsonl.gz")
    single = [{**row, "references": row["references"][:1]} for row in rows]
    for name, scores in (("rougeL", _scores(rows)["rougeL"]), ("rougeL (first reference)", _scores(single)["rougeL"])):
        for figure in _of(figures, "slor3", "BAGEL", name):
            human = _human(rows, figure["rating"])
            line = np.polynomial.Polynomial.fit(scores, human, 1)
            expected = {"mse": np.mean((line(scores) - human) ** 2), "pearson": stats.pearsonr(scores, human).statistic}
            assert figure["ours"] == pytest.approx(expected[figure["statistic"]], abs=1e-9)


def test_post_edits_are_turned_round_only_in_our_own_columns(figures: list[dict[str, Any]]) -> None:
    def r(table: str, metric: str) -> float:
        found = _of(figures, table, "CNN/Daily Mail", metric)
        return float(next(f["ours"] for f in found if (f["rating"], f["statistic"]) == ("hter", "pearson")))

    assert r("gruen2", "ROUGE-1: rouge1") == pytest.approx(-r("slor3", "rouge1"))


def test_williams_of_the_best_and_the_next(figures: list[dict[str, Any]], data: Path) -> None:
    rows = _rows(data, "novikova2017_bagel.jsonl.gz")
    scores, human = _scores(rows), _human(rows, "quality")
    columns = {name: -scores[name] if name == "ter" else scores[name] for name in METRICS}
    order = sorted(METRICS, key=lambda name: -stats.pearsonr(columns[name], human).statistic)[:2]
    matrix = np.corrcoef([columns[order[0]], columns[order[1]], human])
    a, b, between, n = matrix[0, 2], matrix[1, 2], matrix[0, 1], len(rows)
    below = 2 * (n - 1) / (n - 3) * np.linalg.det(matrix) + ((a + b) / 2) ** 2 * (1 - between) ** 3
    expected = stats.t.sf((a - b) * np.sqrt((n - 1) * (1 + between) / below), n - 3)
    found = [
        f
        for f in _of(figures, "gruen8", "BAGEL", f"{order[0]} > {order[1]}")
        if (f["rating"], f["statistic"]) == ("quality", "williams p of pearson")
    ]
    assert found[0]["ours"] == pytest.approx(expected, rel=1e-9)


def test_best_versions_of_the_papers_are_among_their_single_versions() -> None:
    """A guard of the transcription: what Tables 2 and 3 call best is a row of Tables 14 and 15."""
    for table, kinds in (
        (published.GRUEN_2_CNNDM | published.GRUEN_14_CNNDM, {"BLEU-best": "BLEU-4", "ROUGE-best": "ROUGE-1"}),
        *((published.dialogue(name), {"BLEU-best": "BLEU-4", "ROUGE-best": "ROUGE-2"}) for name in ("bagel", "sfrest")),
    ):
        for best, single in kinds.items():
            first = {place[1:]: value for place, value in table.items() if place[0] == best}
            assert first
            assert first == {place[1:]: value for place, value in table.items() if place[0] == single}


MADE = f"{BEGIN}\nnew\n{END}\n"


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=30))
def test_only_the_section_changes(before: bytes, after: bytes, old: bytes) -> None:
    content = before + BEGIN.encode() + old + END.encode() + after
    assert replaced(content, MADE, "x") == before + MADE.strip().encode() + after


@given(st.binary(max_size=60))
def test_where_there_is_no_section_it_is_appended_and_then_replaced(content: bytes) -> None:
    once = replaced(content, MADE, "x")
    assert once.startswith(content)
    assert once.endswith(MADE.encode())
    assert replaced(once, MADE, "x") == once


@pytest.mark.parametrize("content", [BEGIN, END, f"{END} {BEGIN}", f"{BEGIN}{BEGIN}{END}{END}"])
def test_marks_that_do_not_pair_are_refused(content: str) -> None:
    with pytest.raises(UsageError, match=r"results\.md"):
        replaced(content.encode(), MADE, "results.md")


def test_a_run_leaves_the_rest_byte_for_byte(reproduce: Callable[..., int], tmp_path: Path) -> None:
    before = b"# Results\r\n\r\nby hand \xff\xfe\n\n"
    after = b"\n\n## More\r\nno newline at the end"
    file = tmp_path / "out.md"
    file.write_bytes(before + f"{BEGIN}\nold\n{END}".encode() + after)
    assert reproduce("--metric", "rouge1", "--only", "gruen3") == 0
    first = file.read_bytes()
    assert first.startswith(before + BEGIN.encode())
    assert first.endswith(END.encode() + after)
    assert b"old" not in first
    assert b"#### BAGEL" in first
    assert reproduce("--metric", "rouge1", "--only", "gruen3") == 0
    assert file.read_bytes() == first
    assert not list(tmp_path.glob(".celadon-*"))
