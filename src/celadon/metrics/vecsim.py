"""Cosine of embeddings: how near a text is to its reference in meaning, as an encoder or word vectors see it.

An encoder reads sentence by sentence; a text is the mean of its sentences' vectors, each of length 1, so that every
sentence counts alike. With ``average`` a text is the mean of the vectors of its words, stop words left out. Of several
references the nearest counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import (
    Evidence,
    FloatArray,
    IntArray,
    Metric,
    MetricInfo,
    MetricScores,
    Need,
    Sample,
    Section,
    Span,
    UsageError,
)
from celadon.metrics.word_bags import DROP, SENTENCES, WordReading, bags_and_points, read_texts, weighted_words
from celadon.models.store.places import HF_PREFIX
from celadon.scoring.batch import Batch
from celadon.scoring.batch.units import Units, columns_of, readable_units
from celadon.text.layout import shortened

AVERAGE, MINILM = "average", "minilm"
BUILTIN = "builtin"
# a cosine of 1 but for rounding
_SAME = 1 - 1e-6
NO_KNOWN_REFERENCE = "no reference can be read: none has words of a kind that is known"


class _TextVectors(NamedTuple):
    """The vectors of texts, of length 1, and why a text has none."""

    rows: FloatArray
    reasons: Mapping[int, str]


@dataclass(frozen=True)
class Vecsim(Metric):
    """Cosine of the embeddings of a text and its nearest reference.

    Parameters
    ----------
    encoder
        ``builtin``; ``minilm`` or ``hf:NAME``, which need the extra hf; the folder of an encoder; or ``average``, the
        mean of word vectors.
    vectors
        With ``average``, the word vectors: ``builtin``, ``glove``, a folder or a file.
    """

    encoder: str = BUILTIN
    vectors: str = BUILTIN
    info: ClassVar[MetricInfo] = MetricInfo(
        name="vecsim",
        meaning="how near text and reference are in meaning: the cosine of their embeddings",
        reading="1 where they mean the same, about 0 where they have nothing to do with each other; compare only "
        "scores of the same encoder",
        needs=frozenset({Need.REFERENCES}),
        low=-1.0,
        high=1.0,
    )

    def __post_init__(self) -> None:
        if not self.encoder or not self.vectors:
            raise UsageError("vecsim: encoder and vectors must not be empty")
        if self.vectors != BUILTIN and self.encoder != AVERAGE:
            raise UsageError(f"vecsim: vectors={self.vectors} is only for encoder={AVERAGE}")

    def score(self, batch: Batch) -> MetricScores:
        references = Batch([Sample(text) for text in dict.fromkeys(_references(batch))])
        number = {sample.text: at for at, sample in enumerate(references.samples)}
        texts, others = self._text_vectors(batch), self._text_vectors(references)
        values = np.full(len(batch), np.nan)
        reasons = dict(texts.reasons)
        for row, sample in enumerate(batch.samples):
            usable = [number[text] for text in dict.fromkeys(sample.references) if number[text] not in others.reasons]
            if row in reasons:
                continue
            if not usable:
                reasons[row] = NO_KNOWN_REFERENCE
                continue
            # no matrix product: its rounding may depend on how many references there are
            cosines = (texts.rows[row] * others.rows[usable]).sum(axis=1)
            values[row] = min(1.0, max(-1.0, float(cosines.max())))
        return MetricScores(self.spec, values, {}, dict(sorted(reasons.items())))

    def _text_vectors(self, batch: Batch) -> _TextVectors:
        if self.encoder == AVERAGE:
            return _averaged(batch, WordReading(self.vectors, DROP, False))
        found = sentence_vectors(batch, self.encoder)
        return _TextVectors(_means(found.places.owner, found.rows, len(batch)), found.reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        return None if self.encoder == AVERAGE else _nearest_sentences(self, sample)

    def models(self) -> tuple[str, ...]:
        from celadon.models.encoders.encoder import sentence_encoder
        from celadon.models.encoders.mean_pooled import mean_pooled_encoder
        from celadon.models.networks.self_check import signed_name
        from celadon.models.words.word_vectors import word_vectors

        if self.encoder == AVERAGE:
            return (signed_name(word_vectors(self.vectors)),)
        if self.encoder == MINILM or self.encoder.startswith(HF_PREFIX):
            return (signed_name(mean_pooled_encoder(self.encoder)),)
        return (signed_name(sentence_encoder(self.encoder)),)

    def details(self) -> Mapping[str, str]:
        from celadon.text.sentences import splitter_version

        return {} if self.encoder == AVERAGE else {"sentences": splitter_version()}


def _references(batch: Batch) -> list[str]:
    return [reference for sample in batch.samples for reference in sample.references]


def _means(owner: IntArray, rows: npt.NDArray[np.floating], texts: int) -> FloatArray:
    """The mean of each text's rows, scaled to length 1; zeros where there are none."""
    sums = np.zeros((texts, rows.shape[1]))
    np.add.at(sums, owner, rows.astype(np.float64))
    lengths = np.sqrt((sums * sums).sum(axis=1, keepdims=True))
    return np.asarray(sums / np.where(lengths > 0, lengths, 1.0), dtype=np.float64)


