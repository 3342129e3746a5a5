"""Which tokens of the reference the tokens of a text belong to: the nearest, or where they go on the cheapest way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from celadon.core import Evidence, IntArray, Sample, Section, Span
from celadon.metrics.token_metric import TokenWeights
from celadon.models.encoders.token_encoder import Float32Array
from celadon.scoring.batch import Batch
from celadon.scoring.batch.token_states import TokenStates
from celadon.text.transport import least_cost_plan

if TYPE_CHECKING:
    from celadon.metrics.bertscore import Bertscore
    from celadon.metrics.idf import Counts
    from celadon.metrics.moverscore import Bag, Moverscore

_MOST_MATCHED = 1_000
_MOST_MOVED = 500


def matched_tokens(metric: Bertscore, sample: Sample, counts: Counts | None) -> Evidence | None:
    """Show for each token of the text the nearest of the best reference, and the other way round.

    None where they cannot be compared, or are too long to be looked at token by token.
    """
    from celadon.metrics.bertscore import precisions_recalls_fs, sides_of

    states = Batch([sample]).token_states(metric.encoder)
    usable = [
        (found, pair, *both)
        for pairs, sides in sides_of(states, metric.layers, counts)
        for found, pair, both in zip(precisions_recalls_fs(sides, metric.window), pairs, sides, strict=True)
        if not math.isnan(found[2])
    ]
    if not usable:
        return None
    (precision, recall, f), pair, text, reference = max(usable, key=lambda one: one[0][2])
    if max(len(text.weights), len(reference.weights)) > min(_MOST_MATCHED, metric.window):
        return None
    cosines = text.vectors @ reference.vectors.T
    ours, theirs = (_PlacedTokens(one, states.encoder.places(one)) for one in states.texts_of(pair))
    marks = Section(
        "marks",
        "Nearest in the reference",
        spans=_token_spans(ours, theirs, _nearest(cosines)),
        reference=pair.reference,
        reference_spans=_token_spans(theirs, ours, _nearest(cosines.T)),
    )
    return Evidence(
        metric.spec, f"precision {precision:.3f}, recall {recall:.3f}, F {f:.3f}, before any rescaling", (marks,)
    )


def _nearest(cosines: Float32Array) -> list[tuple[int, str]]:
    return [(row.index(max(row)), f"{max(row):.2f}") for row in cosines.tolist()]


class _Side(NamedTuple):
    """The tokens of a text that count, and the bag of them."""

    kept: IntArray
    bag: Bag


def moved_tokens(metric: Moverscore, sample: Sample, counts: Counts | None) -> Evidence | None:
    """Show for each token of the text which token of the nearest reference most of it goes to.

    None where they cannot be compared, are too long to be looked at token by token, or where n-grams are moved.
    """
    states = Batch([sample]).token_states(metric.encoder)
    references = dict.fromkeys(sample.references)
    if metric.n > 1 or sample.text not in states.tokens:
        return None
    texts = [sample.text, *(one for one in references if one in states.tokens)]
    (text, *others) = (_side(metric, states, one, counts, own=not at) for at, one in enumerate(texts))
    usable = [(one, side) for one, side in zip(texts[1:], others, strict=True) if len(side.kept)]
    most = max((len(side.kept) for side in (text, *others)), default=0)
    if not len(text.kept) or not usable or most > min(_MOST_MOVED, metric.window):
        return None
    reference, other = min(usable, key=lambda one: metric.distance(text.bag, [one[1].bag]))
    ((_, (supply, demand, costs)),) = metric.problems(text.bag, other.bag)
    goes = least_cost_plan(supply, demand, costs).argmax(axis=1).tolist()
    targets: list[tuple[int, str] | None] = [None] * len(states.tokens[sample.text])
    for at, (token, target) in enumerate(zip(text.kept.tolist(), goes, strict=True)):
        targets[token] = int(other.kept[target]), f"{float(costs[at, target]):.2f} away"
    placed = [_PlacedTokens(one, states.encoder.places(one)) for one in (sample.text, reference)]
    marks = Section(
        "marks",
        "Nearest in the reference",
        spans=_token_spans(placed[0], placed[1], targets),
        reference=sample.references.index(reference),
    )
    return Evidence(metric.spec, f"moving the tokens costs {metric.distance(text.bag, [other.bag]):.3f}", (marks,))


def _side(metric: Moverscore, states: TokenStates, text: str, counts: Counts | None, *, own: bool) -> _Side:
    weigher = TokenWeights.both(states.encoder, counts, 1.0)[0 if own else 1]
    tokens = states.tokens[text]
    lengths = np.array([len(tokens)])
    counted = states.encoder.is_mark(lengths) | ~metric.dropped(states.encoder)[tokens]
    kept = np.flatnonzero(counted & (weigher.of(tokens, lengths) > 0))
    ((_, bag),) = metric.bags(states, [text], states.vectors([text], metric.layers), weigher)
    return _Side(kept, bag)


class _PlacedTokens(NamedTuple):
    """A text, and where its tokens are."""

    text: str
    places: IntArray


def _token_spans(
    one: _PlacedTokens, other: _PlacedTokens, targets: Sequence[tuple[int, str] | None]
) -> tuple[Span, ...]:
    """Show for each token of a text its target: a token of the other text, and a note; None where there is none."""
    spans: list[Span] = []
    for (start, end), target in zip(one.places.tolist(), targets, strict=True):
        written = one.text[start:end]
        # tokens of bytes may begin with a space, and share a character
        begin = max(start + len(written) - len(written.lstrip()), spans[-1].end if spans else 0)
        if target is not None and begin < end:
            first, last = other.places[target[0]].tolist()
            match = other.text[first:last].strip() or "nothing"
            label = "match" if match.lower() == one.text[begin:end].lower() else "other"
            spans.append(Span(begin, end, label, f"{match}, {target[1]}"))
    return tuple(spans)
