"""Word Mover's Distance (Kusner, Sun, Kolkin and Weinberger 2015): what it costs to turn one sentence into another.

A sentence is its content words, each with its share of them: stop words, and words without a vector, are left out.
Moving a share from one word to another costs the Euclidean distance of their vectors, which have length 1; the distance
of two sentences is the least that moving all of it can cost. It is found exactly, by POT's network simplex.

Words that stand for unrelated things have vectors at right angles, the square root of 2 apart, so that::

    similarity = max(0, 1 - distance / sqrt(2))

is 1 for equal words and 0 where nothing in the one sentence has to do with anything in the other.
"""

from __future__ import annotations

import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np

from celadon.core import FloatArray
from celadon.models.word_vectors import Rows, WordVectors
from celadon.text.words import splitter

STOP_WORDS = frozenset(
    """
    a an the this that these those some any no every each either neither both all such another other
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers
    herself it its itself they them their theirs themselves one oneself who whom whose which what whoever whatever
    whichever someone somebody something anyone anybody anything everyone everybody everything nobody nothing none
    and or but nor so yet if unless because although though while whilst whereas whether since until till than as
    of to in on at by for from with without within into onto upon about above across after against along among amongst
    around before behind below beneath beside besides between beyond despite down during except inside like near off out
    outside over past per through throughout toward towards under underneath unlike up versus via vs
    be am is are was were been being have has had having do does did doing done can could may might must shall should
    will would ought cannot
    not there here then thus hence when where why how also too only just very even ever still again already rather quite
    now soon later once often usually always never sometimes however therefore moreover otherwise instead almost well
    away back together mainly especially
    many much more most few fewer several less least lot lots enough same own different various certain
    two three four five six seven eight nine ten first second third last next
    use used uses using make makes made making become becomes became include includes included including know known
    call called say says said get gets got go goes went come comes came take takes took give gives given
    s t d m ll re ve don doesn didn isn aren wasn weren hasn haven hadn wouldn shouldn couldn
    """.split()
)
"""English function words, and others that go with any subject, so that sharing them says nothing of the subject."""

MOST_WORDS = 2_000
"""A sentence with more different content words is not compared: it is none, and the cost of the exact way explodes."""

_ARRAYS = {"pytorch": "torch", "jax": "jax", "cupy": "cupy", "tensorflow": "tensorflow"}

FARTHEST = math.sqrt(2.0)
"""The distance of vectors at right angles."""


def similarity(distance: float) -> float:
    """Return the similarity of two sentences at a distance, 0 to 1."""
    return max(0.0, 1.0 - distance / FARTHEST)


def similarities(pairs: Sequence[tuple[str, str]], vectors: WordVectors) -> FloatArray:
    """Return the Word Mover's similarity of pairs of sentences, NaN where one cannot be compared.

    That is a sentence without a known content word, or with more than ``MOST_WORDS`` of them. The similarity of a
    pair does not depend on the other pairs, to the last bit.

    Parameters
    ----------
    pairs
        Sentences to be compared.
    vectors
        The vectors of their words.
    """
    split = splitter(vectors.normalisation)
    content = {
        sentence: [word for word in split(sentence.lower()) if word not in STOP_WORDS and word in vectors]
        for sentence in dict.fromkeys(chain.from_iterable(pairs))
    }
    # in the order of the alphabet, so that the words of a pair have one order, whatever words other pairs have
    words = sorted(set(chain.from_iterable(content.values())))
    numbers = {word: number for number, word in enumerate(words)}
    rows = vectors.lookup(words).vectors
    bags = {sentence: Counter(numbers[word] for word in found) for sentence, found in content.items()}
    compared = dict.fromkeys(pairs, math.nan)
    for left, right in compared:
        if all(0 < len(bags[sentence]) <= MOST_WORDS for sentence in (left, right)):
            compared[left, right] = similarity(movers_distance(bags[left], bags[right], rows))
    return np.array([compared[pair] for pair in pairs], dtype=np.float64)


def movers_distance(left: Mapping[int, int], right: Mapping[int, int], vectors: Rows) -> float:
    """Return the Word Mover's Distance of two bags of words.

    Parameters
    ----------
    left, right
        How often each word is there, by the number of its row; neither may be empty.
    vectors
        A vector of length 1 in each row.
    """
    # What both sides have of a word stays where it is: no way round is shorter than not moving at all. In whole numbers
    # (of shares of both lengths) it is exact what is left.
    in_left, in_right = sum(left.values()), sum(right.values())
    surplus = {word: count * in_right for word, count in left.items()}
    for word, count in right.items():
        surplus[word] = surplus.get(word, 0) - count * in_left
    sources = sorted(word for word, much in surplus.items() if much > 0)
    targets = sorted(word for word, much in surplus.items() if much < 0)
    if not sources:
        return 0.0
    supply = np.array([surplus[word] for word in sources], dtype=np.float64)
    demand = np.array([-surplus[word] for word in targets], dtype=np.float64)
    cosines = vectors[sources].astype(np.float64) @ vectors[targets].T.astype(np.float64)
    costs = np.sqrt(np.maximum(2.0 - 2.0 * cosines, 0.0))
    return _least_cost(supply, demand, costs) / (in_left * in_right)


def _least_cost(supply: FloatArray, demand: FloatArray, costs: FloatArray) -> float:
    if len(supply) == 1:
        return float((costs[0] * demand).sum())
    if len(demand) == 1:
        return float((costs[:, 0] * supply).sum())
    plan = _network_simplex()(supply, demand, costs, center_dual=False, check_marginals=False)
    return float((plan * costs).sum())


@cache
def _network_simplex() -> Callable[..., Any]:
    """POT's solver; POT would load every library of arrays there is, for seconds: not those that nobody here uses."""
    unused = {f"POT_BACKEND_DISABLE_{name.upper()}" for name in _ARRAYS if _ARRAYS[name] not in sys.modules}
    unused -= set(os.environ)
    os.environ.update(dict.fromkeys(unused, "1"))
    try:
        from ot.lp import emd
    finally:
        for switch in unused:
            os.environ.pop(switch, None)
    solve: Callable[..., Any] = emd
    return solve
