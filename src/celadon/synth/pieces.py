"""A sentence as pieces: words and marks, each with the white space before it, and a letter for its class.

Because a piece keeps its own white space, pieces that are left out, moved or doubled leave the format of the sentence
as it was: tokenised text stays tokenised, and a damaged sentence cannot be told from a good one by its spacing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np

from celadon.synth import english

T = TypeVar("T")
Rng: TypeAlias = np.random.Generator
Others: TypeAlias = Sequence[str]
Pieces: TypeAlias = list[str]

# one letter per piece, so that a pattern over the letters finds places: see Sentence.classes; further letters are r for
# an adverb, v for a known verb where a verb may stand, x for a capital inside the sentence, # for a word with a digit,
# w for any other word, a comma for a mark inside the sentence and a full stop for one that ends it
_CLASS_OF: dict[str, str] = {}
for _letter, _words in (
    ("a", english.ARTICLES | english.POSSESSIVES),  # needs a noun
    ("d", english.DETERMINERS),
    ("p", english.STRICT_PREPOSITIONS),  # needs an object
    ("l", english.LOOSE_PREPOSITIONS),  # may stand alone
    ("t", {"to"}),
    ("b", english.BE),  # finite
    ("h", english.HAVE),
    ("o", english.DO),
    ("m", english.MODALS),
    ("e", english.UNFINITE_BE),
    ("n", english.SUBJECTS),
    ("j", english.OBJECTS),
    ("c", english.COORDINATORS),
    ("s", english.SUBORDINATORS),  # or relatives
):
    _CLASS_OF |= {_word: _letter for _word in _words if _word not in _CLASS_OF}

_PIECE = re.compile(
    r"\s*(?:<\w+>|\[\w+\]|@\w+@|-[lr][rsc]b-"  # marks of unknown words and brackets stay whole
    r"|\w+(?:[-'’.&/]\w+|,(?=\d{3}\b)\d+)*"
    r"|\S)"
)
# what cannot stand after what: a place where the one meets the other is broken for certain
_CLASHES = {
    "a": "adplbhomtecnjs,.", "d": "ah", "p": "bhmcp.", "l": "bhm", "t": "bhmoctl.,", "b": "bhmo",
    "h": "bmhc", "m": "adplmbxtc#.", "o": "bm.", "e": "bhmen", "n": "nap", "c": "c.,", "s": "c.,p", "v": "m",
}  # fmt: skip


def clash(left: str, right: str) -> bool:
    """Return whether a word of one class can hardly stand before one of another."""
    return right in _CLASHES.get(left, "")


@dataclass(frozen=True)
class Sentence:
    """A sentence in pieces."""

    pieces: tuple[str, ...]

    @cached_property
    def low(self) -> tuple[str, ...]:
        """The pieces in lower case, without white space, apostrophes straight."""
        return tuple(piece.strip().lower().replace("’", "'") for piece in self.pieces)

    @cached_property
    def classes(self) -> str:
        """One letter per piece for its class."""
        found: list[str] = []
        for at, (piece, low) in enumerate(zip(self.pieces, self.low, strict=True)):
            found.append(self._class(at, piece.lstrip(), low, found[-1] if found else ""))
        return "".join(found)

    def _class(self, at: int, bare: str, low: str, before: str) -> str:
        after = self.low[at + 1] if at + 1 < len(self.low) else ""
        if low in _CLASS_OF:
            return "j" if low == "her" and not after[:1].isalpha() else _CLASS_OF[low]
        if not bare or not bare[0].isalnum():
            return "." if bare in {".", "!", "?"} and at >= len(self.low) - 2 else ","
        if any(letter.isdigit() for letter in bare):
            return "#"
        if at and bare[0].isupper():
            return "x"
        verb = low in english.VERB_OF and self._may_be_verb(low, before, after)
        return "v" if verb else "r" if english.is_adverb(low) else "w"

    @staticmethod
    def _may_be_verb(low: str, before: str, after: str) -> bool:
        verb = english.VERB_OF[low]
        if before in {"a", "d", ""} or (before in {"p", "l", "#"} and low != verb.gerund):
            return False
        if low in (verb.base, verb.third) and before in {"w", "v", "c", ",", "r"}:
            # play, works: as likely nouns, unless an object or a clause follows
            return _CLASS_OF.get(after, "") in {"a", "d", "n", "j", "t"}
        return True

    def where(self, pattern: re.Pattern[str]) -> list[int]:
        """Return where a pattern over the classes begins."""
        return [match.start() for match in pattern.finditer(self.classes)]

    def spans(self, pattern: re.Pattern[str]) -> list[tuple[int, int]]:
        """Return where a pattern over the classes begins and ends."""
        return [match.span() for match in pattern.finditer(self.classes)]

    def changed(self, at: int, form: str) -> list[str]:
        """Return the pieces with another word in one place, in the spacing and the case of the old one."""
        return [*self.pieces[:at], like(self.pieces[at], form), *self.pieces[at + 1 :]]

    def without(self, begin: int, end: int) -> list[str]:
        """Return the pieces without those of a stretch."""
        return [*self.pieces[:begin], *self.pieces[end:]]

    @cached_property
    def stop(self) -> int:
        """Where the marks begin that end the sentence."""
        at = len(self.pieces)
        while at and self.classes[at - 1] in ".,":
            at -= 1
        return at


def split(text: str) -> Sentence:
    """Take a sentence into pieces."""
    return Sentence(tuple(_PIECE.findall(" " + text.strip())))


def like(old: str, new: str) -> str:
    """Give a new word the white space and the initial of an old piece."""
    bare = old.lstrip()
    space = old[: len(old) - len(bare)]
    return space + (capital(new) if bare[:1].isupper() and bare.lower() != "i" else new)


def capital(word: str) -> str:
    """Return a word with a capital, white space before it or not."""
    bare = word.lstrip()
    return word[: len(word) - len(bare)] + bare[:1].upper() + bare[1:]


def lowered(piece: str) -> str:
    """Take the capital from a first word that goes elsewhere, where the word is known to need none."""
    bare = piece.strip()
    low = bare.lower()
    known = low in _CLASS_OF or low in english.VERB_OF or low in english.OPENERS or english.is_adverb(low)
    return piece.lower() if known and bare != "I" and not bare.startswith("I'") else piece


def spaced(pieces: Sequence[str]) -> list[str]:
    """Return pieces to be put in elsewhere: with a space before a word, and no capital of a sentence's beginning."""
    first = lowered(pieces[0])
    return [" " + first if first[:1].isalnum() else first, *pieces[1:]]


