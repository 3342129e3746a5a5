"""What metrics on the vectors of tokens have in common: the encoder, what tokens weigh, and windows over long texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from celadon.core import FloatArray, IntArray, UsageError
from celadon.metrics.idf import NONE, WINDOW, Counts, IdfMetric, counts_of_file
from celadon.models.encoders.token_encoder import TokenEncoder, token_encoder
from celadon.scoring.batch import Batch
from celadon.scoring.batch.token_states import TokenStates
from celadon.scoring.batch.units import unreadable_texts
from celadon.text.inverse_frequency import DocumentCounts
from celadon.text.windows import stretches, window_count

NO_WEIGHT = "no token of the text counts: it has none, or each stands in all documents of the idf"
NO_REFERENCE = "no reference can be compared: none has tokens of a kind that is known and that count"


@dataclass(frozen=True, kw_only=True)
class TokenMetric(IdfMetric):
    """A metric that compares the tokens of a text with those of its references, each in its context.

    Parameters
    ----------
    encoder
        ``builtin``; ``minilm`` or ``hf:NAME``, which need the extra hf; or a folder.
    idf
        What a token weighs: ``none``, all alike; ``set``, by how few texts of the scored set it stands in; or a file
        of texts, by how few of them.
    window
        The most tokens of a text that are compared at a time.
    """

    unit = "tokens"
    known = "that the encoder can read"
    encoder: str = "builtin"
    idf: str = NONE
    window: int = WINDOW

    def __post_init__(self) -> None:
        name = self.info.name
        if not self.encoder or not self.idf:
            raise UsageError(f"{name}: encoder and idf must not be empty")
        if self.window < 2:
            raise UsageError(f"{name}: the window is a number of tokens from 2 on, not {self.window}")

    def file_counts(self) -> DocumentCounts:
        return _counts_of_file(self.idf, self.encoder)

    def models(self) -> tuple[str, ...]:
        from celadon.models.networks.self_check import signed_name

        return (signed_name(token_encoder(self.encoder)),)

    def facts(self) -> Mapping[str, str]:
        return {"reads-at-once": str(token_encoder(self.encoder).window), **self.idf_facts()}


def reasons_of(batch: Batch, states: TokenStates, values: FloatArray, weightless: set[str]) -> dict[int, str]:
    """Return why each row without a value has none; no token of the ``weightless`` texts counts."""
    found = {}
    for row in np.flatnonzero(np.isnan(values)).tolist():
        text = batch.samples[row].text
        found[row] = states.reasons.get(text) or (NO_WEIGHT if text in weightless else NO_REFERENCE)
    return found


class TokenWeights:
    """What the tokens of texts count; without ``counts`` all count alike, and the marks of the encoder ``marks``."""

    def __init__(self, encoder: TokenEncoder, counts: DocumentCounts | None, marks: float) -> None:
        self._encoder, self._marks = encoder, marks
        self._of_piece = None if counts is None else _weights_of(counts, encoder)

    @classmethod
    def both(cls, encoder: TokenEncoder, counts: Counts | None, marks: float) -> tuple[TokenWeights, TokenWeights]:
        """What the tokens of the texts count, and what those of the references."""
        texts, references = counts or (None, None)
        first = cls(encoder, texts, marks)
        return first, first if references is texts else cls(encoder, references, marks)

    def of(self, tokens: IntArray, lengths: IntArray) -> FloatArray:
        """The weight of each token of texts that lie one behind the other, with so many tokens each."""
        if self._of_piece is not None:
            return self._of_piece[tokens]
        return np.where(self._encoder.is_mark(lengths), self._marks, 1.0)


def _weights_of(counts: DocumentCounts, encoder: TokenEncoder) -> FloatArray:
    """The weight of each token, by its number."""
    numbers, words = encoder.numbers, list(counts.counts)
    # no token is called that, so that it stands in no document
    found = np.full(len(encoder.pieces), counts.weights([""])[0])
    found[[numbers[word] for word in words]] = counts.weights(words)
    return found


def parts_of(joined: FloatArray, lengths: IntArray) -> list[FloatArray]:
    """Rows that lie one behind the other, cut into parts of so many."""
    return [joined[begin:end] for begin, end in pairwise([0, *np.cumsum(lengths).tolist()])]


def windows_of(left: int, right: int, window: int) -> Iterator[tuple[slice, slice]]:
    """Which tokens of two texts are compared with which."""
    if left <= window and right <= window:
        yield slice(0, left), slice(0, right)
        return
    count = window_count(left, right, window)
    for ours, theirs in zip(stretches(left, count), stretches(right, count), strict=True):
        yield slice(*ours), slice(*theirs)


@lru_cache(maxsize=8)
def _counts_of_file(path: str, model: str) -> DocumentCounts:
    encoder = token_encoder(model)

    def documents(texts: Sequence[str]) -> Iterator[Iterable[str]]:
        reasons = unreadable_texts(texts, encoder.scripts, encoder.name)
        known = encoder.tokens(text for text in texts if text not in reasons)
        return ([encoder.pieces[number] for number in tokens.tolist()] for tokens in known)

    return counts_of_file(path, documents, f"readers of {encoder.name}")


def counted(batch: Batch, states: TokenStates, *, references: bool) -> DocumentCounts:
    """Count the tokens of a batch's references, or of its texts."""
    every = (each for sample in batch.samples for each in (sample.references if references else (sample.text,)))
    known = [states.tokens[text] for text in every if text in states.tokens]
    if not known:
        return DocumentCounts(0, {})
    pieces = states.encoder.pieces
    # a token counts once in a text, however often it is there
    places = np.unique(np.repeat(np.arange(len(known)) * len(pieces), list(map(len, known))) + np.concatenate(known))
    numbers, counts = np.unique(places % len(pieces), return_counts=True)
    words = (pieces[number] for number in numbers.tolist())
    return DocumentCounts(len(known), dict(zip(words, counts.tolist(), strict=True)))
