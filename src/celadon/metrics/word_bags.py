"""From texts to bags of points: words that have a vector, the sentences they make, or both; long texts in windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, IntArray, Sample
from celadon.metrics.idf import counts_of_file
from celadon.models.words.word_mover import STOP_WORDS
from celadon.models.words.word_vectors import WordVectors, word_vectors
from celadon.scoring.batch import NO_WORDS, Batch
from celadon.text.inverse_frequency import DocumentCounts
from celadon.text.scripts import is_in_scripts, is_wordless
from celadon.text.sentences import split_sentences
from celadon.text.transport import Bags
from celadon.text.windows import stretches, window_count
from celadon.text.words import located_words, splitter

WORDS, SENTENCES, BOTH = "words", "sentences", "words and sentences"
NO_WEIGHT = "every word of the text that counts stands in all documents of the idf, and so has no weight"
DROP, KEEP = "drop", "keep"
UNKNOWN = "the word vectors know no word of the text that counts"
_NOT_COUNTED = -2


class WordReading(NamedTuple):
    """How texts are read: the vectors, what becomes of stop words, and whether sentences are told apart."""

    vectors: str
    stopwords: str
    sentences: bool

    @property
    def table(self) -> WordVectors:
        """The vectors."""
        return word_vectors(self.vectors)


class ReadText(NamedTuple):
    """The words of a text that count and have a vector.

    ``sentences`` are all 0 where they are not told apart, ``counted`` includes words without a vector, and ``reason``
    says why the text cannot be compared.
    """

    numbers: IntArray
    sentences: IntArray
    counted: int
    reason: str = ""


def read_texts(batch: Batch, reading: WordReading) -> Mapping[str, ReadText]:
    """Read all texts and references of a batch, equal ones once."""
    texts = chain.from_iterable((sample.text, *sample.references) for sample in batch.samples)
    return batch.view(("read words", reading), lambda: dict(_read(texts, reading)))


def split_words(text: str, vectors: WordVectors) -> list[str]:
    """Return the words of a text, in the form that the vectors have if they have any."""
    if not vectors.cased:
        # rouge has its own way to lower case
        return splitter(vectors.normalisation)(text if vectors.normalisation == "rouge" else text.lower())
    written = [text[word.start : word.end] for word in located_words(text, vectors.normalisation)]
    # a word of which only the lower case is known is that word, as at the beginning of a sentence
    return [word if word in vectors else word.lower() for word in written]


def word_numbers(words: Sequence[str], vectors: WordVectors, stopwords: str) -> IntArray:
    """Return the numbers of words' vectors: -1 of a word without, -2 of one that does not count."""
    numbers = vectors.numbers(words)
    if stopwords == DROP:
        stop = np.fromiter(map(_is_stop_word, words), np.bool_, len(words))
        numbers[stop] = _NOT_COUNTED
    return numbers


_is_stop_word = frozenset(
    {form for word in STOP_WORDS for form in (word, word.capitalize(), word.upper())}
).__contains__


def _read(texts: Iterable[str], reading: WordReading) -> Iterator[tuple[str, ReadText]]:
    vectors, distinct = reading.table, list(dict.fromkeys(texts))
    parts = [_parts(text, reading.sentences) for text in distinct]
    words = [split_words(part, vectors) for of_text in parts for part in of_text]
    lengths = np.array([len(found) for found in words], dtype=np.int64)
    numbers = word_numbers(list(chain.from_iterable(words)), vectors, reading.stopwords)
    sentences = np.repeat(np.concatenate([[0], *(np.arange(len(of_text)) for of_text in parts)])[1:], lengths)
    known, counted = numbers >= 0, np.concatenate([[0], np.cumsum(numbers != _NOT_COUNTED)])
    before = np.concatenate([[0], np.cumsum(known)])
    edges = np.concatenate([[0], np.cumsum(lengths)])[np.cumsum([0, *map(len, parts)])]
    begins, counts = before[edges].tolist(), np.diff(counted[edges]).tolist()
    numbers, sentences = numbers[known], sentences[known].astype(np.int64)
    none = np.zeros(0, dtype=np.int64)
    for text, (begin, end), count in zip(distinct, pairwise(begins), counts, strict=True):
        if why := _unreadable(text, vectors, begin < end):
            yield text, ReadText(none, none, 0, why)
        else:
            yield text, ReadText(numbers[begin:end], sentences[begin:end], count)


