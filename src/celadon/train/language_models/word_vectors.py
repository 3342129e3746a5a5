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
from dataclasses import asdict, dataclass
from functools import reduce
from itertools import groupby
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray, UsageError
from celadon.models.words.word_mover import similarities
from celadon.models.words.word_vectors import FORMAT, VECTORS, WORDS, WordVectors
from celadon.text.sentences import split_sentences
from celadon.text.words import splitter
from celadon.train.combinations.ratings import area_under_curve
from celadon.train.corpus import Advance, Corpus
from celadon.train.language_models.vocabulary import scripts_of
from celadon.train.model_folder import check_new_folder, new_folder
from celadon.train.reporting import SILENT, Report, made_by, model_card

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
    """How vectors are made."""

    words: int = 60_000  # how many words have one, the most frequent
    size: int = 100  # the length of a vector
    window: int = 10  # how far apart two words may be that count as a pair
    # words with a larger share of the corpus than this are thinned: kept with the square root of this over the share
    thin: float = 1e-4
    power: float = 0.5  # of the eigenvalues
    hold_out: float = 0.01  # the share of the articles that is kept apart
    seed: int = 0  # for thinning, the first vectors, and what is kept apart

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
    """Turn the counts of pairs, those of at least ``least``, into symmetric positive mutual information."""
    from scipy.sparse import csr_array, triu

    rows = np.repeat(np.arange(pairs.shape[0], dtype=np.int32), np.diff(pairs.indptr))
    often = pairs.data >= least
    if not often.any():
        raise InputError("the corpus is too small for word vectors: no pair of words is met often enough")
    rows, columns, counts = rows[often], pairs.indices[often], pairs.data[often].astype(np.float32)
    # a word beside itself is met from both sides
    counts[rows == columns] *= 2
    once = csr_array((counts, (rows, columns)), shape=pairs.shape)
    # before scipy 1.12 triu makes a matrix of an array
    above = csr_array(triu(once, 1))
    beside = np.asarray(once.sum(axis=1), dtype=np.float64) + np.asarray(above.sum(axis=0), dtype=np.float64)
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


CHARGED = 0.05
"""The share of true transitions that are below the threshold."""

_MOST_PAIRS = 20_000
_FEWEST_PAIRS = 100
_PAIRS_AT_ONCE = 500
_DIGITS = 4


@dataclass(frozen=True)
class Transitions:
    """How vectors tell sentences that follow each other from sentences of different articles."""

    threshold: float  # the similarity below which a transition is weak
    pairs: int  # the number of pairs of either kind
    auc: float  # the chance that a true transition is more similar than a false one
    # adjacent_below, unrelated_below: the shares of true and of false transitions below the threshold
    adjacent_below: float
    unrelated_below: float
    # adjacent_median, unrelated_median: their similarities in the middle
    adjacent_median: float
    unrelated_median: float


@dataclass(frozen=True)
class TrainedVectors:
    """Vectors, with what their card says of them."""

    # recipe, vocabulary: how they were made, and of which words
    recipe: VectorRecipe
    vocabulary: Vocabulary
    rows: npt.NDArray[np.int8]  # the vectors' directions in 8 bits
    transitions: Transitions | None  # what was found on the articles kept apart; None where these are too few


def in_memory(vocabulary: Vocabulary, rows: npt.NDArray[np.int8]) -> WordVectors:
    """Vectors that are not written yet, ready for use."""
    return WordVectors("", "", vocabulary.words, rows, NORMALISATION, (), None)


_Pair = tuple[str, str]


class SentencePairs(NamedTuple):
    """Pairs of sentences that follow each other in a paragraph, and as many of different articles."""

    adjacent: list[_Pair]
    unrelated: list[_Pair]


def sentence_pairs(articles: Sequence[Article], seed: int = 0) -> SentencePairs:
    """Pair sentences with those that follow them, and the same ones with sentences of other articles."""
    rng = np.random.default_rng(seed)
    sentences: list[str] = []
    owner: list[int] = []
    follows: list[int] = []  # the places of sentences that another one of the paragraph follows
    for number, article in enumerate(articles):
        for paragraph in article:
            found = [paragraph[start:end] for start, end in split_sentences(paragraph)]
            follows += range(len(sentences), len(sentences) + len(found) - 1)
            sentences += found
            owner += [number] * len(found)
    if len(articles) < 2 or not follows:
        return SentencePairs([], [])
    chosen = np.sort(rng.permutation(follows)[:_MOST_PAIRS]).tolist()
    owners = np.array(owner)
    unrelated = []
    for place in chosen:
        other = int(rng.integers(len(sentences)))
        while owners[other] == owners[place]:
            other = int(rng.integers(len(sentences)))
        unrelated.append((sentences[place], sentences[other]))
    return SentencePairs([(sentences[place], sentences[place + 1]) for place in chosen], unrelated)


