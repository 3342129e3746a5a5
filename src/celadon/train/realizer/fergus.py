"""Training of FERGUS: grammar and order model from a treebank, trigrams from text, settings on trees kept apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from celadon.core import FloatArray, UsageError
from celadon.io.lines import read_paragraphs
from celadon.realize.fergus import Fergus, Settings, count_sides
from celadon.realize.grammar import TreeGrammar, count_grammar
from celadon.realize.lp_chooser import Beam
from celadon.realize.model_files import TrainedFergus, save_fergus
from celadon.realize.order_model import looks_of_tree, treelet_features
from celadon.realize.tree_chooser import Chosen, TreeChooser
from celadon.realize.trees import Arranged
from celadon.train.corpus import Advance, Corpus
from celadon.train.model_folder import check_new_folder, new_folder
from celadon.train.parsers.training import treebank_digest
from celadon.train.realizer.order_model import OrderRecipe, Treelet, train_order_model
from celadon.train.realizer.trees import Parts, TreebankTree, arrange_derivation, part_trees, read_derivations
from celadon.train.realizer.trigrams import (
    Sentences,
    TrigramRecipe,
    joined,
    number_sentences,
    text_words,
    train_trigrams,
    with_small_beginnings,
)
from celadon.train.reporting import SILENT, Report, made_by, model_card
from celadon.train.training_run import import_torch

FOLDS = 5
"""The order model is trained on supertags chosen by grammars of the other folds, as wrong as they will be in use."""

TRIGRAM_WEIGHTS = (0.1, 0.2, 0.3, 0.45, 0.6)
KEPT_SHARES = (0.003, 0.02)


@dataclass(frozen=True)
class FergusRecipe:
    """How FERGUS is trained."""

    # order, trigrams: how its parts are
    order: OrderRecipe = field(default_factory=OrderRecipe)
    trigrams: TrigramRecipe = field(default_factory=TrigramRecipe)
    repeat: int = 3  # how often the treebank's sentences count beside the text, for the trigrams
    most_words: int = 24  # longer sentences are not used to choose the settings
    most_trees: int = 200  # no more sentences than that are


@dataclass(frozen=True)
class Tried:
    """Settings, and the share of the development sentences' words that they put right (simple string accuracy)."""

    settings: Settings
    accuracy: float
    perfect: float


@dataclass(frozen=True)
class FergusTraining:
    """A realizer, with what its card says of it."""

    trained: TrainedFergus  # the realizer
    tried: tuple[Tried, ...]  # all settings that were tried on the development sentences
    develop: int  # how many sentences these were


