"""How well a trained encoder tells sound sentences from others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from celadon.train.combinations.ratings import read_ratings
from celadon.train.combinations.two_labels import matthews
from celadon.train.corpus import number_texts
from celadon.train.encoders.acceptability import AcceptabilityTraining
from celadon.train.encoders.example_batches import logits_of
from celadon.train.encoders.teacher import TeacherTraining

Judging: TypeAlias = AcceptabilityTraining | TeacherTraining


class PairAccuracy(NamedTuple):
    """How often a sentence is above its damaged copy, by the kind of damage (empty: all); ``pairs`` of them."""

    kind: str
    accuracy: float
    pairs: int


def pairs_told(training: Judging) -> list[PairAccuracy]:
    """Compare the held-out sentences with their copies: first all, then by kind, hardest first."""
    examples = training.material.held_out
    logits = logits_of(training.network, examples.sentences, training.recipe.longest)
    above = logits[0::2] > logits[1::2]
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for kind, better in zip(examples.kinds[1::2], above.tolist(), strict=True):
        by_kind[kind].append(better)
    found = [PairAccuracy(kind, float(np.mean(of)), len(of)) for kind, of in by_kind.items()]
    every = PairAccuracy("", float(above.mean()) if len(above) else float("nan"), len(above))
    return [every, *sorted(found, key=lambda one: (one.accuracy, one.kind))]


def labels_told(training: Judging, path: str) -> tuple[float, int]:
    """Matthews' correlation of a logit above 0 with the labels of a file, and the number of its sentences."""
    table = read_ratings(path, None)
    there = np.flatnonzero(~np.isnan(table.values))
    texts: Sequence[str] = [sample.text for sample in table.samples(there)]
    encoded = number_texts(texts, training.material.tokenizer)
    logits = logits_of(training.network, encoded, training.recipe.longest)
    return matthews(logits > 0, table.values[there] > 0.5), len(texts)
