"""The realizer that ships: its size, its card, and the paper's example."""

from __future__ import annotations

import pytest

from celadon.models.store import folder_of
from celadon.realize.fergus import Fergus
from celadon.realize.lp_chooser import Beam
from celadon.realize.model_files import BUILTIN, open_realizer
from celadon.realize.trees import arrange
from tests.conftest import ROOT
from tests.realize.test_trees import shuffled

FOLDER = ROOT / "src" / "celadon" / "weights" / "fergus"

if not (FOLDER / "model.json").is_file():
    pytest.skip(f"no weights at {FOLDER}; make them with: celadon train fergus", allow_module_level=True)

# the tree of the paper's Figure 2
WORDS = "there was no cost estimate for the second phase".split()
HEADS = [4, 4, 4, 4, -1, 8, 8, 8, 4]


@pytest.fixture(scope="module")
def fergus() -> Fergus:
    opened, digest = open_realizer()
    assert len(digest) == 64
    assert isinstance(opened, Fergus)
    return opened


def test_it_is_small_and_says_what_it_is_made_from() -> None:
    assert folder_of(BUILTIN) == FOLDER
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= 15_000_000
    card = (FOLDER / "card.md").read_text(encoding="utf-8")
    assert "CC BY-SA" in card
    assert "celadon train fergus" in card


def test_the_papers_example_is_realized(fergus: Fergus) -> None:
    for seed in range(3):
        tree = arrange(*shuffled(WORDS, HEADS, seed)).tree
        found = fergus.realize(tree, Beam(best=5))
        assert list(found.sentences[0].words) == WORDS
        scores = [each.score for each in found.sentences]
        assert scores == sorted(scores, reverse=True)


def test_the_baseline_comes_with_it() -> None:
    baseline, _ = open_realizer("baseline")
    (sentence,) = baseline.realize(arrange(WORDS, HEADS).tree).sentences
    assert sorted(sentence.words) == sorted(WORDS)
