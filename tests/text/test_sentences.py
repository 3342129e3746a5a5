"""Where sentences begin and end."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.text.sentences import split_sentences, splitter_version

ANY = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)
WORDY = st.lists(
    st.sampled_from(
        ["The", "cat", "sat.", "Dr.", "3.14", "...", "!", '"Go."', "\n", "2.", "—", "。", "a.b", "\u2028", "?"]
    ),
    max_size=25,
).map(" ".join)


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith paid $3.14 to Mr. Jones. He left.", ["Dr. Smith paid $3.14 to Mr. Jones.", "He left."]),
        ("J. K. Rowling wrote it. He lives in the U.S. now.", ["J. K. Rowling wrote it.", "He lives in the U.S. now."]),
        ('"Stop!" he said. "Why?" she asked.', ['"Stop!" he said.', '"Why?" she asked.']),
        ('He said "I am here." She left.', ['He said "I am here."', "She left."]),
        ("the cat sat . the dog ran .", ["the cat sat .", "the dog ran ."]),
        ("See fig. 3 for more. It cost 3.5 million.", ["See fig. 3 for more.", "It cost 3.5 million."]),
        ("  no full stop  ", ["no full stop"]),
    ],
)
def test_full_stops_that_end_nothing_end_nothing(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", " \n ", "\u2028", "\x0b", "\x85"])
def test_a_line_ends_a_sentence(end: str) -> None:
    assert sentences(f"A headline{end}the story goes on{end}") == ["A headline", "the story goes on"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello. !!! ... He left.", ["Hello. !!! ...", "He left."]),
        ("*** Hello. He left. ***", ["*** Hello.", "He left. ***"]),
        ("1. Do this. 2. Do that.", ["1. Do this.", "2. Do that."]),
        ("Hello.\n* * *\nHe left.", ["Hello.", "* * *", "He left."]),
        ("It ends with 2.", ["It ends with 2."]),
        ("12.", ["12."]),
    ],
)
def test_what_has_no_words_goes_with_its_neighbour(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_full_stops_without_a_space() -> None:
    assert sentences("今天天气很好。我们去散步吧！「好吗？」") == ["今天天气很好。", "我们去散步吧！", "「好吗？」"]


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u00a0"])
def test_nothing_has_no_sentences(text: str) -> None:
    assert split_sentences(text) == ()


@given(ANY | WORDY)
def test_nothing_is_lost_and_nothing_overlaps(text: str) -> None:
    spans = split_sentences(text)
    inside = {at for start, end in spans for at in range(start, end)}
    assert {at for at, character in enumerate(text) if not character.isspace()} <= inside
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)
    assert all(len(text[start:end].splitlines()) == 1 for start, end in spans)


@given(WORDY, WORDY)
def test_a_line_is_split_as_if_it_were_alone(first: str, second: str) -> None:
    assert sentences(f"{first}\n{second}") == [*sentences(first), *sentences(second)]


def test_a_word_taught_to_the_package_changes_nothing_here() -> None:
    import nupunkt

    text = "He saw the flurb. Then he left."
    before = sentences(text)
    shared = nupunkt.load("default")
    shared.add_abbreviation("flurb")
    try:
        assert sentences(text) == before == ["He saw the flurb.", "Then he left."]
    finally:
        shared.remove_abbreviation("flurb")


def test_the_version_is_told() -> None:
    assert splitter_version().startswith("nupunkt-")