def join(pieces: Iterable[str]) -> str:
    """Put pieces together; two words that have met without white space get some."""
    made: list[str] = []
    for piece in pieces:
        if made and piece[:1].isalnum() and made[-1][-1:].isalnum():
            made.append(" ")
        made.append(piece)
    return "".join(made).strip()


def fold(text: str) -> str:
    """Return what is left of a text when case and white space do not count."""
    return "".join(text.casefold().split())


class DoesNotApply(Exception):
    """A kind of damage finds nothing in a sentence that it could change."""


def pick(rng: Rng, items: Sequence[T]) -> T:
    """Draw one of some items; where there are none, nothing is drawn and ``DoesNotApply`` is raised."""
    if not items:
        raise DoesNotApply
    return items[int(rng.random() * len(items))]


def between(rng: Rng, low: int, high: int) -> int:
    """Draw a whole number, both ends included; the lower end where there is no room."""
    return low + int(rng.random() * max(1, high - low + 1))


Make: TypeAlias = Callable[[Sentence, Rng, Others], Pieces | None]


@dataclass(frozen=True)
class DamageKind:
    """A way to damage a sentence."""

    make: Make  # the function that does it; returns None or raises ``DoesNotApply`` where it cannot
    weight: float  # how often it is chosen, relative to the others
    severity: float  # how bad one such damage is in a short sentence, 0 to 1
    local: bool = True  # whether the fault stays in its place, so that it weighs less in a long sentence
    spacing: bool = False  # whether white space alone may be the damage


class Kinds(dict[str, DamageKind]):
    """Kinds of damage by name; the order decides what is drawn."""

    def add(
        self, weight: float, severity: float, *, local: bool = True, spacing: bool = False
    ) -> Callable[[Make], Make]:
        """Register a function under its own name."""

        def register(make: Make) -> Make:
            self[make.__name__] = DamageKind(make, weight, severity, local, spacing)
            return make

        return register
