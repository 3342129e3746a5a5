"""The tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.tokenizers import DefaultTokenizer

from celadon.core import UsageError
from celadon.text.words import NORMALISATIONS, located_words, word_places, words


@given(st.text(st.characters(max_codepoint=127)))
def test_rouge_words_of_ascii_are_those_of_rouge_score(text: str) -> None:
    assert words(text, "rouge") == DefaultTokenizer(use_stemmer=False).tokenize(text)


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@given(text=st.text())
def test_located_words_are_the_same_words(normalisation: str, text: str) -> None:
    found = located_words(text, normalisation)
    assert [word.form for word in found] == words(text, normalisation)
    ends = [0]
    for word in found:
        assert ends[-1] <= word.start < word.end <= len(text)
        ends.append(word.end)
    assert word_places(text, normalisation) == [(word.start, word.end) for word in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's 3.5%, isn't it?", ["It's", "3", ".", "5", "%", ",", "isn't", "it", "?"]),
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),
        ("今日は", ["今", "日", "は"]),
        ("Ünïcode naïve", ["Ünïcode", "naïve"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("👍🏽 ok", None),
        ("", []),
    ],
)
def test_surface(text: str, expected: list[str] | None) -> None:
    found = words(text, "surface")
    assert found == expected if expected is not None else found[-1] == "ok"


def test_thai_characters_keep_their_marks() -> None:
    assert words("สวัสดี", "rouge") == ["ส", "วั", "ส", "ดี"]


def test_case_is_folded_in_every_script() -> None:
    assert words("ΣΟΦΙΑ Ёлка", "rouge") == ["σοφια", "ёлка"]


def test_unknown_normalisation() -> None:
    with pytest.raises(UsageError, match="known: rouge, rouge-stems, surface, whitespace"):
        words("a", "lemmas")
