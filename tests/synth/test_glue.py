"""Glued sentences: sequences of the corpus, joined as the chain of the paper joins them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from celadon.core import InputError, UsageError
from celadon.synth.glue import glued_sentences
from celadon.synth.tokens import number_sentences, tokens_of

Tokens = tuple[str, ...]


def windows(corpus: Sequence[Sequence[str]], size: int) -> list[Tokens]:
    return [tuple(line[at : at + size]) for line in corpus for at in range(len(line) - size + 1)]


def all_texts(corpus: Sequence[Sequence[str]], length: int, size: int) -> dict[Tokens, float]:
    """Every text with its probability: the chain as the paper tells it, written out in full."""
    pieces = windows(corpus, size)
    words = Counter(word for line in corpus for word in line)
    follows = Counter(pair for line in corpus for pair in pairwise(line))
    texts: dict[Tokens, float] = {}

    def go_on(text: Tokens, chance: float) -> None:
        if len(text) == length:
            texts[text] = texts.get(text, 0.0) + chance
            return
        if text:
            out = sum(count for (before, _), count in follows.items() if before == text[-1])
            firsts = {word: count / out for (before, word), count in follows.items() if before == text[-1]}
        else:
            firsts = {word: count / words.total() for word, count in words.items() if word[0].isalnum()}
        for word, share in firsts.items():
            mine = [piece for piece in pieces if piece[0] == word]
            for piece in mine:
                go_on(text + piece, chance * share / len(mine))

    go_on((), 1.0)
    kept = {
        text: chance
        for text, chance in texts.items()
        if text[-1] == "." and "." not in text[:-1] and list(text) not in [list(line) for line in corpus]
    }
    return {text: chance / sum(kept.values()) for text, chance in kept.items()}


SMALL = [
    "the cat saw the dog near a cat .".split(),
    "a dog saw the cat .".split(),
    "the dog near the cat saw a dog , the cat .".split(),
    "a cat near a dog".split(),
]


@pytest.mark.parametrize(("length", "size"), [(4, 1), (4, 2), (6, 2), (6, 3)])
def test_texts_come_as_often_as_the_papers_chain_makes_them(length: int, size: int) -> None:
    expected = all_texts(SMALL, length, size)
    count = 6000
    made = Counter(
        tuple(token.lower() for token in text.tokens)
        for text in glued_sentences(number_sentences(SMALL), length, size, count, seed=3)
    )
    assert set(made) <= set(expected)
    distance = sum(abs(made[text] / count - chance) for text, chance in expected.items()) / 2
    # half the expected sum of the deviations of so many shares, and half as much again
    noise = sum(np.sqrt(chance * (1 - chance) / count) for chance in expected.values()) * np.sqrt(2 / np.pi) / 2
    assert distance < 1.5 * noise + 1e-9


WORDS = st.sampled_from(["ant", "bee", "cat", "dog", "Emu", ",", "."])
CORPORA = st.lists(st.lists(WORDS, min_size=1, max_size=12).map(lambda line: [*line, "."]), min_size=1, max_size=8)


@given(CORPORA, st.sampled_from([1, 2, 3]), st.integers(2, 4), st.integers(0, 99))
def test_every_sequence_and_every_joint_is_of_the_corpus(
    corpus: list[list[str]], size: int, parts: int, seed: int
) -> None:
    length = size * parts
    try:
        made = glued_sentences(number_sentences(corpus), length, size, 5, seed)
    except InputError:
        assume(False)
    pieces = {tuple(token.lower() for token in piece) for piece in windows(corpus, size)}
    pairs = {(before.lower(), after.lower()) for line in corpus for before, after in pairwise(line)}
    for text in made:
        assert tokens_of(text.text) == list(text.tokens)
        low = tuple(token.lower() for token in text.tokens)
        assert len(low) == length
        assert low.index(".") == length - 1
        assert {low[at : at + size] for at in range(0, length, size)} <= pieces
        assert all((low[at - 1], low[at]) in pairs for at in range(size, length, size))
        assert list(text.tokens) not in corpus


def test_first_words_are_as_frequent_as_in_the_corpus() -> None:
    rng = np.random.default_rng(0)
    names = [f"word{number}" for number in range(20)]
    shares = 1 / np.arange(1, 21)
    corpus = [[*rng.choice(names, 15, p=shares / shares.sum()), "."] for _ in range(400)]
    counts = Counter(word for line in corpus for word in line if word != ".")
    made = Counter(text.tokens[0].lower() for text in glued_sentences(number_sentences(corpus), 8, 2, 4000, seed=1))
    for name in names:
        assert made[name] / 4000 == pytest.approx(counts[name] / counts.total(), abs=0.03)


@pytest.mark.parametrize("size", [1, 3])
def test_a_seed_makes_the_same_texts_and_another_makes_others(size: int) -> None:
    corpus = number_sentences(SMALL)
    first = glued_sentences(corpus, 6, size, 20, seed=1)
    assert first == glued_sentences(corpus, 6, size, 20, seed=1)
    assert first != glued_sentences(corpus, 6, size, 20, seed=2)


def test_sequences_as_long_as_the_text_are_real_sentences() -> None:
    lines = [f"{name} saw the {thing} .".split() for name in ("Ann", "Bob", "Cy") for thing in ("cat", "dog")]
    corpus = number_sentences([*lines, lines[0], "no stop is here now".split(), "one . and another .".split()])
    made = glued_sentences(corpus, 5, 5, 6, seed=1)
    assert sorted(text.tokens for text in made) == sorted(map(tuple, lines))
    with pytest.raises(InputError, match="only 6 sentences of 5 tokens"):
        glued_sentences(corpus, 5, 5, 7, seed=1)


def test_numbers_that_do_not_go_together_are_refused() -> None:
    corpus = number_sentences(SMALL)
    with pytest.raises(UsageError, match="does not divide the length 24; sizes that do: 1, 2, 3, 4, 6, 8, 12, 24"):
        glued_sentences(corpus, 24, 5, 1, seed=1)
    for length, count, seed in ((1, 1, 0), (6, 0, 0), (6, 1, -1)):
        with pytest.raises(UsageError, match="must be at least"):
            glued_sentences(corpus, length, 1, count, seed)


def test_a_corpus_that_has_too_little_says_so() -> None:
    with pytest.raises(InputError, match="no sequences of 2 tokens"):
        glued_sentences(number_sentences(["no stop at all".split()]), 4, 2, 1, seed=1)
    with pytest.raises(InputError, match="hardly anything but its own sentences"):
        glued_sentences(number_sentences(["Just one sentence .".split()]), 4, 2, 1, seed=1)
