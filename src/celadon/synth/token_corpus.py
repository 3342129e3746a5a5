"""A corpus as the generators see it: sentences of numbered tokens."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from celadon.core import InputError, IntArray
from celadon.synth.token_text import tokens_of


@dataclass(frozen=True)
class TokenCorpus:
    """Sentences one after another.

    Attributes
    ----------
    words
        The tokens that occur, by their numbers.
    ids
        The numbers of the tokens of all sentences.
    starts
        Where each sentence begins, with one more entry at the end.
    """

    words: tuple[str, ...]
    ids: IntArray
    starts: IntArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        """The number of tokens of each sentence."""
        return np.diff(self.starts)

    def sentence(self, number: int) -> tuple[str, ...]:
        """Return the tokens of one sentence."""
        return tuple(self.words[token] for token in self.ids[self.starts[number] : self.starts[number + 1]])

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return every token that has a next one in its sentence, and the next ones."""
        inside = np.ones(len(self.ids), dtype=bool)
        inside[self.starts[1:] - 1] = False
        at = np.flatnonzero(inside)
        return self.ids[at], self.ids[at + 1]


def number_sentences(sentences: Iterable[Sequence[str]]) -> TokenCorpus:
    """Number the tokens of sentences; those without tokens are left out."""
    numbers: dict[str, int] = {}
    ids, starts = array("q"), array("q", [0])
    for tokens in sentences:
        if tokens:
            ids.extend(numbers.setdefault(token, len(numbers)) for token in tokens)
            starts.append(len(ids))
    return TokenCorpus(tuple(numbers), np.array(ids, dtype=np.int64), np.array(starts, dtype=np.int64))


def read_token_corpus(paths: Sequence[str], advance: Callable[[int], None] = lambda size: None) -> TokenCorpus:
    """Read text files (also .xz, .gz, .zst), a paragraph a line.

    Parameters
    ----------
    paths
        The files.
    advance
        Told how many more bytes of the files, as they lie on disk, have been read.

    Raises
    ------
    InputError
        A file is missing or damaged, or there are no words in any.
    """
    from celadon.io.paragraphs import read_paragraphs
    from celadon.text.sentences import split_sentences

    corpus = number_sentences(
        tokens_of(paragraph[start:end])
        for paragraph in read_paragraphs(paths, advance)
        for start, end in split_sentences(paragraph)
    )
    if not len(corpus):
        raise InputError(f"{', '.join(paths)}: there are no words in it")
    return corpus
