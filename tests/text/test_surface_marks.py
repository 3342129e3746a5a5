"""Marks of unfinished text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.text.surface_marks import hanging_opening, loose_end, unknown_marks


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("The <unk> sat on UNK.", ["<unk>", "UNK"]),
        ("He met [UNK] and @unk@ in < unk >.", ["[UNK]", "@unk@", "< unk >"]),
        ("A hunk of bread in a junk shop, and the word unk.", []),
        ("caf\ufffd", ["\ufffd"]),
    ],
)
def test_unknown_marks(text: str, marks: list[str]) -> None:
    assert [text[start:end] for start, end in unknown_marks(text)] == marks


@pytest.mark.parametrize(
    ("sentence", "cut"),
    [
        ("Mr Erik Meldik said the.", "the"),
        ("It was bought by the owner of", "of"),
        ("He came home and,", "and"),
        ("She bought apples,", "apples,"),
        ("The hotel is near the station", "station"),
    ],
)
def test_loose_ends(sentence: str, cut: str) -> None:
    found = loose_end(sentence)
    assert found is not None
    assert sentence[slice(*found.place)] == cut


@pytest.mark.parametrize(
    "sentence",
    ["What is it made of?", "I know who she is.", "He went in.", "“Stop it!”", "He likes tea (and coffee).", "...", ""],
)
def test_whole_sentences_have_none(sentence: str) -> None:
    assert loose_end(sentence) is None


def test_the_last_sentence_may_do_without_a_full_stop() -> None:
    assert loose_end("Police find missing boy", last=True) is None
    assert loose_end("Police find the", last=True) is not None


@pytest.mark.parametrize(("text", "opens"), [("He left.", True), ("However, it rained.", True), ("Ann left.", False)])
def test_hanging_openings(text: str, opens: bool) -> None:
    assert (hanging_opening(text) is not None) is opens


@given(st.text())
def test_places_are_inside_the_text(text: str) -> None:
    for start, end in unknown_marks(text):
        assert 0 <= start < end <= len(text)
    for found in (loose_end(text), hanging_opening(text)):
        assert found is None or 0 <= found.place[0] < found.place[1] <= len(text)
