"""Trees out of a chart: the best one of a sentence, or the fragments that cover it best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from celadon.parsing.chart import LEAF, Chart
from celadon.parsing.grammar import Grammar

FRAGMENT_PENALTY = -20.0
"""What each fragment of a sentence without a tree adds to the logarithm of its probability."""

ROOT = "TOP"

_BRACKETS = str.maketrans({"(": "-LRB-", ")": "-RRB-"})


class Found(NamedTuple):
    """A tree in brackets, the logarithm of its probability, and of how many fragments it is put together."""

    logprob: float
    fragments: int
    tree: str


def best_tree(grammar: Grammar, chart: Chart, words: Sequence[str]) -> Found | None:
    """The most probable tree of the whole sentence; None where the grammar has none."""
    whole = chart.find(0, chart.length, chart.rules.root)
    if whole is None:
        return None
    return Found(float(chart.items.score[whole]), 1, _bracketed(grammar, chart, words, (whole, 0, chart.length)))


def best_fragments(grammar: Grammar, chart: Chart, words: Sequence[str]) -> Found:
    """The constituents that cover the sentence with the greatest probability, each at the price of the penalty."""
    # a state that only joins parts is no constituent; the root would need a rule
    states = np.array([bool(label) for label in grammar.labels])
    states[chart.rules.root] = False
    length = len(words)
    scores, last = [0.0, *[-np.inf] * length], [(0, 0)] * (length + 1)
    for end in range(1, length + 1):
        for start in range(end):
            item = chart.best(start, end, states)
            if item is not None and scores[start] + chart.items.score[item] + FRAGMENT_PENALTY > scores[end]:
                scores[end] = scores[start] + float(chart.items.score[item]) + FRAGMENT_PENALTY
                last[end] = (start, item)
    cover, end = [], length
    while end > 0:
        start, item = last[end]
        cover.append(_bracketed(grammar, chart, words, (item, start, end)))
        end = start
    return Found(scores[length], len(cover), f"({ROOT} {' '.join(reversed(cover))})")


def _bracketed(grammar: Grammar, chart: Chart, words: Sequence[str], constituent: tuple[int, int, int]) -> str:
    """A constituent and all below it; without recursion, for trees may be deep."""
    rules, pieces = chart.rules, []
    todo: list[tuple[int, int, int] | str] = [constituent]
    while todo:
        piece = todo.pop()
        if isinstance(piece, str):
            pieces.append(piece)
            continue
        item, start, end = piece
        state, rule = int(chart.items.state[item]), int(chart.items.rule[item])
        if label := grammar.labels[state]:
            pieces.append(f" ({label}")
            todo.append(")")
        if rule == LEAF:
            # what stands for the end of the sentence is no word
            todo.append(f" {words[start].translate(_BRACKETS)}" if start < len(words) else "")
        elif rule < LEAF:
            todo.append(_part(chart, start, end, int(rules.unary[LEAF - 1 - rule, 1])))
        else:
            middle = int(chart.items.split[item])
            todo.append(_part(chart, middle, end, int(rules.binary[rule, 2])))
            todo.append(_part(chart, start, middle, int(rules.binary[rule, 1])))
    return "".join(pieces).lstrip()


def _part(chart: Chart, start: int, end: int, state: int) -> tuple[int, int, int]:
    item = chart.find(start, end, state)
    assert item is not None, "the chart has no constituent that one of its own was made of"
    return item, start, end
