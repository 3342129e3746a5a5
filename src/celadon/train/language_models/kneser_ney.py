"""Modified Kneser-Ney smoothing (Chen & Goodman 1998), interpolated, on arrays.

The longest n-grams count as often as they occur; a shorter one counts once for each different token before it, and
as often as it opens a sentence. From the counts of every order three discounts are taken, for n-grams counted once,
twice, and more often. What they free goes to the next lower order, and below the single tokens to all tokens alike, so
that a token never seen has a probability.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray
from celadon.models.language.language_model import LanguageModel, TokenScores
from celadon.models.language.ngram_lm import KeyArray, MarkedStream, NgramTables, bits_of, find, marked
from celadon.train.language_models.lm import HeldOut

# For corpora so small that the counts of counts give no discounts.
FALLBACK = (0.5, 1.0, 1.5)

_SEARCHED_AT_ONCE = 4_000_000
_SCORED_AT_ONCE = 1_000
_WORD = re.compile(r"\S+")


class Counted(NamedTuple):
    """Different n-grams, sorted, and the count of each."""

    keys: KeyArray
    counts: IntArray


class Order(NamedTuple):
    """One order of the model: the probability of each n-gram, and what each context leaves to the lower order."""

    probabilities: FloatArray
    contexts: KeyArray
    left: FloatArray


def train_ngrams(
    ids: npt.NDArray[Any],
    starts: npt.NDArray[Any],
    vocabulary: int,
    begin: int,
    end: int,
    order: int = 3,
    advance: Callable[[], None] = lambda: None,
) -> NgramTables:
    """Estimate an n-gram model of sentences, whose tokens are ``ids`` and which begin at ``starts``.

    Marks are put round each sentence; the end is predicted, the begin is not. ``advance`` is called when the n-grams of
    a length have been counted and when they have been smoothed. Raises UsageError where n-grams of that order and
    vocabulary do not fit into 64 bits.
    """
    bits = bits_of(vocabulary, order)
    if len(starts) < 2:
        raise InputError("the corpus has no sentences")
    counted = _count(marked(ids, starts, begin, end), order, bits, advance)
    lowest = _lowest(counted[0], vocabulary)
    logprobs, backoffs = [_log(lowest)], []
    advance()
    lower, lower_keys = lowest, None
    for number in range(1, order):
        estimated = _order(counted[number], lower, lower_keys, bits, bits * number)
        logprobs.append(_log(estimated.probabilities))
        backoffs.append(_backoffs(estimated, lower_keys, len(lower)))
        lower, lower_keys = estimated.probabilities, counted[number].keys
        advance()
    return NgramTables(begin, end, tuple(each.keys for each in counted[1:]), tuple(logprobs), tuple(backoffs))


def discounts(counts: IntArray) -> tuple[float, float, float]:
    """What is taken from n-grams counted once, twice, and three times or more.

    ``FALLBACK`` where no n-gram has one of the counts 1 to 4, or where a discount would not be above zero.
    """
    once, twice, thrice, fourfold = np.bincount(np.minimum(counts, 5), minlength=6)[1:5].tolist()
    if not (once and twice and thrice and fourfold):
        return FALLBACK
    share = once / (once + 2 * twice)
    found = (1 - 2 * share * twice / once, 2 - 3 * share * thrice / twice, 3 - 4 * share * fourfold / thrice)
    return found if min(found) > 0 else FALLBACK


def _count(stream: MarkedStream, order: int, bits: int, advance: Callable[[], None]) -> list[Counted]:
    """The n-grams of each order, from the first up, with the counts that smoothing goes by."""
    # by itself the begin mark is never predicted, and is not counted
    counted = [_counted(stream.keys(order, bits)[stream.complete(order) if order > 1 else ~stream.opens])]
    advance()
    for shorter in range(order - 1, 0, -1):
        ends = counted[-1].keys & np.uint64((1 << bits * shorter) - 1)
        # what opens a sentence has nothing before it to be counted by
        counted.append(_counted(ends if shorter == 1 else np.concatenate([ends, _openings(stream, shorter, bits)])))
        advance()
    return counted[::-1]


def _openings(stream: MarkedStream, order: int, bits: int) -> KeyArray:
    """The n-gram at the beginning of each sentence that is as long as that."""
    at = np.flatnonzero(stream.opens[: max(0, len(stream.ids) - order + 1)] & stream.complete(order))
    keys = np.zeros(len(at), dtype=np.uint64)
    for step in range(order):
        keys <<= np.uint64(bits)
        keys |= stream.ids[at + step]
    return keys


def _counted(keys: KeyArray) -> Counted:
    """Sorts its argument, which is used up."""
    keys.sort()
    first = np.flatnonzero(_changes(keys))
    return Counted(keys[first], np.diff(first, append=len(keys)))


def _changes(keys: KeyArray) -> npt.NDArray[np.bool_]:
    """Where a sorted array has a value that it had not before."""
    changes = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=changes[1:])
    return changes


def _discount_of_each(counts: IntArray) -> FloatArray:
    return np.array((0.0, *discounts(counts)))[np.minimum(counts, 3)]


def _lowest(counted: Counted, vocabulary: int) -> FloatArray:
    """The probability of every single token."""
    total = counted.counts.sum()
    taken = _discount_of_each(counted.counts)
    probabilities = np.full(vocabulary, taken.sum() / total / vocabulary)
    probabilities[counted.keys] += (counted.counts - taken) / total
    return probabilities


def _order(counted: Counted, lower: FloatArray, lower_keys: KeyArray | None, bits: int, suffix_bits: int) -> Order:
    keys, counts = counted
    if not len(keys):
        return Order(np.empty(0), keys, np.empty(0))
    contexts = keys >> np.uint64(bits)
    first = np.flatnonzero(_changes(contexts))
    contexts = contexts[first]
    sizes = np.diff(first, append=len(keys))
    totals = np.add.reduceat(counts, first)
    taken = _discount_of_each(counts)
    left = np.add.reduceat(taken, first) / totals
    probabilities = (counts - taken) / np.repeat(totals, sizes)
    del taken
    mask = np.uint64((1 << suffix_bits) - 1)
    for at in range(0, len(keys), _SEARCHED_AT_ONCE):
        part = slice(at, at + _SEARCHED_AT_ONCE)
        suffixes = keys[part] & mask
        places = suffixes if lower_keys is None else find(lower_keys, suffixes)[0]
        groups = np.searchsorted(first, np.arange(at, at + len(suffixes)), side="right") - 1
        probabilities[part] += left[groups] * lower[places]
    return Order(probabilities, contexts, left)


def _backoffs(estimated: Order, lower_keys: KeyArray | None, size: int) -> FloatArray:
    """Every context that was seen is an n-gram of the order below; the others back off at no cost."""
    result = np.zeros(size)
    places = estimated.contexts if lower_keys is None else find(lower_keys, estimated.contexts)[0]
    result[places] = np.log(estimated.left)
    return result


def _log(probabilities: FloatArray) -> FloatArray:
    # rounding may bring a certain token a hair above one
    return np.minimum(np.log(probabilities), 0.0)


def held_out_perplexity(model: LanguageModel, sentences: Iterable[str], known_only: bool = False) -> HeldOut:
    """Return how well a model predicts sentences it has not seen: any model, so that they can be compared.

    With ``known_only`` every word, between white space, is left out in which there is something that the model has no
    piece for.
    """
    loss, tokens, words, scored_sentences = 0.0, 0, 0, 0
    stream = iter(sentences)
    while texts := list(islice(stream, _SCORED_AT_ONCE)):
        for text, scores in zip(texts, model.score(texts), strict=True):
            word_of, known = _words_known(text, scores)
            kept = known[word_of] if known_only else np.ones(len(scores), dtype=np.bool_)
            loss -= float(scores.logprobs[kept].sum())
            tokens += int(kept.sum())
            # the last entry is for what stands in no word: the end
            words += int(known[:-1].sum()) if known_only else len(known) - 1
            scored_sentences += bool(len(scores))
    return HeldOut(loss, tokens, words, scored_sentences)


def _words_known(text: str, scores: TokenScores) -> tuple[IntArray, npt.NDArray[np.bool_]]:
    """For each token the number of its word, and for each word, and then the end, whether all of it is known."""
    starts = [match.start() for match in _WORD.finditer(text)]
    word_of = np.searchsorted(np.array(starts, dtype=np.int64), scores.starts, side="right") - 1
    word_of[scores.starts >= len(text)] = len(starts)
    known = np.ones(len(starts) + 1, dtype=np.bool_)
    known[word_of[~scores.known]] = False
    return word_of, known
