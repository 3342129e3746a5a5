"""Parsers as judges: what a parser is to the rest of the package, and what it has to say of a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

Result_co = TypeVar("Result_co", covariant=True)

TIME_LIMIT = 10
"""Seconds of processor time that a parser may take for one sentence, unless it is told otherwise."""


class Reason(StrEnum):
    """Why a sentence has no parse."""

    NO_WORDS = "the sentence has no words"
    UNKNOWN_SCRIPT = "the sentence is in a script that the parser does not know"
    TOO_LONG = "the sentence has too many words for the parser"
    TIME_LIMIT = "the parser did not end within the time limit"
    CRASHED = "the parser crashed or ran out of memory"
    NOT_PARSED = "the parser found no analysis"


@dataclass(frozen=True)
class Failure:
    """A sentence that a parser has no result for."""

    reason: Reason


class Parser(Protocol[Result_co]):
    """A parser that is ready to be used.

    What it says of a sentence does not depend on the other sentences of the call or on their order. No sentence ends
    the call: one that cannot be parsed has a failure in its place.
    """

    @property
    def name(self) -> str:
        """The name it is asked for by."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """What a signature must say: versions, and the digest of a grammar."""
        ...

    def parse(self, sentences: Sequence[str]) -> Sequence[Result_co | Failure]:
        """Parse sentences; one entry per sentence, in their order."""
        ...


@dataclass(frozen=True)
class LinkParse:
    """What Link Grammar makes of a sentence of ``length`` words, punctuation among them.

    ``null_count`` words had to be left out before the rest could be linked; where nothing can be linked, the parser
    counts one more than there are. With so many left out there are ``found`` linkages (at most 2147483647, where the
    parser stops counting), of which ``examined`` were looked at and ``valid`` break no rule.

    The costs of the best linkage are of words left out, of its words' uses, and of how far its links reach. ``words``
    are the characters of each word, begin and end (neighbors left out may stand here as one word), and ``unused`` those
    of them that the best linkage left out.
    """

    length: int
    null_count: int
    found: int
    examined: int
    valid: int
    unused_cost: int
    disjunct_cost: float
    length_cost: int
    words: tuple[tuple[int, int], ...]
    unused: tuple[int, ...]

    @property
    def null_share(self) -> float:
        """The share of the words that were left out."""
        return min(1.0, self.null_count / self.length)

    @property
    def invalid_share(self) -> float:
        """The share of the linkages examined that break a rule."""
        return 1 - self.valid / self.examined
