"""Training of FERGUS's trigrams: from plain text and the treebank's sentences, pruned to a size."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray
from celadon.models.language.ngram_lm import NgramTables, find
from celadon.realize.trees import form, is_punctuation, unknown_class
from celadon.realize.trigrams import BEGIN, END, Trigrams
from celadon.text.penn_words import penn_words
from celadon.train.language_models.kneser_ney import train_ngrams

_LONGEST, _SHORTEST = 80, 3


@dataclass(frozen=True)
class TrigramRecipe:
    """How the trigrams are made."""

    vocabulary: int = 50_000  # the most words, marks and classes included
    # pairs, triples: how many bigrams and trigrams are kept at most
    pairs: int = 1_000_000
    triples: int = 2_400_000


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences as numbers of forms."""

    forms: tuple[str, ...]  # the forms by number
    ids: IntArray  # the words of all sentences
    starts: IntArray  # where each sentence begins, with one more entry at the end


def text_words(sentences: Iterable[str]) -> Iterator[list[str]]:
    """Yield the words of sentences of plain text, without punctuation; the very short and very long are left out."""
    for sentence in sentences:
        words = [word.form for word in penn_words(sentence)]
        if _SHORTEST <= len(words) <= _LONGEST:
            yield [word for word in words if not is_punctuation(word)]


def number_sentences(sentences: Iterable[Sequence[str]]) -> Sentences:
    """Number the forms of sentences."""
    numbers: dict[str, int] = {}
    of_word: dict[str, int] = {}
    ids, starts = array("I"), array("Q", [0])
    for words in sentences:
        for word in words:
            number = of_word.get(word)
            if number is None:
                number = of_word[word] = numbers.setdefault(form(word), len(numbers))
            ids.append(number)
        starts.append(len(ids))
    return Sentences(tuple(numbers), np.array(ids, dtype=np.int64), np.array(starts, dtype=np.int64))


def with_small_beginnings(sentences: Sentences) -> Sentences:
    """The first word of each sentence in small letters, where it is oftener so within sentences."""
    number = {name: at for at, name in enumerate(sentences.forms)}
    small = np.array(
        [number.get(name[:1].lower() + name[1:], at) for at, name in enumerate(sentences.forms)], dtype=np.int64
    )
    first = sentences.starts[:-1][np.diff(sentences.starts) > 0]
    inner = np.ones(len(sentences.ids), dtype=np.bool_)
    inner[first] = False
    counts = np.bincount(sentences.ids[inner], minlength=len(sentences.forms))
    ids = sentences.ids.copy()
    opening = ids[first]
    ids[first] = np.where(counts[small[opening]] > counts[opening], small[opening], opening)
    return Sentences(sentences.forms, ids, sentences.starts)


def joined(written: Sentences, treebank: Sentences, repeat: int) -> Sentences:
    """Sentences of plain text and, as often as is said, those of a treebank."""
    number = {name: at for at, name in enumerate(written.forms)}
    mapped = np.array([number.setdefault(name, len(number)) for name in treebank.forms], dtype=np.int64)
    ids, starts, end = [written.ids], [written.starts], int(written.starts[-1])
    for _ in range(repeat):
        ids.append(mapped[treebank.ids])
        starts.append(treebank.starts[1:] + end)
        end += len(treebank.ids)
    return Sentences(tuple(number), np.concatenate(ids), np.concatenate(starts))


def train_trigrams(sentences: Sentences, recipe: TrigramRecipe) -> Trigrams:
    """Count, smooth and prune."""
    counts = np.bincount(sentences.ids, minlength=len(sentences.forms))
    classes = sorted({unknown_class(name) for name in sentences.forms} | {"<a->"})
    ranked = sorted(range(len(sentences.forms)), key=lambda at: (-counts[at], sentences.forms[at]))
    marks = (BEGIN, END, *classes)
    words = [*marks, *(sentences.forms[at] for at in ranked[: recipe.vocabulary - len(marks)])]
    number = {word: at for at, word in enumerate(words)}
    mapped = np.array([number.get(name, number[unknown_class(name)]) for name in sentences.forms], dtype=np.uint32)
    tables = train_ngrams(mapped[sentences.ids], sentences.starts, len(words), 0, 1, 3)
    return Trigrams(tuple(words), pruned(tables, recipe.pairs, recipe.triples))


def pruned(tables: NgramTables, pairs: int, triples: int) -> NgramTables:
    """Keep the n-grams whose loss would change the probabilities most, and let the others back off.

    What a context leaves to shorter ones is set anew, so that probabilities sum to one as before.
    """
    bits = np.uint64(tables.bits)
    mask = np.uint64((1 << tables.bits) - 1)
    low = np.uint64((1 << 2 * tables.bits) - 1)
    first, second = (tables.keys[0] >> bits).astype(np.int64), (tables.keys[0] & mask).astype(np.int64)
    pair_logs = np.asarray(tables.logprobs[1])
    pair_share = tables.logprobs[0][first] + pair_logs
    context, _ = find(tables.keys[0], tables.keys[1] >> bits)
    shorter, _ = find(tables.keys[0], tables.keys[1] & low)
    triple_logs = np.asarray(tables.logprobs[2])
    gain = triple_logs - (tables.backoffs[1][context] + pair_logs[shorter])
    kept3 = _top(np.exp(pair_share[context] + triple_logs) * np.abs(gain), triples)
    pair_gain = pair_logs - (tables.backoffs[0][first] + tables.logprobs[0][second])
    worth = np.exp(pair_share) * np.abs(pair_gain)
    worth[context[kept3]] = np.inf
    kept2 = _top(worth, max(pairs, len(np.unique(context[kept3]))))
    keys2, logs2 = tables.keys[0][kept2], pair_logs[kept2]
    keys3, logs3 = tables.keys[1][kept3], triple_logs[kept3]
    back1 = _left(first[kept2], logs2, tables.logprobs[0][second[kept2]], tables.vocabulary)
    at, there = find(keys2, keys3 & low)
    lower = back1[((keys3 >> bits) & mask).astype(np.int64)] + tables.logprobs[0][(keys3 & mask).astype(np.int64)]
    lower[there] = logs2[at[there]]
    back2 = _left(find(keys2, keys3 >> bits)[0], logs3, lower, len(keys2))
    return NgramTables(tables.begin, tables.end, (keys2, keys3), (tables.logprobs[0], logs2, logs3), (back1, back2))


def _top(worth: npt.NDArray[np.float64], count: int) -> IntArray:
    if len(worth) <= count:
        return np.arange(len(worth))
    return np.sort(np.argpartition(-worth, count - 1)[:count])


def _left(context: IntArray, logs: npt.NDArray[Any], lower: npt.NDArray[Any], size: int) -> npt.NDArray[np.float64]:
    """What is added where a context backs off: the probability it has left, over what the shorter context has left."""
    kept = np.bincount(context, weights=np.exp(logs), minlength=size)
    below = np.bincount(context, weights=np.exp(lower), minlength=size)
    return np.asarray(np.log(np.clip(1 - kept, 1e-6, None)) - np.log(np.clip(1 - below, 1e-6, None)))
