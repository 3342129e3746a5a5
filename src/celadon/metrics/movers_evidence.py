"""Where the words of a text go on the cheapest way to its reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from celadon.batch import Batch
from celadon.core import Evidence, FloatArray, Sample, Span
from celadon.metrics.movers_bags import WORDS, bags_and_points, paired, weighted_words
from celadon.metrics.movers_documents import read_texts, split_words, word_numbers
from celadon.text.transport import least_cost_plan, nearest_distances
from celadon.text.words import located_words

if TYPE_CHECKING:
    from celadon.metrics.movers import Wmd

_MOST_WORDS = 500


def moved_words(metric: Wmd, sample: Sample) -> Evidence | None:
    """Show for each word of the text whether it stays or which word of the nearest reference most of it goes to.

    None where the text cannot be compared, is read in windows, or is too long to be looked at word by word.
    """
    batch = Batch([sample])
    table = metric.reading.table
    read = read_texts(batch, metric.reading)
    points, texts = weighted_words(read, table, metric.document_counts(), unit=metric.lengths == "unit")
    pairing = paired(batch.samples, texts, metric.window)
    if not pairing.choices or len(pairing.left) != len(pairing.choices):
        return None
    bags, vectors = bags_and_points(WORDS, pairing.pieces, points)
    found = nearest_distances(bags, pairing.left, pairing.right, pairing.weights, pairing.choices, vectors)
    best = int(np.argmin(found))
    ours, theirs = (slice(*bags.starts[at : at + 2].tolist()) for at in (pairing.left[best], pairing.right[best]))
    if max(ours.stop - ours.start, theirs.stop - theirs.start) > _MOST_WORDS:
        return None
    names = [
        table.words[number] for number in np.unique(np.concatenate([one.numbers for one in read.values()])).tolist()
    ]
    costs = _apart(vectors[bags.items[ours]], vectors[bags.items[theirs]])
    plan = least_cost_plan(bags.shares[ours], bags.shares[theirs], costs)
    goes = {
        names[item]: (names[bags.items[theirs][target]], float(costs[at, target]))
        for at, (item, target) in enumerate(zip(bags.items[ours], plan.argmax(axis=1), strict=True))
    }
    spans = tuple(_spans(metric, sample.text, goes))
    usable = [number for number, reference in enumerate(sample.references) if len(texts[reference].words)]
    distinct = list(dict.fromkeys(sample.references[number] for number in usable))
    stay = sum(span.label == "match" for span in spans)
    return Evidence(
        metric.spec,
        f"{stay} of {len(spans)} words stay as they are; moving the others costs {found[best]:.3f}",
        text_spans=spans,
        reference=sample.references.index(distinct[best]),
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