def fit_fergus(
    parts: Parts, text: Sentences, recipe: FergusRecipe, advance: Advance = lambda trees: None
) -> FergusTraining:
    """Train a realizer on a treebank, dealt out, and on sentences of plain text for the trigrams; maybe none.

    ``advance`` is called with how much more is done: trees that are tagged, treelets seen, trees realized.
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


def train_fergus(
    treebank: str | Path,
    output: str | Path,
    *,
    text: Sequence[str | Path] = (),
    hold_out: str | Path | None = None,
    develop: float = 0.08,
    develop_trees: str | Path | None = None,
    vocabulary: int | None = None,
    bigrams: int | None = None,
    trigrams: int | None = None,
    epochs: int | None = None,
    seed: int = 0,
    about: str = "",
    report: Report = SILENT,
) -> FergusTraining:
    """Train FERGUS, the realizer of ``celadon realize``, and write it to a new folder.

    Parameters
    ----------
    treebank
        Trees in Penn brackets, or CoNLL-U.
    output
        The new folder.
    text
        Text files for the trigrams, beside the treebank's own sentences.
    hold_out
        A file with the names of sentences not to be trained on, one a line.
    develop, seed
        The share of the trees kept apart to choose settings by, and which ones.
    develop_trees
        Choose settings by these trees instead; nothing is kept apart.
    vocabulary, bigrams, trigrams, epochs
        Words of the trigrams, how many pairs and triples are kept, and passes over the treelets; by default as in
        :class:`FergusRecipe`.
    about
        For the card: what the data are, and their license.
    report
        Receives the progress.
    """
    folder, treebank = Path(output), Path(treebank)
    check_new_folder(folder)
    import_torch()
    if not 0 <= develop < 1:
        raise UsageError(f"the share to choose by must be at least 0 and below 1, not {develop}")
    sizes = {"vocabulary": vocabulary, "pairs": bigrams, "triples": trigrams}
    given = {name: value for name, value in sizes.items() if value is not None}
    passes = {} if epochs is None else {"epochs": epochs}
    for name, value in {**given, **passes}.items():
        if value < 1:
            raise UsageError(f"the number of {name} must be at least 1, not {value}")
    recipe = FergusRecipe(OrderRecipe(**passes), TrigramRecipe(**given))
    trees = read_derivations(treebank)
    names = [line for line in read_paragraphs([str(hold_out)]) if line[:1] not in ("", "#")] if hold_out else []
    parts = part_trees(trees, names, 0.0 if develop_trees else develop, seed)
    if develop_trees:
        parts = parts._replace(develop=tuple(read_derivations(develop_trees)))
    files = list(map(Path, text))
    sentences = number_sentences(text_words(_sentences(files, report)))
    treelets = sum(bool(each.attachments) for tree in parts.train for each in tree.derivation.in_order())
    # trees that are tagged, treelets that are seen, trees that are realized
    steps = len(parts.train) + recipe.order.epochs * treelets
    steps += len(parts.develop) * len(TRIGRAM_WEIGHTS) * len(KEPT_SHARES)
    with report.bar("training", steps, unit="step") as bar:
        done = fit_fergus(parts, sentences, recipe, bar.update)
    command = made_by(
        "fergus",
        [treebank],
        output=folder,
        text=tuple(files),
        hold_out=Path(hold_out) if hold_out else None,
        develop_trees=Path(develop_trees) if develop_trees else None,
        develop=develop,
        vocab=vocabulary,
        bigrams=bigrams,
        trigrams=trigrams,
        epochs=epochs,
        seed=seed,
    )
    fergus = done.trained.fergus
    ngrams = ", ".join(f"{len(logprobs):,}" for logprobs in fergus.trigrams.tables.logprobs)
    card = model_card(
        folder.name,
        "FERGUS, a realizer of unordered dependency trees (Bangalore, Rambow and Whittaker 2000): "
        f"{len(fergus.grammar.supertags):,} supertags of {len(fergus.grammar.class_names):,} classes, a log-linear "
        "model of the order of daughters, and trigrams with modified Kneser-Ney smoothing "
        f"({ngrams} n-grams of the lengths 1 to 3). It places words and no punctuation.",
        about,
        [
            f"treebank: {treebank.name} (sha256 {treebank_digest(treebank)})",
            *(f"text: {path.name} (sha256 {treebank_digest(path)})" for path in files),
            f"trained on: {len(parts.train):,} sentences; {len(parts.develop):,} kept apart to choose settings by",
        ],
        figures(done),
        [command],
    )
    with new_folder(folder, card) as draft:
        save_fergus(draft, done.trained)
    return done


def _sentences(paths: Sequence[Path], report: Report) -> Iterator[str]:
    if paths:
        corpus = Corpus(tuple(paths), hold_out=0.0)
        with report.bar("reading the text", corpus.size) as bar:
            yield from (sentence.text for sentence in corpus.sentences(bar.update))


def figures(training: FergusTraining) -> str:
    """How the settings did that were tried."""
    if not training.tried:
        return "No settings were tried: nothing was kept apart to choose by."
    best = max(training.tried, key=lambda each: each.accuracy)
    lines = [f"Chosen on {training.develop:,} sentences kept apart: {_line(best)}.", "", "Tried:", ""]
    return "\n".join([*lines, *(f"- {_line(each)}" for each in training.tried)])


def _line(tried: Tried) -> str:
    settings = tried.settings
    return (
        f"trigram weight {settings.trigram_weight:g}, share of a supertag that is kept {settings.kept_share:g}: simple "
        f"string accuracy {tried.accuracy:.4f}, {100 * tried.perfect:.1f} % of the sentences perfect"
    )
