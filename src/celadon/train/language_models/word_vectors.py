"""Word vectors from a corpus: what stands near a word, weighed by how much more often than chance, in few dimensions.

Pairs of words at most a window apart are counted, near ones more (the window less the distance, plus one); frequent
words are thinned at random before, as word2vec does, which also widens the window over them. Pairs that were met only
once, which are most, tell little and are left out. A pair's weight is its positive pointwise mutual information, the
context's distribution smoothed by the power 0.75 (Levy, Goldberg and Dagan 2015), in the mean of both directions, which
makes the table symmetric. Its leading eigenvectors, each times a power of its eigenvalue, are the vectors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray, UsageError
from celadon.text.words import splitter
from celadon.train.corpus import Advance, Corpus

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NORMALISATION = "rouge"
SMOOTHING = 0.75
STEPS = 6
"""How often the table is multiplied with the vectors."""

_SPARE = 20  # vectors beyond those wanted, which the last wanted ones need to settle
_MANY_WORDS = 5_000_000
_TOKENS_AT_ONCE = 2_000_000
_UNKNOWN = -1
_NOTHING = 1e-10  # what is left of a column by rounding alone


@dataclass(frozen=True)
class VectorRecipe:
    """How vectors are made.

    Attributes
    ----------
    words
        How many words have one, the most frequent.
    size
        The length of a vector.
    window
        How far apart two words may be that count as a pair.
    thin
        Words with a larger share of the corpus than this are thinned: kept with the square root of this over the share.
    power
        Of the eigenvalues.
    hold_out
        The share of the articles that is kept apart.
    seed
        For thinning, the first vectors, and what is kept apart.
    """

    words: int = 60_000
    size: int = 100
    window: int = 10
    thin: float = 1e-4
    power: float = 0.5
    hold_out: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.words, self.size, self.window) < 1:
            raise UsageError("--words, --size and --window must be at least 1")
        if self.thin <= 0:
            raise UsageError(f"--thin must be above 0 (1: no word is thinned), not {self.thin:g}")


class Vocabulary(NamedTuple):
    """Words, most frequent first, and their counts; ``total`` counts all words of the corpus."""

    words: tuple[str, ...]
    counts: IntArray
    total: int


Article = tuple[str, ...]
"""The paragraphs of an article."""


def read_vocabulary(
    corpus: Corpus, most: int, advance: Advance = lambda size: None
) -> tuple[Vocabulary, tuple[Article, ...]]:
    """Count the words to train on, and collect the articles that are kept apart."""
    split = splitter(NORMALISATION)
    counts: Counter[str] = Counter()
    total = 0
    apart: list[Article] = []
    # what is kept apart without a break may be more than one article; it is no part of any other
    for held_out, paragraphs in groupby(corpus.paragraphs(advance), key=lambda paragraph: paragraph.held_out):
        if held_out:
            apart.append(tuple(paragraph.text for paragraph in paragraphs))
            continue
        for paragraph in paragraphs:
            words = split(paragraph.text)
            counts.update(words)
            total += len(words)
            if len(counts) > _MANY_WORDS:
                counts = Counter({word: count for word, count in counts.items() if count > 1})
    if not counts:
        raise InputError(f"{', '.join(map(str, corpus.paths))}: there are no words to train on")
    kept = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]
    return Vocabulary(tuple(word for word, _ in kept), np.array([count for _, count in kept]), total), tuple(apart)


def count_pairs(
    corpus: Corpus, vocabulary: Vocabulary, recipe: VectorRecipe, advance: Advance = lambda size: None
) -> csr_array[Any]:
    """Count pairs of words near each other: a table with the more frequent word's row and the other's column."""
    blocks = _thinned(corpus, vocabulary, recipe, advance)
    return reduce(add, (_pairs_of(*block, recipe.window, len(vocabulary.words)) for block in blocks))


Numbers = npt.NDArray[np.int32]


def _thinned(
    corpus: Corpus, vocabulary: Vocabulary, recipe: VectorRecipe, advance: Advance
) -> Iterator[tuple[Numbers, Numbers]]:
    """The known words of the corpus in blocks, thinned, with the paragraph of each; no paragraph is in two blocks."""
    rng = np.random.default_rng(recipe.seed)
    share = vocabulary.counts / vocabulary.total
    kept_share = np.append(np.minimum(1.0, np.sqrt(recipe.thin / share)), 0.0)  # the last is for unknown words
    for tokens, paragraphs in _numbered(corpus, vocabulary.words, advance):
        kept = rng.random(len(tokens)) < kept_share[tokens]
        yield tokens[kept], paragraphs[kept]


def _numbered(corpus: Corpus, words: Sequence[str], advance: Advance) -> Iterator[tuple[Numbers, Numbers]]:
    split, number = splitter(NORMALISATION), {word: at for at, word in enumerate(words)}.get
    tokens: list[int] = []
    lengths: list[int] = []

    def block() -> tuple[Numbers, Numbers]:
        return np.array(tokens, np.int32), np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)

    for paragraph in corpus.paragraphs(advance):
        if paragraph.held_out:
            continue
        found = [number(word, _UNKNOWN) for word in split(paragraph.text)]
        tokens += found
        lengths.append(len(found))
        if len(tokens) > _TOKENS_AT_ONCE:
            yield block()
            tokens, lengths = [], []
    yield block()


def _pairs_of(tokens: Numbers, paragraphs: Numbers, window: int, size: int) -> csr_array[Any]:
    from scipy.sparse import coo_array

    rows, columns, weights = ([np.empty(0, dtype=np.int32)] for _ in range(3))
    for distance in range(1, min(window, len(tokens) - 1) + 1):
        near = paragraphs[distance:] == paragraphs[:-distance]
        left, right = tokens[:-distance][near], tokens[distance:][near]
        rows.append(np.minimum(left, right))
        columns.append(np.maximum(left, right))
        weights.append(np.full(len(left), window - distance + 1, dtype=np.int32))
    places = (np.concatenate(rows), np.concatenate(columns))
    return coo_array((np.concatenate(weights), places), shape=(size, size)).tocsr()


def positive_information(pairs: csr_array[Any], least: int = 1) -> csr_array[Any]:
    """Turn the counts of pairs into positive pointwise mutual information.

    Parameters
    ----------
    pairs
        What :func:`count_pairs` gives.
    least
        Pairs with a lower count are left out.

    Returns
    -------
    csr_array
        Symmetric: a row and a column for each word.
    """
    from scipy.sparse import csr_array, triu

    rows = np.repeat(np.arange(pairs.shape[0], dtype=np.int32), np.diff(pairs.indptr))
    often = pairs.data >= least
    if not often.any():
        raise InputError("the corpus is too small for word vectors: no pair of words is met often enough")
    rows, columns, counts = rows[often], pairs.indices[often], pairs.data[often].astype(np.float32)
    # a word beside itself is met from both sides
    counts[rows == columns] *= 2
    once = csr_array((counts, (rows, columns)), shape=pairs.shape)
    beside = np.asarray(once.sum(axis=1), dtype=np.float64) + np.asarray(triu(once, 1).sum(axis=0), dtype=np.float64)
    logs = np.log(np.maximum(beside, 1.0))
    # ln p(w) p(c), the context smoothed, is in the mean of both directions the same power of either count
    alone = (0.5 * (1.0 + SMOOTHING) * logs).astype(np.float32)
    chance = np.log(np.sum(np.exp(SMOOTHING * logs[beside > 0])))
    information = np.log(counts) + np.float32(chance) - alone[rows] - alone[columns]
    kept = information > 0
    upper = csr_array((information[kept], (rows[kept], columns[kept])), shape=pairs.shape)
    return csr_array(upper + triu(upper, 1).T)


def leading_vectors(
    table: csr_array[Any], recipe: VectorRecipe, advance: Callable[[int], None] = lambda steps: None
) -> FloatArray:
    """The eigenvectors of a symmetric table with the largest eigenvalues, each times a power of its eigenvalue.

    ``advance`` is told of each of ``STEPS + 1`` products.
    """
    words = table.shape[0]
    width = min(words, recipe.size + _SPARE)
    basis: FloatArray = np.random.default_rng(recipe.seed).standard_normal((words, width))
    for _ in range(STEPS):
        basis = _orthonormal(table @ basis.astype(np.float32))
        advance(1)
    values, turns = np.linalg.eigh(_products(basis, table @ basis.astype(np.float32)))
    advance(1)
    order = np.argsort(-values, kind="stable")[: recipe.size]
    order = order[values[order] > 0]
    if not len(order):
        raise InputError("the corpus is too small for word vectors: no word tells anything of another")
    vectors = _turned(basis, turns[:, order])
    # an eigenvector is one whichever way it points
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    return np.asarray(vectors * values[order] ** recipe.power, dtype=np.float64)


# einsum adds in one order, where the sums of a BLAS depend on the number of its threads


def _products(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> FloatArray:
    """All inner products of the columns of two tall tables."""
    return np.asarray(np.einsum("ki,kj->ij", left.astype(np.float64), right.astype(np.float64)))


def _turned(tall: npt.NDArray[Any], small: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ki,ij->kj", tall.astype(np.float64), small))


def _orthonormal(columns: npt.NDArray[Any]) -> FloatArray:
    """Columns of length 1 at right angles that span the same space."""
    lengths, turns = np.linalg.eigh(_products(columns, columns))
    kept = lengths > _NOTHING * lengths.max(initial=0.0)
    return _turned(columns, turns[:, kept] / np.sqrt(lengths[kept]))


def rounded(vectors: FloatArray) -> npt.NDArray[np.int8]:
    """The directions of vectors in 8 bits: each row by its largest number."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.asarray(np.rint(vectors / np.where(largest > 0, largest, 1.0) * 127), dtype=np.int8)
