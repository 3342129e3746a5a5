"""Grammars for the chart parser: counted on a treebank, and chosen by how well they do on files kept apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError, UsageError
from celadon.parsing import Failure
from celadon.parsing.brackets import TRACE, Tree, TreebankFile, base_label, parse_trees, plain
from celadon.parsing.chart_parser import ChartParser
from celadon.parsing.grammar import Grammar, Numbers, Rules
from celadon.parsing.lexicon import LEANING, RARE, CountedLexicon, CountTable, shapes, tag_shares
from celadon.train.corpus import Advance
from celadon.train.parsers.bracket_scores import BracketScores, compare_trees
from celadon.train.parsers.penn_forms import with_penn_words
from celadon.train.parsers.tree_annotations import (
    GAP,
    JOINING,
    ROOT,
    SPLITS,
    TIME,
    Annotation,
    Node,
    Production,
    productions,
)

USEFUL_SPLITS = ("tags", "verb", "base", "has_verb", "unary", "in", "aux", "tmp", "percent")
"""The splits that raised F1 on files kept apart of the Penn Treebank's sample, added one by one in this order."""


@dataclass(frozen=True)
class ParserRecipe:
    """How a grammar is made of trees.

    Attributes
    ----------
    vertical
        How many labels a state tells: its own, its parent's, and so on.
    horizontal
        How many of the children joined last a state tells that joins a constituent's children one by one.
    splits
        Further distinctions, by their names in :data:`celadon.train.parsers.tree_annotations.SPLITS`.
    """

    vertical: int = 2
    horizontal: int = 1
    splits: tuple[str, ...] = USEFUL_SPLITS

    def __post_init__(self) -> None:
        if not 1 <= self.vertical <= 3 or not 0 <= self.horizontal <= 9:
            raise UsageError("a state tells 1 to 3 labels above it and 0 to 9 children beside it")
        for name in self.splits:
            if name not in SPLITS:
                raise UsageError(f"{name!r} is not a split of states; known: {', '.join(SPLITS)}")

    def __str__(self) -> str:
        return f"v={self.vertical} h={self.horizontal} {'+'.join(self.splits) or 'no splits'}"


CANDIDATES = (
    *(ParserRecipe(vertical, horizontal, ()) for vertical in (1, 2) for horizontal in (0, 1, 2)),
    ParserRecipe(2, 1, ("tags",)),
    ParserRecipe(2, 1),
    ParserRecipe(2, 2),
)
"""The recipes that are tried where none is asked for."""


class Parts(NamedTuple):
    """The trees of a treebank by what they are for: to count, to choose by, to measure at the end."""

    train: list[Tree]
    develop: list[Tree]
    test: list[Tree]


