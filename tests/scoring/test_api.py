"""The Python interface."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas
import polars
import pytest

import celadon
from celadon import Sample
from celadon.core import InputError, UsageError
from tests import processes
from tests.conftest import builtin_is_there, missing_part
from tests.prose_share import ProseShare

TEXTS = ["a cat sat", "the dog ran away", ""]
REFERENCES = [["a cat sat down", "the cat sat"], "the dog ran", ["something"]]


def test_lists() -> None:
    scores = celadon.score(TEXTS, REFERENCES, metrics=["rouge1", "bleu"])
    assert list(scores) == ["rouge1", "bleu"]
    assert scores["rouge1"].tolist()[:2] == pytest.approx([6 / 7, 6 / 7])
    assert np.isnan(scores["rouge1"][2])
    assert scores["rouge1.precision"][1] == pytest.approx(3 / 4)


def test_defaults() -> None:
    scores = celadon.score(TEXTS, REFERENCES)
    assert list(scores) == ["celadon", "rougeL", "chrf", "simple_string_accuracy", "generation_string_accuracy"]


def test_defaults_without_references() -> None:
    if not builtin_is_there():
        missing_part("the built-in language model", "build it with: celadon train lm")
    scores = celadon.score(["The dog ran away.", ""])
    assert list(scores) == ["celadon"]
    assert np.isfinite(scores["celadon"][0])
    assert np.isnan(scores["celadon"][1])


def frames() -> dict[str, object]:
    columns = {"output": TEXTS[:2], "reference": ["a cat sat down", "the dog ran"], "system": ["x", "y"], "n": [1, 2]}
    return {
        "pandas": pandas.DataFrame(columns),
        "polars": polars.DataFrame(columns),
        "datasets": datasets.Dataset.from_dict(columns),
    }


@pytest.mark.parametrize("kind", ["pandas", "polars", "datasets"])
def test_tables(kind: str) -> None:
    table = frames()[kind]
    scores = celadon.score(table, metrics="rouge1")
    for frame in (scores.to_pandas(), scores.to_polars()):
        assert list(frame.columns) == [
            "output", "reference", "system", "n", "rouge1", "rouge1.precision", "rouge1.recall", "reason",
        ]  # fmt: skip
        assert list(frame["n"]) == [1, 2]
        assert list(frame["rouge1"]) == pytest.approx([6 / 7, 6 / 7])
    assert scores.summary(resamples=10).systems == ("x", "y")


def test_tables_with_other_names_and_lists() -> None:
    frame = polars.DataFrame({"hyp": ["a b"], "gold": [["x", "a b"]], "scores": [{"overall": "s1"}]})
    fields = {"text": "hyp", "references": "gold", "system": "scores.overall"}
    scores = celadon.score(frame, metrics="rouge1", fields=fields)
    assert scores["rouge1"].tolist() == [1.0]
    assert scores.samples[0].system == "s1"
    pandas_scores = celadon.score(frame.to_pandas(), metrics="rouge1", fields={"text": "hyp", "references": "gold"})
    assert pandas_scores["rouge1"].tolist() == [1.0]


def test_samples() -> None:
    given = [Sample("a b", ("a b",), system="s"), Sample("c", ("a",), system="t")]
    scores = celadon.score(given, metrics="rouge1")
    assert scores["rouge1"].tolist() == [1.0, 0.0]
    assert given[0].origin == ""


def test_compute_is_like_evaluate() -> None:
    result = celadon.load("bleu").compute(predictions=["a b c d e", "x y"], references=[["a b c d e"], ["x z"]])
    from sacrebleu.metrics import BLEU

    assert result["bleu"] == pytest.approx(BLEU().corpus_score(["a b c d e", "x y"], [["a b c d e", "x z"]]).score)
    assert len(result["scores"]) == 2
    assert result["signature"].startswith("bleu|")
    assert celadon.load("rouge1").compute(predictions=["", "a"], references=["a", "a"])["scores"] == [None, 1.0]


MISTAKES = {
    "a single string": (lambda: celadon.score("text", ["r"]), UsageError, "write \\[text\\]"),
    "lengths differ": (lambda: celadon.score(["a", "b"], ["a"]), UsageError, "2 texts but 1 references"),
    "a number": (lambda: celadon.score(["a", 3], ["a", "b"]), InputError, "row 1: text must be a string, not int"),
    "None among references": (lambda: celadon.score(["a"], [["a", None]]), InputError, "row 0: reference must"),
    "no references": (lambda: celadon.score(["a"], metrics="rouge1"), InputError, "row 0: rouge1 needs references"),
    "no source": (lambda: celadon.score(["a"], ["a"], metrics="sari"), InputError, "row 0: sari needs source"),
    "unknown metric": (lambda: celadon.load("blue"), UsageError, "did you mean bleu"),
    "no such scores": (lambda: celadon.score(["a"], ["a"])["bleu"], UsageError, "there are: celadon, rougeL"),
    "a table without text": (lambda: celadon.score(pandas.DataFrame({"x": ["a"]})), InputError, "row 0: no text"),
    "a table with a hole": (lambda: celadon.score(pandas.DataFrame({"text": ["a", None]})), InputError, "row 1: text"),
    "bytes": (lambda: celadon.score([b"a"], ["a"]), InputError, "not bytes"),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_say_what_and_where(kind: str) -> None:
    call, error, message = MISTAKES[kind]
    with pytest.raises(error, match=message):
        call()


def test_no_texts_at_all() -> None:
    scores = celadon.score([], [])
    assert len(scores) == 0
    assert scores.summary(resamples=10).rows == ()


PLUGIN = """
from dataclasses import dataclass
from typing import ClassVar
import numpy as np
from celadon import Metric, MetricScores
from celadon.core import MetricInfo

