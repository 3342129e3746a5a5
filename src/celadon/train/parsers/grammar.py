"""Grammars for the chart parser: counted on a treebank, and chosen by how well they do on files kept apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError, UsageError
from celadon.parsing.brackets import TRACE, Tree, TreebankFile, base_label, plain
from celadon.parsing.grammar import Grammar, Numbers, Rules
from celadon.parsing.lexicon import LEANING, RARE, CountedLexicon, CountTable, shapes, tag_shares
from celadon.parsing.supertags import head_child
from celadon.train.parsers.trees import with_penn_words

ROOT = "TOP"
GAP, TIME = "GAP", "TMP"
"""Marks behind labels: a clause whose subject is a trace; a noun phrase of time."""

JOINING = "@"
"""What the names of states begin with that only join parts of a larger constituent."""

SPLITS: Mapping[str, str] = {
    "tags": "tags by the label of their parent",
    "unary": "constituents with one child only, and determiners and adverbs that are one",
    "aux": "forms of be and of have",
    "in": "prepositions by what is two levels up",
    "cc": "but, & and the other conjunctions",
    "percent": "the per cent sign",
    "tmp": "noun phrases of time",
    "gap": "clauses without a subject of their own",
    "possessive": "noun phrases that end in 's",
    "verb": "verb phrases by the form of their verb",
    "base": "noun phrases without phrases in them",
    "has_verb": "constituents with a verb in them",
    "right": "noun phrases that end in a noun phrase",
}

_BE = frozenset("be is am are was were been being 's 're 'm ai".split())
_HAVE = frozenset("have has had having 've 'd".split())
_FINITE = frozenset("VBD VBP VBZ MD".split())


class Node(NamedTuple):
    """A node with the treebank's label and the grammar's state."""

    base: str
    state: str
    children: tuple[Node, ...]
    word: str

    def all_nodes(self) -> Iterator[Node]:
        """Yield this node and all below it, each before its children, from left to right."""
        todo = [self]
        while todo:
            node = todo.pop()
            yield node
            todo.extend(reversed(node.children))


@dataclass(frozen=True)
class Annotation:
    """What states tell."""

    vertical: int = 2  # 1: a label by itself; 2: with its parent's
    splits: frozenset[str] = frozenset()  # names from :data:`SPLITS`

    def annotate(self, tree: Tree, above: tuple[str, ...] = (ROOT,)) -> Node:
        """Give each node of a tree without traces its state.

        ``S`` without a subject is told by the label ``S-GAP``, time by ``NP-TMP``; ``above`` are the treebank's labels
        from the root down to the parent.
        """
        base, *marks = base_label(tree.label), *tree.label.split("-")[1:]
        if tree.is_tag:
            return Node(tree.label, self._tag(tree, above, False), (), tree.word)
        children = tuple(self.annotate(child, (*above, base)) for child in tree.children)
        if len(children) == 1 and tree.children[0].is_tag:
            child = children[0]
            children = (child._replace(state=self._tag(tree.children[0], (*above, base), True)),)
        return Node(base, self._phrase(base, marks, children, above), children, "")

    def _tag(self, tree: Tree, above: tuple[str, ...], alone: bool) -> str:
        state, word = tree.label, tree.word.lower()
        if "tags" in self.splits:
            state += f"^{above[-1]}"
        if "unary" in self.splits and alone and tree.label in ("DT", "RB"):
            state += "-U"
        if "aux" in self.splits and tree.label.startswith("VB") and word in _BE | _HAVE:
            state += "-BE" if word in _BE else "-HAVE"
        if "in" in self.splits and tree.label == "IN" and len(above) > 1:
            state += f"^{above[-2]}" if above[-1] in ("PP", "SBAR") else ""
        if "cc" in self.splits and tree.label == "CC":
            state += "-BUT" if word == "but" else "-AND" if word == "&" else ""
        if "percent" in self.splits and word == "%":
            state += "-%"
        return state

    def _phrase(self, base: str, marks: Sequence[str], children: Sequence[Node], above: tuple[str, ...]) -> str:
        state = base
        if self.vertical > 1:
            state += f"^{above[-1]}"
        if self.vertical > 2 and len(above) > 1:
            state += f"^{above[-2]}"
        told = {
            "tmp": TIME if TIME in marks else "",
            "gap": GAP if GAP in marks else "",
            "unary": "U" if len(children) == 1 and children[0].children and above != (ROOT,) else "",
            "possessive": "POS" if base == "NP" and children[-1].base == "POS" else "",
            "verb": _verb_form(children) if base == "VP" else "",
            "base": "B" if base == "NP" and not any(child.children for child in children) else "",
            "has_verb": "v" if any(map(_has_verb, children)) else "",
            "right": "R" if base == "NP" and _ends_in_noun_phrase(children[-1]) else "",
        }
        return "-".join([state, *(mark for split, mark in told.items() if mark and split in self.splits)])


def _verb_form(children: Sequence[Node]) -> str:
    labels = [child.base for child in children]
    head = children[head_child("VP", labels)]
    if head.base == "VP":
        return _verb_form(head.children)
    return "VBF" if head.base in _FINITE else head.base if head.base.startswith(("VB", "TO")) else ""


def _has_verb(node: Node) -> bool:
    if not node.children:
        return node.base.startswith("VB") or node.base == "MD"
    return any(map(_has_verb, node.children))


def _ends_in_noun_phrase(node: Node) -> bool:
    while node.children:
        if node.base == "NP":
            return True
        node = node.children[-1]
    return False


class Production(NamedTuple):
    """A rule: a state, and the one or two states below it."""

    parent: str
    children: tuple[str, ...]


def productions(node: Node, horizontal: int) -> Iterator[Production]:
    """Yield the rules of a tree, each constituent built outward from its head: first to the right, then to the left.

    A joining state tells so many (``horizontal``) of the children that were joined last.
    """
    yield Production(ROOT, (node.state,))
    for each in node.all_nodes():
        if each.children:
            yield from _joined(each, horizontal)


def _joined(node: Node, horizontal: int) -> Iterator[Production]:
    children = node.children
    head = head_child(node.base, [child.base for child in children])
    outward = [*range(head + 1, len(children)), *range(head - 1, -1, -1)]
    if not outward:
        yield Production(node.state, (children[0].state,))
    state, joined = children[head].state, [""] * horizontal
    for at in outward:
        joined.append(f"{'>' if at > head else '<'}{children[at].base}")
        told = "".join(joined[len(joined) - horizontal :])
        above = node.state if at == outward[-1] else f"{JOINING}{node.state}|{told}"
        yield Production(above, (state, children[at].state) if at > head else (children[at].state, state))
        state = above


USEFUL_SPLITS = ("tags", "verb", "base", "has_verb", "unary", "in", "aux", "tmp", "percent")
"""The splits that raised F1 on files kept apart of the Penn Treebank's sample, added one by one in this order."""


@dataclass(frozen=True)
class ParserRecipe:
    """How a grammar is made of trees."""

    vertical: int = 2  # how many labels a state tells: its own, its parent's, and so on
    # how many of the children joined last a state tells that joins a constituent's children one by one
    horizontal: int = 1
    # further distinctions, by their names in :data:`celadon.train.parsers.grammar.SPLITS`
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

    A treebank of fewer files than that is dealt out tree by tree. Raises InputError where there are too few trees.
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
    if base == "S" and any(
        "-SBJ" in child.label and all(leaf.label == TRACE for leaf in child.leaves()) for child in tree.children
    ):
        marks.append(GAP)
    if base == "NP" and TIME in tree.label.split("-"):
        marks.append(TIME)
    return Tree("-".join(marks), children)


def estimate(trees: Iterable[Tree], recipe: ParserRecipe, tagged: Sequence[Sequence[Tree]] = ()) -> Grammar:
    """Count a grammar on trees that :func:`prepared` made.

    ``tagged`` are sentences without trees, as tags over words, that the lexicon is counted on too. Tags that the trees
    do not have are left out.
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
