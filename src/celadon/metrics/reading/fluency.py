"""How fluent a sentence is by a language model: as SLOR tells it, but by what is wrong rather than by what is right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray
from celadon.models.language.language_model import TokenScores

CAP = 2.0
"""The most that a token counts for: the logarithm of how much likelier it is here than on its own. A token that nobody
could miss ("the United States of ...") does not make up for one that fits nowhere."""
PASSAGE = 8
"""How many tokens next to each other make a passage."""


class Fluency(NamedTuple):
    """What a language model makes of a sentence.

    Attributes
    ----------
    capped
        SLOR in which no token counts more than ``CAP``.
    weakest
        The same of the passage where it is least; of the whole sentence where that has no more tokens.
    passage
        The characters of that passage, begin and end.
    """

    capped: float
    weakest: float
    passage: tuple[int, int]


def fluency(scores: TokenScores) -> Fluency:
    """Tell how fluent a sentence is, from its scored tokens, of which there is at least one.

    What the model has no piece for, an emoji perhaps, it can tell nothing of: that is left out unless there is nothing
    else.
    """
    kept = np.flatnonzero(scores.known) if scores.known.any() else np.arange(len(scores))
    gains: FloatArray = np.minimum((scores.logprobs - scores.unigrams)[kept], CAP)
    size = min(PASSAGE, len(gains))
    means = np.lib.stride_tricks.sliding_window_view(gains, size).mean(axis=1)
    first = int(means.argmin())
    place = int(scores.starts[kept[first]]), int(scores.ends[kept[first + size - 1]])
    return Fluency(float(gains.mean()), float(means[first]), place)
