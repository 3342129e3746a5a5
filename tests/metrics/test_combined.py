"""A fitted combination as a metric."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celadon.core import Direction, InputError, Need, Sample, UsageError
from celadon.io.weight_files import Combination, Feature, read_combination, write_combination
from celadon.metrics import combined
from celadon.metrics.combined import Combined, predict
from celadon.metrics.registry import load
from celadon.scoring.batch import Batch

SAMPLES = [
    Sample("The cat sat on the mat.", ("The cat sat on a mat.", "A cat was sitting there."), extra={"length": 6}),
    Sample("A dog ran.", ("The big dog ran away.",), extra={"length": "3"}),
    Sample("", ("Something.",), extra={"length": 0}),
    Sample("A bird sang in the tree.", ("A bird sang.",), extra={"length": "many"}),
    Sample("The bird sang.", ("A bird sang.",)),
]
ROUGE = {"name": "rougeL", "from": "metric", "mean": 0.5, "sd": 0.25, "low": 0.1, "high": 0.9, "signature": ""}
RECALL = {"name": "rouge1.recall", "from": "metric", "mean": 0.4, "sd": 0.5, "low": 0.0, "high": 1.0}
LENGTH = {"name": "length", "from": "column", "mean": 5.0, "sd": 2.0, "low": 1.0, "high": 12.0}
CONTENT: dict[str, Any] = {
    "format": "celadon-combination/1",
    "name": "quality",
    "rating": "overall",
    "scale": "standard",
    "features": [ROUGE, RECALL, LENGTH],
    "gamma": 0.7,
    "intercept": 2.5,
    "coefficients": [1.0, -0.6, 0.3],
    "support_vectors": [[0.2, 0.1, -1.0], [1.0, -0.5, 0.4], [-0.3, 0.8, 1.5]],
}


def written(path: Path, content: Any) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return written(tmp_path / "quality.json", CONTENT)


def by_hand(*features: float) -> float:
    """The kernel's sum, number by number."""
    x = [(value - given["mean"]) / given["sd"] for value, given in zip(features, CONTENT["features"], strict=True)]
    total = CONTENT["intercept"]
    for coefficient, vector in zip(CONTENT["coefficients"], CONTENT["support_vectors"], strict=True):
        distance = sum((a - b) ** 2 for a, b in zip(x, vector, strict=True))
        total += coefficient * math.exp(-CONTENT["gamma"] * distance)
    return float(total)


def test_is_the_kernel_sum_over_metrics_parts_and_columns(file: str) -> None:
    batch = Batch(SAMPLES)
    found = Combined(file).score(batch)
    rouge, recall = load("rougeL").score(batch).values, load("rouge1").score(batch).parts["recall"]
    for row, length in ((0, 6.0), (1, 3.0)):
        assert found.values[row] == pytest.approx(by_hand(rouge[row], recall[row], length), abs=1e-12)
    assert found.parts == {}


def test_null_with_a_reason_where_any_feature_is(file: str) -> None:
    found = Combined(file).score(Batch(SAMPLES))
    assert found.reasons == {
        2: "rougeL: the text has no words",
        3: "length: 'many' is no number",
        4: "length: the row has no such column",
    }
    assert np.isnan(found.values).tolist() == [False, False, True, True, True]


def test_a_column_is_found_by_its_path(tmp_path: Path) -> None:
    nested = {**LENGTH, "name": "scores.length"}
    content = {**CONTENT, "features": [ROUGE, RECALL, nested]}
    metric = Combined(written(tmp_path / "nested.json", content))
    inside = Sample(SAMPLES[0].text, SAMPLES[0].references, extra={"scores": {"length": 6}})
    flat = Sample(SAMPLES[0].text, SAMPLES[0].references, extra={"scores.length": 6})
    plain = Combined(written(tmp_path / "plain.json", CONTENT)).score(Batch(SAMPLES[:1])).values[0]
    assert metric.score(Batch([inside, flat])).values.tolist() == [plain, plain]


