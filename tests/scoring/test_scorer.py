"""The scorer: it can be used again, described in plain values, and told to leave out what fails."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

import celadon
from celadon.core import InputError, MetricScores, Sample, UsageError
from celadon.metrics.overlap import RougeL
from celadon.scoring import Scorer
from celadon.scoring.batch import Batch
from tests.two_overlaps import TwoOverlaps

WORDS = "the a cat dog house river saw found".split()


def samples(count: int) -> list[Sample]:
    generator = random.Random(count)
    texts = [" ".join(generator.choices(WORDS, k=6)) for _ in range(2 * count)]
    return [Sample(text, (reference,)) for text, reference in zip(texts[::2], texts[1::2], strict=True)]


class Failing(RougeL):
    """Fails on the second batch."""

    def score(self, batch: Batch) -> MetricScores:
        if batch.samples[0] != samples(20)[0]:
            raise RuntimeError("no more")
        return super().score(batch)


class FailingInTheSecondPass(TwoOverlaps):
    def combine(self, *_: object) -> MetricScores:
        raise RuntimeError("cannot be combined")


def test_constants_of_one_set_are_not_those_of_the_next() -> None:
    rows = samples(30)
    scorer = Scorer([TwoOverlaps(), "rougeL"], batch_rows=7)
    whole, part = scorer.score(rows), scorer.score(rows[:10])
    for scores, chosen in ((whole, rows), (part, rows[:10])):
        assert scores.signatures == celadon.score(chosen, metrics=[TwoOverlaps(), "rougeL"]).signatures
    assert whole.constants != part.constants
    given = Scorer([TwoOverlaps()], fit_on=rows).score(rows[:10])
    np.testing.assert_array_equal(given["two_overlaps"], whole["two_overlaps"][:10])


@pytest.mark.parametrize("metric", [Failing(), FailingInTheSecondPass()])
def test_a_metric_that_fails_is_left_out(metric: RougeL | TwoOverlaps) -> None:
    rows, failures = samples(20), []
    scorer = Scorer(
        [metric, "chrf"], batch_rows=6, on_failure=lambda metric, error: failures.append((metric.spec, str(error)))
    )
    scores = scorer.score(rows)
    assert [spec for spec, _ in failures] == [metric.spec]
    assert [each.spec for each in scores.metrics] == list(scores.columns) == ["chrf"]
    np.testing.assert_array_equal(scores["chrf"], celadon.score(rows, metrics="chrf")["chrf"])
    with pytest.raises(RuntimeError):
        Scorer([metric, "chrf"], batch_rows=6).score(rows)


def test_a_metric_with_too_few_scores_is_found_out() -> None:
    class Short(RougeL):
        def score(self, batch: Batch) -> MetricScores:
            return MetricScores(self.spec, np.zeros(1))

    with pytest.raises(ValueError, match=r"\(1,\) scores of 3 texts"):
        Scorer(Short()).score(samples(3))


def test_the_same_scorer_from_plain_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = samples(12)
    lines = [json.dumps({"text": row.text, "references": row.references}) for row in rows]
    Path("set.jsonl").write_text("\n".join(lines), encoding="utf-8")
    scorer = Scorer(["wmd[idf=set]", "rougeL"], fit_on="set.jsonl", batch_rows=5)
    values = json.loads(json.dumps(scorer.to_dict()))
    assert values["standardize_on"] == str(tmp_path / "set.jsonl")
    again = Scorer.from_dict(values)
    assert again.to_dict() == values
    np.testing.assert_array_equal(again.score(rows)["wmd[idf=set]"], scorer.score(rows)["wmd[idf=set]"])
    with pytest.raises(UsageError, match="in files"):
        Scorer(["wmd[idf=set]"], fit_on=rows).to_dict()


def test_what_a_metric_needs() -> None:
    bare = [Sample("a cat", origin="row 0")]
    with pytest.raises(InputError, match="row 0: rougeL needs references"):
        Scorer("rougeL").score(bare)
    assert Scorer("rougeL", strict=False).score(bare).columns["rougeL"].reasons[0]
    assert list(Scorer().score(bare)) == ["celadon"]
    with pytest.raises(UsageError, match="no metric was named"):
        Scorer([])