class SentenceVectors(NamedTuple):
    """The sentences of a batch, their vectors, of length 1, and why a text has none."""

    places: Units
    rows: npt.NDArray[np.floating]
    reasons: Mapping[int, str]


def sentence_vectors(batch: Batch, name: str) -> SentenceVectors:
    """Encode the sentences of all texts."""
    from celadon.models.encoders.mean_pooled import mean_pooled_encoder

    if name != MINILM and not name.startswith(HF_PREFIX):
        found = batch.encodings(name)
        return SentenceVectors(found, found.encoded.meaning, found.reasons)
    encoder = mean_pooled_encoder(name)
    units, reasons = readable_units(batch, encoder.scripts, encoder.name)
    places = Units(*columns_of(units), reasons)
    return SentenceVectors(places, encoder.encode([unit.text for unit in units]), reasons)


def _averaged(batch: Batch, reading: WordReading) -> _TextVectors:
    own = Batch([Sample(sample.text) for sample in batch.samples])
    read = read_texts(own, reading)
    points, texts = weighted_words(read, reading.table, None, unit=True)
    reasons = {row: read[sample.text].reason for row, sample in enumerate(batch.samples) if read[sample.text].reason}
    rows = [row for row in range(len(batch)) if row not in reasons]
    bags, means = bags_and_points(SENTENCES, [texts[batch.samples[row].text] for row in rows], points)
    # a text here is one sentence, so that its bag is one point
    return _TextVectors(_means(np.array(rows, dtype=np.int64), means[bags.items], len(batch)), reasons)


def _nearest_sentences(metric: Vecsim, sample: Sample) -> Evidence | None:
    """Show for each sentence the nearest of the nearest reference; None where they cannot be compared."""
    pairs = [Sample(sample.text, (reference,)) for reference in sample.references]
    values = metric.score(Batch(pairs)).values if pairs else np.zeros(0)
    if np.isnan(values).all():
        return None
    best = int(np.nanargmax(values))
    found = sentence_vectors(Batch([Sample(sample.text), Sample(sample.references[best])]), metric.encoder)
    ours, theirs = (np.flatnonzero(found.places.owner == side) for side in (0, 1))
    cosines = found.rows[ours].astype(np.float64) @ found.rows[theirs].astype(np.float64).T
    spans: list[Span] = []
    for at, row in zip(ours.tolist(), cosines.tolist(), strict=True):
        cosine = max(row)
        target = int(theirs[row.index(cosine)])
        start, end = int(found.places.starts[target]), int(found.places.ends[target])
        label = "match" if cosine > _SAME else "other"
        note = f"{shortened(sample.references[best][start:end])}, {cosine:.2f}"
        spans.append(Span(int(found.places.starts[at]), int(found.places.ends[at]), label, note))
    marks = Section("marks", "Nearest in the reference", tuple(spans), reference=best)
    return Evidence(metric.spec, f"the cosine of text and reference is {float(values[best]):.3f}", (marks,))
