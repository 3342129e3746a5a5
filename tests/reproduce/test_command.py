"""``celadon meta reproduce`` from end to end, on small folders in the layout of the real ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from celadon.core import Metric, MetricScores
from celadon.metrics import registry
from celadon.metrics.overlap import Rouge1
from celadon.reproduce.blocks import BEGIN, END
from celadon.scoring.batch import Batch
from tests.reproduce.registered import Gruen

FAST = "rouge1,rougeL,bleu1,bleu2"


def test_all_metrics_take_part_and_every_table_is_there(reproduce: Callable[..., int], tmp_path: Path) -> None:
    assert reproduce() == 0
    made = (tmp_path / "out.md").read_text()
    assert made.startswith(BEGIN)
    assert made.rstrip().endswith(END)
    for title in (
        "GRUEN, Table 2",
        "GRUEN, Table 3",
        "GRUEN, Table 4",
        "GRUEN, Table 8",
        "GRUEN, Table 9",
        "SLOR, Table 3",
        "SLOR, Table 7",
    ):
        assert f"### {title}" in made
    for name in registry.names():
        assert name in made
    assert "formula, combined: is fitted to ratings, and needs a file" in made
    assert "Made by `celadon meta reproduce`;" in made
    assert str(tmp_path) not in made
    assert "rougeW|stemmer:false|weight:1.2|variant:paper|celadon:" in made


def test_what_is_not_run_is_named_with_the_reason(
    reproduce: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce("--metric", "rouge1,sari,meteor", "--without", "meteor", "--json") == 0
    sets = json.loads(capsys.readouterr().out)["sets"]
    assert sets["cnndm"]["not_run"]["meteor"] == "left out by --without"
    assert sets["cnndm"]["not_run"]["ter"] == "not asked for"
    assert sets["cnndm"]["not_run"]["sari"] == "needs source texts, and the set has none"
    assert "meaning representations" in sets["bagel"]["not_run"]["sari"]
    assert sets["sulem"]["not_run"]["rouge1"] == "needs references, and the set has none"
    assert "Not run: rouge1, sari: needs references, and the set has none." in (tmp_path / "out.md").read_text()


def test_a_set_that_is_not_there_prints_no_data(reproduce: Callable[..., int], data: Path, tmp_path: Path) -> None:
    (data / "judgements" / "novikova2017_sfhot.jsonl.gz").unlink()
    assert reproduce("--metric", FAST) == 0
    made = (tmp_path / "out.md").read_text()
    assert "#### SFHOTEL: no data" in made
    assert "#### BAGEL\n" in made
    assert "| SFHOTEL | no data |" in made
    assert "| SFHOTEL | Naturalness | no data (***) | no data (***) | no data (***) |" in made
    for title in ("TAC-2011", "Toutanova et al. (2016)"):
        assert f"#### {title}: no data" in made
    # the paper's own rows stay, in the table of their own data
    assert "| WPSLOR | 0 | no data (0.437) | no data (0.267) |" in made


def test_figures_of_different_data_never_share_a_table(reproduce: Callable[..., int], tmp_path: Path) -> None:
    assert reproduce("--metric", FAST, "--only", "slor3") == 0
    made = (tmp_path / "out.md").read_text()
    own = made[made.index("#### CNN/Daily Mail, in the columns of Table 3") : made.index("<details>")]
    assert "(0.4" not in own
    assert "(0.2" not in own


def test_only_some_tables_need_only_their_data(reproduce: Callable[..., int], data: Path, tmp_path: Path) -> None:
    for file in (data / "judgements").glob("chaganty*"):
        file.write_bytes(b"broken")
    assert reproduce("--metric", FAST, "--only", "gruen3") == 0
    made = (tmp_path / "out.md").read_text()
    assert "GRUEN, Table 3" in made
    assert "Table 2:" not in made
    assert reproduce("--metric", FAST, "--only", "gruen2") == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "gruen5"), "unknown table 'gruen5'"),
        (("--metric", "rouje1"), "did you mean rouge1?"),
        (("--without", "rouje1"), "did you mean rouge1?"),
        (("--metric", "rouge1", "--without", "rouge1"), "no metric is left to run"),
        (("--data", "nowhere"), "there is no such folder of human judgements; give it with --data"),
    ],
)
def test_a_wrong_request_is_one_clear_line(
    reproduce: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    message: str,
) -> None:
    assert reproduce(*options) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out.md").exists()


def test_a_folder_without_judgements_is_said(
    reproduce: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    assert reproduce("--data", str(tmp_path / "empty")) == 2
    assert "has no judgements of CNN/Daily Mail" in capsys.readouterr().err


def test_the_data_are_found_by_the_environment(
    reproduce: Callable[..., int], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CELADON_DATA", str(data))
    assert reproduce("--data", "", "--metric", "rouge1") == 0
    assert "| CNN/Daily Mail |" in (tmp_path / "out.md").read_text()


def test_a_metric_that_fails_is_reported_and_the_others_go_on(
    reproduce: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(self: Metric, batch: Batch) -> MetricScores:
        raise RuntimeError("out of\nluck")

    monkeypatch.setattr(Rouge1, "score", broken)
    assert reproduce("--metric", "rouge1,rouge2", "--json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["sets"]["cnndm"]["not_run"]["rouge1"] == "failed: RuntimeError: out of"
    assert "not run: rouge1: failed: RuntimeError: out of (CNN/Daily Mail, BAGEL, SFHOTEL, SFREST)" in printed.err
    made = (tmp_path / "out.md").read_text()
    assert "Not run: rouge1: failed: RuntimeError: out of." in made
    assert "ROUGE-2: rouge2" in made


def test_a_metric_joins_by_being_registered(
    reproduce: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A metric of the papers' name takes its row, one of no name its own; one without needs runs on every set."""
    monkeypatch.setitem(registry._OURS, "gruen", "registered:Gruen")
    known = registry.metric_class
    monkeypatch.setattr(registry, "metric_class", lambda name: Gruen if name == "gruen" else known(name))
    assert reproduce("--metric", "gruen,rouge1,bleu1") == 0
    made = (tmp_path / "out.md").read_text()
    assert "| GRUEN: gruen | " in made
    begin = made.index("#### GUG dev, in the columns")
    gug = made[begin : made.index("#### Sulem", begin)]
    assert "| gruen | 0 | " in gug
    williams = made[made.index("#### GRUEN against the best baseline") : made.index("#### The best metric at hand")]
    assert "no such metric" not in williams
    assert "| CNN/Daily Mail | Overall | – (***)" not in williams


