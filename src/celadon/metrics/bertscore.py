"""BERTScore: how well each token of a text is matched by one of its reference, and the other way round.

After Zhang, Kishore, Wu, Weinberger and Artzi (2020): precision is the mean, over the tokens of the text, of the cosine
with the nearest token of the reference; recall that over the tokens of the reference; F their harmonic mean. Tokens may
be weighed by their idf in the references. The marks around a text ([CLS] and [SEP]) can be the nearest but count
nothing themselves, as in the authors' package. Of several references the one with the best F counts.

A text with more than ``window`` tokens is compared with its reference in stretches (:mod:`celadon.text.windows`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from celadon.core import Evidence, FloatArray, MetricInfo, MetricScores, Need, Sample, UsageError
from celadon.io.weight_files import Baseline, checked, read_baseline
from celadon.metrics.idf import NONE, Counts
from celadon.metrics.token_metric import (
    TokenMetric,
    TokenWeights,
    counted,
    parts_of,
    reasons_of,
    windows_of,
)
from celadon.models.encoders.token_encoder import Float32Array, token_encoder
from celadon.scoring.batch import Batch
from celadon.scoring.batch.token_states import Pair, TokenStates

PARTS = ("precision", "recall", "f")


class Side(NamedTuple):
    """The vectors of a text's tokens, and what each counts."""

    vectors: Float32Array
    weights: FloatArray


