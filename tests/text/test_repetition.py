"""Repetition against difflib, plain dynamic programmes and counting."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from celadon.text.repetition import (
    MAX_DISTANCE,
    RepeatedPair,
    longest_loop,
    repeated_grams,
    repeated_pairs,
    sentence_words,
    shared_parts,
)
from celadon.text.words import Word, words

PAPER = {"common_substring": 0.8, "common_run": 0.8, "edit_distance": 0.6, "common_words": 0.8}

# few letters and words, so that what is shared is often just at the threshold
letters = st.text("ab A.", min_size=1, max_size=20)
few_words = st.lists(st.sampled_from(["a", "b", "ab", "A", "c."]), min_size=1, max_size=12).map(" ".join)
shares = st.integers(6, 19).map(lambda twentieths: twentieths / 20)
limits = st.fixed_dictionaries(dict.fromkeys(PAPER, shares))


def flags(sentences: Sequence[str], limits: dict[str, float] = PAPER) -> list[RepeatedPair]:
    return list(repeated_pairs(sentences, **limits))


def longest_block(left: Sequence[str], right: Sequence[str]) -> int:
    return SequenceMatcher(None, left, right, autojunk=False).find_longest_match().size


def edits(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        above, row = row, [i]
        for j, b in enumerate(right, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


def plain_features(left: str, right: str, limits: dict[str, float]) -> str:
    """The four features by their definitions, in exact fractions."""
    exact = {name: Fraction(str(share)) for name, share in limits.items()}
    ours, theirs = words(left, "rouge"), words(right, "rouge")
    shorter, longer = sorted([len(left), len(right)])
    fewer = min(len(ours), len(theirs))
    found = {
        "A": longest_block(left, right) > exact["common_substring"] * shorter,
        "B": longest_block(ours, theirs) > exact["common_run"] * fewer,
        "C": edits(left, right) < exact["edit_distance"] * longer,
        "D": (Counter(ours) & Counter(theirs)).total() > exact["common_words"] * fewer,
    }
    return "".join(letter for letter, is_there in found.items() if is_there)


class TestPairs:
    @given(st.lists(letters | few_words, max_size=5), limits)
    def test_the_four_features_are_what_they_say(self, sentences: list[str], limits: dict[str, float]) -> None:
        expected = [
            RepeatedPair(i, j, features)
            for (i, left), (j, right) in combinations(enumerate(sentences), 2)
            if (features := plain_features(left, right, limits))
        ]
        assert flags(sentences, limits) == expected

    @given(letters | few_words, letters | few_words, limits)
    def test_either_sentence_may_come_first(self, left: str, right: str, limits: dict[str, float]) -> None:
        assert flags([left, right], limits) == flags([right, left], limits)

    @pytest.mark.parametrize("share", [0.1, 0.3, 0.6, 0.7, 0.8])
    def test_a_share_that_is_just_reached_is_not_passed(self, share: float) -> None:
        for tens in range(1, 12):
            length = 10 * tens
            common = round(share * length)
            left, right = "x" * common + "y" * (length - common), "x" * common + "z" * (length - common)
            assert "A" not in plain_features(left, right, PAPER | {"common_substring": share})
            assert (
                flags([left, right], dict.fromkeys(PAPER, 1.0) | {"common_substring": share, "edit_distance": 0}) == []
            )
            at_once = dict.fromkeys(PAPER, 1.0) | {"edit_distance": (length - common) / length}
            assert flags([left, right], at_once) == []

    def test_a_long_sentence_shares_what_difflib_takes_for_junk(self) -> None:
        generator = random.Random(3)
        stock = [letter * 2 + letter for letter in "abcdefgh"]
        shared = " ".join(generator.choices(stock, k=80))
        left, right = f"One {shared}", f"{shared} two"
        assert len(right) > 200
        assert SequenceMatcher(None, left, right).find_longest_match().size < 0.8 * len(left)
        assert flags([left, right]) == [RepeatedPair(0, 1, "ABCD")]

    def test_neither_case_nor_punctuation_hides_words(self) -> None:
        assert flags(["He saw a cat today.", "Today, A CAT he SAW!"]) == [RepeatedPair(0, 1, "D")]

    def test_a_sentence_without_words_has_none_in_common(self) -> None:
        assert flags(["???", "???"]) == [RepeatedPair(0, 1, "AC")]

    @pytest.mark.parametrize(
        "sentence",
        ["วันนี้อากาศดีมาก เราจะไปเดินเล่นกัน", "🎉🎉 👩‍👩‍👧‍👦 we danced", "x \ud800\udfff y", "a\x00b c", "天气很好"],
    )
    def test_any_characters(self, sentence: str) -> None:
        assert flags([sentence, "something else altogether", sentence]) == [RepeatedPair(0, 2, "ABCD")]

    @given(st.lists(st.text(st.characters(), min_size=1, max_size=12), max_size=4), limits)
    def test_anything_at_all(self, sentences: list[str], limits: dict[str, float]) -> None:
        for i, j, features in flags(sentences, limits):
            assert features == plain_features(sentences[i], sentences[j], limits)


class TestSharedParts:
    @given(letters | few_words, letters | few_words)
    def test_the_substring_is_a_longest_one(self, left: str, right: str) -> None:
        found = shared_parts(left, right).substring
        length = longest_block(left, right)
        assert (found is None) == (length == 0)
        if found:
            (start, end), (other_start, other_end) = found
            assert end - start == length
            assert left[start:end] == right[other_start:other_end]

    @given(few_words, few_words)
    def test_the_words_are_all_common_ones(self, left: str, right: str) -> None:
        ours, theirs = shared_parts(left, right).words
        common = Counter(words(left, "rouge")) & Counter(words(right, "rouge"))
        assert Counter(left[start:end].lower() for start, end in ours) == common
        assert Counter(right[start:end].lower() for start, end in theirs) == common

    def test_in_a_sentence(self) -> None:
        left, right = "He took a bunch of bananas.", "Then took she a large bunch of bananas"
        (start, end), (other_start, other_end) = shared_parts(left, right).substring or ((0, 0), (0, 0))
        assert left[start:end] == right[other_start:other_end] == " bunch of bananas"


def located(sentences: Sequence[Sequence[str]]) -> list[list[Word]]:
    """Sentences of these words, with places as in a text of all words with one space after each."""
    at, found = 0, []
    for sentence in sentences:
        found.append([])
        for form in sentence:
            found[-1].append(Word(form, at, at + len(form)))
            at += len(form) + 1
    return found


word_lists = st.lists(st.lists(st.sampled_from(["a", "b", "cc", "the"]), max_size=10), max_size=4)


class TestGrams:
    @given(word_lists, st.integers(1, 4))
    def test_counts_are_all_grams_less_the_different_ones(self, sentences: list[list[str]], n: int) -> None:
        ignored = frozenset({"the"})
        grams = [
            [gram for at in range(len(s) - n + 1) if set(gram := tuple(s[at : at + n])) != {"the"}] for s in sentences
        ]
        everything = [gram for sentence in grams for gram in sentence]
        found = repeated_grams(located(sentences), n, ignored)
        assert found.total == len(everything)
        assert found.in_text == len(found.places) == len(everything) - len(set(everything))
        assert found.in_sentence == sum(len(sentence) - len(set(sentence)) for sentence in grams)
        assert 0 <= found.share_in_sentence <= found.share_in_text < 1 or not everything

    def test_places(self) -> None:
        text = "In 2012, Spain won. It won in 2012."
        sentences = sentence_words(text, [(0, 19), (20, 35)])
        found = repeated_grams(sentences, 2)
        assert [text[start:end] for start, end in found.places] == ["in 2012"]
        assert (found.total, found.in_text, found.in_sentence) == (6, 1, 0)
        assert found.share_in_text == pytest.approx(1 / 6)

    def test_only_so_many_words_before(self) -> None:
        sentences = located([["a", "b", "c"], ["a"]])
        assert repeated_grams(sentences, 1, within=3).in_text == 1
        assert repeated_grams(sentences, 1, within=2).in_text == 0

    def test_no_words(self) -> None:
        assert repeated_grams([[], []], 1).share_in_text == 0.0


def plain_loop(sentence: Sequence[str], gap: int, ignored: set[str]) -> tuple[int, int] | None:
    """The length and the gap of the best loop, by trying all."""
    found = [
        (length, -between)
        for length in range(1, len(sentence) // 2 + 1)
        for between in range(gap + 1)
        for at in range(len(sentence) - 2 * length - between + 1)
        if (run := sentence[at : at + length]) == sentence[at + length + between : at + 2 * length + between]
        and (between == 0 or not set(run) <= ignored)
    ]
    return (max(found)[0], -max(found)[1]) if found else None


class TestLoops:
    @given(st.lists(st.sampled_from(["a", "b", "the", "of"]), max_size=14), st.integers(0, 6))
    @example(["a"] * 9, 2)
    def test_the_longest_and_then_the_nearest(self, sentence: list[str], gap: int) -> None:
        found = longest_loop(located([sentence])[0], gap, frozenset({"the", "of"}))
        assert (found and (found.words, found.gap)) == plain_loop(sentence, gap, {"the", "of"})
        if found:
            text = " ".join(sentence)
            assert text[slice(*found.first)] == text[slice(*found.second)]
            assert len(text[found.first[1] : found.second[0]].split()) == found.gap

    @pytest.mark.parametrize(
        ("text", "gap", "again"),
        [
            ("It is the the bottle.", 0, "the"),
            ("It is the bottle of the bottle in its mouth.", 1, "the bottle"),
            ("In 2012, Spain won the European Championships for a second time in 2012.", 20, "in 2012"),
            ("It is what it is.", 20, None),
            ("The cat and the dog.", 20, None),
        ],
    )
    def test_examples(self, text: str, gap: int, again: str | None) -> None:
        sentence = sentence_words(text, [(0, len(text))])[0]
        found = longest_loop(sentence, gap, frozenset("the it is what of in and a".split()))
        assert (text[slice(*found.second)] if found else None) == again

    def test_a_loop_that_begins_again_too_late_is_not_looked_for(self) -> None:
        def apart(distance: int) -> list[Word]:
            return located([["a", *map(str, range(distance - 1)), "a"]])[0]

        assert longest_loop(apart(MAX_DISTANCE), 10**6)
        assert longest_loop(apart(MAX_DISTANCE + 1), 10**6) is None
