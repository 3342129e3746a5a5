"""The tokens of a batch's texts and references, and their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from celadon.core import IntArray, Sample
from celadon.models.encoders.token_encoder import Float32Array, TokenEncoder
from celadon.scoring.batch.units import unreadable_texts

# tokens whose vectors are held at a time: 100 MB of MiniLM's
_TOKENS_AT_ONCE = 1 << 16


class Pair(NamedTuple):
    """A text and one of its references: the sample, and which reference it is."""

    sample: int
    reference: int


class TokenStates:
    """The tokens of all texts and references, equal ones once; vectors are made where they are asked for."""

    def __init__(self, samples: Sequence[Sample], encoder: TokenEncoder) -> None:
        self.encoder = encoder
        self._samples = samples
        texts = dict.fromkeys(chain.from_iterable((sample.text, *sample.references) for sample in samples))
        self.reasons = unreadable_texts(texts, encoder.scripts, encoder.name)
        readable = [text for text in texts if text not in self.reasons]
        self.tokens: Mapping[str, IntArray] = dict(zip(readable, encoder.tokens(readable), strict=True))
        self._kept: dict[tuple[int, ...], dict[str, Float32Array]] = {}

    def pairs(self) -> list[Pair]:
        """Each text with each of its references that can be read; samples in order, references in order."""
        return [
            Pair(row, number)
            for row, sample in enumerate(self._samples)
            if sample.text in self.tokens
            for number, reference in enumerate(sample.references)
            if reference in self.tokens and reference not in sample.references[:number]
        ]

    def chunks(
        self, layers: Sequence[int], tokens: int = _TOKENS_AT_ONCE
    ) -> Iterator[tuple[list[Pair], Mapping[str, Float32Array]]]:
        """Yield pairs, all of a sample together, with their tokens' vectors: about ``tokens`` of them at a time."""
        waiting: list[Pair] = []
        texts: dict[str, None] = {}
        size, sample = 0, -1
        for pair in self.pairs():
            if pair.sample != sample and size > tokens:
                yield waiting, self.vectors(texts, layers)
                waiting, texts, size = [], {}, 0
            sample = pair.sample
            waiting.append(pair)
            for text in self.texts_of(pair):
                if text not in texts:
                    texts[text] = None
                    size += len(self.tokens[text])
        if waiting:
            yield waiting, self.vectors(texts, layers)

    def texts_of(self, pair: Pair) -> tuple[str, str]:
        """The text and the reference of a pair."""
        sample = self._samples[pair.sample]
        return sample.text, sample.references[pair.reference]

    def vectors(self, texts: Iterable[str], layers: Sequence[int]) -> Mapping[str, Float32Array]:
        """Return the vectors of the tokens of readable texts, a row each, of length 1 where they are of one layer."""
        wanted, kept = list(dict.fromkeys(texts)), self._kept.get(tuple(layers), {})
        missing = [text for text in wanted if text not in kept]
        if missing:
            states = self.encoder.states([self.tokens[text] for text in missing], layers)
            # what another metric may ask for next is the same texts, so only these are held
            kept = {text: kept[text] for text in wanted if text in kept} | dict(zip(missing, states, strict=True))
            self._kept = {tuple(layers): kept}
        return kept