@dataclass(frozen=True, kw_only=True)
class Bertscore(TokenMetric):
    """BERTScore with the best reference.

    Parameters
    ----------
    encoder
        ``builtin``; ``minilm`` or ``hf:NAME``, which need the extra hf; or a folder.
    layer
        The layer whose states are compared, 0 for the embeddings; by default three quarters of the way up, or the one
        that the authors found to be best.
    idf
        What a token weighs: ``none``, all alike; ``set``, by how few references of the scored set it stands in; or a
        file of texts, by how few of them.
    baseline
        What unrelated texts score, which becomes 0: ``none``; a file ``LAYER,P,R,F`` as the package bert_score has
        them; or a number, or three, of precision, recall and F: ``0.3/0.31/0.3``.
    window
        The most tokens of a text that are compared at a time.
    """

    layer: int | None = None
    baseline: str = NONE
    info: ClassVar[MetricInfo] = MetricInfo(
        name="bertscore",
        meaning="BERTScore: how well the tokens of text and reference match, each in its context",
        reading="1 where they are the same; how low unrelated texts get depends on the encoder, so that only scores "
        "with the same signature can be compared; rescaled by a baseline, these are near 0 and may fall below it",
        needs=frozenset({Need.REFERENCES}),
        low=-1.0,
        high=1.0,
        parts=PARTS,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.layer is not None and self.layer < 0:
            raise UsageError(f"bertscore: a layer is a number from 0 on, not {self.layer}")
        if not self.baseline:
            raise UsageError("bertscore: the baseline must not be empty")

    @property
    def layers(self) -> tuple[int]:
        """The layer."""
        return (token_encoder(self.encoder).best_layer() if self.layer is None else self.layer,)

    def scores(self, batch: Batch, counts: Counts | None) -> MetricScores:
        states = batch.token_states(self.encoder)
        rescale, best = self.baselines(), np.full((len(batch), 3), np.nan)
        weightless: set[str] = set()
        for pairs, sides in sides_of(states, self.layers, counts):
            for pair, found in zip(pairs, precisions_recalls_fs(sides, self.window), strict=True):
                if math.isnan(found[0]):
                    weightless.add(states.texts_of(pair)[0])
                # not so where there is none yet
                elif not math.isnan(found[1]) and not found[2] <= best[pair.sample, 2]:
                    best[pair.sample] = found
        if rescale is not None:
            best = (best - rescale) / (1 - np.array(rescale))
        parts = {name: best[:, at].copy() for at, name in enumerate(PARTS)}
        return MetricScores(self.spec, parts["f"], parts, reasons_of(batch, states, best[:, 2], weightless))

    def set_counts(self, batch: Batch) -> Counts:
        """The counts of the references, by which both sides are weighed."""
        found = counted(batch, batch.token_states(self.encoder), references=True)
        return Counts(found, found)

    def baselines(self) -> Baseline | None:
        """What scores are rescaled by."""
        if self.baseline == NONE:
            return None
        try:
            numbers = [float(number) for number in self.baseline.split("/")]
        except ValueError:
            return read_baseline(self.baseline, self.layers[0])
        if len(numbers) not in (1, 3):
            raise UsageError(f"bertscore: a baseline is one number or three, not {self.baseline!r}")
        return checked(Baseline(*(numbers * 3)[:3]), f"bertscore: baseline={self.baseline}")

    def facts(self) -> Mapping[str, str]:
        told = {**super().facts(), "layer": str(self.layers[0])}
        if (found := self.baselines()) is not None:
            told["baselines"] = "/".join(f"{value:.6g}" for value in found)
        return told

    def explain(self, sample: Sample, counts: Counts | None) -> Evidence | None:
        from celadon.metrics.token_evidence import matched_tokens

        return matched_tokens(self, sample, counts)


def sides_of(
    states: TokenStates, layers: tuple[int, ...], counts: Counts | None
) -> Iterator[tuple[list[Pair], list[tuple[Side, Side]]]]:
    """Texts with their references, read and weighed, some at a time."""
    weighers = TokenWeights.both(states.encoder, counts, 0.0)
    for pairs, vectors in states.chunks(layers):
        every = [states.texts_of(pair) for pair in pairs]
        known = []
        for texts, weigher in zip(zip(*every, strict=True), weighers, strict=True):
            distinct = list(dict.fromkeys(texts))
            tokens = [states.tokens[text] for text in distinct]
            lengths = np.array(list(map(len, tokens)))
            weights = parts_of(weigher.of(np.concatenate(tokens), lengths), lengths)
            known.append({text: Side(vectors[text], each) for text, each in zip(distinct, weights, strict=True)})
        yield pairs, [(known[0][text], known[1][reference]) for text, reference in every]


def precisions_recalls_fs(sides: Sequence[tuple[Side, Side]], window: int) -> list[tuple[float, float, float]]:
    """Precision, recall and F of each text and reference; NaN where no token of the text, or the reference, counts."""
    owners: list[int] = []
    nearest: tuple[list[Float32Array], list[Float32Array]] = ([], [])
    weights: tuple[list[FloatArray], list[FloatArray]] = ([], [])
    for number, (text, reference) in enumerate(sides):
        for ours, theirs in windows_of(len(text.weights), len(reference.weights), window):
            cosines = text.vectors[ours] @ reference.vectors[theirs].T
            nearest[0].append(np.maximum.reduce(cosines, axis=1))
            nearest[1].append(np.maximum.reduce(cosines, axis=0))
            weights[0].append(text.weights[ours])
            weights[1].append(reference.weights[theirs])
            owners.append(number)
    precision, recall = (_means(owners, *one, len(sides)) for one in zip(nearest, weights, strict=True))
    product, total = precision * recall, precision + recall
    # numbers on both sides of 0 have no harmonic mean
    none = np.where(np.isnan(product), np.nan, 0.0)
    f = np.divide(2 * product, total, out=none, where=product > 0)
    return list(zip(precision.tolist(), recall.tolist(), f.tolist(), strict=True))


def _means(
    owners: Sequence[int], values: Sequence[Float32Array], weights: Sequence[FloatArray], count: int
) -> FloatArray:
    """The weighted mean of the values of each owner; NaN where nothing counts."""
    owner, weight = np.repeat(owners, list(map(len, values))), np.concatenate(weights)
    total = np.bincount(owner, weight, count)
    found = np.bincount(owner, weight * np.concatenate(values), count)
    means: FloatArray = np.divide(found, total, out=np.full(count, np.nan), where=total > 0)
    return means.clip(-1.0, 1.0)
