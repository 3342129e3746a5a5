"""Where the words, or the sentences, of a text go on the cheapest way to its reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from celadon.core import Evidence, FloatArray, IntArray, Sample, Section, Span
from celadon.metrics.word_bags import (
    WORDS,
    LocalText,
    Points,
    ReadText,
    bags_and_points,
    paired,
    read_texts,
    split_words,
    weighted_words,
    word_numbers,
)
from celadon.scoring.batch import Batch
from celadon.text.layout import shortened
from celadon.text.sentences import split_sentences
from celadon.text.transport import least_cost_plan, nearest_distances
from celadon.text.words import located_words

if TYPE_CHECKING:
    from celadon.metrics.movers import Wmd, _Mover
    from celadon.text.inverse_frequency import DocumentCounts

_MOST_WORDS = 500
# distances below are rounding
_SAME = 1e-6


class _Nearest(NamedTuple):
    """The nearest reference of a text that is compared in one piece, and how far it is away."""

    reference: int
    distance: float
    left: LocalText
    right: LocalText
    points: Points
    read: Mapping[str, ReadText]


def _nearest(metric: _Mover, sample: Sample, counts: DocumentCounts | None) -> _Nearest | None:
    """None where the text cannot be compared, or is read in windows."""
    batch = Batch([sample])
    read = read_texts(batch, metric.reading)
    points, texts = weighted_words(read, metric.reading.table, counts, unit=metric.lengths == "unit")
    pairing = paired(batch.samples, texts, metric.window)
    if not pairing.choices or len(pairing.left) != len(pairing.choices):
        return None
    bags, vectors = bags_and_points(metric.kind, pairing.pieces, points)
    found = nearest_distances(bags, pairing.left, pairing.right, pairing.weights, pairing.choices, vectors)
    best = int(np.argmin(found))
    usable = [reference for reference in sample.references if len(texts[reference].words)]
    reference = sample.references.index(list(dict.fromkeys(usable))[best])
    left, right = (pairing.pieces[int(side[best])] for side in (pairing.left, pairing.right))
    return _Nearest(reference, float(found[best]), left, right, points, read)


def moved_sentences(metric: _Mover, sample: Sample, counts: DocumentCounts | None) -> Evidence | None:
    """Show for each sentence of the text which sentence of the nearest reference most of it goes to.

    None where the text cannot be compared, or is read in windows.
    """
    found = _nearest(metric, sample, counts)
    if found is None:
        return None
    (ours, much, one), (theirs, more, other) = (_means(text, found.points) for text in (found.left, found.right))
    costs = _apart(one, other)
    goes = least_cost_plan(much / much.sum(), more / more.sum(), costs).argmax(axis=1).tolist()
    reference = sample.references[found.reference]
    # as they are read: one sentence where none can be told
    places, targets = (split_sentences(text) or ((0, len(text)),) for text in (sample.text, reference))
    spans = []
    for at, number in enumerate(ours.tolist()):
        start, end = targets[theirs[goes[at]]]
        apart = float(costs[at, goes[at]])
        note = f"{shortened(reference[start:end])}, {apart:.2f} away"
        spans.append(Span(places[number][0], places[number][1], "match" if apart < _SAME else "other", note))
    marks = Section("marks", "Nearest in the reference", tuple(spans), reference=found.reference)
    return Evidence(
        metric.spec,
        f"{len(spans)} sentences against {len(theirs)} of the reference; moving them costs {found.distance:.3f}",
        (marks,),
    )


def _means(text: LocalText, points: Points) -> tuple[IntArray, FloatArray, FloatArray]:
    """The sentences with words that count, how much each is, and the mean of its words."""
    numbers, which = np.unique(text.sentences, return_inverse=True)
    weights = points.weights[text.words]
    much = np.bincount(which, weights, len(numbers)).astype(np.float64)
    sums = np.zeros((len(numbers), points.vectors.shape[1]))
    np.add.at(sums, which, points.vectors[text.words] * weights[:, None])
    return numbers, much, sums / much[:, None]


def moved_words(metric: Wmd, sample: Sample, counts: DocumentCounts | None) -> Evidence | None:
    """Show for each word of the text whether it stays or which word of the nearest reference most of it goes to.

    None where the text cannot be compared, is read in windows, or is too long to be looked at word by word.
    """
    found = _nearest(metric, sample, counts)
    if found is None:
        return None
    table = metric.reading.table
    bags, vectors = bags_and_points(WORDS, (found.left, found.right), found.points)
    ours, theirs = (slice(*bags.starts[at : at + 2].tolist()) for at in (0, 1))
    if max(ours.stop - ours.start, theirs.stop - theirs.start) > _MOST_WORDS:
        return None
    names = [
        table.words[number]
        for number in np.unique(np.concatenate([one.numbers for one in found.read.values()])).tolist()
    ]
    costs = _apart(vectors[bags.items[ours]], vectors[bags.items[theirs]])
    plan = least_cost_plan(bags.shares[ours], bags.shares[theirs], costs)
    goes = {
        names[item]: (names[bags.items[theirs][target]], float(costs[at, target]))
        for at, (item, target) in enumerate(zip(bags.items[ours], plan.argmax(axis=1), strict=True))
    }
    spans = tuple(_spans(metric, sample.text, goes))
    stay = sum(span.label == "match" for span in spans)
    marks = Section("marks", "Nearest in the reference", spans, reference=found.reference)
    return Evidence(
        metric.spec,
        f"{stay} of {len(spans)} words stay as they are; moving the others costs {found.distance:.3f}",
        (marks,),
    )


def _apart(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(((left[:, None] - right[None]) ** 2).sum(axis=-1)), dtype=np.float64)


def _spans(metric: Wmd, text: str, goes: dict[str, tuple[str, float]]) -> list[Span]:
    table = metric.reading.table
    spans = []
    for place in located_words(text, table.normalisation):
        words = split_words(text[place.start : place.end], table)
        if len(words) == 1 and words[0] in goes and word_numbers(words, table, metric.stopwords)[0] >= 0:
            target, distance = goes[words[0]]
            note = "" if target == words[0] else f"{target}, {distance:.2f} away"
            spans.append(Span(place.start, place.end, "other" if note else "match", note))
    return spans
