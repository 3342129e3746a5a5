"""A trained grammar's folder and card, and the choice among recipes that goes before it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from celadon.core import InputError
from celadon.parsing import Failure
from celadon.parsing.brackets import Tree, base_label, parse_trees, read_treebank
from celadon.parsing.chart import FRAGMENT_PENALTY
from celadon.parsing.chart_parser import ChartParser, check_compiler
from celadon.parsing.grammar import Grammar
from celadon.parsing.grammar_files import save_grammar
from celadon.train.corpus import Advance
from celadon.train.model_folder import check_new_folder, new_folder
from celadon.train.parsers.grammar import CANDIDATES, ROOT, ParserRecipe, Parts, estimate, part
from celadon.train.parsers.trees import by_document, read_tagged
from celadon.train.reporting import SILENT, Report, made_by, model_card

PUNCTUATION = frozenset({",", ":", "``", "''", "."})
"""Tags that are taken out, by the tree that people made."""

_NOT_COUNTED = frozenset({"TOP", "ROOT", "S1", ""})


@dataclass(frozen=True)
class BracketScores:
    """Counts of brackets over sentences."""

    matched: int = 0  # brackets that are in both trees
    # gold, found: brackets of the trees that people made, and of the parser's
    gold: int = 0
    found: int = 0
    sentences: int = 0  # how many sentences were compared
    whole: int = 0  # in how many of them all brackets are right

    @property
    def precision(self) -> float:
        """The share of the parser's brackets that are right."""
        return self.matched / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of the right brackets that the parser has."""
        return self.matched / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.matched / (self.gold + self.found) if self.gold + self.found else 0.0

    def __add__(self, other: BracketScores) -> BracketScores:
        return BracketScores(*(one + two for one, two in zip(astuple(self), astuple(other), strict=True)))


def compare_trees(gold: Tree, found: Tree) -> BracketScores:
    """Compare two trees of one sentence: the one that people made, without traces, and the parser's."""
    kept = [leaf.label not in PUNCTUATION for leaf in gold.leaves()]
    right, made = _brackets(gold, kept), _brackets(found, kept)
    return BracketScores((right & made).total(), right.total(), made.total(), 1, int(right == made))


def _brackets(tree: Tree, kept: list[bool]) -> Counter[tuple[str, int, int]]:
    places = [0]
    for keeps in kept:
        places.append(places[-1] + keeps)
    found: Counter[tuple[str, int, int]] = Counter()

    def visit(node: Tree, start: int) -> int:
        if node.is_tag:
            return start + 1
        end = start
        for child in node.children:
            end = visit(child, end)
        label = base_label(node.label)
        if label not in _NOT_COUNTED and places[end] > places[start]:
            found["ADVP" if label == "PRT" else label, places[start], places[end]] += 1
        return end

    visit(tree, 0)
    return found


def measure(
    grammar: Grammar, trees: Sequence[Tree], advance: Advance = lambda sentences: None, margin: float | None = None
) -> BracketScores:
    """Parse the words of trees, and compare what comes out with the trees.

    A sentence that is not parsed in time has no brackets. ``margin`` says how charts are pruned, as in
    :class:`celadon.parsing.chart_parser.ChartParser`.
    """
    parser = ChartParser(grammar, margin=margin)
    total = BracketScores()
    for tree in trees:
        parsed = parser.parse_words(tree.words())
        found = Tree(ROOT) if isinstance(parsed, Failure) else next(parse_trees(parsed.tree))
        total += compare_trees(tree, found)
        advance(1)
    return total


@dataclass(frozen=True)
class TrainedParser:
    """A grammar, with what its card says of it."""

    # recipe, grammar: how it was made, and what came of it
    recipe: ParserRecipe
    grammar: Grammar
    # each recipe that was tried, with how it did on the trees to choose by when counted without them
    tried: tuple[tuple[ParserRecipe, BracketScores], ...]
    test: BracketScores  # how the grammar does on the trees kept apart to the end
    counted: int  # how many trees it was counted on
    tagged: int = 0  # on how many further sentences the lexicon was counted


def choose_grammar(
    parts: Parts,
    recipes: Sequence[ParserRecipe],
    advance: Advance = lambda trees: None,
    tagged: Sequence[Sequence[Tree]] = (),
) -> TrainedParser:
    """Take the recipe that does best on the trees to choose by, count it on those too, and measure it on the rest."""
    tried = []
    if len(recipes) > 1:
        tried = [(each, measure(estimate(parts.train, each, tagged), parts.develop, advance)) for each in recipes]
    chosen = max(tried, key=lambda each: each[1].f1)[0] if tried else recipes[0]
    counted: list[Tree] = [*parts.train, *parts.develop]
    grammar = estimate(counted, chosen, tagged)
    test = measure(grammar, parts.test, advance)
    return TrainedParser(chosen, grammar, tuple(tried), test, len(counted), len(tagged))


