"""Sentences of the likeliest words for a template of tags: parts of speech or supertags, as Mutton et al. 2007 do.

The template is a chain of tag pairs of the treebank from the beginning of a sentence to its end, drawn on the condition
that it has the wanted length, ends with a full stop and has no other. For a template the words are those with the
greatest product of P(word | tag) and P(word | previous word), by Viterbi's algorithm. At every state it goes back over
the words that led there: a noun, verb, adjective, adverb or number is never used twice in a sentence; the path to a
word is the best one that has not got it yet. A template that cannot be filled so is drawn anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from celadon.core import FloatArray, InputError, IntArray
from celadon.synth.lexicon import Joins, Lexicon, TaggedWord
from celadon.synth.tokens import FULL_STOP, MadeText, TokenCorpus, check_request, draw, draw_sentences, sentence_text

_TRIES = 50  # templates for each sentence that is wanted, before giving up
_CONTENT = ("NN", "VB", "JJ", "RB", "CD", "FW")


def template_sentences(
    corpus: TokenCorpus,
    sentences: Sequence[Sequence[TaggedWord]],
    length: int,
    count: int,
    seed: int,
    advance: Callable[[int], None] = lambda made: None,
) -> list[MadeText]:
    """Make sentences by templates of tags of a treebank's sentences; pairs of words are learnt from a corpus.

    A sentence has ``length`` tokens, the full stop among them; the same seed gives the same sentences. Raises
    InputError where the treebank has too little for such sentences.
    """
    check_request(length, count, seed)
    lexicon = Lexicon(corpus, sentences)
    templates = TagTemplates(sentences, lexicon.stops, length)
    writer = _TemplateWriter(lexicon, sentences)
    rng = np.random.default_rng([seed, length])

    def drawn() -> MadeText | None:
        words = writer.words_for(templates.drawn(rng))
        return sentence_text(words) if words else None

    complaint = f"the treebank has too few words for {count} sentences of {length} tokens in which none is repeated"
    return draw_sentences(count, _TRIES, drawn, advance, complaint)


class TagTemplates:
    """The chain of tags of a treebank, for templates of one length; ``stops`` are the tags of the full stop.

    Raises InputError where no chain of tag pairs has that length and one full stop at its end.
    """

    def __init__(self, sentences: Sequence[Sequence[TaggedWord]], stops: frozenset[str], length: int) -> None:
        pairs = Counter(pair for sentence in sentences for pair in pairwise(["", *(each.tag for each in sentence), ""]))
        self._tags = sorted({tag for tag, _ in pairs})  # the empty one, before and after a sentence, is the first
        numbers = {tag: number for number, tag in enumerate(self._tags)}
        table = sorted((numbers[before], numbers[after], count) for (before, after), count in pairs.items())
        self._before, self._after, counts = (np.array(column, dtype=np.int64) for column in zip(*table, strict=True))
        self._bounds = np.searchsorted(self._before, np.arange(len(self._tags) + 1))
        self._chances = counts / np.bincount(self._before, counts)[self._before]
        stop = np.array([tag in stops for tag in self._tags])
        self._to_go = self._chances_to_end(stop, length)

    def _chances_to_end(self, stop: np.ndarray[tuple[int], np.dtype[np.bool_]], length: int) -> list[FloatArray]:
        """How likely, up to a factor, a tag is followed by the right end, for each number of tags after it."""
        at_end = np.zeros(len(self._tags))
        at_end[0] = 1.0
        to_go = [np.where(stop, self._sums(at_end), 0.0)]
        for _ in range(length - 1):
            sums = np.where(stop, 0.0, self._sums(to_go[-1]))
            sums[0] = 0.0
            to_go.append(sums / (sums.max() or 1.0))
        if not self._sums(to_go[-1])[0]:
            raise InputError(
                f"no chain of tags of the treebank has {length} tokens and a full stop at its end alone; "
                "give more trees or another length"
            )
        return to_go

    def _sums(self, values: FloatArray) -> FloatArray:
        weights = self._chances * values[self._after]
        return np.bincount(self._before, weights, len(self._tags)).astype(np.float64)

    def drawn(self, rng: np.random.Generator) -> list[str]:
        """Draw a template."""
        tag = 0
        found: list[str] = []
        for to_go in reversed(self._to_go):
            here = slice(self._bounds[tag], self._bounds[tag + 1])
            tag = int(self._after[here][draw(self._chances[here] * to_go[self._after[here]], rng)])
            found.append(self._tags[tag])
        return found


class _TemplateWriter:
    """Finds the best words for templates."""

    def __init__(self, lexicon: Lexicon, sentences: Sequence[Sequence[TaggedWord]]) -> None:
        self._lexicon = lexicon
        folded: dict[str, int] = {}
        # a word is the same with and without a capital
        self._fold = np.array([folded.setdefault(word.casefold(), len(folded)) for word in lexicon.words])
        self._content = {
            each.tag: each.part_of_speech.startswith(_CONTENT) for sentence in sentences for each in sentence
        }

    def words_for(self, template: Sequence[str]) -> list[str] | None:
        """Return the best words without repetition; None where every way has one."""
        tag = template[0]
        candidates = self._lexicon.candidates(tag)
        scores, back = candidates.logprobs, []
        used = self._seen_words(tag, candidates.words)[:, None]
        for before, tag in pairwise(template):
            scores, came = self._step(before, tag, scores, used)
            seen = self._seen_words(tag, self._lexicon.candidates(tag).words)
            used = np.concatenate([used[came], seen[:, None]], axis=1)
            back.append(came)
        words = self._lexicon.candidates(template[-1]).words
        # the last tag may be another mark's too
        at = int(np.argmax([self._lexicon.words[word] == FULL_STOP for word in words]))
        if scores[at] == -np.inf:
            return None
        places = [at]
        for came in reversed(back):
            places.append(int(came[places[-1]]))
        return [
            self._lexicon.words[self._lexicon.candidates(tag).words[place]]
            for tag, place in zip(template, reversed(places), strict=True)
        ]

    def _seen_words(self, tag: str, words: IntArray) -> IntArray:
        """The words that must not come again; -1 for those that may."""
        return self._fold[words] if self._content[tag] else np.full(len(words), -1, dtype=np.int64)

    def _step(self, before: str, tag: str, scores: FloatArray, used: IntArray) -> tuple[FloatArray, IntArray]:
        """The best scores of the words of the next tag, and the places of the words before them."""
        lexicon = self._lexicon
        words, logprobs = lexicon.candidates(tag)
        joins = lexicon.joins(before, tag)
        unseen = scores + lexicon.log_unseen(lexicon.candidates(before).words)
        single = lexicon.log_single(words)
        # a pair that the corpus has not scores by its words alone, so one word before is the best for all such pairs
        came = np.full(len(words), np.argmax(unseen), dtype=np.int64)
        best = unseen.max() + single
        joined = scores[joins.before] + joins.logprobs
        if len(joined):
            firsts = np.flatnonzero(np.diff(joins.after, prepend=-1))
            tops = np.maximum.reduceat(joined, firsts)
            places = joins.after[firsts]
            better = tops > best[places]
            at_top = np.flatnonzero(joined == np.repeat(tops, np.diff(firsts, append=len(joined))))[::-1]
            from_join = np.empty(len(words), dtype=np.int64)
            from_join[joins.after[at_top]] = joins.before[at_top]
            came[places[better]] = from_join[places[better]]
            best[places[better]] = tops[better]
        if self._content[tag]:
            for place in np.flatnonzero((used[came] == self._fold[words][:, None]).any(axis=1)):
                best[place], came[place] = self._without_repeat(
                    int(place), self._fold[words[place]], unseen + single[place], joins, joined, used
                )
        return best + logprobs, came

    @staticmethod
    def _without_repeat(
        place: int, word: int, values: FloatArray, joins: Joins, joined: FloatArray, used: IntArray
    ) -> tuple[float, int]:
        """The best way to a word among those that do not have it yet."""
        mine = slice(*np.searchsorted(joins.after, [place, place + 1]))
        values[joins.before[mine]] = joined[mine]
        values[(used == word).any(axis=1)] = -np.inf
        at = int(np.argmax(values))
        return float(values[at]), at
