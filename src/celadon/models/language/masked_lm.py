"""Pseudo-log-likelihood: which tokens are masked, and in which surroundings, to score a text's tokens one by one.

A masked model gives no probability to a text as a whole. Its tokens are masked in turn instead, and each is scored
given all the others (Salazar et al. 2020). A word in several pieces is then scored too well, since each piece is
nearly given away by the rest of the word; so the later pieces of the same word are masked as well (Kauf and Ivanova
2023, "PLL-word-l2r").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from celadon.core import IntArray
from celadon.models.networks.transformers_network import Row

Variant: TypeAlias = Literal["l2r", "original"]


@dataclass(frozen=True)
class Frame:
    """What a masked model puts around a text, and what stands for a masked token."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    mask: int

    @property
    def size(self) -> int:
        """The number of ids around the text."""
        return len(self.before) + len(self.after)


@dataclass(frozen=True, eq=False)
class MaskedText:
    """A text of which any token can be masked.

    Attributes
    ----------
    ids
        Its tokens.
    word_ends
        For each token, the end of its word: the position after the word's last token.
    starts, ends
        For each token, the stretch of tokens among which it is scored: all of them where the model's window allows.
    """

    ids: IntArray
    word_ends: IntArray
    starts: IntArray
    ends: IntArray

    def masked(self, token: int, variant: Variant, frame: Frame, slot: int) -> Row:
        """Return the row that scores a token and puts the outcome into a slot."""
        start, end = int(self.starts[token]), int(self.ends[token])
        copy = self.ids[start:end].copy()
        last = int(self.word_ends[token]) if variant == "l2r" else token + 1
        copy[token - start : last - start] = frame.mask
        position = len(frame.before) + token - start
        return Row(
            ids=np.concatenate([frame.before, copy, frame.after]).astype(np.int64),
            positions=np.array([position]),
            targets=self.ids[token : token + 1],
            slots=np.array([slot]),
        )


def masked_text(ids: IntArray, words: IntArray, room: int) -> MaskedText:
    """Lay out a text for masking.

    Parameters
    ----------
    ids
        Its tokens.
    words
        For each token the number of its word; tokens of one word are neighbours.
    room
        How many tokens of a text the model can see at once.
    """
    starts, ends = surroundings(len(ids), room)
    changes = np.flatnonzero(np.diff(words)) + 1
    edges = np.concatenate([[0], changes, [len(ids)]]).astype(np.int64)
    word_ends = np.repeat(edges[1:], np.diff(edges))
    return MaskedText(ids, word_ends, starts, ends)


def surroundings(length: int, room: int) -> tuple[IntArray, IntArray]:
    """Return for each token of a text where the stretch among which it is scored starts and ends.

    A text that has room is seen whole. In a longer one, blocks of half the room are each seen with as much before as
    after, so that every token but those at the text's ends has at least a quarter of the room on both sides.
    """
    if length <= room:
        return np.zeros(length, dtype=np.int64), np.full(length, length, dtype=np.int64)
    block = max(1, room // 2)
    first = np.arange(length, dtype=np.int64) // block * block
    starts = np.clip(first - (room - block) // 2, 0, length - room)
    return starts, starts + room
