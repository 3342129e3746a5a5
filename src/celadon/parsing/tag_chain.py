"""How probable the words of a sentence are where each tag depends on nothing but the tag before it.

The chain is the grammar's own: of all trees that the grammar makes, by their probabilities, how often one tag comes
right after another. Words have the probabilities that the grammar's lexicon gives them. So what a tree's probability
has beyond the chain's is due to constituents, not to words, and not to what may stand beside what.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from celadon.core import FloatArray, IntArray
from celadon.parsing.grammar import Grammar, Rules, Tagging

ANYWHERE = 0.01
"""How often a tag is drawn whatever stands before it, so that nothing is impossible."""

_END = 0
_ROUNDS = 2_000
_NEARLY = 1e-12


class TagChain:
    """The chain of a grammar's tags, as its trees call them; the end of a sentence stands before its first word too.

    Tags are the states that no rule takes apart.
    """

    def __init__(self, grammar: Grammar) -> None:
        rules = grammar.rules
        tags = np.setdiff1d(np.arange(rules.states), np.concatenate([rules.binary[:, 0], rules.unary[:, 0]]))
        labels = sorted({grammar.labels[tag] for tag in tags})
        self._tag_of: IntArray = np.full(rules.states, _END, dtype=np.int64)
        self._tag_of[tags] = [1 + labels.index(grammar.labels[tag]) for tag in tags]
        uses = _expected_uses(rules)
        counts = _neighbours(rules, uses, self._tag_of)
        often = counts.sum(axis=0) + _NEARLY
        follow = (counts + _NEARLY) / (counts + _NEARLY).sum(axis=1, keepdims=True)
        self._steps: FloatArray = (1 - ANYWHERE) * follow + ANYWHERE * often / often.sum()
        weights = np.where(self._tag_of == _END, 0.0, uses) + _NEARLY
        # of a tag as the trees call it, the share of each finer one
        self._shares: FloatArray = weights / np.bincount(self._tag_of, weights=weights)[self._tag_of]

    def logprob(self, words: Sequence[Tagging]) -> float:
        """Return the natural logarithm of the probability of a sentence's words, whatever their tags."""
        total, place = 0.0, np.zeros(len(self._steps))
        place[_END] = 1.0
        for states, scores in words:
            most = float(scores.max())
            weights = np.exp(scores - most) * self._shares[states]
            place = (place @ self._steps) * np.bincount(self._tag_of[states], weights=weights, minlength=len(place))
            seen = float(place.sum())
            total += most + float(np.log(seen))
            place /= seen
        return total + float(np.log(place @ self._steps[:, _END]))


def _expected_uses(rules: Rules) -> FloatArray:
    """How often each state is expected to be in a tree."""
    below = (_sparse(rules, 1) + _sparse(rules, 2, unary=False)).T
    root = np.zeros(rules.states)
    root[rules.root] = 1.0
    return _summed(below, root)


def _neighbours(rules: Rules, uses: FloatArray, tag_of: IntArray) -> FloatArray:
    """How often each tag is expected right after each other one in a sentence, with its end as a tag."""
    size = int(tag_of.max()) + 1
    own = np.zeros((rules.states, size))
    own[np.flatnonzero(tag_of), tag_of[tag_of != _END]] = 1.0
    first, last = (_summed(_sparse(rules, side), own) for side in (1, 2))
    weights = uses[rules.binary[:, 0]] * np.exp(rules.arrays.score)
    found = last[rules.binary[:, 1]].T @ (weights[:, None] * first[rules.binary[:, 2]])
    found[_END] += first[rules.root]
    found[:, _END] += last[rules.root]
    return np.asarray(found, dtype=np.float64)


def _sparse(rules: Rules, child: int, unary: bool = True) -> Any:
    """The probability of each state below each other one: as the left (1) or the right (2) child, or the only one."""
    from scipy.sparse import csr_array

    # unary rules are kept by their child
    single = rules.unary if unary else rules.unary[:0]
    rows = np.concatenate([rules.binary[:, 0], single[:, 0]])
    columns = np.concatenate([rules.binary[:, child], single[:, 1]])
    scores = np.concatenate([rules.arrays.score, rules.arrays.unary_score[: len(single)]])
    return csr_array((np.exp(scores), (rows, columns)), shape=(rules.states, rules.states))


def _summed(step: Any, start: FloatArray) -> FloatArray:
    """start + step start + step step start + ..., as far as it matters; trees without an end are cut off."""
    total, term = start.copy(), start
    for _ in range(_ROUNDS):
        term = np.asarray(step @ term)
        total += term
        if not _NEARLY < term.max() < 1 / _NEARLY:
            break
    return total