def train_parser(
    treebank: str | Path,
    output: str | Path,
    *,
    documents: str | None = None,
    tagged: Sequence[str] = (),
    vertical: int | None = None,
    horizontal: int | None = None,
    splits: Sequence[str] | None = None,
    every: int = 10,
    about: str = "",
    report: Report = SILENT,
) -> TrainedParser:
    """Read a grammar for the chart parser off a treebank, measure it, and write it to a new folder.

    Parameters
    ----------
    treebank
        Trees in Penn brackets: a file, or a folder or zip archive of files that end in .mrg.
    output
        The new folder.
    documents
        A table of the trees' documents, with columns id and text; they are kept whole.
    tagged
        CoNLL-U files whose words and tags (XPOS) the lexicon learns.
    vertical, horizontal, splits
        See :class:`celadon.train.parsers.grammar.ParserRecipe`. Where all are None a few recipes are tried and the best
        one is taken.
    every
        One in so many files is kept apart to choose by, and one to measure on.
    about
        For the card: what the data are, and their license.
    report
        Receives the progress.
    """
    folder, treebank = Path(output), Path(treebank)
    check_new_folder(folder)
    check_compiler()
    given = {"vertical": vertical, "horizontal": horizontal, "splits": None if splits is None else tuple(splits)}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    recipes = [ParserRecipe(**chosen)] if chosen else list(CANDIDATES)
    files = read_treebank(treebank)
    parts = part(by_document(files, documents) if documents else files, every)
    sentences = list(read_tagged(tagged))
    rounds = len(recipes) if len(recipes) > 1 else 0
    with report.bar("parsing", rounds * len(parts.develop) + len(parts.test), unit="sentence") as bar:
        trained = choose_grammar(parts, recipes, bar.update, sentences)
    command = made_by(
        "parser",
        [treebank],
        output=folder,
        documents=Path(documents) if documents else None,
        tagged=tuple(map(Path, tagged)),
        vertical=vertical,
        horizontal=horizontal,
        splits=None if splits is None else ",".join(splits),
        every=every,
    )
    card = _card(folder.name, trained, treebank, about, command, [Path(file) for file in tagged])
    with new_folder(folder, card) as draft:
        save_grammar(draft, trained.grammar)
    return trained


def treebank_digest(path: Path) -> str:
    """The sha256 of a treebank: of its file, or of the files of a folder one after another."""
    files = sorted(path.rglob("*.mrg")) if path.is_dir() else [path]
    total = hashlib.sha256()
    try:
        for file in files:
            total.update(file.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    return total.hexdigest()


def _card(name: str, trained: TrainedParser, treebank: Path, about: str, command: str, tagged: Sequence[Path]) -> str:
    grammar, recipe = trained.grammar, trained.recipe
    sentences = f"; words with their tags on {trained.tagged:,} further sentences" if tagged else ""
    rules = f"{len(grammar.rules.binary):,} binary and {len(grammar.rules.unary):,} unary rules"
    return model_card(
        name,
        f"A context-free grammar with probabilities, read off a treebank: {len(grammar.states):,} states, {rules}. "
        f"States tell {recipe.vertical} labels up and {recipe.horizontal} children beside; splits: "
        f"{', '.join(recipe.splits) or 'none'}. Words that are rare or new are known by their shape and ending. A "
        f"sentence without a tree is covered by fragments, at {FRAGMENT_PENALTY:g} each.",
        about,
        [
            f"treebank: {treebank.name} (sha256 {treebank_digest(treebank)})",
            *(f"tags of words: {path.name} (sha256 {treebank_digest(path)})" for path in tagged),
            f"counted on: {trained.counted:,} trees{sentences}",
        ],
        figures(trained),
        [command],
    )


def figures(trained: TrainedParser) -> str:
    """How the grammar does, in words, and the recipes that were tried."""
    lines = [f"On files kept apart to the end: {_scores(trained.test)}."]
    if trained.tried:
        lines += ["", "Recipes tried, on files kept apart to choose by (counted on the others only):", ""]
        lines += [f"- {recipe}: {_scores(scores)}" for recipe, scores in trained.tried]
    return "\n".join(lines)


def _scores(scores: BracketScores) -> str:
    return (
        f"labelled F1 {100 * scores.f1:.2f} % (precision {100 * scores.precision:.2f} %, recall "
        f"{100 * scores.recall:.2f} %, {scores.sentences:,} sentences, {scores.whole:,} without a mistake)"
    )
