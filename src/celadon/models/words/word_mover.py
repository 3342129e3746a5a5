"""Word Mover's Distance (Kusner, Sun, Kolkin and Weinberger 2015): what it costs to turn one sentence into another.

A sentence is its content words, each with its share of them: stop words, and words without a vector, are left out.
Moving a share from one word to another costs the Euclidean distance of their vectors, which have length 1; the distance
of two sentences is the least that moving all of it can cost (:mod:`celadon.text.transport`).

Words that stand for unrelated things have vectors at right angles, the square root of 2 apart, so that::

    similarity = max(0, 1 - distance / sqrt(2))

is 1 for equal words and 0 where nothing in the one sentence has to do with anything in the other.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from celadon.core import FloatArray
from celadon.models.words.word_vectors import Rows, WordVectors
from celadon.text.transport import Bags, mover_distances
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

FARTHEST = math.sqrt(2.0)
"""The distance of vectors at right angles."""


def similarity(distance: float) -> float:
    """Return the similarity of two sentences at a distance, 0 to 1."""
    return max(0.0, 1.0 - distance / FARTHEST)


def similarities(pairs: Sequence[tuple[str, str]], vectors: WordVectors) -> FloatArray:
    """Return the Word Mover's similarity of pairs of sentences, NaN where one cannot be compared.

    That is a sentence without a known content word, or with more than ``MOST_WORDS`` of them. The similarity of a pair
    does not depend on the other pairs, to the last bit.
    """
    split = splitter(vectors.normalisation)
    content = {
        sentence: [word for word in split(sentence.lower()) if word not in STOP_WORDS and word in vectors]
        for sentence in dict.fromkeys(chain.from_iterable(pairs))
    }
    # in the order of the alphabet, so that the words of a pair have one order, whatever words other pairs have
    words = sorted(set(chain.from_iterable(content.values())))
    numbers = {word: number for number, word in enumerate(words)}
    rows = vectors.take(vectors.numbers(words))
    bags = {sentence: Counter(numbers[word] for word in found) for sentence, found in content.items()}
    usable = {sentence: bag for sentence, bag in bags.items() if 0 < len(bag) <= MOST_WORDS}
    at = {sentence: number for number, sentence in enumerate(usable)}
    compared = [pair for pair in dict.fromkeys(pairs) if pair[0] in at and pair[1] in at]
    left, right = (np.array([at[pair[side]] for pair in compared], dtype=np.int64) for side in (0, 1))
    distances = mover_distances(bags_of(list(usable.values())), left, right, rows).tolist()
    found = {pair: similarity(distance) for pair, distance in zip(compared, distances, strict=True)}
    return np.array([found.get(pair, math.nan) for pair in pairs], dtype=np.float64)


def movers_distance(left: Mapping[int, int], right: Mapping[int, int], vectors: Rows) -> float:
    """Return the Word Mover's Distance of two bags: how often each word is there, by its row; neither may be empty."""
    bags = bags_of([left, right])
    return float(mover_distances(bags, np.array([0]), np.array([1]), np.asarray(vectors, dtype=np.float64))[0])


def bags_of(counts: Sequence[Mapping[int, int]]) -> Bags:
    """Return bags of words from how often each word is there."""
    sizes = [len(bag) for bag in counts]
    items = np.fromiter(chain.from_iterable(counts), np.int64, sum(sizes))
    much = np.fromiter(chain.from_iterable(bag.values() for bag in counts), np.float64, sum(sizes))
    # equal shares are equal to the last bit, however often everything is there
    shares = much / np.repeat([sum(bag.values()) for bag in counts], sizes)
    return Bags(items, shares, np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]))
