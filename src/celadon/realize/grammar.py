"""The grammar that trees are chosen by: elementary trees, what words anchor them, and how they hang together.

All that is kept are counts over derivations (:mod:`celadon.parsing.supertags`). A supertag's *class* is its part of
speech, its topmost label and what it joins; the places of its arguments are left out. Counted are: the supertags of
words, and of the looks of rare words; the classes of daughters, given the mother's word with her class, her supertag,
her class or her tag; the supertags of a class; and the numbers of daughters of supertags and of classes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from celadon.core import FloatArray, IntArray
from celadon.parsing.lexicon import CountTable, shapes
from celadon.parsing.supertags import Derivation, Supertag
from celadon.realize.trees import form


def leaning(counts: FloatArray, wider: FloatArray, chosen: IntArray | None = None) -> FloatArray:
    """Return the shares that counts tell, leaning on those of a wider context as heavily as the counts are varied.

    ``chosen`` are the things whose shares are wanted, and which ``wider`` tells of; by default all.
    """
    kinds = max(int(np.count_nonzero(counts)), 1)
    shares: FloatArray = ((counts if chosen is None else counts[chosen]) + kinds * wider) / (counts.sum() + kinds)
    return shares


class Tally:
    """Counts of columns in named rows, while they are being counted."""

    def __init__(self) -> None:
        self._rows: defaultdict[str, Counter[int]] = defaultdict(Counter)

    def add(self, names: Iterable[str], column: int) -> None:
        """Count a column once in each of the rows."""
        for name in names:
            self._rows[name][column] += 1

    def table(self, least: int = 1) -> CountTable:
        """All rows in the order of their names, without those whose counts are fewer than ``least`` together."""
        names = sorted(name for name, row in self._rows.items() if row.total() >= least)
        return count_table(names, [self._rows[name] for name in names])


def count_table(names: Sequence[str], rows: Sequence[Counter[int]]) -> CountTable:
    """A table of counts."""
    entries = [sorted(row.items()) for row in rows]
    first = np.cumsum([0, *map(len, entries)]).astype(np.int64)
    flat = [entry for row in entries for entry in row]
    column = np.array([column for column, _ in flat], dtype=np.int64)
    return CountTable(names, first, column, np.array([count for _, count in flat], dtype=np.float64))


RARE = 5
"""Words seen at most so often tell what new words of their look may be."""

MOST_DAUGHTERS = 6
"""Words with more daughters count as having so many."""

_TOP = "^"


@cache
def supertag_name(supertag: Supertag) -> str:
    """The name of a supertag, made once."""
    return str(supertag)


@cache
def class_name(supertag: Supertag) -> str:
    """The class of a supertag."""
    host = f"{supertag.host.side}:{supertag.host.label}" if supertag.host else "argument"
    return f"{host} {supertag.root} {supertag.tag}"


@dataclass(frozen=True, eq=False)
class TreeGrammar:
    """Counts over the derivations of a treebank."""

    supertags: tuple[Supertag, ...]  # all elementary trees
    # words, looks: how often words, and rare words of a look, anchor each
    words: CountTable
    looks: CountTable
    # how often each class hangs from a mother: rows are ``w`` word and class, ``s`` supertag, ``c`` class, ``t`` tag
    daughters: CountTable
    # for each class (``c``), also with the tag of the mother (``m``), how often each of its supertags is meant
    within: CountTable
    numbers: CountTable  # how often a supertag (``s``) and a class (``c``) have so many daughters

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes."""
        return tuple(sorted(set(map(class_name, self.supertags))))

    @cached_property
    def classes(self) -> IntArray:
        """For each supertag the number of its class."""
        number = {name: at for at, name in enumerate(self.class_names)}
        return np.array([number[class_name(each)] for each in self.supertags], dtype=np.int64)

    @cached_property
    def slots(self) -> IntArray:
        """For each supertag how many places for arguments it has."""
        return np.array([sum(len(level.left) + len(level.right) for level in each.levels) for each in self.supertags])

    @cached_property
    def shares(self) -> FloatArray:
        """How much of the treebank's words each supertag has."""
        counts = self.words.totals(len(self.supertags)) + 0.1
        return np.asarray(counts / counts.sum())


def mother_contexts(word: str, supertag: Supertag | None) -> tuple[str, ...]:
    """The contexts in which daughters' classes are counted, from the narrowest; no supertag stands above the root."""
    if supertag is None:
        return (f"w {_TOP}", f"s {_TOP}", f"c {_TOP}", f"t {_TOP}")
    own, *wider = _own_contexts(supertag)
    return (f"w {form(word)} {own}", *wider)


@cache
def _own_contexts(supertag: Supertag) -> tuple[str, str, str, str]:
    name = class_name(supertag)
    return (name, f"s {supertag_name(supertag)}", f"c {name}", f"t {supertag.tag}")


def within_contexts(name: str, mother: Supertag | None) -> tuple[str, str]:
    """The contexts in which the supertags of a class are counted, from the narrowest."""
    return (f"m {mother.tag if mother else _TOP} {name}", f"c {name}")


def descend(derivation: Derivation) -> Iterator[tuple[Derivation, Derivation | None]]:
    """Yield every derivation of a sentence with the one it is put into."""
    waiting: list[tuple[Derivation, Derivation | None]] = [(derivation, None)]
    while waiting:
        here, mother = waiting.pop()
        yield here, mother
        waiting.extend((each.derivation, here) for each in here.attachments)


def count_grammar(derivations: Sequence[Derivation]) -> TreeGrammar:
    """Count a grammar over the derivations of a treebank."""
    pairs = [pair for derivation in derivations for pair in descend(derivation)]
    names: dict[str, Supertag] = {}
    for here, _ in pairs:
        names.setdefault(supertag_name(here.supertag), here.supertag)
    supertags = tuple(names[name] for name in sorted(names))
    number = {each: at for at, each in enumerate(supertags)}
    classes = {name: at for at, name in enumerate(sorted(set(map(class_name, supertags))))}
    frequency = Counter(form(here.word) for here, _ in pairs)
    words, looks, daughters, within, numbers = (Tally() for _ in range(5))
    for here, mother in pairs:
        supertag, name = number[here.supertag], class_name(here.supertag)
        words.add([form(here.word)], supertag)
        if frequency[form(here.word)] <= RARE:
            looks.add(looks_of(here.word), supertag)
        above = mother.supertag if mother else None
        daughters.add(mother_contexts(mother.word if mother else "", above), classes[name])
        within.add(within_contexts(name, above), supertag)
        numbers.add((f"s {supertag_name(here.supertag)}", f"c {name}"), min(len(here.attachments), MOST_DAUGHTERS))
    tables = words.table(), looks.table(), daughters.table(), within.table(), numbers.table()
    return TreeGrammar(supertags, *tables)


def looks_of(word: str) -> Iterable[str]:
    """The looks of a word, from the widest; all words are of the first."""
    return ("", *shapes(word, first=False))
