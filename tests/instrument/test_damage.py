"""Every kind of damage does what its name says, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from celadon.instrument.damage import KINDS, damaged

TEXT = (
    "# The kiln\n\nThe potter opens the old kiln at dawn, and the glaze is still warm. A bowl has a crack in its side. "
    "She puts it on the shelf with the others.\n\n- It was fired for nine hours in the new chamber.\n"
)
SENTENCES = (
    "The potter opens the old kiln at dawn, and the glaze is still warm.",
    "A bowl has a crack in its side.",
    "She puts it on the shelf with the others.",
    "It was fired for nine hours in the new chamber.",
)
PLACES = [(TEXT.index(sentence), TEXT.index(sentence) + len(sentence)) for sentence in SENTENCES]
OTHERS = ["Prices fell by a third in the last quarter.", "The law was passed in 1994 without a debate."]


def copy(kind: str, seed: int = 0, text: str = TEXT, places: list[tuple[int, int]] = PLACES) -> str | None:
    return damaged(kind, text, places, OTHERS, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_copy_and_structure_stays(kind: str) -> None:
    made = copy(kind)
    assert made is not None
    assert made == copy(kind)
    assert made != TEXT
    assert made.startswith("# The kiln\n\n")


@pytest.mark.parametrize("kind", ["agreement", "articles", "repeated", "mixed", "cut", "looped", "shuffled"])
def test_what_cannot_be_changed_gives_no_copy(kind: str) -> None:
    assert copy(kind, text="Stop now.", places=[(0, 9)]) is None


def test_one_word_in_twelve_is_dropped() -> None:
    words = len(TEXT.split())
    for seed in range(20):
        made = copy("dropped", seed)
        assert made is not None
        assert words - len(made.split()) == 3  # of the 42 words of the sentences, to the nearest number


def test_two_sentences_of_four_have_swapped_neighbors() -> None:
    for seed in range(20):
        made = copy("swapped", seed)
        assert made is not None
        assert sorted(made.lower().replace(",", "").replace(".", "").split()) == sorted(
            TEXT.lower().replace(",", "").replace(".", "").split()
        )
        assert sum(sentence not in made for sentence in SENTENCES) == 2


def test_articles_and_agreement() -> None:
    made = copy("articles")
    assert made is not None
    assert not {"the", "a", "an"} & set(made.lower().removeprefix("# the kiln").split())
    assert "Bowl has crack in its side." in made
    flipped = copy("agreement")
    assert flipped is not None
    assert "the glaze are still warm" in flipped
    assert "A bowl have a crack" in flipped
    assert "It were fired" in flipped


def test_sentences_of_documents() -> None:
    for seed in range(10):
        repeated, mixed, shuffled = (copy(kind, seed) for kind in ("repeated", "mixed", "shuffled"))
        assert repeated is not None
        assert sum(sentence in repeated for sentence in SENTENCES) == 3
        assert mixed is not None
        assert sum(sentence in mixed for sentence in OTHERS) == 1
        if shuffled is not None:
            assert all(sentence in shuffled for sentence in SENTENCES)


def test_a_cut_text_stops_inside_its_last_sentence() -> None:
    for seed in range(10):
        made = copy("cut", seed)
        assert made is not None
        assert TEXT.startswith(made)
        assert PLACES[-1][0] < len(made) < PLACES[-1][1] - 1


def test_a_looped_phrase_comes_at_least_four_times() -> None:
    for seed in range(10):
        made = copy("looped", seed)
        assert made is not None
        words = made.replace(".", "").split()
        runs = [tuple(words[at : at + 3]) for at in range(len(words) - 2)]
        assert max(runs.count(run) for run in runs) >= 4
