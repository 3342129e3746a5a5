"""Sentences ranked again with a neural language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from celadon.models.language.language_model import LanguageModel
from celadon.realize.lattice import Sentence

NBEST = 30
"""So many sentences of a tree are ranked again, where no other number is asked for."""

Written = Callable[[Sequence[str]], str]


def rescore(
    found: Sequence[Sequence[Sentence]], model: LanguageModel, weight: float, written: Written
) -> list[tuple[Sentence, ...]]:
    """Rank the sentences of each tree again: by their score, plus the weighted log-probability of the text.

    Parameters
    ----------
    found
        For each tree its best sentences.
    model
        The neural model.
    weight
        Its weight.
    written
        Puts words together into a text.
    """
    texts = [written(sentence.words) for sentences in found for sentence in sentences]
    logprobs = iter([float(scores.logprobs.sum()) for scores in model.score(texts)])
    ranked = []
    for sentences in found:
        scored = [replace(each, score=each.score + weight * next(logprobs)) for each in sentences]
        order = np.argsort([-each.score for each in scored], kind="stable")
        ranked.append(tuple(scored[at] for at in order))
    return ranked
