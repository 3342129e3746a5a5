"""How many operations turn reference words into those of a text, counted along an alignment; many pairs at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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


def _unaligned_text_words(texts: Ragged, pair: IntArray, partner: IntArray) -> tuple[IntArray, IntArray]:
    bounds = np.concatenate([[0], np.cumsum(texts.lengths)])
    free = np.ones(int(bounds[-1]), dtype=np.bool_)
    free[bounds[pair] + partner] = False
    owner = np.repeat(np.arange(len(texts.lengths)), texts.lengths)[free]
    position = np.flatnonzero(free) - bounds[owner]
    return texts.values[texts.starts[owner] + position], owner