def part(files: Sequence[TreebankFile], every: int) -> Parts:
    """Deal out a treebank, file by file: of each ``every`` files one to choose by and one to measure on.

    A treebank of fewer files than that is dealt out tree by tree.

    Raises
    ------
    InputError
        There are too few trees.
    """
    if every < 3:
        raise UsageError(f"one in {every} files to choose by and one to measure on leaves none; take 3 or more")
    whole = [[tree for tree in map(prepared, file.trees) if tree is not None] for file in files]
    if len(whole) < every:
        whole = [[tree] for trees in whole for tree in trees]
    if len(whole) < every:
        raise InputError(f"the treebank has {len(whole)} trees; at least {every} are needed")
    parts = Parts([], [], [])
    for number, trees in enumerate(whole):
        place = number % every
        parts[2 if place == every - 1 else 1 if place == every // 2 - 1 else 0].extend(trees)
    return parts


def prepared(tree: Tree) -> Tree | None:
    """A tree of Penn words without traces and function tags but those that splits go by; None where nothing is left."""
    bare = plain(_marked(tree), frozenset({GAP, TIME}))
    return None if bare is None else with_penn_words(bare)


def _marked(tree: Tree) -> Tree:
    if tree.is_tag:
        return tree
    base, children = base_label(tree.label), tuple(map(_marked, tree.children))
    marks = [base]
    if base == "S" and any("-SBJ" in child.label and _is_empty(child) for child in tree.children):
        marks.append(GAP)
    if base == "NP" and TIME in tree.label.split("-"):
        marks.append(TIME)
    return Tree("-".join(marks), children)


def _is_empty(tree: Tree) -> bool:
    return all(leaf.label == TRACE for leaf in tree.leaves())


def estimate(trees: Iterable[Tree], recipe: ParserRecipe, tagged: Sequence[Sequence[Tree]] = ()) -> Grammar:
    """Count a grammar on trees.

    Parameters
    ----------
    trees
        Trees as :func:`prepared` makes them.
    recipe
        What states tell.
    tagged
        Sentences without trees, as tags over words, that the lexicon is counted on too. Tags that the trees do not
        have are left out.
    """
    annotation = Annotation(recipe.vertical, frozenset(recipe.splits))
    nodes = [annotation.annotate(tree) for tree in trees]
    counts = Counter(rule for node in nodes for rule in productions(node, recipe.horizontal))
    names = sorted({state for rule in counts for state in (rule.parent, *rule.children)})
    numbers = {name: number for number, name in enumerate(names)}
    coarse = _coarse_names(nodes, names)
    coarse_numbers = {name: number for number, name in enumerate(sorted(set(coarse.values())))}
    projection = np.array([coarse_numbers[coarse[name]] for name in names], dtype=np.int32)
    lexicon = _count_words(nodes, numbers, tagged)
    return Grammar(
        tuple(names),
        tuple("" if name.startswith(JOINING) else coarse[name] for name in names),
        _rules(counts, numbers, projection),
        lexicon,
        _rules(_coarse_counts(counts, coarse), coarse_numbers),
        tag_shares(lexicon, len(names)),
    )


def _coarse_names(nodes: Iterable[Node], names: Iterable[str]) -> dict[str, str]:
    """For each state the treebank's label, behind the mark of joining where it only joins."""
    found = {ROOT: ROOT, **{node.state: node.base for tree in nodes for node in tree.all_nodes()}}
    joining = {name: JOINING + found[name[1 : name.index("|")]] for name in names if name.startswith(JOINING)}
    return {**found, **joining}


def _coarse_counts(counts: Mapping[Production, int], coarse: Mapping[str, str]) -> Counter[Production]:
    found: Counter[Production] = Counter()
    for rule, count in counts.items():
        projected = Production(coarse[rule.parent], tuple(coarse[child] for child in rule.children))
        # a state that is the only child of another of its label says nothing to the coarse grammar
        if projected.children != (projected.parent,):
            found[projected] += count
    return found


def _rules(counts: Mapping[Production, int], numbers: Mapping[str, int], projection: Numbers | None = None) -> Rules:
    totals: Counter[str] = Counter()
    for rule, count in counts.items():
        totals[rule.parent] += count
    columns, scores = [], []
    for size in (2, 1):
        rules = [rule for rule in counts if len(rule.children) == size]
        named = [[numbers[rule.parent], *(numbers[child] for child in rule.children)] for rule in rules]
        columns.append(np.array(named, dtype=np.int32).reshape(-1, size + 1))
        scores.append(np.log(np.array([counts[rule] / totals[rule.parent] for rule in rules], dtype=np.float64)))
    return Rules(len(numbers), numbers[ROOT], columns[0], scores[0], columns[1], scores[1], projection)


def _count_words(nodes: Sequence[Node], numbers: Mapping[str, int], tagged: Sequence[Sequence[Tree]]) -> CountedLexicon:
    sentences = [[node for node in tree.all_nodes() if not node.children] for tree in nodes]
    leaves = [leaf for sentence in sentences for leaf in sentence]
    bases = {leaf.state: leaf.base for leaf in leaves}
    tag_numbers = {state: number for number, state in enumerate(sorted(bases))}
    base_numbers = {base: number for number, base in enumerate(sorted(set(bases.values())))}
    # what is counted by the treebank's tags, trees or not: the tag, the word, whether it stands first
    plain_leaves = [(leaf.base, leaf.word, at == 0) for sentence in sentences for at, leaf in enumerate(sentence)]
    plain_leaves += [
        (leaf.label, leaf.word, at == 0)
        for sentence in tagged
        for at, leaf in enumerate(sentence)
        if leaf.label in base_numbers
    ]
    seen = Counter(word for _, word, _ in plain_leaves)
    looks = Counter(
        (look, base_numbers[base])
        for base, word, first in plain_leaves
        if seen[word] <= RARE
        for look in shapes(word, first)
    )
    counted = _table(Counter((leaf.word, tag_numbers[leaf.state]) for leaf in leaves))
    lexicon = CountedLexicon(
        np.array([numbers[state] for state in tag_numbers], dtype=np.int32),
        np.array([base_numbers[bases[state]] for state in tag_numbers], dtype=np.int64),
        counted,
        _table(looks),
    )
    if tagged:
        more = Counter((word, base_numbers[base]) for base, word, _ in plain_leaves[len(leaves) :])
        lexicon = replace(lexicon, words=_with_more(lexicon, more))
    return lexicon


def _with_more(lexicon: CountedLexicon, more: Mapping[tuple[str, int], int]) -> CountTable:
    """The counts of words with further ones by the treebank's tags, shared out among the finer tags of each."""
    width = len(lexicon.tags)
    rows: dict[str, FloatArray] = {name: lexicon.words.row(name, width) for name in lexicon.words.names}
    for (word, base), count in sorted(more.items()):
        inside = lexicon.bases == base
        known = np.where(inside, lexicon.words.row(word, width), 0.0)
        shares = (known + np.where(inside, LEANING * lexicon.shares, 0.0)) / (known.sum() + LEANING)
        rows[word] = rows.get(word, np.zeros(width)) + count * shares
    # as they are kept in files, so that a grammar is the same before and after
    return _table(
        {(word, int(at)): float(np.float32(row[at])) for word, row in rows.items() for at in np.flatnonzero(row)}
    )


def _table(counts: Mapping[tuple[str, int], float]) -> CountTable:
    entries = sorted(counts.items())
    names = sorted({name for name, _ in counts})
    rows = {name: row for row, name in enumerate(names)}
    first = np.searchsorted([rows[name] for (name, _), _ in entries], np.arange(len(names) + 1))
    columns = np.array([column for (_, column), _ in entries], dtype=np.int64)
    return CountTable(names, first, columns, np.array([count for _, count in entries], dtype=np.float64))


def measure(
    grammar: Grammar, trees: Sequence[Tree], advance: Advance = lambda sentences: None, margin: float | None = None
) -> BracketScores:
    """Parse the words of trees, and compare what comes out with the trees.

    Parameters
    ----------
    grammar
        What is measured.
    trees
        Trees without traces; a sentence that is not parsed in time has no brackets.
    advance
        Told how many more sentences were parsed.
    margin
        How charts are pruned, as in :class:`celadon.parsing.chart_parser.ChartParser`.
    """
    parser = ChartParser(grammar, margin=margin)
    total = BracketScores()
    for tree in trees:
        parsed = parser.parse_words(tree.words())
        found = Tree(ROOT) if isinstance(parsed, Failure) else next(parse_trees(parsed.tree))
        total += compare_trees(tree, found)
        advance(1)
    return total
