"""MoverScore: what it costs to turn a text into its reference, by the vectors of its tokens in their contexts.

After Zhao, Peyrard, Liu, Gao, Meyer and Eger (2019): the score is 1 less the earth mover's distance of the n-grams of
both, each at the mean of its tokens, weighed by their idf. It is exact (:mod:`celadon.text.transport`). Two variants
are those of the authors' package. ``v1``, of the paper: power means of the last five layers, and the square of the
Euclidean distance as the cost. ``v2``: the last layer, and the distance itself.

As there, punctuation and all pieces of a word but the first are left out, and the marks ([CLS] and [SEP]) are tokens
like any other; with an idf they weigh nothing, because they stand in every text.

A text with more than ``window`` n-grams is compared with its reference in stretches (:mod:`celadon.text.windows`).
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import Evidence, FloatArray, IntArray, MetricInfo, MetricScores, Need, Sample, UsageError
from celadon.metrics.idf import Counts
from celadon.metrics.token_metric import (
    TokenMetric,
    TokenWeights,
    counted,
    parts_of,
    reasons_of,
    windows_of,
)
from celadon.metrics.word_bags import DROP, KEEP
from celadon.models.encoders.token_encoder import Float32Array, TokenEncoder, token_encoder
from celadon.models.words.word_mover import STOP_WORDS
from celadon.scoring.batch import Batch
from celadon.scoring.batch.token_states import Pair, TokenStates
from celadon.text.transport import least_cost, relaxed_cost

V1, V2 = "v1", "v2"
BEST, MEAN = "best", "mean"
_POOLED_LAYERS = 5
# tokens that are encoded while those before are moved
_TOKENS_AT_ONCE = 1 << 14
# tokens whose vectors are made into those of n-grams together
_TOKENS_AT_HAND = 1 << 11
# a bound is computed in other steps than the cost, so that one may seem above the other by the last digits
_ROUNDING = 1e-7
_PUNCTUATION = frozenset(string.punctuation)


class Bag(NamedTuple):
    """The n-grams of a text that count: their vectors, of length 1, and their weights."""

    vectors: FloatArray
    weights: FloatArray


@dataclass(frozen=True, kw_only=True)
class Moverscore(TokenMetric):
    """MoverScore with the references.

    Parameters
    ----------
    encoder
        ``builtin``; ``minilm`` or ``hf:NAME``, which need the extra hf; or a folder.
    n
        The tokens of an n-gram.
    variant
        ``v1`` or ``v2``.
    idf
        What a token weighs: ``none``, all alike; ``set``, that of a text by how few texts of the scored set it stands
        in, that of a reference by how few references; or a file of texts, both by how few of them.
    stopwords, punctuation, subwords
        ``drop`` or ``keep`` English stop words, punctuation, and all pieces of a word but its first.
    references
        Of several: ``best``, the one with the best score, or ``mean``, the mean of the scores.
    window
        The most n-grams of a text that are compared at a time.
    """

    n: int = 1
    variant: str = V1
    stopwords: str = KEEP
    punctuation: str = DROP
    subwords: str = DROP
    references: str = BEST
    info: ClassVar[MetricInfo] = MetricInfo(
        name="moverscore",
        meaning="MoverScore: how little the tokens, each in its context, must be moved to be the reference's",
        reading="1 where they are the same; how low unrelated texts get depends on the encoder, so that only scores "
        "with the same signature can be compared",
        needs=frozenset({Need.REFERENCES}),
        low=-3.0,
        high=1.0,
        parts=("distance",),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for option, known in (
            ("variant", (V1, V2)),
            ("stopwords", (DROP, KEEP)),
            ("punctuation", (DROP, KEEP)),
            ("subwords", (DROP, KEEP)),
            ("references", (BEST, MEAN)),
        ):
            if (value := getattr(self, option)) not in known:
                raise UsageError(f"moverscore: {option} is {' or '.join(known)}, not {value!r}")
        if self.n < 1:
            raise UsageError(f"moverscore: n is a number of tokens from 1 on, not {self.n}")

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers whose states are pooled."""
        last = token_encoder(self.encoder).layers
        return (last,) if self.variant == V2 else tuple(range(max(1, last + 1 - _POOLED_LAYERS), last + 1))

    def scores(self, batch: Batch, counts: Counts | None) -> MetricScores:
        states = batch.token_states(self.encoder)
        distances, weightless = np.full(len(batch), np.nan), set[str]()
        # the moves of a chunk are found while the next one is encoded
        with ThreadPoolExecutor(1) as pool:
            before: Future[list[tuple[int, float]]] | None = None
            found: list[tuple[int, float]] = []
            for pairs, vectors in states.chunks(self.layers, _TOKENS_AT_ONCE):
                found += before.result() if before else []
                before = pool.submit(self._moved, states, pairs, vectors, counts, weightless)
            found += before.result() if before else []
        for row, distance in found:
            distances[row] = distance
        reasons = reasons_of(batch, states, distances, weightless)
        return MetricScores(self.spec, 1.0 - distances, {"distance": distances}, reasons)

    def _moved(
        self,
        states: TokenStates,
        pairs: Sequence[Pair],
        vectors: Mapping[str, Float32Array],
        counts: Counts | None,
        weightless: set[str],
    ) -> list[tuple[int, float]]:
        """The distance of each sample that has one."""
        every = [states.texts_of(pair) for pair in pairs]
        columns = zip(zip(*every, strict=True), TokenWeights.both(states.encoder, counts, 1.0), strict=True)
        bags = [dict(self.bags(states, dict.fromkeys(texts), vectors, weigher)) for texts, weigher in columns]
        found = []
        for row, group in groupby(zip(pairs, every, strict=True), key=lambda one: one[0].sample):
            several = [both for _, both in group]
            text = bags[0][several[0][0]]
            usable = [bag for _, reference in several if len((bag := bags[1][reference]).weights)]
            if not len(text.weights):
                weightless.add(several[0][0])
            elif usable:
                found.append((row, self.distance(text, usable)))
        return found

    def bags(
        self, states: TokenStates, texts: Iterable[str], vectors: Mapping[str, Float32Array], weigher: TokenWeights
    ) -> Iterator[tuple[str, Bag]]:
        """Each text with its n-grams."""
        dropped = self.dropped(states.encoder)
        for some in _portions(list(texts), states.tokens):
            tokens = np.concatenate([states.tokens[text] for text in some])
            lengths = np.array([len(states.tokens[text]) for text in some])
            kept = np.flatnonzero(states.encoder.is_mark(lengths) | ~dropped[tokens])
            grams = grams_of(kept, np.repeat(np.arange(len(some)), lengths)[kept], len(some), self.n)
            shares = np.where(grams.there, weigher.of(tokens, lengths)[grams.places], 0.0)
            totals = shares.sum(axis=1)
            places, owner, shares, totals = (each[totals > 0] for each in (grams.places, grams.owner, shares, totals))
            joined = np.concatenate([vectors[text] for text in some])
            summed = np.einsum("gn,gnd->gd", shares, joined[places].astype(np.float64))
            norms = np.sqrt(np.einsum("gd,gd->g", summed, summed))[:, None]
            summed /= np.maximum(norms, np.finfo(np.float64).tiny)
            sizes = np.bincount(owner, minlength=len(some))
            yield from zip(some, map(Bag, parts_of(summed, sizes), parts_of(totals, sizes)), strict=True)

    def dropped(self, encoder: TokenEncoder) -> npt.NDArray[np.bool_]:
        """Whether each token, by its number, is left out."""
        words = _PUNCTUATION if self.punctuation == DROP else frozenset[str]()
        found = encoder.is_one_of(words | STOP_WORDS if self.stopwords == DROP else words)
        return found | encoder.continues if self.subwords == DROP else found

    def distance(self, text: Bag, references: Sequence[Bag]) -> float:
        """How far a text is from its references."""
        if self.references == MEAN:
            return math.fsum(self._cost(text, one, math.inf) for one in references) / len(references)
        best = math.inf
        for one in references:
            best = min(best, self._cost(text, one, best if len(references) > 1 else math.inf))
        return best

    def _cost(self, text: Bag, reference: Bag, most: float) -> float:
        """The mean of the least costs of all windows; infinity where it is surely above ``most``."""
        problems = list(self.problems(text, reference))
        if math.isfinite(most):
            least = math.fsum(share * relaxed_cost(*problem) for share, problem in problems)
            if least > most + _ROUNDING:
                return math.inf
        return math.fsum(share * least_cost(*problem) for share, problem in problems)

    def problems(self, text: Bag, reference: Bag) -> Iterator[tuple[float, tuple[FloatArray, FloatArray, FloatArray]]]:
        """For each window what it counts, what is to be moved from where to where, and what that costs."""
        total = len(text.weights) + len(reference.weights)
        windows = list(windows_of(len(text.weights), len(reference.weights), self.window))
        sizes = [(ours.stop - ours.start) + (theirs.stop - theirs.start) for ours, theirs in windows]
        for (ours, theirs), size in zip(windows, sizes, strict=True):
            supply, demand = text.weights[ours], reference.weights[theirs]
            costs = np.maximum(2.0 - 2.0 * (text.vectors[ours] @ reference.vectors[theirs].T), 0.0)
            share = 1.0 if len(windows) == 1 else size / max(total, sum(sizes))
            yield share, (supply / supply.sum(), demand / demand.sum(), costs if self.variant == V1 else np.sqrt(costs))

    def set_counts(self, batch: Batch) -> Counts:
        """The counts of the texts, and those of the references."""
        states = batch.token_states(self.encoder)
        return Counts(counted(batch, states, references=False), counted(batch, states, references=True))

    def explain(self, sample: Sample, counts: Counts | None) -> Evidence | None:
        from celadon.metrics.token_evidence import moved_tokens

        return moved_tokens(self, sample, counts)

    def facts(self) -> Mapping[str, str]:
        from importlib.metadata import version

        layers = self.layers
        return {**super().facts(), "layers": f"{layers[0]}-{layers[-1]}", "pot": version("POT")}


