"""GRUEN's redundancy: the paper's table, the evidence, and texts without a score."""

from __future__ import annotations

import math

import numpy as np
import pytest

from celadon.core import Sample, UsageError
from celadon.metrics.gruen import redundancy
from celadon.metrics.gruen.redundancy import (
    PARTS,
    SHOWN,
    GruenRedundancy,
    RedundancyThresholds,
    redundancies,
)
from celadon.scoring.batch import NO_WORDS, Batch

MONKEY = "The monkey took a bunch of bananas on the desk."
TABLE_10 = [
    ("It took a bunch of bananas on the desk.", "ABCD"),
    (
        "The monkey took a bunch of bananas on the desk, and they are the fruits reserved for the special guests "
        "invited tonight.",
        "ABD",
    ),
    ("The monkey took a large bunch of bananas on the red desk.", "CD"),
    ("It took bunches of banana on the desks.", "C"),
]


def score(*texts: str, **options: float) -> list[float]:
    return GruenRedundancy(**options).score(Batch([Sample(text) for text in texts])).values.tolist()


@pytest.mark.parametrize(("second", "features"), TABLE_10)
def test_table_10(second: str, features: str) -> None:
    text = f"{MONKEY} {second}"
    result = GruenRedundancy().score(Batch([Sample(text)]))
    assert result.values[0] == pytest.approx(-0.1 * len(features))
    parts = {name: column[0] for name, column in result.parts.items()}
    assert parts == {"sentences": 2, "pairs": 1} | {letter: letter in features for letter in "ABCD"}
    evidence = GruenRedundancy().evidence(Sample(text))
    assert evidence is not None
    assert [pair.values["features"] for pair in evidence.of_kind("pair")] == [features]
    assert f"1 and 2 ({features})" in evidence.summary


def test_all_pairs_add_up() -> None:
    text = " ".join([MONKEY] * 5)
    assert score(text) == pytest.approx([-0.1 * 4 * 10])
    assert score(text, penalty=0.25) == pytest.approx([-10.0])


def test_a_threshold_that_nothing_passes_switches_its_feature_off() -> None:
    text = f"{MONKEY} {MONKEY}"
    off = {"common_substring": 1.0, "common_run": 1.0, "edit_distance": 0.0, "common_words": 1.0}
    for name, share in off.items():
        assert score(text, **{name: share}) == pytest.approx([-0.3])
    assert score(text, **off) == [0.0]


def test_one_sentence_has_nothing_to_repeat() -> None:
    (value,) = score("The bottle of the bottle of the bottle.")
    assert value == 0.0
    assert math.copysign(1, value) == 1


def test_lines_without_words_are_no_sentences() -> None:
    assert score("One thing is here.\n* * *\nNobody knows why that was.\n* * *") == [0.0]


@pytest.mark.parametrize("text", ["", " \n", "* * *\n* * *", "🎉🎉", "\ud800"])
def test_no_words_no_score(text: str) -> None:
    result = GruenRedundancy().score(Batch([Sample("A word."), Sample(text)]))
    assert result.reasons == {1: NO_WORDS}
    assert math.isnan(result.values[1])
    assert all(math.isnan(column[1]) for column in result.parts.values())
    assert GruenRedundancy().evidence(Sample(text)) is None


def test_too_long_to_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redundancy, "MAX_CHARACTERS", len(MONKEY))
    result = GruenRedundancy().score(Batch([Sample(MONKEY), Sample(f"{MONKEY} It ate.")]))
    assert result.values[0] == 0.0
    assert "too long" in result.reasons[1]


def test_neighbours_do_not_matter_and_equal_texts_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{MONKEY} {second}" for second, _ in TABLE_10]
    asked = [*texts, "", *texts[::-1], texts[0]]
    alone = [score(text)[0] for text in asked]
    compared: list[int] = []
    real = redundancy.repeated_pairs

    def counting(sentences, **limits):  # type: ignore[no-untyped-def]
        compared.append(len(sentences))
        return real(sentences, **limits)

    monkeypatch.setattr(redundancy, "repeated_pairs", counting)
    batch = Batch([Sample(text) for text in asked])
    values = GruenRedundancy().score(batch).values
    np.testing.assert_array_equal(values, alone)
    GruenRedundancy(penalty=0.5).score(batch)
    assert len(compared) == len(texts)
    assert tuple(redundancies(batch).parts) == PARTS


def test_evidence_shows_what_is_shared() -> None:
    text = f"{MONKEY}\nNobody saw it.\n{TABLE_10[2][0]} {TABLE_10[3][0]}"
    evidence = GruenRedundancy().evidence(Sample(text))
    assert evidence is not None
    pairs = evidence.of_kind("pair")
    assert [(*(span.label for span in pair.spans[:2]), pair.values["features"]) for pair in pairs] == [
        ("1", "3", "CD"),
        ("1", "4", "C"),
        ("3", "4", "C"),
    ]
    assert [text[span.start : span.end] for span in pairs[0].spans] == [
        MONKEY,
        TABLE_10[2][0],
        MONKEY[:-1],
        "The monkey took a",
        "bunch of bananas on the",
        "desk",
    ]
    marked = [(text[span.start : span.end], span.note) for span in evidence.text_spans]
    assert marked == [
        (MONKEY[:-1], "in sentence 3, 4 too"),
        ("The monkey took a", "in sentence 1, 4 too"),
        ("bunch of bananas on the", "in sentence 1, 4 too"),
        ("desk", "in sentence 1, 4 too"),
        ("took", "in sentence 1, 3 too"),
        ("of banana on the desk", "in sentence 1, 3 too"),
    ]


def test_evidence_of_many_pairs_is_bounded() -> None:
    text = " ".join([MONKEY] * 30)
    evidence = GruenRedundancy().evidence(Sample(text))
    assert evidence is not None
    assert len(evidence.of_kind("pair")) == SHOWN
    assert "435 of 435 pairs" in evidence.summary
    assert "and 430 more" in evidence.summary
    ends = [0]
    for span in evidence.text_spans:
        assert ends[-1] <= span.start < span.end <= len(text)
        ends.append(span.end)


def test_evidence_of_nothing() -> None:
    for text, why in ((MONKEY, "one sentence"), (f"{MONKEY} Nobody knew.", "2 sentences, none")):
        evidence = GruenRedundancy().evidence(Sample(text))
        assert evidence is not None
        assert why in evidence.summary
        assert evidence.text_spans == ()
        assert evidence.of_kind("pair") == []


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, math.inf])
def test_a_share_is_from_0_to_1(share: float) -> None:
    for name in ("common_substring", "common_run", "edit_distance", "common_words"):
        with pytest.raises(UsageError, match=f"{name} is a share"):
            GruenRedundancy(**{name: share})
        with pytest.raises(UsageError, match=name):
            RedundancyThresholds(**{name: share})


@pytest.mark.parametrize("penalty", [-0.1, math.nan, math.inf])
def test_a_penalty_is_not_negative(penalty: float) -> None:
    with pytest.raises(UsageError, match="penalty"):
        GruenRedundancy(penalty=penalty)


def test_the_notation() -> None:
    metric = GruenRedundancy(penalty=0.2)
    assert metric.spec == "gruen.redundancy[penalty=0.2]"
    assert metric.signature.startswith("gruen.redundancy|markup:auto|common_substring:0.8|common_run:0.8|")
    assert "|words:rouge|prose:" in metric.signature
    assert "|words:rouge|sentences:nupunkt-" in GruenRedundancy(markup="plain").signature
