"""A corpus as training reads it: paragraphs streamed from files, articles kept apart for testing, sentences as numbers.

A corpus file is plain text (also .xz or .gz), a paragraph a line, a blank line between articles. Articles, not lines,
are kept apart, so that what is held out shares no article with what is trained on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from celadon.core import InputError, IntArray, UsageError
from celadon.io import BadRow
from celadon.io.lines import read_paragraphs
from celadon.text.sentences import split_sentences

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_PARTS = 10_000
_PARAGRAPHS_AT_ONCE = 2_000

T = TypeVar("T")
Advance = Callable[[int], None]


class Sentence(NamedTuple):
    """A sentence or a paragraph of the corpus, and whether its article is kept apart for testing."""

    text: str
    held_out: bool


@dataclass(frozen=True)
class Corpus:
    """Files of paragraphs."""

    paths: tuple[Path, ...]  # the files, read one after another
    hold_out: float = 0.01  # the share of the articles that is kept apart
    seed: int = 0  # which ones are

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
    """Sentences as numbers, one after another."""

    ids: npt.NDArray[np.uint32] | npt.NDArray[np.uint16]  # the tokens of all sentences
    starts: IntArray  # where each begins, with one more entry at the end
    words: int  # the number of words, between white space, of all sentences together

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
    sentences: Iterable[Sentence], tokenizer: Tokenizer, batch: int = _PARAGRAPHS_AT_ONCE, marks: bool = False
) -> tuple[EncodedSentences, EncodedSentences]:
    """Number the tokens of the sentences, those to train on and those held out, perhaps with the tokenizer's marks."""
    small = tokenizer.get_vocab_size() <= np.iinfo(np.uint16).max
    collected = (_Collected(small), _Collected(small))
    stream = iter(sentences)
    while taken := list(islice(stream, batch)):
        encoded = tokenizer.encode_batch_fast([sentence.text for sentence in taken], add_special_tokens=marks)
        for sentence, encoding in zip(taken, encoded, strict=True):
            collected[sentence.held_out].add(encoding.ids, len(sentence.text.split()))
    return collected[False].done(), collected[True].done()


def number_texts(texts: Sequence[str], tokenizer: Tokenizer) -> EncodedSentences:
    """Number the tokens of texts, with the marks that the tokenizer puts round each."""
    return encode_corpus((Sentence(text, False) for text in texts), tokenizer, marks=True)[0]


def raise_bad_row(row: BadRow) -> None:
    """Raise an error for a row of a table that cannot be read."""
    raise InputError(str(row))


def draw_items(
    items: Iterable[tuple[T, bool]], trained: int, held_out: int, random: np.random.Generator
) -> tuple[list[T], list[T]]:
    """Draw items at random: so many of those to train on, and so many of those that are held out."""
    parts: tuple[list[T], list[T]] = ([], [])
    sizes, counts = (trained, held_out), [0, 0]
    for item, apart in items:
        part, size = parts[apart], sizes[apart]
        counts[apart] += 1
        if len(part) < size:
            part.append(item)
        elif (place := int(random.integers(counts[apart]))) < size:
            part[place] = item
    return parts


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


# Sentences that are sorted by length together: enough for batches of one length, few enough to keep the order random.
_POOL = 50_000


@dataclass(frozen=True)
class Padded:
    """One batch: ``inputs`` and ``targets``, [length, rows]; a target is -1 where there is none."""

    inputs: IntArray
    targets: IntArray

    @property
    def tokens(self) -> int:
        """The number of targets."""
        return int((self.targets >= 0).sum())


@dataclass(frozen=True)
class Plan:
    """How sentences become batches."""

    sentences: EncodedSentences  # all that may be trained on
    tokens: int  # at most this many positions, padding included, in a batch
    longest: int  # a longer sentence is trained on to its first ``longest`` tokens
    # begin, end: the marks put round every sentence
    begin: int
    end: int
    seed: int = 0

    def batches(self, skip: int = 0) -> Iterator[Padded]:
        """Yield batches without end, epoch after epoch, from the batch numbered ``skip`` on."""
        lengths = np.minimum(self.sentences.lengths, self.longest) + 1
        return (self.padded(rows) for rows in islice(batches_of(lengths, self.tokens, self.seed), skip, None))

    def in_order(self) -> Iterator[Padded]:
        """Yield every sentence once, by length: for measuring."""
        lengths = np.minimum(self.sentences.lengths, self.longest) + 1
        return (self.padded(rows) for rows in _grouped(np.argsort(lengths, kind="stable"), lengths, self.tokens))

    def padded(self, rows: IntArray) -> Padded:
        """The batch of these sentences."""
        starts = np.asarray(self.sentences.starts)
        lengths = np.minimum(starts[rows + 1] - starts[rows], self.longest)
        shape = (int(lengths.max()) + 1, len(rows))
        inputs = np.full(shape, self.end, dtype=np.int64)
        targets = np.full(shape, -1, dtype=np.int64)
        inputs[0] = self.begin
        for column, (row, length) in enumerate(zip(rows.tolist(), lengths.tolist(), strict=True)):
            ids = self.sentences.ids[starts[row] : starts[row] + length]
            inputs[1 : length + 1, column] = ids
            targets[:length, column] = ids
            # the end is no token of a sentence that was cut
            if starts[row + 1] - starts[row] == length:
                targets[length, column] = self.end
        return Padded(inputs, targets)


def batches_of(lengths: IntArray, tokens: int, seed: int) -> Iterator[IntArray]:
    """Yield batches of row numbers without end: each epoch shuffled by the seed, rows of like length together.

    A batch has at most so many tokens, padding included.
    """
    for epoch in count():
        random = np.random.default_rng([seed, epoch])
        order = random.permutation(len(lengths))
        for at in range(0, len(order), _POOL):
            pool = order[at : at + _POOL]
            groups = list(_grouped(pool[np.argsort(lengths[pool], kind="stable")], lengths, tokens))
            yield from (groups[number] for number in random.permutation(len(groups)))


def _grouped(ordered: IntArray, lengths: IntArray, tokens: int) -> Iterator[IntArray]:
    """Runs of rows, shortest first, as long as they fit into the tokens of a batch."""
    sizes = lengths[ordered]
    begin = 0
    while begin < len(ordered):
        # sizes grow, so the number of rows that fit is found by the size of the last of them
        window = sizes[begin : begin + tokens]
        rows = max(1, int(np.searchsorted(window * np.arange(1, len(window) + 1), tokens, side="right")))
        yield ordered[begin : begin + rows]
        begin += rows