class Grams(NamedTuple):
    """N-grams of several texts: where their tokens are, of which text each is, and which of its places it has.

    A text with fewer tokens than ``n`` has one n-gram of them all, so that some of its places are not there.
    """

    places: IntArray
    owner: IntArray
    there: npt.NDArray[np.bool_]


def grams_of(kept: IntArray, owner: IntArray, texts: int, n: int) -> Grams:
    """Return the n-grams of the tokens at ``kept``, those of a text together; ``owner`` is the text of each."""
    sizes = np.bincount(owner, minlength=texts)
    counts = np.maximum(sizes - n + 1, np.minimum(sizes, 1))
    of_gram = np.repeat(np.arange(texts), counts)
    first = np.arange(len(of_gram)) + np.repeat((np.cumsum(sizes) - sizes) - (np.cumsum(counts) - counts), counts)
    steps, most = np.arange(n), np.minimum(sizes, n)[of_gram][:, None]
    return Grams(kept[first[:, None] + np.minimum(steps, most - 1)], of_gram, steps < most)


def _portions(texts: Sequence[str], tokens: Mapping[str, IntArray]) -> Iterator[Sequence[str]]:
    """Texts, so many at a time that their vectors stay in the processor's caches."""
    begin = size = 0
    for at, text in enumerate(texts):
        if size > _TOKENS_AT_HAND:
            yield texts[begin:at]
            begin, size = at, 0
        size += len(tokens[text])
    if texts:
        yield texts[begin:]
