"""Slips, the labels of the words they make wrong, and variants that are no damage."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.models.encoders.word_findings import FindingKind, first_tokens, word_spans
from celadon.synth.labelled_damage import KIND_OF, SEAMS, Slips, damage_labels
from celadon.synth.sentence_damage import KINDS
from celadon.synth.slips import Correction
from celadon.synth.sound_variants import VARIANTS, sound_variant
from celadon.synth.word_differences import difference_labels

CORRECTIONS = [
    Correction("We recieve a overview.", "We receive an overview."),
    Correction("They beleive in it.", "They believe in it."),
    Correction("It depends of you.", "It depends on you."),
]
TEXTS = (
    "However, the list of items on the desk is longer than John expected, and it wasn't read by the two users.",
    "She bought some milk (and eggs) yesterday, and then she went to their house in 1990.",
    "You can use this feature to create something for the users of a new cluster, and they believe in it.",
    "The doctor has taken a lot of these books from an old library, and nobody knows whether he received them.",
)


def faulty_words(faulty: str, sound: str, **options: object) -> list[tuple[str, str]]:
    labels = difference_labels(faulty, sound, **options)  # type: ignore[arg-type]
    return [(faulty[label.start : label.end], str(label.kind)) for label in labels if label.kind is not FindingKind.OK]


@pytest.mark.parametrize(
    ("faulty", "sound", "expected"),
    [
        ("The list of items are long.", "The list of items is long.", [("are", "agreement")]),
        ("He go home.", "He goes home.", [("go", "agreement")]),
        ("She has went home.", "She has gone home.", [("went", "verb form")]),
        ("It is a option.", "It is an option.", [("a", "article")]),
        ("He is doctor.", "He is a doctor.", [("doctor", "article")]),
        ("It depends of you.", "It depends on you.", [("of", "preposition")]),
        ("He lives London.", "He lives in London.", [("London", "preposition")]),
        ("We saw the the house.", "We saw the house.", [("the", "doubled word")]),
        ("He what sees.", "He sees what.", [("what", "word order"), ("sees", "word order")]),
        ("They want go home.", "They want us go home.", [("go", "missing word")]),
        ("We recieve it.", "We receive it.", [("recieve", "spelling")]),
        ("They loose it.", "They lose it.", [("loose", "wrong word")]),
        ("Well we saw it.", "Well, we saw it.", [("we", "punctuation")]),
        ("We saw the", "We saw the house of the king.", [("the", "broken off")]),
        ("we SAW it.", "We saw it.", []),
    ],
)
def test_differences_name_the_words(faulty: str, sound: str, expected: list[tuple[str, str]]) -> None:
    assert faulty_words(faulty, sound, known={"loose", "lose"}) == expected


def test_a_seam_is_one_word() -> None:
    faulty, sound = "We saw the old for a long time.", "We saw the old house."
    assert faulty_words(faulty, sound, seam=True) == [("for", "broken off")]
    assert faulty_words(faulty, sound, seam=True, kind=FindingKind.PUNCTUATION) == [("for", "punctuation")]


@pytest.mark.parametrize("kind", Slips(CORRECTIONS).kinds)
def test_every_slip_changes_few_words_and_labels_them(kind: str) -> None:
    slips, random, times = Slips(CORRECTIONS), np.random.default_rng(0), 0
    for text in TEXTS * 5:
        slip = slips.make(text, random, TEXTS, only={kind})
        if slip is None:
            continue
        times += 1
        assert set(slip.kinds) == {kind}
        assert 0 < slip.severity < 1
        labels = damage_labels(slip.text, text, slip.kinds)
        faulty = [label.kind for label in labels if label.kind is not FindingKind.OK]
        assert 1 <= len(faulty) <= 3 * len(slip.kinds), slip.text
        if kind in KIND_OF:
            assert set(faulty) == {KIND_OF[kind]}
    assert times


def test_every_label_is_of_a_kind_that_there_is() -> None:
    names = {*KINDS, *Slips(CORRECTIONS).kinds}
    assert set(KIND_OF) <= names
    assert set(SEAMS) <= names


def test_slips_are_those_that_people_corrected() -> None:
    slips, random = Slips([Correction("It depends of you.", "It depends on you.")]), np.random.default_rng(0)
    slip = slips.make("The size depends on the room.", random, only={"confused_word"})
    assert slip is not None
    assert slip.text == "The size depends of the room."
    slips = Slips([Correction("We recieve it.", "We receive it.")])
    written = {
        slip.text
        for _ in range(20)
        if (slip := slips.make("It is ceiling.", random, only={"letter_slip"})) and len(slip.kinds) == 1
    }
    assert written & {"It is cieling.", "It is ciling.", "It is cieiling.", "It is celing."}


def test_the_same_state_gives_the_same_slip() -> None:
    slips = Slips(CORRECTIONS)
    one, two = ([slips.make(text, np.random.default_rng(7), TEXTS) for text in TEXTS] for _ in range(2))
    assert one == two


def test_variants_are_words_as_good() -> None:
    random = np.random.default_rng(0)
    apply = {name: variant for name, (_, variant) in VARIANTS.items()}
    changed = apply["names"]("John saw the river with John.", random)
    assert changed.split()[0] == changed.rstrip(".").split()[-1] != "John"
    assert re.fullmatch(r"In \d{4} they had \d\d cars.", apply["numbers"]("In 1990 they had 12 cars.", random))
    assert apply["contractions"]("It does not work.", random) == "It doesn't work."
    assert apply["contractions"]("It doesn't work.", random) == "It does not work."
    assert apply["spelling"]("The Color of the centre.", random) == "The Colour of the center."
    both = {apply["oxford_comma"]("Red, green and blue.", random) for _ in range(20)}
    assert both == {"Red, green and blue.", "Red, green, and blue."}
    assert apply["small_letters"]("The Cat.", random) == "the cat."
    assert apply["capitals"]("The Cat.", random) == "THE CAT."


@given(st.text(max_size=60), st.integers(0, 2**32))
def test_any_text_has_a_variant(text: str, seed: int) -> None:
    assert isinstance(sound_variant(text, np.random.default_rng(seed)), str)


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_have_labels(faulty: str, sound: str) -> None:
    labels = difference_labels(faulty, sound)
    assert [(label.start, label.end) for label in labels] == word_spans(faulty)
    assert all(label.kind is FindingKind.OK for label in difference_labels(sound, sound))


def test_words_begin_with_their_first_token() -> None:
    spans = word_spans("Un-happy, it's")
    assert spans == [(0, 8), (8, 9), (10, 14)]
    offsets = [(0, 0), (0, 2), (2, 3), (3, 8), (8, 9), (10, 12), (12, 13), (13, 14), (0, 0)]
    assert first_tokens(spans, offsets) == [1, 4, 5]
    assert first_tokens([(0, 1), (2, 3)], [(2, 3)]) == [-1, 0]
