"""What works after a plain ``pip install celadon-text``, and what names the extra that it needs."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from celadon.cli import main
from celadon.cli.extras import GIVES, requirements_of_extras
from tests.core_only import Result, blocked_modules, core_distributions, run_commands

METRICS = "rougeL,chrf,bleu"
WORKING = {
    "jsonl": f"score in.jsonl --metric {METRICS} --output out.jsonl --report out.html",
    "csv": f"score in.csv --metric {METRICS} --output out.csv",
    "tsv": f"score in.jsonl --metric {METRICS} --output out.tsv",
    "gzip": f"score in.jsonl --metric {METRICS} --output out.jsonl.gz",
    "xz": f"score in.jsonl --metric {METRICS} --output out.jsonl.xz",
    "zstandard": f"score in.jsonl --metric {METRICS} --output out.jsonl.zst",
    "read zstandard": f"score out.jsonl.zst --metric {METRICS} --output again.jsonl",
    "text": "score in.txt --metric celadon,gruen,slor --output text.jsonl",
    "set-relative": "score in.jsonl --metric rouge_lm --output relative.csv",
    "check": "check in.jsonl --min rougeL=0",
    "compare": "compare out.jsonl again.jsonl --report compare.html",
    "explain": "explain that --reference this",
    "metrics": "metrics",
    "models": "models list",
    "install": "install",
    "correlate": "meta correlate rated.csv --human quality --metric rougeL",
    "judge new": "judge new study --items in.jsonl --design likert",
    "meta report": "meta report rated.csv --human quality --metric rougeL --report meta.html",
}
REFUSED = {
    "score in.parquet --metric rougeL": "parquet",
    "score in.jsonl --metric rougeL --output out.parquet": "parquet",
    "score in.jsonl --metric rougeL --output out/": "parquet",
    "compare in.parquet in.parquet": "parquet",
    "meta correlate in.parquet --human quality --metric rougeL": "parquet",
    "score in.jsonl --metric rougeL --output clustered/ --engine ray": "ray",
    "score s3://bucket/in.jsonl --metric rougeL": "s3",
    "score gs://bucket/in.jsonl --metric rougeL": "gs",
    "meta report rated.csv --human quality --metric rougeL --plots plots": "plots",
    "meta references in.jsonl --human quality --metric rougeL --plots plots": "plots",
    "score in.jsonl --metric slor[model=hf:gpt2]": "hf",
    "serve --metric rougeL": "serve",
    "judge serve study": "serve",
    "train lm in.txt --output model": "train",
    "train combine rated.csv --rating quality --features rougeL --output combined.json": "train",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Input of every kind."""
    place = tmp_path_factory.mktemp("core")
    example = Path(__file__).resolve().parent.parent / "examples" / "summaries.jsonl"
    shutil.copy(example, place / "in.jsonl")
    rows = [json.loads(line) for line in example.read_text(encoding="utf-8").splitlines()]
    (place / "in.txt").write_text("".join(f"{row['text']}\n" for row in rows[:3]), encoding="utf-8")
    (place / "in.parquet").write_bytes(b"PAR1")
    with (place / "in.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "system", "text", "references"])
        writer.writerows([row["id"], row["system"], row["text"], json.dumps(row["references"])] for row in rows)
    with (place / "rated.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "system", "rougeL", "quality"])
        writer.writerows([row["text"], row["system"], at % 7 / 7, at % 5] for at, row in enumerate(rows))
    return place


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, Result]:
    """What came of every command, by its name."""
    commands = [*WORKING.values(), *REFUSED]
    done = run_commands([command.split() for command in commands], str(folder))
    return dict(zip([*WORKING, *REFUSED], done, strict=True))


def test_the_core_lacks_what_is_an_extra() -> None:
    extras = {"polars", "pyarrow", "matplotlib", "pandas", "torch"}
    assert extras & {*map(str.lower, core_distributions())} == set()
    # else the tests below would show nothing
    assert {"polars", "pyarrow", "matplotlib", "pandas"} <= {*blocked_modules()}


@pytest.mark.parametrize("name", WORKING)
def test_works_with_the_core_alone(results: dict[str, Result], name: str) -> None:
    assert results[name].code == 0, results[name].err


@pytest.mark.parametrize("command", REFUSED)
def test_names_the_extra_in_one_line(results: dict[str, Result], command: str) -> None:
    result = results[command]
    assert result.code == 3, result
    (line,) = result.err.splitlines()
    assert line.endswith(f"is not installed; install it with: celadon install {REFUSED[command]}")


def test_scores_are_those_of_an_environment_with_everything(
    results: dict[str, Result], folder: Path, tmp_path: Path
) -> None:
    for name in ("out.jsonl", "out.tsv"):
        assert main(["score", str(folder / "in.jsonl"), "--metric", METRICS, "--output", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    assert results["jsonl"].out.splitlines()[0].endswith("texts")


def test_refused_commands_write_nothing(results: dict[str, Result], folder: Path) -> None:
    assert results
    assert not [name for name in ("out", "out.parquet", "plots", "model") if (folder / name).exists()]


def test_the_meta_report_has_its_tables_and_says_how_to_get_plots(results: dict[str, Result], folder: Path) -> None:
    page = (folder / "meta.html").read_text(encoding="utf-8")
    assert "celadon install plots" in page
    assert '<section id="correlations">' in page
    assert "<svg" not in page
    assert "without plots: matplotlib, which draws plots, is not installed" in results["meta report"].err


def test_every_extra_has_a_phrase() -> None:
    assert set(GIVES) == set(requirements_of_extras())


def test_the_list_says_what_is_missing_and_how_to_install_it(results: dict[str, Result]) -> None:
    lines = results["install"].out.splitlines()
    assert [line.split()[0] for line in lines[: len(GIVES)]] == list(GIVES)
    text = results["install"].out
    for command in ("pip install 'celadon-text[", "uv tool install 'celadon-text[", "pipx install --force 'celadon-"):
        assert command in text
