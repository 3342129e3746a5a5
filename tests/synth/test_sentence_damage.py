"""Damage done to sentences: seeded, never the sentence itself, and each kind does what its name says."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import UsageError
from celadon.synth.sentence_damage import KINDS, Damaged, damage, damage_by
from tests.synth.english_sentences import SENTENCES

ODD_TEXT = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(["the", "is", "a", "of", "X", "was", "to", "he", ",", ".", "ไทย", "7", "—", "can"])).map(
        " ".join
    ),
    st.sampled_from(["Hello", "…", "\ud800", "\x00", "a", "It's", "I", " the ", "中文句子。", "🙂 🙂 🙂 🙂", "١٢٣"]),
)


def folded(text: str) -> str:
    return "".join(text.casefold().split())


def outcomes(kind: str, sentence: str, others: tuple[str, ...] = SENTENCES, draws: int = 60) -> set[str]:
    """All that a kind makes of a sentence in so many draws."""
    rng = np.random.default_rng(5)
    made = (damage_by(kind, sentence, rng, others) for _ in range(draws))
    return {one.text for one in made if one}


@given(ODD_TEXT, st.lists(ODD_TEXT, max_size=3), st.integers(0, 2**32))
def test_damage_never_returns_the_sentence_itself(sentence: str, others: list[str], seed: int) -> None:
    made = damage(sentence, np.random.default_rng(seed), others)
    if made is not None:
        assert folded(made.text) != folded(sentence)
        assert made.text == made.text.strip()
        assert made.kinds
        assert set(made.kinds) <= set(KINDS)
        assert 0 < made.severity <= 1


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(sentence=ODD_TEXT, others=st.lists(ODD_TEXT, max_size=3), seed=st.integers(0, 2**32))
def test_no_kind_stumbles_over_odd_text(kind: str, sentence: str, others: list[str], seed: int) -> None:
    made = damage_by(kind, sentence, np.random.default_rng(seed), others)
    assert made is None or folded(made.text) != folded(sentence)


def test_the_same_seed_gives_the_same_damage() -> None:
    def run(seed: int) -> list[Damaged | None]:
        rng = np.random.default_rng(seed)
        return [damage(sentence, rng, SENTENCES) for sentence in SENTENCES for _ in range(20)]

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_every_kind_applies_to_some_sentence_and_is_drawn() -> None:
    rng = np.random.default_rng(0)
    drawn = Counter(
        kind
        for sentence in SENTENCES
        for _ in range(120)
        if (made := damage(sentence, rng, SENTENCES))
        for kind in made.kinds
    )
    assert set(drawn) == set(KINDS)


def test_english_sentences_are_always_damaged() -> None:
    rng = np.random.default_rng(0)
    assert all(damage(sentence, rng, SENTENCES) for sentence in SENTENCES for _ in range(50))


def test_severity_grows_with_every_further_damage() -> None:
    rng = np.random.default_rng(0)
    made = [damage(sentence, rng, SENTENCES) for sentence in SENTENCES for _ in range(60)]
    by_number: dict[int, list[float]] = {}
    for one in made:
        assert one is not None
        by_number.setdefault(len(one.kinds), []).append(one.severity)
    means = [float(np.mean(by_number[number])) for number in (1, 2, 3)]
    assert means == sorted(means)
    assert means[2] > means[0] + 0.2


def test_without_other_sentences_there_is_damage_too() -> None:
    rng = np.random.default_rng(0)
    assert all(damage(sentence, rng, ()) for sentence in SENTENCES)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no_such_kind.*agreement"):
        damage_by("no_such_kind", "A sentence.", np.random.default_rng(0), ())


@pytest.mark.parametrize(
    ("kind", "sentence", "expected"),
    [
        ("article_missing", "The hotel has a garden.", {"Hotel has a garden.", "The hotel has garden."}),
        ("article_missing", "The rooms are big.", set()),
        ("preposition_missing", "She lives in London.", {"She lives London."}),
        ("auxiliary_missing", "The hotel is near the river.", {"The hotel near the river."}),
        ("auxiliary_missing", "What do you want?", {"What you want?"}),
        ("infinitive_to_missing", "They want to leave.", {"They want leave."}),
        ("infinitive_to_missing", "They help to build it.", set()),
        ("subject_missing", "The hotel is expensive.", {"Is expensive."}),
        ("subject_missing", "I am sending a letter.", set()),
        ("value_missing", "The hotel is located at 7.", {"The hotel is located at."}),
        ("value_missing", "It is part of European law.", set()),
        ("agreement", "The rooms are big.", {"The rooms is big."}),
        ("agreement", "He has a car.", {"He have a car."}),
        ("agreement", "She lives here.", {"She live here."}),
        ("agreement", "You were here.", set()),
        ("article_form", "It is an old car.", set()),
        ("article_form", "It is an orange.", {"It is a orange."}),
        ("noun_number", "He has two cars.", {"He has two car."}),
        ("noun_number", "It is a hotel.", {"It is a hotels."}),
        ("noun_number", "He was in the bus.", set()),
        ("pronoun_case", "He is here.", {"Him is here."}),
        ("verb_after_modal", "He can go home.", {"He can went home.", "He can goes home.", "He can going home."}),
        ("verb_after_auxiliary", "It was built here.", {"It was build here.", "It was builds here."}),
        ("comparison", "This is better.", {"This is more better."}),
        ("comparison", "The best one won.", {"The most best one won."}),
        ("look_alike", "They lost their keys.", {"They lost there keys.", "They lost they're keys."}),
        ("subject_repeated", "The hotels are nice.", {"The hotels they are nice."}),
        ("stray_stop", "It is from Rome.", {"It is. From Rome.", "It is from. Rome."}),
    ],
)
def test_what_a_kind_makes_of_a_sentence(kind: str, sentence: str, expected: set[str]) -> None:
    assert outcomes(kind, sentence) == expected


def test_a_doubled_word_stands_beside_itself() -> None:
    for made in outcomes("word_doubled", "The hotel had that view."):
        words = made.lower().rstrip(".").split()
        assert any(one == two and one not in {"had", "that"} for one, two in pairwise(words))


@pytest.mark.parametrize(
    "kind",
    ["neighbours_swapped", "several_swapped", "window_shuffled", "all_shuffled", "phrase_moved", "halves_swapped"],
)
def test_disorder_keeps_the_words(kind: str) -> None:
    for sentence in SENTENCES:
        for made in outcomes(kind, sentence, draws=15):
            assert Counter(filter(str.isalnum, folded(made))) == Counter(filter(str.isalnum, folded(sentence)))


def test_unknown_words_are_marked() -> None:
    made = outcomes("unknown_marks", "He was born in London.", draws=200)
    assert {"He was born in <unk>.", "He was born in [UNK].", "He was born in UNK.", "He was born in @unk@."} <= made
    assert all("unk" in one.lower() for one in made)


def test_a_cut_end_leaves_a_beginning_that_waits_for_more() -> None:
    sentence = "The company said that it would close a factory."
    made = outcomes("end_cut", sentence, draws=200)
    assert {"The company said that it would close a.", "The company said that it would close a"} <= made
    assert "The company said." not in made
    assert all(sentence.startswith(one.rstrip(".")) for one in made)


def test_glued_halves_come_from_two_sentences() -> None:
    here, there = "She has written three books about the town.", "They are looking for a cheap restaurant."
    for made in outcomes("halves_glued", here, (there,)):
        at = next(at for at in range(len(made)) if made[: at + 1] != here[: at + 1])
        assert at > 0
        assert there.endswith(made[at:].strip())


def test_a_loop_says_a_phrase_at_least_three_times() -> None:
    for made in outcomes("loop", "The bottle of the wine was open."):
        words = made.lower().replace(",", " ").replace(".", " ").split()
        assert max(Counter(words).values()) >= 3
