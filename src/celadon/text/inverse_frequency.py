"""Inverse document frequency: a word that stands in few documents says more than one that stands in most."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from celadon.core import FloatArray


@dataclass(frozen=True)
class DocumentCounts:
    """In how many of so many documents each word stands; counts of parts of a set can be merged in any order.

    Words may be anything that texts are cut into, as long as they are strings.
    """

    documents: int
    counts: Mapping[str, int]

    @classmethod
    def of(cls, documents: Iterable[Iterable[str]]) -> DocumentCounts:
        """Count the documents of each word; a document is its words, however often each is there."""
        sets = [set(document) for document in documents]
        return cls(len(sets), Counter(chain.from_iterable(sets)))

    def merged(self, other: DocumentCounts) -> DocumentCounts:
        """Return the counts of both together."""
        fewer, more = sorted((self.counts, other.counts), key=len)
        counts = dict(more)
        for word, count in fewer.items():
            counts[word] = counts.get(word, 0) + count
        return DocumentCounts(self.documents + other.documents, counts)

    def weights(self, words: Sequence[str]) -> FloatArray:
        """Return ``log((documents + 1) / (documents with the word + 1))`` of each word.

        A word that stands in every document has no weight; one that stands in none has the most.
        """
        found = np.fromiter((self.counts.get(word, 0) for word in words), np.float64, len(words))
        return np.log((self.documents + 1.0) / (found + 1.0))

    @property
    def digest(self) -> str:
        """The sha256 of the counts, in hexadecimal."""
        lines = [f"{word}\t{count}" for word, count in sorted(self.counts.items())]
        return hashlib.sha256("\n".join([str(self.documents), *lines]).encode("utf-8", "surrogatepass")).hexdigest()