def judge_transitions(
    vectors: WordVectors, pairs: SentencePairs, advance: Advance = lambda more: None
) -> Transitions | None:
    """Compare sentences that follow each other, and sentences that do not; None where there are too few."""
    true, false = (_similarities(of_a_kind, vectors, advance) for of_a_kind in pairs)
    both = ~np.isnan(true) & ~np.isnan(false)
    true, false = true[both], false[both]
    if len(true) < _FEWEST_PAIRS:
        return None
    threshold = round(float(np.quantile(true, CHARGED)), _DIGITS)
    labels = np.repeat([True, False], len(true))
    return Transitions(
        threshold=threshold,
        pairs=len(true),
        auc=round(area_under_curve(np.concatenate([true, false]), labels), _DIGITS),
        adjacent_below=round(float((true < threshold).mean()), _DIGITS),
        unrelated_below=round(float((false < threshold).mean()), _DIGITS),
        adjacent_median=round(float(np.median(true)), _DIGITS),
        unrelated_median=round(float(np.median(false)), _DIGITS),
    )


def _similarities(pairs: Sequence[_Pair], vectors: WordVectors, advance: Advance) -> FloatArray:
    found = np.empty(len(pairs))
    for begin in range(0, len(pairs), _PAIRS_AT_ONCE):
        block = pairs[begin : begin + _PAIRS_AT_ONCE]
        found[begin : begin + len(block)] = similarities(block, vectors)
        advance(len(block))
    return found


def train_vectors(
    corpus: Sequence[str | Path],
    output: str | Path,
    recipe: VectorRecipe | None = None,
    *,
    about: str = "",
    report: Report = SILENT,
) -> TrainedVectors:
    """Make word vectors of a corpus, find their threshold on articles kept apart, and write them to a new folder.

    Parameters
    ----------
    corpus
        Text files, a paragraph a line, a blank line between articles.
    output
        The new folder, by which ``gruen.focus`` can use the vectors.
    recipe
        How they are made.
    about
        For the card: what the data are, and their license.
    report
        Receives the progress.
    """
    folder = Path(output)
    check_new_folder(folder)
    recipe = recipe or VectorRecipe()
    texts = Corpus(tuple(map(Path, corpus)), recipe.hold_out, recipe.seed)
    with report.bar("counting words", texts.size) as bar:
        vocabulary, apart = read_vocabulary(texts, recipe.words, bar.update)
    with report.bar("counting pairs", texts.size) as bar:
        pairs = count_pairs(texts, vocabulary, recipe, bar.update)
    with report.bar("vectors", STEPS + 2, unit="step") as bar:
        table = positive_information(pairs, least=recipe.window + 1)  # more than one meeting can give
        del pairs
        bar.update(1)
        rows = rounded(leading_vectors(table, recipe, bar.update))
    sentences = sentence_pairs(apart, recipe.seed)
    with report.bar("comparing sentences", 2 * len(sentences.adjacent), unit="pair") as bar:
        transitions = judge_transitions(in_memory(vocabulary, rows), sentences, bar.update)
    trained = TrainedVectors(recipe, vocabulary, rows, transitions)
    card = _card(folder.name, trained, texts, about, made_by("vectors", corpus, output=folder, **asdict(recipe)))
    write_vectors(folder, trained, card)
    return trained


def write_vectors(folder: Path, trained: TrainedVectors, card: str) -> None:
    """Write vectors to a new folder, which appears whole or not at all."""
    found = trained.transitions
    described = {
        "format": FORMAT,
        "normalisation": NORMALISATION,
        "words": len(trained.vocabulary.words),
        "size": int(trained.rows.shape[1]),
        "scripts": scripts_of(trained.vocabulary.words, trained.vocabulary.counts),
        "threshold": None if found is None else found.threshold,
        "transitions": None if found is None else asdict(found),
    }
    with new_folder(folder, card, described) as draft:
        np.save(draft / VECTORS, trained.rows)
        (draft / WORDS).write_text("\n".join(trained.vocabulary.words) + "\n", encoding="utf-8")


def _card(name: str, trained: TrainedVectors, corpus: Corpus, about: str, command: str) -> str:
    recipe, vocabulary = trained.recipe, trained.vocabulary
    covered = int(vocabulary.counts.sum()) / vocabulary.total
    return model_card(
        name,
        f"Vectors of {trained.rows.shape[1]} numbers for {len(vocabulary.words):,} words in lower case: the leading "
        f"eigenvectors of a table of positive pointwise mutual information, words at most {recipe.window} apart, "
        f"contexts smoothed by the power 0.75, eigenvalues to the power {recipe.power:g}, words above {recipe.thin:g} "
        "of the corpus thinned. Only directions are kept, in 8 bits.",
        about,
        [
            f"files: {', '.join(path.name for path in corpus.paths)} (sha256 {corpus.digest()})",
            f"trained on: {vocabulary.total:,} words, of which {covered:.1%} have a vector",
            f"kept apart: {corpus.hold_out:g} of the articles (seed {corpus.seed})",
        ],
        transitions_text(trained.transitions),
        [command],
    )


def transitions_text(found: Transitions | None) -> str:
    """What was found on the articles kept apart, in words."""
    if found is None:
        return "No threshold for adjacent sentences: too little was kept apart."
    return f"""\
Word Mover's similarity of sentences kept apart, {found.pairs:,} that follow each other and as many of different \
articles:

- a true transition is more similar than a false one with a chance of {found.auc:.3f}; medians \
{found.adjacent_median:.3f} and {found.unrelated_median:.3f}
- threshold: {found.threshold:g}, by the rule that {CHARGED:.0%} of the true transitions are below it; \
{found.adjacent_below:.1%} of the true ones are, and {found.unrelated_below:.1%} of the false ones"""