def _parts(text: str, sentences: bool) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)] or [text] if sentences else [text]


def _unreadable(text: str, vectors: WordVectors, known: bool) -> str:
    # the words of rouge have letters or digits, so that of a text with one of them nothing has to be looked for
    if not (known and vectors.normalisation == "rouge") and is_wordless(text):
        return NO_WORDS
    if not is_in_scripts(text, vectors.scripts):
        scripts = " or ".join(vectors.scripts)
        return f"less than half of the text's letters are {scripts}, which is all the word vectors know"
    return "" if known else UNKNOWN


def reference_counts(batch: Batch, reading: WordReading) -> DocumentCounts:
    """Count in how many references of a batch each word stands; only words that count and have a vector."""
    read, words = read_texts(batch, reading), reading.table.words
    references = chain.from_iterable(sample.references for sample in batch.samples)
    found = (read[reference] for reference in references)
    return DocumentCounts.of([words[number] for number in one.numbers.tolist()] for one in found if not one.reason)


def file_counts(path: str, reading: WordReading) -> DocumentCounts:
    """Count in how many texts of a file each word stands; raise ``InputError`` if the vectors know none of them."""
    words = reading.table.words

    def documents(texts: Sequence[str]) -> Iterator[list[str]]:
        read = dict(_read(texts, reading))
        known = (read[text].numbers.tolist() for text in texts if not read[text].reason)
        return ([words[number] for number in numbers] for numbers in known)

    return counts_of_file(path, documents, "the word vectors")


class Points(NamedTuple):
    """The words of a batch: their vectors, and what each counts."""

    vectors: FloatArray
    weights: FloatArray


class LocalText(NamedTuple):
    """The words of a text as rows of :class:`Points`, and the sentence of each."""

    words: IntArray
    sentences: IntArray


class Pairing(NamedTuple):
    """Which pieces are compared.

    ``left`` and ``right`` are the pieces of each comparison, ``weights`` what it counts of the distance of its text and
    reference. ``choices`` are the sample, the first comparison and one more than the last of each text with a
    reference.
    """

    pieces: tuple[LocalText, ...]
    left: IntArray
    right: IntArray
    weights: FloatArray
    choices: tuple[tuple[int, int, int], ...]


def weighted_words(
    read: Mapping[str, ReadText], vectors: WordVectors, counts: DocumentCounts | None, *, unit: bool
) -> tuple[Points, dict[str, LocalText]]:
    """Return the words of all texts and what each counts, all alike without counts; those of no weight are left out."""
    flat = np.concatenate([np.zeros(0, dtype=np.int64), *(one.numbers for one in read.values())])
    row = np.zeros(len(vectors.words), dtype=np.int64)
    row[flat] = 1
    numbers = np.flatnonzero(row)
    row[numbers] = np.arange(len(numbers))
    points = Points(vectors.take(numbers, unit=unit), np.ones(len(numbers)))
    texts = {text: LocalText(row[one.numbers], one.sentences) for text, one in read.items()}
    if counts is None:
        return points, texts
    points = points._replace(weights=counts.weights([vectors.words[number] for number in numbers.tolist()]))
    weighty = points.weights > 0
    return points, {
        text: LocalText(words[weighty[words]], sentences[weighty[words]]) for text, (words, sentences) in texts.items()
    }