@dataclass(frozen=True)
class Shouting(Metric):
    factor: float = 1.0
    info: ClassVar[MetricInfo] = MetricInfo("shouting", "share of capitals", "1 is all capitals", parts=("capitals",))

    def score(self, batch):
        words = batch.words("surface")
        capitals = np.array([float(sum(c.isupper() for c in s.text)) for s in batch.samples])
        lengths = np.array([max(len(s.text), 1) for s in batch.samples])
        values = np.minimum(self.factor * capitals / lengths, 1.0)
        values[list(words.without_words)] = np.nan
        reasons = {row: "the text has no words" for row in words.without_words}
        return MetricScores(self.spec, values, {"capitals": capitals}, reasons)
"""


def test_another_package_brings_a_metric(tmp_path: Path) -> None:
    """A real package, built and unpacked into a folder of its own, is found through the entry point."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "celadon_shouting.py").write_text(PLUGIN)
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "celadon-shouting"\nversion = "1.0"\n'
        '[project.entry-points."celadon.metrics"]\nshouting = "celadon_shouting:Shouting"\n'
        '[tool.hatch.build.targets.wheel]\ninclude = ["celadon_shouting.py"]\n'
    )
    target = tmp_path / "site"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
    processes.run(build, cwd=project, check=True, capture_output=True)
    (wheel,) = (project / "dist").iterdir()
    shutil.unpack_archive(wheel, target, "zip")
    code = (
        "import celadon; s = celadon.score(['HELLO there', ''], metrics=['shouting[factor=2]']);"
        "print(s['shouting[factor=2]'].tolist(), s.columns['shouting[factor=2]'].reasons)"
    )
    run = [sys.executable, "-c", code]
    done = processes.run(run, check=True, capture_output=True, text=True, env={"PYTHONPATH": str(target)})
    assert done.stdout.strip() == "[0.9090909090909091, nan] {1: 'the text has no words'}"
    listed = [sys.executable, "-m", "celadon", "metrics", "shouting"]
    done = processes.run(listed, check=True, capture_output=True, text=True, env={"PYTHONPATH": str(target)})
    assert "share of capitals" in done.stdout


SOUND = "The ferry runs every hour. It stops at the island."


def test_what_texts_are_written_in() -> None:
    def written(*given: Any, **more: Any) -> list[tuple[str, str]]:
        samples = celadon.score(*given, metrics=[ProseShare()], **more).samples
        return [(sample.markup, sample.language) for sample in samples]

    assert written([SOUND] * 2) == [("auto", "")] * 2
    assert written([SOUND] * 2, markup="HTML", languages="English") == [("html", "en")] * 2
    assert written([SOUND] * 2, markup=["rst", None], languages=["es", ""]) == [("rst", "es"), ("auto", "")]
    assert written([Sample(SOUND, markup="rst", language="en-GB")]) == [("rst", "en")]
    table = pandas.DataFrame({"text": [SOUND] * 2, "m": ["plain", None], "l": ["de", None]})
    assert written(table, markup="html") == [("html", "")] * 2
    assert written(table, markup="html", fields={"markup": "m", "language": "l"}) == [("plain", "de"), ("html", "")]
    scores = celadon.score([SOUND, SOUND], languages=["", "Spanish"], metrics=[ProseShare()])
    assert scores.columns["prose_share"].reasons == {
        1: "language: text is Spanish; celadon supports English only",
    }
    for given, more, error, message in (
        ([SOUND], {"markup": "latex"}, UsageError, "'latex' is no markup"),
        ([SOUND], {"markup": ["latex"]}, InputError, "row 0: 'latex' is no markup"),
        ([SOUND], {"languages": ["Klingonish"]}, InputError, "row 0: 'Klingonish' is no language"),
        ([SOUND], {"languages": ["en", "en"]}, UsageError, "1 texts but 2 languages"),
        ([Sample(SOUND)], {"markup": "rst"}, UsageError, "samples carry their own"),
        (table, {"languages": "en"}, UsageError, "a table has its own columns"),
    ):
        with pytest.raises(error, match=message):
            written(given, **more)
