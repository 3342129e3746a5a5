"""Training of FERGUS: grammar and order model from a treebank, trigrams from text, settings on trees kept apart."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from celadon.core import FloatArray
from celadon.realize.baseline import count_sides
from celadon.realize.fergus import Fergus, Settings
from celadon.realize.grammar import TreeGrammar, count_grammar
from celadon.realize.lp_chooser import Beam
from celadon.realize.model_files import TrainedFergus
from celadon.realize.order_model import looks_of_tree, treelet_features
from celadon.realize.tree_chooser import Chosen, TreeChooser
from celadon.realize.trees import Arranged
from celadon.train.corpus import Advance
from celadon.train.realizer.fergus_lm import (
    Sentences,
    TrigramRecipe,
    joined,
    number_sentences,
    train_trigrams,
    with_small_beginnings,
)
from celadon.train.realizer.fergus_order import OrderRecipe, Treelet, train_order_model
from celadon.train.realizer.fergus_trees import Parts, TreebankTree, arrange_derivation

FOLDS = 5
"""The order model is trained on supertags chosen by grammars of the other folds, as wrong as they will be in use."""

TRIGRAM_WEIGHTS = (0.1, 0.2, 0.3, 0.45, 0.6)
KEPT_SHARES = (0.003, 0.02)


@dataclass(frozen=True)
class FergusRecipe:
    """How FERGUS is trained.

    Attributes
    ----------
    order, trigrams
        How its parts are.
    repeat
        How often the treebank's sentences count beside the text, for the trigrams.
    most_words
        Longer sentences are not used to choose the settings.
    most_trees
        No more sentences than that are.
    """

    order: OrderRecipe = field(default_factory=OrderRecipe)
    trigrams: TrigramRecipe = field(default_factory=TrigramRecipe)
    repeat: int = 3
    most_words: int = 24
    most_trees: int = 200


@dataclass(frozen=True)
class Tried:
    """Settings, and the share of the development sentences' words that they put right (simple string accuracy)."""

    settings: Settings
    accuracy: float
    perfect: float


@dataclass(frozen=True)
class FergusTraining:
    """A realizer, with what its card says of it.

    Attributes
    ----------
    trained
        The realizer.
    tried
        All settings that were tried on the development sentences.
    develop
        How many sentences these were.
    """

    trained: TrainedFergus
    tried: tuple[Tried, ...]
    develop: int


def train_fergus(
    parts: Parts, text: Sentences, recipe: FergusRecipe, advance: Advance = lambda trees: None
) -> FergusTraining:
    """Train a realizer.

    Parameters
    ----------
    parts
        A treebank, dealt out.
    text
        Sentences of plain text for the trigrams, beside the treebank's own; maybe none.
    recipe
        How.
    advance
        Told how much more is done: trees that are tagged, treelets that are seen, trees that are realized.
    """
    grammar = count_grammar([tree.derivation for tree in parts.train])
    treelets = jackknifed_treelets(parts.train, grammar, advance)
    order_model = train_order_model(treelets, recipe.order, advance)
    sentences = [tree.words for tree in parts.train]
    together = joined(with_small_beginnings(text), number_sentences(sentences), recipe.repeat)
    trigrams = train_trigrams(together, recipe.trigrams)
    fergus = Fergus(grammar, order_model, trigrams)
    develop = _some(parts.develop, recipe)
    tried = _try_settings(fergus, develop, advance)
    best = max(tried, key=lambda each: each.accuracy).settings if tried else Settings()
    trained = TrainedFergus(replace(fergus, settings=best), count_sides(sentences))
    return FergusTraining(trained, tuple(tried), len(develop))


def _some(trees: Sequence[TreebankTree], recipe: FergusRecipe) -> list[TreebankTree]:
    """The sentences to choose settings by, from all over the treebank."""
    short = [tree for tree in trees if 1 < len(tree.words) <= recipe.most_words]
    return short[:: -(-len(short) // recipe.most_trees) or 1]


def jackknifed_treelets(
    trees: Sequence[TreebankTree], grammar: TreeGrammar, advance: Advance = lambda trees: None
) -> list[Treelet]:
    """The treelets of a treebank, with supertags that are chosen by grammars that did not see them."""
    folds = min(FOLDS, len(trees))
    treelets = []
    for fold in range(folds):
        others = [tree.derivation for at, tree in enumerate(trees) if at % folds != fold]
        chooser = TreeChooser(count_grammar(others) if others else grammar)
        for tree in trees[fold::folds]:
            arranged = arrange_derivation(tree.derivation)
            treelets += treelets_of(arranged, chooser.choose(arranged.tree), grammar)
            advance(1)
    return treelets


def treelets_of(arranged: Arranged, chosen: Chosen, grammar: TreeGrammar) -> list[Treelet]:
    """The treelets of a tree whose order is known."""
    tree, place = arranged.tree, arranged.origin
    looks = looks_of_tree(tree, chosen, grammar)
    found = []
    for word, daughters in enumerate(tree.daughters):
        if daughters:
            items = [word, *daughters]
            order = tuple(sorted(range(len(items)), key=lambda at: place[items[at]]))
            found.append(Treelet(treelet_features(looks, items, tree.mothers[word] < 0), order))
    return found


def _try_settings(fergus: Fergus, develop: Sequence[TreebankTree], advance: Advance) -> list[Tried]:
    tried = []
    if develop:
        for weight, share in itertools.product(TRIGRAM_WEIGHTS, KEPT_SHARES):
            settings = Settings(weight, share)
            accuracies = realize_accuracies(replace(fergus, settings=settings), develop, advance)
            tried.append(Tried(settings, float(accuracies.mean()), float((accuracies == 1).mean())))
    return tried


def realize_accuracies(
    fergus: Fergus, trees: Sequence[TreebankTree], advance: Advance = lambda trees: None
) -> FloatArray:
    """The simple string accuracy of each tree's best sentence."""
    from celadon.scoring.api import score

    made = []
    for tree in trees:
        made.append(" ".join(fergus.realize(arrange_derivation(tree.derivation).tree, Beam()).sentences[0].words))
        advance(1)
    metric = "simple_string_accuracy[words=whitespace]"
    scores = score(made, references=[" ".join(tree.words) for tree in trees], metrics=[metric])
    return np.asarray(scores.columns[metric].values)
