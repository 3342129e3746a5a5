"""A corpus as training reads it: paragraphs streamed from files, articles kept apart for testing, sentences as numbers.

A corpus file is plain text (also .xz or .gz), a paragraph a line, a blank line between articles. Articles, not lines,
are kept apart, so that what is held out shares no article with what is trained on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import InputError, IntArray, UsageError
from celadon.io.paragraphs import read_paragraphs
from celadon.text.sentences import split_sentences

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_PARTS = 10_000
_PARAGRAPHS_AT_ONCE = 2_000

Advance = Callable[[int], None]


class Sentence(NamedTuple):
    """A sentence or a paragraph of the corpus, and whether its article is kept apart for testing."""

    text: str
    held_out: bool


@dataclass(frozen=True)
class Corpus:
    """Files of paragraphs.

    Attributes
    ----------
    paths
        The files, read one after another.
    hold_out
        The share of the articles that is kept apart.
    seed
        Which ones are.
    """

    paths: tuple[Path, ...]
    hold_out: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.paths:
            raise UsageError("no corpus was named")
        for path in self.paths:
            if not path.is_file():
                raise InputError(f"{path}: no such file")
        if not 0 <= self.hold_out < 1:
            raise UsageError(f"the share held out must be at least 0 and below 1, not {self.hold_out}")

    def articles(self, advance: Advance = lambda size: None) -> Iterator[list[Sentence]]:
        """Yield the paragraphs of each article; ``advance`` as for paragraphs."""
        paragraphs: list[Sentence] = []
        number = 0
        for text in read_paragraphs([str(path) for path in self.paths], advance):
            if text:
                paragraphs.append(Sentence(text, self._apart(number)))
                continue
            number += 1
            if paragraphs:
                yield paragraphs
                paragraphs = []
        if paragraphs:
            yield paragraphs

    def paragraphs(self, advance: Advance = lambda size: None) -> Iterator[Sentence]:
        """Yield paragraphs; ``advance`` is told how many bytes of the files, as they lie on disk, have been read."""
        return chain.from_iterable(self.articles(advance))

    def sentences(self, advance: Advance = lambda size: None) -> Iterator[Sentence]:
        """Yield sentences; ``advance`` as for paragraphs."""
        for paragraph in self.paragraphs(advance):
            for start, end in split_sentences(paragraph.text):
                yield Sentence(paragraph.text[start:end], paragraph.held_out)

    def digest(self) -> str:
        """The sha256 of the files."""
        total = hashlib.sha256()
        for path in self.paths:
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        return total.hexdigest()

    @property
    def size(self) -> int:
        """The size of the files in bytes, as they lie on disk."""
        return sum(path.stat().st_size for path in self.paths)

    def _apart(self, article: int) -> bool:
        name = f"{self.seed}:{article}".encode()
        return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") % _PARTS < self.hold_out * _PARTS


@dataclass(frozen=True)
class EncodedSentences:
    """Sentences as numbers, one after another.

    Attributes
    ----------
    ids
        The tokens of all sentences.
    starts
        Where each begins, with one more entry at the end.
    words
        The number of words, between white space, of all sentences together.
    """

    ids: npt.NDArray[np.uint32] | npt.NDArray[np.uint16]
    starts: IntArray
    words: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        """The number of tokens of each sentence."""
        return np.diff(self.starts)

    def save(self, folder: Path, name: str) -> None:
        """Write to ``folder`` under a name; :meth:`load` reads it back, memory-mapped."""
        np.save(folder / f"{name}.ids.npy", self.ids)
        np.save(folder / f"{name}.starts.npy", self.starts)
        (folder / f"{name}.json").write_text(json.dumps({"words": self.words}))

    @classmethod
    def load(cls, folder: Path, name: str) -> EncodedSentences:
        """Read what :meth:`save` wrote."""
        return cls(
            np.load(folder / f"{name}.ids.npy", mmap_mode="r"),
            np.load(folder / f"{name}.starts.npy", mmap_mode="r"),
            json.loads((folder / f"{name}.json").read_text())["words"],
        )


def encode_corpus(
    sentences: Iterable[Sentence], tokenizer: Tokenizer, batch: int = _PARAGRAPHS_AT_ONCE
) -> tuple[EncodedSentences, EncodedSentences]:
    """Number the tokens of the sentences: those to train on, and those held out."""
    small = tokenizer.get_vocab_size() <= np.iinfo(np.uint16).max
    collected = (_Collected(small), _Collected(small))
    stream = iter(sentences)
    while taken := list(islice(stream, batch)):
        encoded = tokenizer.encode_batch_fast([sentence.text for sentence in taken], add_special_tokens=False)
        for sentence, encoding in zip(taken, encoded, strict=True):
            collected[sentence.held_out].add(encoding.ids, len(sentence.text.split()))
    return collected[False].done(), collected[True].done()


def number_texts(texts: Sequence[str], tokenizer: Tokenizer) -> EncodedSentences:
    """Number the tokens of texts, with the marks that the tokenizer puts round each."""
    collected = _Collected(tokenizer.get_vocab_size() <= np.iinfo(np.uint16).max)
    for at in range(0, len(texts), _PARAGRAPHS_AT_ONCE):
        some = texts[at : at + _PARAGRAPHS_AT_ONCE]
        for text, encoding in zip(some, tokenizer.encode_batch_fast(list(some)), strict=True):
            collected.add(encoding.ids, len(text.split()))
    return collected.done()


class _Collected:
    """Takes sentences' numbers, kept in blocks so that memory stays near the arrays' own size."""

    def __init__(self, small: bool) -> None:
        self.type = np.uint16 if small else np.uint32
        self.blocks: list[npt.NDArray[Any]] = []
        self.pending: list[int] = []
        self.lengths: list[int] = []
        self.words = 0

    def add(self, ids: Sequence[int], words: int) -> None:
        if not ids:
            return
        self.pending.extend(ids)
        self.lengths.append(len(ids))
        self.words += words
        if len(self.pending) > 1_000_000:
            self._flush()

    def _flush(self) -> None:
        self.blocks.append(np.array(self.pending, dtype=self.type))
        self.pending = []

    def done(self) -> EncodedSentences:
        self._flush()
        starts = np.zeros(len(self.lengths) + 1, dtype=np.int64)
        np.cumsum(self.lengths, out=starts[1:])
        return EncodedSentences(np.concatenate(self.blocks), starts, self.words)


class TrainingTexts:
    """The paragraphs of a corpus to train on, from the beginning as often as they are asked for."""

    def __init__(self, corpus: Corpus, advance: Advance = lambda size: None) -> None:
        self._corpus = corpus
        self._advance = advance

    def __iter__(self) -> Iterator[str]:
        return (each.text for each in self._corpus.paragraphs(self._advance) if not each.held_out)
