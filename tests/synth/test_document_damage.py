"""Documents damaged by known amounts: what is reported is what was done, and near what was asked for."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import UsageError
from celadon.synth.document_damage import DOCUMENT_KINDS, damaged_document
from tests.synth.english_sentences import SENTENCES

OTHERS = tuple(f"Nothing of this belongs to the story of number {number}." for number in range(40))
SIZES = st.integers(1, len(SENTENCES))
AMOUNTS = st.floats(0, 1)
SEEDS = st.integers(0, 2**32)


def inverted_share(order: list[int]) -> float:
    pairs = list(combinations(order, 2))
    return sum(one > two for one, two in pairs) / len(pairs)


@pytest.mark.parametrize("kind", DOCUMENT_KINDS)
@given(size=SIZES, amount=AMOUNTS, seed=SEEDS)
def test_the_number_of_sentences_stays_and_the_input_is_left_alone(
    kind: str, size: int, amount: float, seed: int
) -> None:
    sentences = list(SENTENCES[:size])
    made = damaged_document(sentences, OTHERS, kind, amount, np.random.default_rng(seed))
    lost = round(made.amount * size) if kind == "beheaded" else 0
    assert len(made.sentences) == size - lost
    assert made.text == " ".join(made.sentences)
    assert made.kind == kind
    assert 0 <= made.amount <= 1
    assert sentences == list(SENTENCES[:size])
    assert made == damaged_document(sentences, OTHERS, kind, amount, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", DOCUMENT_KINDS)
@given(size=SIZES, seed=SEEDS)
def test_no_damage_leaves_the_document_as_it_is(kind: str, size: int, seed: int) -> None:
    made = damaged_document(SENTENCES[:size], OTHERS, kind, 0, np.random.default_rng(seed))
    assert made.sentences == SENTENCES[:size]
    assert made.amount == 0


@given(size=st.integers(2, len(SENTENCES)), amount=AMOUNTS, seed=SEEDS)
def test_reordering_inverts_the_share_of_pairs_it_says(size: int, amount: float, seed: int) -> None:
    made = damaged_document(SENTENCES[:size], (), "reordered", amount, np.random.default_rng(seed))
    order = [SENTENCES.index(sentence) for sentence in made.sentences]
    assert sorted(order) == list(range(size))
    assert made.amount == pytest.approx(inverted_share(order))
    assert abs(made.amount - amount) <= 0.5 / (size * (size - 1) / 2) + 1e-9


def test_reordering_by_the_same_amount_gives_different_orders() -> None:
    rng = np.random.default_rng(0)
    made = {damaged_document(SENTENCES[:8], (), "reordered", 0.5, rng).sentences for _ in range(30)}
    assert len(made) > 20


@given(size=SIZES, amount=AMOUNTS, seed=SEEDS)
def test_mixing_replaces_the_share_it_says(size: int, amount: float, seed: int) -> None:
    made = damaged_document(SENTENCES[:size], OTHERS, "mixed", amount, np.random.default_rng(seed))
    strange = sum(sentence in OTHERS for sentence in made.sentences)
    kept = sum(one == two for one, two in zip(made.sentences, SENTENCES, strict=False))
    assert made.amount == strange / size
    assert strange + kept == size
    assert abs(made.amount - amount) <= 0.5 / size + 1e-9


@given(size=SIZES, amount=AMOUNTS, seed=SEEDS)
def test_breaking_damages_the_share_it_says(size: int, amount: float, seed: int) -> None:
    made = damaged_document(SENTENCES[:size], OTHERS, "broken", amount, np.random.default_rng(seed))
    changed = sum(one != two for one, two in zip(made.sentences, SENTENCES, strict=False))
    assert made.amount == changed / size
    assert abs(made.amount - amount) <= 0.5 / size + 1e-9


@given(size=st.integers(2, len(SENTENCES)), amount=AMOUNTS, seed=SEEDS)
def test_verbatim_repeats_are_copies_of_sentences_before_them(size: int, amount: float, seed: int) -> None:
    made = damaged_document(SENTENCES[:size], (), "repeated", amount, np.random.default_rng(seed))
    copies = [at for at, sentence in enumerate(made.sentences) if sentence in made.sentences[:at]]
    assert made.amount == len(copies) / size
    assert made.sentences[0] == SENTENCES[0]
    # a document cannot be nothing but repeats
    assert abs(made.amount - min(amount, (size - 1) / size)) <= 0.5 / size + 1e-9


def test_a_repeated_beginning_goes_on_otherwise() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        made = damaged_document(SENTENCES[:2], (), "repeated_beginning", 0.5, rng).sentences
        assert made[0] == SENTENCES[0]
        assert made[1] not in SENTENCES
        assert made[1].split()[:3] == SENTENCES[0].split()[:3]
        assert made[1].split()[-1] == SENTENCES[1].split()[-1]


def test_a_changed_repeat_is_nearly_the_sentence() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        first, again = damaged_document(SENTENCES[:2], OTHERS, "repeated_changed", 0.5, rng).sentences
        assert again != first
        shared = set(again.lower().split()) & set(first.lower().split())
        assert len(shared) >= len(first.split()) / 3


@given(amount=AMOUNTS, seed=SEEDS)
def test_cutting_shortens_the_last_sentence_alone(amount: float, seed: int) -> None:
    made = damaged_document(SENTENCES[:3], (), "cut", amount, np.random.default_rng(seed))
    assert made.sentences[:2] == SENTENCES[:2]
    words = len(SENTENCES[2].rstrip(".").split())
    kept = len(made.sentences[2].rstrip(".").split())
    assert SENTENCES[2].startswith(made.sentences[2].rstrip("."))
    assert made.amount == pytest.approx(1 - kept / words)
    assert abs(made.amount - amount) <= 1 / words + 1e-9


@pytest.mark.parametrize(
    ("sentences", "others", "kind", "amount", "message"),
    [
        (["A."], ["B."], "spoilt", 0.5, "spoilt.*reordered"),
        (["A."], ["B."], "mixed", 1.5, "between 0 and 1, not 1.5"),
        (["A."], ["B."], "mixed", float("nan"), "between 0 and 1"),
        ([], ["B."], "mixed", 0.5, "without sentences"),
        (["A."], [], "mixed", 0.5, "other documents"),
    ],
)
def test_what_cannot_be_done_is_refused(
    sentences: list[str], others: list[str], kind: str, amount: float, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        damaged_document(sentences, others, kind, amount, np.random.default_rng(0))


@given(size=SIZES, amount=AMOUNTS, seed=SEEDS)
def test_beheading_leaves_the_last_sentences(size: int, amount: float, seed: int) -> None:
    made = damaged_document(SENTENCES[:size], (), "beheaded", amount, np.random.default_rng(seed))
    assert made.sentences == SENTENCES[size - len(made.sentences) : size]
    assert made.sentences


def test_looped_sentences_have_more_words_than_before() -> None:
    made = damaged_document(SENTENCES, OTHERS, "looped", 1, np.random.default_rng(1))
    changed = [(new, old) for new, old in zip(made.sentences, SENTENCES, strict=True) if new != old]
    assert len(changed) == round(made.amount * len(SENTENCES)) > 0
    assert np.mean([len(new.split()) > len(old.split()) for new, old in changed]) > 0.7