def test_a_papers_own_data_take_its_rows_once_they_are_there(
    reproduce: Callable[..., int], data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    codes = (6, 7, 9, 11, 12, 14, 21, 22, 24)
    outputs, written = [], []
    for number in range(9):
        source = f"{number}\tnews\tthe cat saw the old river near the house {number}"
        rating = f"{codes[number]}\tmeaning\tgrammar"
        outputs.append(f"{source} ||| the cat saw {'the river ' * number}\tilp\t1\t{rating}")
        written.append(f"{source} ||| the cat saw the old river\t1\t1\t{rating} ||| the cat saw it\t2\t1\t{rating}")
    folder = data / "judgements"
    (folder / "test_output.ilp.tsv").write_text("\n".join(outputs) + "\n")
    (folder / "test.tsv").write_text("\n".join(written) + "\n")
    assert reproduce("--metric", FAST, "--json") == 0
    figures = [f for f in json.loads(capsys.readouterr().out)["figures"] if f["data"] == "Toutanova et al. (2016)"]
    theirs = {(f["table"], f["metric"], f["statistic"]): f["theirs"] for f in figures if f["table"].startswith("slor")}
    assert theirs["slor3", "rougeL", "pearson"] == "0.429*"
    assert theirs["slor3", "rougeL (first reference)", "mse"] == "0.275*"
    assert theirs["slor7", "rougeL", "pearson"] == "0.430"
    made = (tmp_path / "out.md").read_text()
    assert "#### Toutanova et al. (2016)\n" in made
    assert "Not run: WPSLOR: not asked for." in made
