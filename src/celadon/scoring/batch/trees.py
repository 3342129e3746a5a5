"""The dependency trees of a batch's references: those that came with the samples, or a parser's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from celadon.core import IntArray, Tree
from celadon.text.treelets import Place, heads_of_words
from celadon.text.words import splitter, word_places

if TYPE_CHECKING:
    from celadon.scoring.batch import Batch

OTHER_WORDS = "the tree given for the reference has other words than the reference"


@dataclass(frozen=True, eq=False)
class Trees:
    """The trees over the words of each usable reference, in the order of the pairs of :class:`Words`.

    ``heads`` has for each word of each pair's reference, pair after pair, the number of its head in the reference, -1
    for a root; ``starts`` where each pair begins, with one more at the end; ``reasons`` why a pair has no tree.
    """

    heads: IntArray
    starts: IntArray
    reasons: Mapping[int, str]


def trees_of(batch: Batch, normalisation: str, parser: str) -> Trees:
    """Return the trees; a sample that came without any has its references parsed."""
    words = batch.words(normalisation)
    wanted: list[tuple[str, Tree | str | None]] = []
    for row, number, document in zip(
        words.pair_sample.tolist(), words.pair_reference.tolist(), words.pair_document.tolist(), strict=True
    ):
        own_trees = batch.samples[row].trees
        wanted.append((words.documents[document], own_trees[number] if own_trees else None))
    parsed = _parsed([text for text, tree in wanted if tree is None], parser)
    known: dict[tuple[str, Tree | str | None], list[int] | str] = {}
    for text, tree in wanted:
        if (text, tree) not in known:
            known[text, tree] = _heads(text, parsed[text] if tree is None else tree, normalisation)
    trees = [known[key] for key in wanted]
    sizes = [0 if isinstance(heads, str) else len(heads) for heads in trees]
    return Trees(
        np.fromiter((head for heads in trees if not isinstance(heads, str) for head in heads), np.int64, sum(sizes)),
        np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        {pair: heads for pair, heads in enumerate(trees) if isinstance(heads, str)},
    )


@dataclass(frozen=True)
class _Parsed:
    """What a parser makes of a text: where its tokens are, and their heads, -1 for a root."""

    tokens: tuple[Place, ...]
    heads: tuple[int, ...]


def _heads(text: str, tree: Tree | _Parsed | str, normalisation: str) -> list[int] | str:
    """The heads of the text's words; why there are none where there is no tree."""
    if isinstance(tree, str):
        return tree
    if isinstance(tree, Tree):
        if splitter(normalisation)(text) == list(tree.words):
            return list(tree.heads)
        tokens = _located(text, tree.words)
        if tokens is None:
            return OTHER_WORDS
    else:
        tokens = list(tree.tokens)
    return heads_of_words(word_places(text, normalisation), tokens, tree.heads)


def _located(text: str, tokens: Iterable[str]) -> list[Place] | None:
    """Where tokens are that are the text but for white space; None where they are not."""
    places: list[Place] = []
    at = 0
    for token in tokens:
        start = text.find(token, at)
        if start < 0 or (start > at and not text[at:start].isspace()):
            return None
        at = start + len(token)
        places.append((start, at))
    return None if text[at:].strip() else places


def _parsed(texts: Sequence[str], name: str) -> dict[str, _Parsed | str]:
    """Parse texts, each sentence on its own; a text with a sentence that cannot be parsed has a reason instead."""
    if not texts:
        return {}
    from celadon.parsing import Failure, Reason
    from celadon.parsing.loading import parser
    from celadon.text.sentences import split_sentences

    sentences = {text: split_sentences(text) for text in dict.fromkeys(texts)}
    wanted = list(dict.fromkeys(text[start:end] for text, places in sentences.items() for start, end in places))
    parses = dict(zip(wanted, parser(name).parse(wanted), strict=True))
    trees: dict[str, _Parsed | str] = {}
    for text, places in sentences.items():
        tokens: list[Place] = []
        heads: list[int] = []
        for start, end in places:
            parse = parses[text[start:end]]
            if not isinstance(parse, Failure):
                before = len(tokens)
                tokens += [(start + first, start + last) for first, last in parse.words]
                heads += [-1 if head == word else before + head for word, head in enumerate(parse.heads)]
            elif parse.reason is not Reason.NO_WORDS:
                trees[text] = f"the reference has no tree: {parse.reason}"
                break
        trees.setdefault(text, _Parsed(tuple(tokens), tuple(heads)))
    return trees
