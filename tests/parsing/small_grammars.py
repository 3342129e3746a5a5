"""Small random grammars, as NLTK's and as ours."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from celadon.parsing.grammar import Grammar, Rules, Tagging
from tests.conftest import missing_part

ROOT = "TOP"
WORDS = tuple("abc")


def need_compiler() -> None:
    """Skip where numba is not installed; in CI fail."""
    if find_spec("numba") is None:
        missing_part("numba", "install it with: celadon install parse")


class ListedLexicon:
    """Words with the tags that are listed for them."""

    def __init__(self, entries: dict[str, list[tuple[int, float]]]) -> None:
        self._entries = entries

    def taggings(self, words: Sequence[str]) -> list[Tagging]:
        return [
            Tagging(
                np.array([state for state, _ in self._entries[word]], dtype=np.int32),
                np.array([score for _, score in self._entries[word]]),
            )
            for word in words
        ]


def random_rules(
    seed: int, states: int = 5, binary: int = 9, unary: int = 5
) -> dict[str, dict[tuple[str, ...], float]]:
    """For each state its rules, whose probabilities add up to 1; tags give words, with capital letters states."""
    rng = random.Random(seed)
    names = [ROOT, *(f"S{number}" for number in range(states))]
    weights: dict[str, dict[tuple[str, ...], float]] = {name: {} for name in names}
    for _ in range(binary):
        weights[rng.choice(names)][rng.choice(names[1:]), rng.choice(names[1:])] = rng.random()
    for _ in range(unary):
        parent, child = rng.choice(names), rng.choice(names[1:])
        if parent != child:
            weights[parent][child,] = rng.random()
    for word in WORDS:
        for name in rng.sample(names[1:], 2):
            weights[name][word,] = rng.random()
    weights[ROOT][names[1],] = 0.5
    return {
        name: {right: weight / sum(rules.values()) for right, weight in rules.items()}
        for name, rules in weights.items()
        if rules
    }


def ours(rules: dict[str, dict[tuple[str, ...], float]]) -> Grammar:
    """The rules as a grammar of the chart parser."""
    names = sorted(
        {ROOT, *rules, *(name for rights in rules.values() for r in rights for name in r if name not in WORDS)}
    )
    numbers = {name: number for number, name in enumerate(names)}
    columns: dict[int, list[list[int]]] = {1: [], 2: []}
    scores: dict[int, list[float]] = {1: [], 2: []}
    entries: dict[str, list[tuple[int, float]]] = {word: [] for word in WORDS}
    for parent, rights in rules.items():
        for right, probability in rights.items():
            if right[0] in WORDS:
                entries[right[0]].append((numbers[parent], math.log(probability)))
            else:
                columns[len(right)].append([numbers[parent], *(numbers[name] for name in right)])
                scores[len(right)].append(math.log(probability))
    arrays = [np.array(columns[size], dtype=np.int32).reshape(-1, size + 1) for size in (2, 1)]
    made = Rules(
        len(names), numbers[ROOT], arrays[0], np.array(scores[2]), arrays[1], np.array(scores[1], dtype=np.float64)
    )
    return Grammar(tuple(names), tuple(names), made, ListedLexicon(entries))


def as_nltk(rules: dict[str, dict[tuple[str, ...], float]]) -> Any:
    """The rules as NLTK's grammar."""
    from nltk import PCFG, Nonterminal, ProbabilisticProduction

    productions = [
        ProbabilisticProduction(
            Nonterminal(parent), [name if name in WORDS else Nonterminal(name) for name in right], prob=probability
        )
        for parent, rights in rules.items()
        for right, probability in rights.items()
    ]
    return PCFG(Nonterminal(ROOT), productions)
