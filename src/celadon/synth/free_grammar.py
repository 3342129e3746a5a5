"""Sentences of a context-free grammar read off a treebank, as Mutton et al. 2007 make them.

Every rule of a label in the treebank is as likely as any other, however often it occurs, but for a bias to terminals:
each phrase on its right side halves a rule's chance. A derivation starts from the label that most trees have at their
top, and is drawn on the condition that it has the wanted number of tokens and that the full stop is the last of them
and no other. The chances of all lengths are summed beforehand (inside sums), so no derivation is made in vain. Words
are drawn by P(word | tag), see :mod:`celadon.synth.lexicon`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError, IntArray
from celadon.parsing.brackets import Tree, plain
from celadon.synth.lexicon import Lexicon, part_of_speech_words
from celadon.synth.tokens import FULL_STOP, MadeText, TokenCorpus, check_request, draw, draw_sentences, sentence_text

_BIAS = 0.5
_TRIES = 50  # derivations for each sentence that is wanted, before giving up


def grammar_sentences(
    corpus: TokenCorpus,
    trees: Sequence[Tree],
    length: int,
    count: int,
    seed: int,
    advance: Callable[[int], None] = lambda made: None,
) -> list[MadeText]:
    """Make sentences of the context-free grammar of a treebank, with words as frequent as in a corpus.

    A sentence has ``length`` tokens, the full stop among them; the same seed gives the same sentences. Raises
    InputError where the grammar has no such sentences.
    """
    check_request(length, count, seed)
    lexicon = Lexicon(corpus, part_of_speech_words(trees))
    grammar = FreeGrammar(trees, lexicon.stops, length)
    rng = np.random.default_rng([seed, length])

    def word(tag: str) -> str:
        words, logprobs = lexicon.candidates(tag)
        return lexicon.words[int(words[draw(np.exp(logprobs), rng)])]

    def drawn() -> MadeText | None:
        return sentence_text([*map(word, grammar.drawn(rng)[:-1]), FULL_STOP])

    complaint = f"the words of the treebank hardly ever make a sentence of {length} tokens that can be read again"
    return draw_sentences(count, _TRIES, drawn, advance, complaint)


class _Symbol(NamedTuple):
    """A label of a phrase, or the tag of a word."""

    label: str
    is_tag: bool


# what stands to the right of a rule's arrow, or the rest of it
_Symbols = tuple[_Symbol, ...]


class FreeGrammar:
    """The context-free grammar of trees, for sentences of one length; ``stops`` are the tags of the full stop.

    Raises InputError where there is no sentence of that length with one full stop at its end.
    """

    def __init__(self, trees: Iterable[Tree], stops: frozenset[str], length: int) -> None:
        cleaned = [tree for tree in map(plain, trees) if tree is not None and not tree.is_tag]
        if not cleaned:
            raise InputError("the treebank has no tree with words in it")
        tops = Counter(tree.label for tree in cleaned)
        self._start = (_Symbol(max(sorted(tops), key=tops.__getitem__), False),)
        self._stops, self._length = stops, length
        self._rules = _rules(cleaned)
        self._numbers = self._number_parts()
        # by whether the last token is a full stop (no other ever is), by part and by number of tokens
        self._inside = np.zeros((2, len(self._numbers), length + 1))
        self._sum_inside()
        if not self._inside[1, self._numbers[self._start], length]:
            raise InputError(
                f"the grammar of the treebank has no sentence of {length} tokens with a full stop at its end alone; "
                "give more trees or another length"
            )
        self._choices: dict[tuple[_Symbol, int, int], FloatArray] = {}

    def drawn(self, rng: np.random.Generator) -> list[str]:
        """Draw the tags of a sentence."""
        found: list[str] = []
        todo: list[tuple[_Symbols, int, int]] = [(self._start, self._length, 1)]
        while todo:
            part, size, stopped = todo.pop()
            if len(part) > 1:
                first, rest = part[:1], part[1:]
                begins = self._inside[0, self._numbers[first], 1:size]
                ends = self._inside[stopped, self._numbers[rest], size - 1 : 0 : -1]
                at = 1 + draw(begins * ends, rng)
                todo += [(rest, size - at, stopped), (first, at, 0)]
            elif part[0].is_tag:
                found.append(part[0].label)
            else:
                rules = self._rules[part[0]]
                todo.append((rules[draw(self._chances(part[0], size, stopped), rng)], size, stopped))
        return found

    def _chances(self, symbol: _Symbol, size: int, stopped: int) -> FloatArray:
        """How likely each rule of a label is, up to a factor, where it is to have so many tokens."""
        key = (symbol, size, stopped)
        if key not in self._choices:
            rules = self._rules[symbol]
            inside = self._inside[stopped, [self._numbers[rule] for rule in rules], size]
            self._choices[key] = _weights(rules) * inside
        return self._choices[key]

    def _number_parts(self) -> dict[_Symbols, int]:
        """Numbers for every symbol and for the end of every rule from each of its symbols on."""
        numbers: dict[_Symbols, int] = {(symbol,): number for number, symbol in enumerate(self._rules)}
        for rules in self._rules.values():
            for rule in rules:
                for at, symbol in enumerate(rule):
                    numbers.setdefault((symbol,), len(numbers))
                    numbers.setdefault(rule[at:], len(numbers))
        return numbers

    def _sum_inside(self) -> None:
        inside, numbers = self._inside, self._numbers
        for part, number in numbers.items():
            if len(part) == 1 and part[0].is_tag:
                inside[int(part[0].label in self._stops), number, 1] = 1.0
        longer = [part for part in numbers if len(part) > 1]
        of_longer = np.array([numbers[part] for part in longer], dtype=np.int64)
        first = np.array([numbers[part[:1]] for part in longer], dtype=np.int64)
        rest = np.array([numbers[part[1:]] for part in longer], dtype=np.int64)
        label, target, weight = self._rule_table()
        labels = len(self._rules)
        above = target < labels  # a phrase that is all of another; labels have the first numbers
        unary = np.zeros((labels, labels))
        np.add.at(unary, (label[above], target[above]), weight[above])
        chains = np.linalg.inv(np.eye(labels) - unary)
        for size in range(1, self._length + 1):
            for stopped in range(2):
                begins, ends = inside[0, first, 1:size], inside[stopped, rest, size - 1 : 0 : -1]
                inside[stopped, of_longer, size] = (begins * ends).sum(axis=1)
                weighed = weight[~above] * inside[stopped, target[~above], size]
                inside[stopped, :labels, size] = chains @ np.bincount(label[~above], weighed, labels)

    def _rule_table(self) -> tuple[IntArray, IntArray, FloatArray]:
        """The rules as numbers: of the label, of what it becomes, and their weights."""
        label = np.repeat(np.arange(len(self._rules)), [len(rules) for rules in self._rules.values()])
        target = np.array([self._numbers[rule] for rules in self._rules.values() for rule in rules], dtype=np.int64)
        return label, target, np.concatenate([_weights(rules) for rules in self._rules.values()])


def _rules(trees: Iterable[Tree]) -> dict[_Symbol, list[_Symbols]]:
    """The right sides that each label has, in the order in which they are first seen."""
    found: dict[_Symbol, dict[_Symbols, None]] = {}
    todo = list(trees)
    while todo:
        node = todo.pop()
        if not node.is_tag:
            right = tuple(_Symbol(child.label, child.is_tag) for child in node.children)
            found.setdefault(_Symbol(node.label, False), {})[right] = None
            todo.extend(node.children)
    return {symbol: list(rules) for symbol, rules in found.items()}


def _weights(rules: Sequence[_Symbols]) -> FloatArray:
    weights: FloatArray = _BIAS ** np.array(
        [sum(not symbol.is_tag for symbol in rule) for rule in rules], dtype=np.float64
    )
    return weights / float(weights.sum())
