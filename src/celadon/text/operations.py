"""How many operations turn reference words into those of a text, counted along an alignment; many pairs at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from celadon.core import IntArray
from celadon.text.alignment import Alignment, Ragged
from celadon.text.ngrams import expand, shared_counts


class Operations(NamedTuple):
    """What it takes to turn each pair's reference into its text; all 0 for a pair too long to align."""

    matches: IntArray
    substitutions: IntArray
    insertions: IntArray
    deletions: IntArray
    moves: IntArray
    reference_words: IntArray


def count_operations(references: Ragged, texts: Ragged, alignment: Alignment, vocabulary: int) -> Operations:
    """Count the operations of each pair; every number of a word is below ``vocabulary``."""
    pairs = len(references.lengths)
    at, pair = expand(np.concatenate([[0], np.cumsum(references.lengths)]), np.arange(pairs))
    word = references.values[references.starts[pair] + at - alignment.starts[pair]]
    aligned = alignment.partner >= 0
    partner_at = texts.starts[pair] + np.maximum(alignment.partner, 0)
    same = aligned & (word == (texts.values[partner_at] if len(texts.values) else word))
    matches = np.bincount(pair[same], minlength=pairs)
    substitutions = np.bincount(pair[aligned & ~same], minlength=pairs)
    deletions = references.lengths - matches - substitutions
    insertions = texts.lengths - matches - substitutions
    inserted, inserted_pair = _unaligned_text_words(texts, pair[aligned], alignment.partner[aligned])
    deleted = pair[~aligned] * vocabulary + word[~aligned]
    moves = shared_counts(deleted, inserted_pair * vocabulary + inserted, vocabulary, pairs)
    return Operations(matches, substitutions, insertions, deletions, moves, references.lengths)


# Characters from here on are no surrogates, and there are a million of them.
_FIRST_CHARACTER, _CHARACTERS = 0xE000, 0x110000 - 0xE000


def least_operations(references: Ragged, texts: Ragged, vocabulary: int) -> Operations:
    """Count the operations of each pair's best alignment without making it; moves are not known then, and 0.

    The least cost and, of all alignments of that cost, the fewest operations are the least sum of one weight for both:
    ``K * cost + operations``, as long as there are fewer operations than K.
    """
    values = references.values
    if vocabulary > _CHARACTERS:
        values = np.unique(values, return_inverse=True)[1]
    text = (values + _FIRST_CHARACTER).astype("<u4").tobytes().decode("utf-32-le")
    least = np.array(
        [
            Levenshtein.distance(text[a : a + n], text[b : b + m], weights=(3 * k + 1, 3 * k + 1, 4 * k + 1))
            for a, n, b, m, k in zip(
                *(references.starts.tolist(), references.lengths.tolist()),
                *(texts.starts.tolist(), texts.lengths.tolist()),
                (references.lengths + texts.lengths + 1).tolist(),
                strict=True,
            )
        ],
        dtype=np.int64,
    )
    cost, operations = np.divmod(least, references.lengths + texts.lengths + 1)
    substitutions = cost - 3 * operations
    gaps = operations - substitutions
    insertions = (gaps + texts.lengths - references.lengths) // 2
    deletions = gaps - insertions
    matches = references.lengths - deletions - substitutions
    return Operations(matches, substitutions, insertions, deletions, np.zeros_like(matches), references.lengths)


def _unaligned_text_words(texts: Ragged, pair: IntArray, partner: IntArray) -> tuple[IntArray, IntArray]:
    bounds = np.concatenate([[0], np.cumsum(texts.lengths)])
    free = np.ones(int(bounds[-1]), dtype=np.bool_)
    free[bounds[pair] + partner] = False
    owner = np.repeat(np.arange(len(texts.lengths)), texts.lengths)[free]
    position = np.flatnonzero(free) - bounds[owner]
    return texts.values[texts.starts[owner] + position], owner
