"""What a trained n-gram model is written as: a folder that celadon opens, and an ARPA file for other programs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray, UsageError
from celadon.io.atomic import write_atomically
from celadon.io.compress import Sink, compressed
from celadon.models.language.ngram_lm import (
    ARPA_BEGIN,
    ARPA_END,
    ARPA_UNKNOWN,
    DESCRIPTION,
    FORMAT,
    KIND,
    TOKENIZER,
    UNIGRAMS,
)
from celadon.models.language.ngram_tables import NgramTables
from celadon.models.language.unigrams import smoothed
from celadon.train.corpus import Advance
from celadon.train.language_models.vocabulary import BEGIN, END, marks_of
from celadon.train.model_folder import new_folder, scripts_of, tokens_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LN10 = math.log(10.0)
_LINES_AT_ONCE = 200_000
# white space to readers of ARPA files
_BREAKS = frozenset("\0\t\n\v\f\r ")


@dataclass(frozen=True)
class TrainedNgrams:
    """A trained model, ready to be written.

    Attributes
    ----------
    tokenizer
        What cuts texts into its tokens.
    tables
        Its n-grams.
    counts
        How often each token was trained on, the end of a sentence included.
    """

    tokenizer: Tokenizer
    tables: NgramTables
    counts: IntArray

    @property
    def unit(self) -> str:
        """What a token is."""
        kind = type(self.tokenizer.model).__name__
        return {"WordPiece": "wordpiece", "WordLevel": "word"}.get(kind, kind.lower())


def write_model(folder: Path, model: TrainedNgrams, card: str) -> None:
    """Write a model to a new folder, which appears whole or not at all.

    Parameters
    ----------
    folder
        Must not exist, or be empty; folders above it are made.
    model
        What is written.
    card
        What people should know of it, in Markdown.
    """
    with new_folder(folder) as draft:
        model.tables.save(draft)
        np.save(draft / UNIGRAMS, smoothed(model.counts))
        model.tokenizer.save(str(draft / TOKENIZER))
        description = json.dumps(_description(folder.name, model), ensure_ascii=False, indent=2)
        (draft / DESCRIPTION).write_text(description + "\n", encoding="utf-8")
        (draft / "card.md").write_text(card, encoding="utf-8")


def _description(name: str, model: TrainedNgrams) -> dict[str, Any]:
    marks = marks_of(model.tokenizer)
    return {
        "format": FORMAT,
        "kind": KIND,
        "name": name,
        "unit": model.unit,
        "order": model.tables.order,
        "begin": BEGIN,
        "begin_id": marks.begin,
        "end": END,
        "end_id": marks.end,
        "unknown_id": marks.unknown,
        "window": model.tables.order,
        "scripts": scripts_of(tokens_of(model.tokenizer), model.counts),
    }


def write_arpa(path: str, model: TrainedNgrams, advance: Advance = lambda lines: None) -> None:
    """Write a model as an ARPA file, which kenlm and others read; the marks are named as is the custom there.

    Parameters
    ----------
    path
        The file; compressed where it ends in ``.gz``.
    model
        What is written.
    advance
        Told how many more lines have been written.

    Raises
    ------
    UsageError
        A token cannot stand in such a file.
    """
    words = _arpa_words(model.tokenizer)
    with write_atomically(path) as file:
        sink = compressed(file, "gzip" if path.endswith(".gz") else None)
        _write_arpa(sink, model.tables, words, advance)
        sink.close()


def _arpa_words(tokenizer: Tokenizer) -> list[str]:
    marks = marks_of(tokenizer)
    words = tokens_of(tokenizer)
    named: Mapping[int, str] = {marks.begin: ARPA_BEGIN, marks.end: ARPA_END, marks.unknown: ARPA_UNKNOWN}
    for number, word in enumerate(words):
        if number not in named and (not word or word in named.values() or not _BREAKS.isdisjoint(word)):
            raise UsageError(f"the token {word!r} cannot stand in an ARPA file; train without --arpa")
    for number, word in named.items():
        words[number] = word
    return words


def _write_arpa(sink: Sink, tables: NgramTables, words: Sequence[str], advance: Advance) -> None:
    sizes = [len(logprobs) for logprobs in tables.logprobs]
    head = "".join(f"ngram {order}={size}\n" for order, size in enumerate(sizes, 1))
    sink.write(f"\\data\\\n{head}".encode())
    for order, size in enumerate(sizes, 1):
        sink.write(f"\n\\{order}-grams:\n".encode())
        for begin in range(0, size, _LINES_AT_ONCE):
            part = slice(begin, min(size, begin + _LINES_AT_ONCE))
            sink.write("".join(_arpa_lines(tables, words, order, part)).encode())
            advance(part.stop - part.start)
    sink.write(b"\n\\end\\\n")


def _arpa_lines(tables: NgramTables, words: Sequence[str], order: int, part: slice) -> Iterator[str]:
    bits, mask = np.uint64(tables.bits), np.uint64((1 << tables.bits) - 1)
    keys = np.arange(part.start, part.stop, dtype=np.uint64) if order == 1 else tables.keys[order - 2][part]
    columns: list[npt.NDArray[np.uint64]] = [(keys >> (bits * np.uint64(n))) & mask for n in reversed(range(order))]
    ngrams = zip(*(map(words.__getitem__, column.tolist()) for column in columns), strict=True)
    logprobs = (tables.logprobs[order - 1][part] / _LN10).tolist()
    if order == tables.order:
        return (f"{logprob:.8g}\t{' '.join(ngram)}\n" for logprob, ngram in zip(logprobs, ngrams, strict=True))
    backoffs = (tables.backoffs[order - 1][part] / _LN10).tolist()
    return (
        f"{logprob:.8g}\t{' '.join(ngram)}\t{backoff:.8g}\n"
        for logprob, ngram, backoff in zip(logprobs, ngrams, backoffs, strict=True)
    )
