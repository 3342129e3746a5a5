"""Neutral variants change the format and never the words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.synth.neutral_variants import VARIANTS, neutral, variant
from tests.synth.english_sentences import SENTENCES

# these put something else for a name, a number or a bracket; the others keep every letter and digit
REPLACING = {"placeholders", "digits", "brackets"}


def letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


@pytest.mark.parametrize("name", sorted(set(VARIANTS) - REPLACING))
@given(sentence=st.one_of(st.text(max_size=60), st.sampled_from(SENTENCES)), seed=st.integers(0, 99))
def test_a_variant_keeps_letters_and_digits(name: str, sentence: str, seed: int) -> None:
    assert letters(variant(name, sentence, np.random.default_rng(seed))) == letters(sentence)


@given(st.one_of(st.text(max_size=60), st.sampled_from(SENTENCES)), st.integers(0, 2**32))
def test_text_never_vanishes(sentence: str, seed: int) -> None:
    assert bool(neutral(sentence, np.random.default_rng(seed)).strip()) == bool(sentence.strip())


@pytest.mark.parametrize(
    ("name", "sentence", "expected"),
    [
        ("lower_case", "The Hotel is Open.", {"the hotel is open."}),
        ("first_lower", "The Hotel is open.", {"the Hotel is open."}),
        ("no_final_mark", "It is open.", {"It is open"}),
        ("no_final_mark", "Is it open?", {"Is it open?"}),
        ("tokenised", "No, it's open (today).", {"No , it 's open ( today ) ."}),
        ("tokenised", "It costs 3.50, or 1,200 in all.", {"It costs 3.50 , or 1,200 in all ."}),
        ("brackets", "It is open (today).", {"It is open -lrb- today -rrb- ."}),
        ("brackets", "It is [UNK] (today).", {"It is [UNK] (today)."}),
        ("digits", "Two of the three rooms", {"2 of the 3 rooms"}),
        ("no_commas", "Well, it costs 1,200, or so.", {"Well it costs 1,200 or so."}),
        ("quotes", 'A "good" one', {'A "good" one', "A “good” one", "A ``good'' one", "A 'good' one", "A good one"}),
    ],
)
def test_what_a_variant_makes_of_a_sentence(name: str, sentence: str, expected: set[str]) -> None:
    rng = np.random.default_rng(0)
    assert {variant(name, sentence, rng) for _ in range(60)} == expected


def test_a_name_becomes_a_placeholder_and_other_words_stay() -> None:
    rng = np.random.default_rng(0)
    made = {variant("placeholders", "The Golden Lion is near Paris.", rng) for _ in range(60)}
    assert "The X is near X." in made
    assert all(one.startswith("The ") and " is near " in one and "Paris" not in one for one in made)


def test_the_same_seed_gives_the_same_variant() -> None:
    def run() -> list[str]:
        rng = np.random.default_rng(3)
        return [neutral(sentence, rng) for sentence in SENTENCES]

    assert run() == run()


def test_some_sentences_stay_as_they_are_and_some_change() -> None:
    rng = np.random.default_rng(0)
    kept = [neutral(sentence, rng) == sentence for sentence in SENTENCES for _ in range(50)]
    assert 0.3 < np.mean(kept) < 0.7