def paired(samples: Sequence[Sample], texts: Mapping[str, LocalText], window: int) -> Pairing:
    """Pair each text with its references, those that cannot be compared left out, in windows where they are long."""
    pieces: list[LocalText] = []
    number: dict[tuple[str, int], int] = {}
    left: list[int] = []
    right: list[int] = []
    weights: list[float] = []
    choices: list[tuple[int, int, int]] = []

    def first_piece(text: str, count: int) -> int:
        """The first of a text's so many pieces; the others follow it."""
        if (text, count) not in number:
            number[text, count] = len(pieces)
            words, sentences = texts[text]
            cuts = stretches(len(words), count) if count > 1 else [(0, len(words))]
            pieces.extend(LocalText(words[begin:end], sentences[begin:end]) for begin, end in cuts)
        return number[text, count]

    for row, sample in enumerate(samples):
        own = len(texts[sample.text].words)
        for reference in dict.fromkeys(sample.references) if own else ():
            other = len(texts[reference].words)
            if other:
                count = window_count(own, other, window)
                ours, theirs = first_piece(sample.text, count), first_piece(reference, count)
                choices.append((row, len(left), len(left) + count))
                left += range(ours, ours + count)
                right += range(theirs, theirs + count)
                both = [len(pieces[ours + at].words) + len(pieces[theirs + at].words) for at in range(count)]
                weights += [each / sum(both) for each in both]
    return Pairing(
        tuple(pieces),
        np.array(left, np.int64),
        np.array(right, np.int64),
        np.array(weights, np.float64),
        tuple(choices),
    )


class _Points(NamedTuple):
    """The points of all bags: the bag of each, which point it is, and how much of it."""

    owner: IntArray
    items: IntArray
    much: FloatArray


def _bags(found: _Points, count: int, points: int) -> Bags:
    """Put the points of each bag together; equal ones are one."""
    distinct, which = np.unique(found.owner * points + found.items, return_inverse=True)
    much = np.bincount(which, found.much, len(distinct))
    owner, items = np.divmod(distinct, points)
    shares = much / np.bincount(owner, much, count)[owner]
    return Bags(items, shares, np.searchsorted(owner, np.arange(count + 1)))


def bags_and_points(kind: str, pieces: Sequence[LocalText], points: Points) -> tuple[Bags, FloatArray]:
    """Return the bag of each piece, and the vectors of the points in them.

    Words have their weights; sentences stand at the mean of their words, with the sum of their weights. No piece may be
    without words.
    """
    owner = np.repeat(np.arange(len(pieces)), [len(piece.words) for piece in pieces])
    words = np.concatenate([np.zeros(0, dtype=np.int64), *(piece.words for piece in pieces)])
    as_words = _Points(owner, words, points.weights[words])
    if kind == WORDS:
        return _bags(as_words, len(pieces), max(len(points.vectors), 1)), points.vectors
    in_sentence = np.concatenate([np.zeros(0, dtype=np.int64), *(piece.sentences for piece in pieces)])
    as_sentences, means = _sentences(as_words, in_sentence, points)
    if kind == SENTENCES:
        return _bags(as_sentences, len(pieces), max(len(means), 1)), means
    moved = as_sentences._replace(items=as_sentences.items + len(points.vectors))
    both = _Points(*(np.concatenate(pair) for pair in zip(as_words, moved, strict=True)))
    vectors = np.concatenate([points.vectors, means])
    return _bags(both, len(pieces), max(len(vectors), 1)), vectors


def _sentences(words: _Points, sentences: IntArray, points: Points) -> tuple[_Points, FloatArray]:
    """The sentences of all bags, and the different means of their words."""
    from scipy.sparse import csr_array

    begins = (np.diff(words.owner, prepend=-1) != 0) | (np.diff(sentences, prepend=-1) != 0)
    group = np.cumsum(begins) - 1
    count, size = int(begins.sum()), max(len(points.vectors), 1)
    # each sentence's words in one order, so that equal sentences are so to the last bit
    distinct, which = np.unique(group * size + words.items, return_inverse=True)
    much = np.bincount(which, words.much, len(distinct))
    of_group, items = np.divmod(distinct, size)
    totals = np.bincount(of_group, much, count).astype(np.float64)
    shares = csr_array((much, items, np.searchsorted(of_group, np.arange(count + 1))), shape=(count, size))
    means = np.asarray(shares @ points.vectors) / totals[:, None] if count else np.zeros((0, points.vectors.shape[1]))
    different, same = np.unique(means, axis=0, return_inverse=True)
    return _Points(words.owner[np.flatnonzero(begins)], same.reshape(-1), totals), different
