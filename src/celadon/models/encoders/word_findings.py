"""What can be wrong with a word, and which stretches of a text are its words.

The classes of an encoder's head per token are those of :class:`FindingKind`, in its order; a word is judged by the
state of its first token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray

Span = tuple[int, int]

_WORD = re.compile(r"\w+(?:['’\-]\w+)*|[^\w\s]")


class FindingKind(StrEnum):
    """What is wrong with a word."""

    OK = "ok"
    SPELLING = "spelling"
    AGREEMENT = "agreement"
    VERB_FORM = "verb form"
    ARTICLE = "article"
    PREPOSITION = "preposition"
    WORD_ORDER = "word order"
    MISSING_WORD = "missing word"  # before this one
    DOUBLED = "doubled word"
    WRONG_WORD = "wrong word"
    PUNCTUATION = "punctuation"
    BROKEN_OFF = "broken off"


FINDING_KINDS = tuple(FindingKind)
CLASS_OF: Mapping[FindingKind, int] = {kind: at for at, kind in enumerate(FINDING_KINDS)}


@dataclass(frozen=True, eq=False)
class WordFindings:
    """The words of a text, and how likely each is wrong in which way.

    Attributes
    ----------
    spans
        Where each word begins and ends in the text, [words, 2].
    probabilities
        Of each class of ``FINDING_KINDS``, [words, classes].
    """

    spans: IntArray
    probabilities: npt.NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.spans)


def word_spans(text: str) -> list[Span]:
    """Return where the words of a text begin and end; every mark is a word."""
    return [match.span() for match in _WORD.finditer(text)]


def first_tokens(spans: Sequence[Span], offsets: Sequence[Span]) -> list[int]:
    """Return the first token of each word, -1 where it has none; ``offsets`` are where tokens begin and end."""
    found, at = [], 0
    for start, end in spans:
        while at < len(offsets) and (offsets[at][1] <= start or offsets[at][0] == offsets[at][1]):
            at += 1
        found.append(at if at < len(offsets) and offsets[at][0] < end else -1)
    return found


def read_words(text: str, offsets: Sequence[Span], logits: npt.NDArray[np.float32]) -> WordFindings:
    """Return what an encoder finds of the words of a text; ``offsets`` and ``logits`` are those of its tokens."""
    spans = word_spans(text)
    probabilities = np.zeros((len(spans), len(FINDING_KINDS)), dtype=np.float32)
    # a word that the tokenizer drops, as it does with control characters, is not judged
    probabilities[:, 0] = 1.0
    firsts = np.array(first_tokens(spans, offsets), dtype=np.int64)
    known = firsts >= 0
    if known.any():
        shifted = logits[firsts[known]].astype(np.float64)
        powers = np.exp(shifted - shifted.max(axis=1, keepdims=True))
        probabilities[known] = powers / powers.sum(axis=1, keepdims=True)
    return WordFindings(np.array(spans, dtype=np.int64).reshape(-1, 2), probabilities)
