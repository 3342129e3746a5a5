"""A fitted formula as a metric."""

from __future__ import annotations

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celadon.core import InputError, Need, Sample, UsageError
from celadon.io.weight_files import read_formula
from celadon.meta.regression import fit
from celadon.metrics.combined import Formula
from celadon.metrics.registry import load
from celadon.scoring.batch import Batch

SAMPLES = [
    Sample("The cat sat on the mat.", ("The cat sat on a mat.", "A cat was sitting there.")),
    Sample("A dog ran.", ("The big dog ran away.",)),
    Sample("", ("Something.",)),
]
TERMS = {"simple_string_accuracy": 1.2, "simple_string_accuracy.substitutions": -0.1, "rougeL": 0.5}


def written(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return written(tmp_path / "quality.json", {"name": "quality", "intercept": -0.25, "terms": TERMS})


def test_is_the_weighted_sum(file: str) -> None:
    batch = Batch(SAMPLES)
    found = Formula(file).score(batch)
    string, rouge = load("simple_string_accuracy").score(batch), load("rougeL").score(batch)
    expected = -0.25 + 1.2 * string.values - 0.1 * string.parts["substitutions"] + 0.5 * rouge.values
    np.testing.assert_allclose(found.values[:2], expected[:2])
    assert list(found.parts) == list(TERMS) == list(Formula(file).info.parts)
    np.testing.assert_allclose(found.parts["rougeL"][:2], 0.5 * rouge.values[:2])
    np.testing.assert_allclose(-0.25 + sum(column[0] for column in found.parts.values()), found.values[0])


def test_null_with_a_reason_where_any_term_is(file: str) -> None:
    found = Formula(file).score(Batch(SAMPLES))
    assert np.isnan(found.values[2])
    assert found.reasons == {2: "simple_string_accuracy: the text has no words"}
    assert all(np.isnan(column[2]) for column in found.parts.values())


def test_describes_itself(file: str) -> None:
    metric = Formula(file)
    assert metric.info.needs == {Need.REFERENCES}
    assert Formula().info.needs == frozenset()
    assert metric.spec == f"formula[file={file}]"
    digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()[:8]
    assert metric.models() == (f"quality@{digest}",)
    assert f"|quality@{digest}|" in metric.signature
    assert "1.2*simple_string_accuracy - 0.1*simple_string_accuracy.substitutions" in metric.info.meaning
    evidence = metric.evidence(SAMPLES[0])
    assert evidence is not None
    assert evidence.summary.endswith("intercept -0.2500")
    assert metric.evidence(SAMPLES[2]) is None


def test_survives_being_sent_to_another_process(file: str) -> None:
    metric = pickle.loads(pickle.dumps(Formula(file)))
    assert metric == Formula(file)
    assert metric.info == Formula(file).info
    np.testing.assert_array_equal(metric.score(Batch(SAMPLES)).values, Formula(file).score(Batch(SAMPLES)).values)


def test_options_of_metrics_in_terms(tmp_path: Path) -> None:
    terms = {"rougeW[weight=1.5].precision": 2.0, "rougeW[weight=1.5]": 1.0}
    metric = Formula(written(tmp_path / "w.json", {"terms": terms}))
    inner = load("rougeW[weight=1.5]").score(Batch(SAMPLES[:2]))
    np.testing.assert_allclose(metric.score(Batch(SAMPLES[:2])).values, 2 * inner.parts["precision"] + inner.values)


def test_from_fit_to_metric_and_back(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    samples = [Sample(" ".join(random.choice(list("abcdefg"), 6)), ("a b c d e f",)) for _ in range(30)]
    string = load("simple_string_accuracy").score(Batch(samples))
    columns = {"simple_string_accuracy": string.values, "simple_string_accuracy.insertions": string.parts["insertions"]}
    model = fit(columns, 2 * string.values + random.normal(0, 0.1, 30), target_name="quality")
    metric = Formula(written(tmp_path / "fit.json", model.as_metric("fitted", "thirty strings")))
    np.testing.assert_allclose(metric.score(Batch(samples)).values, model.predict(columns))


def test_without_a_file_it_can_be_listed_but_not_used() -> None:
    assert Formula().signature.startswith("formula|file:|celadon:")
    with pytest.raises(UsageError, match=r"formula\[file=PATH\]"):
        Formula().score(Batch(SAMPLES))


def test_a_file_written_anew_is_read_anew(file: str) -> None:
    assert read_formula(file) == read_formula(file)
    written(Path(file), {"terms": {"rougeL": 1}, "intercept": 3, "fitted_on": {"rows": 4}})
    again = read_formula(file)
    assert (again.name, again.intercept, again.terms, again.facts["fitted_on"]) == (
        "quality",
        3,
        {"rougeL": 1},
        {"rows": 4},
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"bad\.json:1: not valid JSON"),
        ("[1]", "not a JSON object, as a formula must be"),
        ({"intercept": 1}, "terms: is missing"),
        ({"terms": {}}, "terms: expected an object of length >= 1"),
        ({"terms": {"rougeL": "x"}}, "terms.rougeL: expected a number, got a text"),
        ('{"terms": {"rougeL": NaN}}', "not valid JSON"),
        ({"terms": {"rougeL": True}}, "terms.rougeL: expected a number, got true or false"),
        ({"terms": {"rougeL": 1}, "intercept": None}, "intercept: expected a number, got null"),
        ({"terms": {"rougeL": 1}, "name": 3}, "name: expected a text, got a whole number"),
        ({"terms": {"rougeL.colour": 1}}, "rougeL has no part 'colour'; its parts are precision, recall"),
        ({"terms": {"rougeL.": 1}}, "is no metric and no part of one"),
        ({"terms": {"rougeW[weight=1]x": 1}}, "is no metric and no part of one"),
        ({"terms": {"formula[file=x]": 1}}, "a formula cannot be made of formulas"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Formula(written(tmp_path / "bad.json", content))
    assert str(caught.value).startswith(str(tmp_path / "bad.json"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        Formula(str(tmp_path / "none.json"))
    with pytest.raises(InputError, match="is empty"):
        Formula(written(tmp_path / "empty.json", ""))
    with pytest.raises(InputError, match="standard input"):
        Formula("-")
    with pytest.raises(UsageError, match="unknown metric 'rogue'"):
        Formula(written(tmp_path / "m.json", {"terms": {"rogue": 1}}))