def test_neighbours_and_order_change_no_bit(file: str) -> None:
    generator = random.Random(4)
    words = "the a cat dog ran sat on mat away".split()
    samples = [
        Sample(
            " ".join(generator.choices(words, k=generator.randint(1, 9))),
            (" ".join(generator.choices(words, k=6)),),
            extra={"length": generator.random() * 9},
        )
        for _ in range(40)
    ]
    metric = Combined(file)
    whole = metric.score(Batch(samples)).values
    alone = [metric.score(Batch([sample])).values[0] for sample in samples]
    assert whole.tolist() == alone
    assert metric.score(Batch(samples[::-1])).values.tolist() == alone[::-1]
    assert np.ptp(whole) > 0.01


def test_many_rows_are_predicted_in_pieces(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(3).normal(size=(50, 3))
    whole = predict(read_combination(file), rows)
    monkeypatch.setattr(combined, "_MOST_CELLS", 7)
    np.testing.assert_array_equal(predict(read_combination(file), rows), whole)


def test_describes_itself(file: str) -> None:
    metric = Combined(file)
    assert metric.info.needs == {Need.REFERENCES}
    assert Combined().info.needs == frozenset()
    assert metric.info.direction is Direction.HIGHER
    assert load(metric.spec) == metric
    digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()[:8]
    assert f"|quality@{digest}|" in metric.signature
    assert "changed" not in metric.signature
    assert "rougeL, rouge1.recall, length" in metric.info.meaning


def test_of_a_rating_of_which_less_is_better(tmp_path: Path) -> None:
    metric = Combined(written(tmp_path / "hter.json", {**CONTENT, "lower_is_better": True}))
    assert metric.info.direction is Direction.LOWER


def test_the_signature_names_features_that_are_made_otherwise_now(tmp_path: Path) -> None:
    as_ever = {**ROUGE, "signature": load("rougeL").signature.replace("|celadon:", "|celadon:9.")}
    same = Combined(written(tmp_path / "same.json", {**CONTENT, "features": [as_ever, RECALL, LENGTH]}))
    assert "changed" not in same.signature
    other = {**ROUGE, "signature": "rougeL|stemmed:yes|celadon:0.0.1"}
    changed = Combined(written(tmp_path / "other.json", {**CONTENT, "features": [other, RECALL, LENGTH]}))
    assert "|changed:rougeL|" in changed.signature


def test_evidence_says_what_pulled_which_way(file: str) -> None:
    metric = Combined(file)
    evidence = metric.evidence(SAMPLES[1])
    assert evidence is not None
    batch = Batch(SAMPLES[1:2])
    rouge = load("rougeL").score(batch).values[0]
    recall = load("rouge1").score(batch).parts["recall"][0]
    value = by_hand(rouge, recall, 3.0)
    assert evidence.summary.startswith(f"{value:.4f}; rougeL {rouge:.4g} (usually 0.5) ")
    pull = value - by_hand(rouge, recall, 5.0)
    way = "up" if pull > 0 else "down"
    assert evidence.summary.endswith(f"length 3 (usually 5) pulled it {way} by {abs(pull):.4f}")
    far = dataclasses.replace(SAMPLES[0], extra={"length": 400})
    told = metric.evidence(far)
    assert told is not None
    assert "length 400 (usually 5, outside of the 1 to 12 that it was fitted on)" in told.summary
    assert metric.evidence(SAMPLES[2]) is None


def test_survives_being_sent_to_another_process(file: str) -> None:
    metric = pickle.loads(pickle.dumps(Combined(file)))
    assert metric == Combined(file)
    assert metric.info == Combined(file).info
    np.testing.assert_array_equal(metric.score(Batch(SAMPLES)).values, Combined(file).score(Batch(SAMPLES)).values)


def test_without_a_file_it_can_be_listed_but_not_used() -> None:
    assert Combined().signature.startswith("combined|file:|celadon:")
    with pytest.raises(UsageError, match=r"combined\[file=PATH\]"):
        Combined().score(Batch(SAMPLES))


def test_what_is_written_is_read_back_to_the_bit(tmp_path: Path) -> None:
    generator = np.random.default_rng(6)
    made = Combination(
        name="fluß",
        rating="overall",
        lower_is_better=True,
        scale="none",
        features=(
            Feature(name="rougeL", mean=0.1, sd=0.2, low=-1 / 3, high=1 / 3, signature="rougeL|x"),
            Feature(name="n", origin="column", mean=1, sd=2, low=3, high=4),
        ),
        gamma=1 / 7,
        intercept=math.pi,
        support_vectors=generator.normal(size=(20, 2)),
        coefficients=generator.normal(size=20),
        facts={"trained_on": {"rows": 20}},
    )
    path = str(tmp_path / "made.json")
    write_combination(path, made)
    again = read_combination(path)
    assert again.sha256 == hashlib.sha256(Path(path).read_bytes()).hexdigest()
    for name in ("name", "rating", "lower_is_better", "scale", "features", "gamma", "intercept", "facts"):
        assert getattr(again, name) == getattr(made, name), name
    np.testing.assert_array_equal(again.support_vectors, made.support_vectors)
    np.testing.assert_array_equal(again.coefficients, made.coefficients)


def test_a_file_written_anew_is_read_anew(file: str) -> None:
    assert read_combination(file) is read_combination(file)
    written(Path(file), {**CONTENT, "intercept": 30.25})
    assert read_combination(file).intercept == 30.25


def test_a_metric_that_is_relative_to_the_set_is_refused(tmp_path: Path) -> None:
    content = {**CONTENT, "features": [{**ROUGE, "name": "rouge_lm"}, RECALL, LENGTH]}
    with pytest.raises(UsageError, match="rouge_lm: is relative to the set of texts that is scored"):
        Combined(written(tmp_path / "relative.json", content))


def changed(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in {**CONTENT, **values}.items() if value is not ...}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"bad\.json:1: not valid JSON"),
        ("[1]", "is not a JSON object, as a combination"),
        (changed(format="celadon-combination/2"), "its format is not celadon-combination/1"),
        (changed(features=...), "features: is missing"),
        (changed(features=[]), "features: expected a list of length >= 1"),
        (changed(features=["rougeL"]), r"features\[0\]: expected an object, got a text"),
        (changed(features=[{**ROUGE, "name": ""}]), r"features\[0\]\.name: expected a text matching"),
        (
            changed(features=[{**ROUGE, "from": "air"}]),
            r"features\[0\]\.from: expected a text matching regex .*metric\|column",
        ),
        (changed(features=[{**ROUGE, "sd": 0}]), r"features\[0\]\.sd: expected a number > 0"),
        (changed(features=[{**ROUGE, "mean": None}]), r"features\[0\]\.mean: expected a number, got null"),
        (changed(features=[ROUGE, ROUGE, LENGTH]), "a feature is there twice"),
        (changed(features=[{**ROUGE, "name": "rogue"}, RECALL, LENGTH]), "the feature 'rogue' is no metric"),
        (changed(scale="log"), "scale: expected a text matching"),
        (changed(lower_is_better="no"), "lower_is_better: expected true or false, got a text"),
        (changed(gamma=...), "gamma: is missing"),
        (changed(gamma=-1), "gamma: expected a number > 0"),
        (changed(intercept=True), "intercept: expected a number, got true or false"),
        (json.dumps(changed(intercept=math.nan)), "not valid JSON"),
        (changed(support_vectors=...), "support_vectors: is missing"),
        (changed(support_vectors=[[1, 2]]), "support_vectors must be lists of 3 numbers"),
        (changed(support_vectors=[[1, 2, 3], [1, 2, "3"]]), "support_vectors: expected a list of numbers, or lists"),
        (changed(coefficients=[1, "2", 3]), "coefficients: expected a list of numbers"),
        (changed(coefficients=[1, 2]), "there are 3 support_vectors but 2 coefficients"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Combined(written(tmp_path / "bad.json", content))
    assert str(caught.value).startswith(str(tmp_path / "bad.json"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rougeL.colour", "rougeL has no part 'colour'; its parts are precision, recall"),
        ("rougeW[colour=1]", "unknown option 'colour'"),
        ("formula[file=x]", "cannot be made of combinations and formulas"),
        ("combined[file=x]", "cannot be made of combinations and formulas"),
    ],
)
def test_features_that_cannot_be(tmp_path: Path, name: str, message: str) -> None:
    content = changed(features=[{**ROUGE, "name": name}, RECALL, LENGTH])
    with pytest.raises(UsageError, match=message) as caught:
        Combined(written(tmp_path / "bad.json", content))
    assert str(caught.value).startswith(str(tmp_path / "bad.json"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        Combined(str(tmp_path / "none.json"))
    with pytest.raises(InputError, match="is empty"):
        Combined(written(tmp_path / "empty.json", ""))
    with pytest.raises(InputError, match="standard input"):
        Combined("-")
