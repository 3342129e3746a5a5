"""The words of a batch, numbered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from celadon.core import IntArray, Sample
from celadon.text.numbering import number_words


@dataclass(frozen=True)
class Words:
    """The words of all texts and references of a batch under one normalisation.

    Equal strings are split once: a *document* is a distinct string. ``pair_*`` list each sample's usable references
    (those with words, of texts with words), samples in order, references in order.

    ``ids`` are the words of all documents, one after another, equal numbers below ``vocabulary`` for equal words;
    ``starts`` is where each document begins, with one more at the end; ``text`` is the document of each sample's text.
    """

    documents: tuple[str, ...]
    ids: IntArray
    starts: IntArray
    vocabulary: int
    text: IntArray
    pair_sample: IntArray
    pair_reference: IntArray
    pair_document: IntArray
    without_words: tuple[int, ...]
    without_reference: tuple[int, ...]

    @property
    def lengths(self) -> IntArray:
        """The number of words of each document."""
        return np.diff(self.starts)

    @property
    def pair_text(self) -> IntArray:
        """The document of the text of each pair."""
        return self.text[self.pair_sample]


def words_of(samples: Sequence[Sample], normalisation: str) -> Words:
    """The words of all texts and references under a normalisation."""
    distinct = dict.fromkeys(sample.text for sample in samples)
    distinct.update(dict.fromkeys(chain.from_iterable(sample.references for sample in samples)))
    documents = tuple(distinct)
    number = {document: at for at, document in enumerate(documents)}
    text = np.array([number[sample.text] for sample in samples], dtype=np.int64)
    references = np.array([number[r] for sample in samples for r in sample.references], dtype=np.int64)
    ids, starts, vocabulary = number_words(documents, normalisation)

    has_words = np.diff(starts) > 0
    counts = np.array([len(sample.references) for sample in samples], dtype=np.int64)
    owner = np.repeat(np.arange(len(samples)), counts)
    position = np.arange(len(references)) - np.repeat(np.cumsum(counts) - counts, counts)
    usable = np.flatnonzero(has_words[references] & has_words[text][owner])
    paired = np.zeros(len(samples), dtype=np.bool_)
    paired[owner[usable]] = True
    return Words(
        documents=documents,
        ids=ids,
        starts=starts,
        vocabulary=vocabulary,
        text=text,
        pair_sample=owner[usable],
        pair_reference=position[usable],
        pair_document=references[usable],
        without_words=tuple(np.flatnonzero(~has_words[text]).tolist()),
        without_reference=tuple(np.flatnonzero(has_words[text] & ~paired).tolist()),
    )
