"""Where the tokens of a text go on the cheapest way to its reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from celadon.core import Evidence, IntArray, Sample, Section
from celadon.metrics.bertscore_evidence import PlacedTokens, token_spans
from celadon.metrics.idf import Counts
from celadon.metrics.token_metric import TokenWeights
from celadon.scoring.batch import Batch
from celadon.scoring.batch.token_states import TokenStates
from celadon.text.transport import least_cost_plan

if TYPE_CHECKING:
    from celadon.metrics.moverscore import Bag, Moverscore

_MOST_TOKENS = 500


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
    if not len(text.kept) or not usable or most > min(_MOST_TOKENS, metric.window):
        return None
    reference, other = min(usable, key=lambda one: metric.distance(text.bag, [one[1].bag]))
    ((_, (supply, demand, costs)),) = metric.problems(text.bag, other.bag)
    goes = least_cost_plan(supply, demand, costs).argmax(axis=1).tolist()
    targets: list[tuple[int, str] | None] = [None] * len(states.tokens[sample.text])
    for at, (token, target) in enumerate(zip(text.kept.tolist(), goes, strict=True)):
        targets[token] = int(other.kept[target]), f"{float(costs[at, target]):.2f} away"
    placed = [PlacedTokens(one, states.encoder.places(one)) for one in (sample.text, reference)]
    marks = Section(
        "marks",
        "Nearest in the reference",
        spans=token_spans(placed[0], placed[1], targets),
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
