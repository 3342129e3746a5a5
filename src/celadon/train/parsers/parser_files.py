"""A trained grammar's folder and card, and the choice among recipes that goes before it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from celadon.core import InputError
from celadon.parsing.brackets import Tree
from celadon.parsing.chart_trees import FRAGMENT_PENALTY
from celadon.parsing.grammar import Grammar
from celadon.parsing.grammar_files import save_grammar
from celadon.train.corpus import Advance
from celadon.train.model_folder import new_folder
from celadon.train.parsers.bracket_scores import BracketScores
from celadon.train.parsers.parser import ParserRecipe, Parts, estimate, measure


@dataclass(frozen=True)
class TrainedParser:
    """A grammar, with what its card says of it.

    Attributes
    ----------
    recipe, grammar
        How it was made, and what came of it.
    tried
        Each recipe that was tried, with how it did on the trees to choose by when counted without them.
    test
        How the grammar does on the trees kept apart to the end.
    counted
        How many trees it was counted on.
    tagged
        On how many further sentences the lexicon was counted.
    """

    recipe: ParserRecipe
    grammar: Grammar
    tried: tuple[tuple[ParserRecipe, BracketScores], ...]
    test: BracketScores
    counted: int
    tagged: int = 0


def train_parser(
    parts: Parts,
    recipes: Sequence[ParserRecipe],
    advance: Advance = lambda trees: None,
    tagged: Sequence[Sequence[Tree]] = (),
) -> TrainedParser:
    """Take the recipe that does best on the trees to choose by, count it on those too, and measure it on the rest.

    Parameters
    ----------
    parts
        The treebank, dealt out.
    recipes
        What to choose from.
    advance
        Told how many more sentences were parsed.
    tagged
        Sentences as tags over words, for the lexicon.
    """
    tried = []
    if len(recipes) > 1:
        tried = [(each, measure(estimate(parts.train, each, tagged), parts.develop, advance)) for each in recipes]
    chosen = max(tried, key=lambda each: each[1].f1)[0] if tried else recipes[0]
    counted: list[Tree] = [*parts.train, *parts.develop]
    grammar = estimate(counted, chosen, tagged)
    test = measure(grammar, parts.test, advance)
    return TrainedParser(chosen, grammar, tuple(tried), test, len(counted), len(tagged))


def write_parser(folder: Path, trained: TrainedParser, card: str) -> None:
    """Write a grammar to a new folder, which appears whole or not at all."""
    with new_folder(folder) as draft:
        save_grammar(draft, trained.grammar)
        (draft / "card.md").write_text(card, encoding="utf-8")


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


def card(
    name: str, trained: TrainedParser, treebank: Path, about: str, command: str, tagged: Sequence[Path] = ()
) -> str:
    """What people should know of a grammar, in Markdown."""
    grammar = trained.grammar
    more = "".join(f"\n- tags of words: {path.name} (sha256 {treebank_digest(path)})" for path in tagged)
    sentences = f"; words with their tags on {trained.tagged:,} further sentences" if tagged else ""
    rules = f"{len(grammar.rules.binary):,} binary and {len(grammar.rules.unary):,} unary rules"
    return f"""# {name}

A context-free grammar with probabilities, read off a treebank: {len(grammar.states):,} states, {rules}. States tell \
{trained.recipe.vertical} labels up and {trained.recipe.horizontal} children beside; splits: \
{", ".join(trained.recipe.splits) or "none"}. Words that are rare or new are known by their shape and ending. A \
sentence without a tree is covered by fragments, at {FRAGMENT_PENALTY:g} each.

## Data

{about or "Not stated."}

- treebank: {treebank.name} (sha256 {treebank_digest(treebank)}){more}
- counted on: {trained.counted:,} trees{sentences}

## Figures

{figures(trained)}

## How it was made

    {command}
"""


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
