"""What a trained n-gram model is written as: a folder that celadon opens, and an ARPA file for other programs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray, OutputError, UsageError
from celadon.io.atomic import check_distinct, write_atomically
from celadon.io.compress import Sink, compressed
from celadon.models.language.ngram_lm import (
    ARPA_BEGIN,
    ARPA_END,
    ARPA_UNKNOWN,
    KIND,
    TOKENIZER,
    UNIGRAMS,
    NgramTables,
    bits_of,
)
from celadon.models.language.unigrams import smoothed
from celadon.train.corpus import Advance, Corpus, EncodedSentences, encode_corpus
from celadon.train.language_models.kneser_ney import train_ngrams
from celadon.train.language_models.lm import HeldOut, perplexity, token_counts
from celadon.train.language_models.vocabulary import (
    PASSES,
    UNITS,
    choose_tokenizer,
    lm_description,
    marks_of,
    tokens_of,
)
from celadon.train.model_folder import check_new_folder, new_folder
from celadon.train.reporting import SILENT, Report

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LN10 = math.log(10.0)
_LINES_AT_ONCE = 200_000
# white space to readers of ARPA files
_BREAKS = frozenset("\0\t\n\v\f\r ")


@dataclass(frozen=True)
class TrainedNgrams:
    """A trained model, ready to be written."""

    tokenizer: Tokenizer  # what cuts texts into its tokens
    tables: NgramTables  # its n-grams
    counts: IntArray  # how often each token was trained on, the end of a sentence included

    @property
    def sizes(self) -> str:
        """How many n-grams there are of each length, in words."""
        return ", ".join(f"{len(logprobs):,}" for logprobs in self.tables.logprobs)

    @property
    def unit(self) -> str:
        """What a token is."""
        kind = type(self.tokenizer.model).__name__
        return {"WordPiece": "wordpiece", "WordLevel": "word"}.get(kind, kind.lower())


def write_model(folder: Path, model: TrainedNgrams, card: str) -> None:
    """Write a model to a new folder, which appears whole or not at all."""
    order = model.tables.order
    described = lm_description(folder.name, KIND, model.unit, model.tokenizer, model.counts, order, order=order)
    with new_folder(folder, card, described) as draft:
        model.tables.save(draft)
        np.save(draft / UNIGRAMS, smoothed(model.counts))
        model.tokenizer.save(str(draft / TOKENIZER))


def write_arpa(path: str, model: TrainedNgrams, advance: Advance = lambda lines: None) -> None:
    """Write a model as an ARPA file (also .gz), which kenlm and others read; marks are named as is the custom there.

    Raises UsageError where a token cannot stand in such a file.
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


def train_ngram(
    corpus: Sequence[str],
    output: str | Path,
    *,
    order: int = 3,
    unit: str | None = None,
    vocabulary: int | None = None,
    tokenizer: str | Path | None = None,
    arpa: str | None = None,
    hold_out: float = 0.01,
    seed: int = 0,
    report: Report = SILENT,
) -> tuple[TrainedNgrams, HeldOut | None]:
    """Train an n-gram model with interpolated modified Kneser-Ney smoothing, and write it to a new folder.

    Parameters
    ----------
    corpus
        Text files, a paragraph a line, a blank line between articles.
    output
        The new folder; the model is asked for as ``ngram:FOLDER``.
    order
        The length of the longest n-grams.
    unit, vocabulary
        What a token is, ``wordpiece`` (the default) or ``word``, and how many there are.
    tokenizer
        The tokenizer.json of another model, to have its tokens.
    arpa
        Write the model as an ARPA file too.
    hold_out, seed
        The share of the articles kept apart to measure on, and which ones.
    report
        Receives the progress.

    Returns
    -------
    tuple
        The model, and how well it predicts what was kept apart; None where nothing was.
    """
    if unit and tokenizer:
        raise UsageError("--unit does not go with --tokenizer, which says what a token is")
    folder, unit = Path(output), unit or "wordpiece"
    check_new_folder(folder)
    if arpa:
        check_distinct(arpa, corpus)
        if not Path(arpa).parent.is_dir():
            raise OutputError(f"{arpa}: the folder {Path(arpa).parent} does not exist")
    texts = Corpus(tuple(map(Path, corpus)), hold_out, seed)
    vocabulary = vocabulary or UNITS[unit]
    file = Path(tokenizer) if tokenizer else None
    if not file:
        bits_of(vocabulary, order)  # before the corpus is read
    with report.bar("vocabulary", texts.size * (0 if file else PASSES[unit])) as bar:
        tokens = choose_tokenizer(file, texts, unit, vocabulary, bar.update)
    marks, size = marks_of(tokens), tokens.get_vocab_size()
    bits_of(size, order)
    with report.bar("numbering", texts.size) as bar:
        trained, held_out = encode_corpus(texts.sentences(bar.update), tokens)
    with report.bar("counting and smoothing", 2 * order, unit="step") as bar:
        tables = train_ngrams(trained.ids, trained.starts, size, marks.begin, marks.end, order, bar.update)
    model = TrainedNgrams(tokens, tables, token_counts(tokens, trained))
    measured = None
    if len(held_out):
        logprobs = tables.score(held_out.ids, held_out.starts)
        measured = HeldOut(-float(logprobs.sum()), len(logprobs), held_out.words, len(held_out))
    write_model(folder, model, _card(folder.name, model, texts, trained, measured))
    if arpa:
        with report.bar("ARPA file", sum(map(len, tables.logprobs)), unit="line") as bar:
            write_arpa(arpa, model, bar.update)
    return model, measured


def _card(name: str, model: TrainedNgrams, corpus: Corpus, trained: EncodedSentences, measured: HeldOut | None) -> str:
    return f"""# {name}

An n-gram language model of order {model.tables.order} with interpolated modified Kneser-Ney smoothing.

- corpus: {", ".join(path.name for path in corpus.paths)} (sha256 {corpus.digest()})
- trained on: {len(trained):,} sentences, {trained.words:,} words, {len(trained.ids):,} tokens
- tokens: {model.unit}, a vocabulary of {model.tables.vocabulary:,}
- n-grams of each length, from 1: {model.sizes}
- kept apart: {corpus.hold_out:g} of the articles, seed {corpus.seed}
- perplexity on them: {perplexity_of_words(measured)}
"""


def perplexity_of_words(measured: HeldOut | None) -> str:
    """Return the held-out perplexity in words, with the number of words that it is of."""
    return perplexity(measured) + (f" ({measured.words:,} words)" if measured else "")
