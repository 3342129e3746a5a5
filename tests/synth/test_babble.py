"""The chain of words: seeded, locally made of what it has read, globally something else."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import UsageError
from celadon.synth.babble import Babbler
from tests.synth.english_sentences import SENTENCES

PLAIN = [f"{sentence.rstrip('.?')} ." for sentence in SENTENCES]


def word_pairs(text: str) -> set[tuple[str, str]]:
    return set(pairwise(text.split()))


def test_babble_is_new_and_every_pair_of_words_has_been_read() -> None:
    # only words and spaces, so that pairs of words can be told without the tokenizer under test
    read = ["the cat saw the dog near the house", "the dog bit the man near the cat", "a man saw a house near the dog"]
    babbler, rng = Babbler(read), np.random.default_rng(0)
    known = set.union(*map(word_pairs, read))
    made = [one.text.rstrip(".") for _ in range(50) if (one := babbler.babble(rng))]
    assert len(made) > 30
    assert not set(made) & set(read)
    assert all(word_pairs(text) <= known for text in made)
    assert len(set(made)) > 10


def test_a_chain_that_has_read_one_sentence_only_says_nothing_new() -> None:
    made = Babbler(["one two three four five"]).babble(np.random.default_rng(0))
    assert made is None or made.text.rstrip(".") != "one two three four five"


def test_drift_begins_as_the_sentence_does_and_ends_elsewhere() -> None:
    babbler, rng = Babbler(PLAIN), np.random.default_rng(0)
    for sentence in SENTENCES:
        made = babbler.drift(sentence, rng)
        if made:
            assert made.text.split()[0] == sentence.split()[0]
            assert made.text != sentence
            assert 0 < made.severity < 1


def test_a_circle_goes_round() -> None:
    babbler, rng = Babbler(PLAIN), np.random.default_rng(0)
    repeats = []
    for sentence in SENTENCES:
        if made := babbler.circle(sentence, rng):
            pairs = list(pairwise(made.text.split()))
            repeats.append(1 - len(set(pairs)) / len(pairs))
    assert np.mean(repeats) > 0.2


def test_a_patch_keeps_both_ends() -> None:
    babbler, rng = Babbler(PLAIN), np.random.default_rng(0)
    made = [(sentence, one.text) for sentence in SENTENCES for _ in range(9) if (one := babbler.patch(sentence, rng))]
    assert len(made) > 20
    for sentence, text in made:
        assert text[:2] == sentence[:2]
        assert text[-2:] == sentence[-2:]
        assert text != sentence


def test_the_same_seed_gives_the_same_babble() -> None:
    def run(seed: int) -> list[object]:
        babbler, rng = Babbler(SENTENCES), np.random.default_rng(seed)
        ways = (babbler.drift, babbler.circle, babbler.patch)
        return [babbler.babble(rng)] + [way(sentence, rng) for sentence in SENTENCES for way in ways]

    assert run(1) == run(1)
    assert run(1) != run(2)


@given(st.lists(st.text(max_size=40), max_size=4), st.text(max_size=40), st.integers(0, 2**32))
def test_odd_text_does_not_stop_it(read: list[str], sentence: str, seed: int) -> None:
    babbler, rng = Babbler(["The cat sat here.", *read]), np.random.default_rng(seed)
    babbler.babble(rng)
    for made in (babbler.drift(sentence, rng), babbler.circle(sentence, rng), babbler.patch(sentence, rng)):
        assert made is None or "".join(made.text.casefold().split()) != "".join(sentence.casefold().split())


@pytest.mark.parametrize("sentences", [[], [" "], ["()"]])
def test_nothing_to_babble_with_is_refused(sentences: list[str]) -> None:
    with pytest.raises(UsageError, match="no words"):
        Babbler(sentences)
