"""String accuracies beyond the paper's example."""

from __future__ import annotations

from collections import Counter

import jiwer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon import Sample, load, score
from celadon.scoring.batch import Batch
from celadon.text import alignment

texts = st.lists(st.sampled_from("a b c d e f".split()), min_size=1, max_size=12).map(" ".join)
SIMPLE, GENERATION = "simple_string_accuracy", "generation_string_accuracy"


@settings(max_examples=200, deadline=None)
@given(texts, texts)
def test_bounds_and_relations(text: str, reference: str) -> None:
    scores = score([text], [reference], metrics=[SIMPLE, GENERATION])
    simple, generation = scores[SIMPLE][0], scores[GENERATION][0]
    assert simple <= generation <= 1.0
    assert (simple == 1.0) == (text == reference)
    moves = scores[f"{GENERATION}.moves"][0]
    assert generation - simple == pytest.approx(moves / len(reference.split()))
    # the fewest edits of unit cost are a bound that no alignment can beat
    fewest = jiwer.process_words(reference, text)
    edits = fewest.substitutions + fewest.insertions + fewest.deletions
    assert simple <= 1.0 - edits / len(reference.split()) + 1e-12


@settings(max_examples=100, deadline=None)
@given(texts, texts)
def test_moves_are_words_both_deleted_and_inserted(text: str, reference: str) -> None:
    evidence = load(SIMPLE).evidence(Sample(text, (reference,)))
    assert evidence is not None
    deleted = Counter(reference[s.start : s.end] for s in evidence.reference_spans if s.label == "deletion")
    inserted = Counter(text[s.start : s.end] for s in evidence.text_spans if s.label == "insertion")
    moves = score([text], [reference], metrics=[GENERATION])[f"{GENERATION}.moves"][0]
    assert moves == (deleted & inserted).total()


@settings(max_examples=100, deadline=None)
@given(texts, st.lists(texts, min_size=1, max_size=4))
def test_the_best_reference_counts(text: str, references: list[str]) -> None:
    alone = [score([text], [one], metrics=[GENERATION])[GENERATION][0] for one in references]
    assert score([text], [references], metrics=[GENERATION])[GENERATION][0] == max(alone)


def test_far_too_much_text_is_below_zero() -> None:
    assert score(["a b c d e f"], ["x"], metrics=[SIMPLE])[SIMPLE][0] == -5.0


def test_words_can_be_given_as_they_are() -> None:
    scores = score(["It 's here ."], ["It's here."], metrics=[SIMPLE, f"{SIMPLE}[words=whitespace]"])
    assert scores[f"{SIMPLE}.reference_words"][0] == 3
    assert scores[f"{SIMPLE}[words=whitespace].reference_words"][0] == 2


def test_a_pair_too_long_to_align_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "MAX_CELLS", 50)
    result = load(SIMPLE).score(Batch([Sample("a " * 8, ("b " * 8,)), Sample("a b", ("a b",))]))
    assert "too long to align" in result.reasons[0]
    assert result.values[1] == 1.0
