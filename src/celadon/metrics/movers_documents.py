"""What word vectors read of texts: the words that have a vector, in order, and which sentence each is in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from celadon.core import IntArray
from celadon.metrics.idf_file import counts_of_file
from celadon.models.words.word_mover import STOP_WORDS
from celadon.models.words.word_vectors import WordVectors, word_vectors
from celadon.scoring.batch import NO_WORDS, Batch
from celadon.text.inverse_frequency import DocumentCounts
from celadon.text.scripts import is_in_scripts, is_wordless
from celadon.text.sentences import split_sentences
from celadon.text.words import located_words, splitter

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

    Attributes
    ----------
    numbers
        The numbers of their vectors, in the order of the text.
    sentences
        The sentence of each; all 0 where these are not told apart.
    counted
        How many words count, with a vector or without.
    reason
        Why the text cannot be compared; empty where it can.
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
    """Count in how many texts of a file each word stands; the file is any that can be scored.

    Raises
    ------
    InputError
        It cannot be read, or there is no text in it that the vectors know; the message says where.
    """
    words = reading.table.words

    def documents(texts: Sequence[str]) -> Iterator[list[str]]:
        read = dict(_read(texts, reading))
        known = (read[text].numbers.tolist() for text in texts if not read[text].reason)
        return ([words[number] for number in numbers] for numbers in known)

    return counts_of_file(path, documents, "the word vectors")
