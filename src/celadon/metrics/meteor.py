"""METEOR: words matched exactly, by stem or by meaning, with a penalty for their order.

The alignment says which word of the text is matched with which word of the reference, one to one: the
alignment with, in this order,

1. the most words matched exactly, or in the only way in which they can be matched;
2. the fewest chunks, runs of matches adjacent in both texts;
3. the most words matched;
4. the least sum of distances between matched positions.

The paper (Denkowski and Lavie 2014) puts all covered words first. The METEOR 1.5 program, which made the published
scores, behaves as if stems and synonyms weighed nothing when alignments are compared: it gives up such a match where
that saves a chunk. This follows the program, as far as its output shows what it does.

The search goes over the reference from left to right with a beam of partial alignments. Of partial alignments with the
same future only the best is kept, and one that cannot catch up with the best is dropped, so that most texts never
fill the beam and are aligned optimally.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from celadon.core import (
    NO_WORDS,
    Evidence,
    Metric,
    MetricInfo,
    MetricScores,
    MissingExtraError,
    Need,
    Sample,
    Section,
    Span,
    UsageError,
    option_text,
)
from celadon.metrics.meteor_nltk import (
    EXACT,
    STEM,
    SYNONYM,
    Alignment,
    Match,
    align_greedily,
    count_chunks,
    nltk_words,
)
from celadon.metrics.references import NO_REFERENCE
from celadon.models.words.wordnet import load_wordnet, synsets, wordnet_version
from celadon.scoring.batch import Batch
from celadon.text.meteor_words import located_meteor_words, meteor_words
from celadon.text.sentences import splitter_version
from celadon.text.stems import english_stem
from celadon.text.words import Word

BEAM = 40
# Beyond 1,000 words the beam is narrower, so that time grows no faster than the length.
_MOST_STATES = 40_000
# Up to so many words of the reference, every choice is tried in every state.
_SHORT = 16

MODULES = ("exact", "stem", "synonym")
VARIANTS = ("1.5", "nltk")


# For each reference position, the text positions it may be matched with and by which module.
Candidates: TypeAlias = list[list[tuple[int, int]]]
# How good a partial alignment is, in one number: sure matches, then chunks, then matches, then distance.
_SURE, _CHUNK, _MATCH = 1 << 60, 1 << 45, 1 << 30
# A partial alignment: how good, the text positions taken, the last one matched, and its matches from the last back.
_State: TypeAlias = tuple[int, int, int, Any]
_NOWHERE = -2
# The most that one match can be worth.
_MOST = _SURE + _CHUNK + _MATCH

# What a match by each module is worth: exact, stem, synonym.
WEIGHTS = (1.0, 0.6, 0.8)


class PairScore(NamedTuple):
    """The score of one text against one reference, and what it was made of."""

    value: float
    precision: float
    recall: float
    penalty: float
    chunks: int
    matches: int


@cache
def function_words() -> frozenset[str]:
    """Return the English function words, from the list in the package."""
    lines = resources.files("celadon.metrics").joinpath("function_words_en.txt").read_text(encoding="utf-8")
    return frozenset(line for line in lines.splitlines() if not line.startswith("#"))


class _Parameters(NamedTuple):
    """What METEOR was tuned to."""

    alpha: float
    beta: float
    gamma: float
    delta: float


_USUAL = {"1.5": _Parameters(0.85, 0.2, 0.6, 0.75), "nltk": _Parameters(0.9, 3.0, 0.5, 0.5)}


@dataclass(frozen=True)
class Meteor(Metric):
    """METEOR 1.5 for English (Denkowski and Lavie 2014), without its paraphrase table.

    Text and reference are split by :mod:`celadon.text.meteor_words`, which does what METEOR's ``-norm`` does;
    punctuation counts. Words are aligned one to one. Precision and recall
    weigh a match by its module, exact 1, stem 0.6, synonym 0.8, and each word by ``delta`` if it is a content word and
    ``1 - delta`` if a function word. Their mean is ``P R / (alpha P + (1 - alpha) R)``; the score is that times
    ``1 - gamma (chunks / matches) ** beta``, without the penalty where all words of both are matched in one chunk.
    The best reference counts.

    Exact matches work in any script; stems and synonyms are English.

    ``variant=nltk`` is METEOR as NLTK and ``evaluate`` compute it (:mod:`celadon.metrics.meteor_nltk`): other words,
    Porter's stems, a greedy alignment, words that weigh alike, and other parameters.

    Attributes
    ----------
    variant
        ``1.5``, as the program of that version, or ``nltk``.
    synonyms
        ``yes``, ``no``, or ``auto``: where WordNet is installed.
    stem
        Whether words with the same Snowball stem match.
    alpha
        How much recall counts against precision, 0 to 1; by default 0.85, of NLTK 0.9.
    beta
        How the penalty grows with the number of chunks; by default 0.2, of NLTK 3.
    gamma
        The greatest penalty, 0 to 1; by default 0.6, of NLTK 0.5.
    delta
        The weight of content words, between 0 and 1; by default 0.75, of NLTK 0.5.
    """

    synonyms: str = "auto"
    stem: bool = True
    alpha: float | None = None
    beta: float | None = None
    gamma: float | None = None
    delta: float | None = None
    variant: str = "1.5"

    info: ClassVar[MetricInfo] = MetricInfo(
        name="meteor",
        meaning="words shared with the best reference: the same, of the same stem or of the same meaning, and in order",
        reading="1 for a text equal to a reference; 0 where no word is shared; good systems often score 0.3 to 0.5",
        needs=frozenset({Need.REFERENCES}),
        parts=("precision", "recall", "penalty", "chunks", "matches"),
    )

    def __post_init__(self) -> None:
        if self.synonyms not in ("auto", "yes", "no"):
            raise UsageError(f"meteor: synonyms must be auto, yes or no, not {self.synonyms!r}")
        if self.variant not in VARIANTS:
            raise UsageError(f"meteor: variant must be {' or '.join(VARIANTS)}, not {self.variant!r}")
        alpha, beta, gamma, delta = self._parameters
        if not (0 <= alpha <= 1 and 0 <= gamma <= 1 and 0 < delta < 1 and beta >= 0):
            raise UsageError("meteor: alpha and gamma must be within 0 and 1, delta between them, beta not negative")

    def details(self) -> Mapping[str, str]:
        """Say whose synonyms were used."""
        version = wordnet_version() if self.synonyms != "no" else None
        parameters = {name: option_text(value) for name, value in self._parameters._asdict().items()}
        words = "meteor" if self.variant == "1.5" else f"treebank-{splitter_version()}"
        return {**parameters, "words": words, **({"wordnet": version} if version else {"synonyms": "none"})}

    @property
    def _parameters(self) -> _Parameters:
        given = (self.alpha, self.beta, self.gamma, self.delta)
        pairs = zip(given, _USUAL[self.variant], strict=True)
        return _Parameters(*(usual if value is None else value for value, usual in pairs))

    def score(self, batch: Batch) -> MetricScores:
        """Score every text against its best reference."""
        split = meteor_words if self.variant == "1.5" else nltk_words
        words = batch.view(("meteor words", self.variant), lambda: _split(batch.samples, split))
        table = np.full((len(PairScore._fields), len(batch)), np.nan)
        reasons: dict[int, str] = {}
        for row, sample in enumerate(batch.samples):
            text = words[sample.text]
            references = {reference: words[reference] for reference in sample.references if words[reference]}
            if text and references:
                table[:, row] = max((self.pair(text, reference) for reference in references.values()), key=_value)
            else:
                reasons[row] = NO_REFERENCE if text else NO_WORDS
        return MetricScores(self.spec, table[0], dict(zip(PairScore._fields[1:], table[1:], strict=True)), reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        """Show which words were matched, and how, in the text and the best reference."""
        if self.variant != "1.5":
            return None
        text = located_meteor_words(sample.text)
        forms = [word.form for word in text]
        found = []
        for number, reference in enumerate(sample.references):
            located = located_meteor_words(reference)
            theirs = [word.form for word in located]
            if forms and theirs:
                alignment = self._align(forms, theirs)
                found.append((self._weigh(forms, theirs, alignment), number, located, alignment))
        if not found:
            return None
        score, number, reference_words, alignment = max(found, key=lambda one: one[0].value)
        notes = [MODULES[match.module] for match in alignment.matches]
        summary = (
            f"{score.matches} words matched in {score.chunks} chunks: precision {score.precision:.3f}, "
            f"recall {score.recall:.3f}, penalty {score.penalty:.3f}"
        )
        marks = Section(
            "marks",
            spans=_spans(text, [match.text for match in alignment.matches], notes, "insertion"),
            reference=number,
            reference_spans=_spans(reference_words, [m.reference for m in alignment.matches], notes, "deletion"),
        )
        return Evidence(self.spec, summary, (marks,))

    def pair(self, text: Sequence[str], reference: Sequence[str]) -> PairScore:
        """Score the words of one text against those of one reference."""
        return self._weigh(text, reference, self._align(text, reference))

    def _align(self, text: Sequence[str], reference: Sequence[str]) -> Alignment:
        if self.variant == "nltk":
            has_synonyms = self._synsets() is not None
            return align_greedily(text, reference, stem=self.stem, synonyms=has_synonyms)
        return align(candidates(text, reference, english_stem if self.stem else None, self._synsets()))

    def _synsets(self) -> Callable[[str], Sequence[int]] | None:
        if self.synonyms == "no":
            return None
        if load_wordnet() is not None:
            return synsets
        if self.synonyms == "yes":
            raise MissingExtraError("WordNet", "wordnet")
        return None

    def _weigh(self, text: Sequence[str], reference: Sequence[str], alignment: Alignment) -> PairScore:
        matched, chunks = alignment
        matches = len(matched)
        if not matches:
            return PairScore(0.0, 0.0, 0.0, 0.0, 0, 0)
        if self.variant == "nltk":
            return self._weigh_alike(len(text), len(reference), matches, chunks)
        alpha, beta, gamma, _ = self._parameters
        in_text, in_reference = self._word_weights(text), self._word_weights(reference)
        # Sums in different orders may differ in the last digit, so what is wholly matched could pass 1.
        precision = min(1.0, sum([WEIGHTS[m.module] * in_text[m.text] for m in matched]) / sum(in_text))
        recall = min(1.0, sum([WEIGHTS[m.module] * in_reference[m.reference] for m in matched]) / sum(in_reference))
        mean = precision if precision == recall else precision * recall / (alpha * precision + (1.0 - alpha) * recall)
        whole = chunks == 1 and matches == len(text) == len(reference)
        penalty = 0.0 if whole else gamma * (chunks / matches) ** beta
        return PairScore((1.0 - penalty) * mean, precision, recall, penalty, chunks, matches)

    def _weigh_alike(self, text_words: int, reference_words: int, matches: int, chunks: int) -> PairScore:
        alpha, beta, gamma, _ = self._parameters
        precision, recall = matches / text_words, matches / reference_words
        mean = precision * recall / (alpha * precision + (1.0 - alpha) * recall)
        penalty = gamma * (chunks / matches) ** beta
        return PairScore((1.0 - penalty) * mean, precision, recall, penalty, chunks, matches)

    def _word_weights(self, words: Iterable[str]) -> list[float]:
        heavy = self._parameters.delta
        function, light = function_words(), 1.0 - heavy
        return [light if word in function else heavy for word in words]


def _value(score: PairScore) -> float:
    return score.value


def _split(samples: Iterable[Sample], split: Callable[[str], list[str]]) -> dict[str, list[str]]:
    """Split every distinct text and reference once."""
    documents = dict.fromkeys(document for sample in samples for document in (sample.text, *sample.references))
    return {document: split(document) for document in documents}


def _spans(words: Sequence[Word], matched: Sequence[int], notes: Sequence[str], unmatched: str) -> tuple[Span, ...]:
    note_of = dict(zip(matched, notes, strict=True))
    return tuple(
        Span(word.start, word.end, "match" if place in note_of else unmatched, note_of.get(place, ""))
        for place, word in enumerate(words)
    )


def candidates(
    text: Sequence[str],
    reference: Sequence[str],
    stem: Callable[[str], str] | None,
    synsets: Callable[[str], Sequence[int]] | None,
) -> Candidates:
    """List every possible match: a word can be matched with its like only exactly, with others by stem and by synonym.

    Two words that are both of one stem and synonyms are listed twice, as METEOR 1.5 seems to do; the stem comes first.
    """
    by_form: dict[str, list[int]] = {}
    for position, word in enumerate(text):
        by_form.setdefault(word, []).append(position)
    found: dict[str, list[tuple[int, int]]] = {
        word: [(position, EXACT) for position in by_form.get(word, ())] for word in set(reference)
    }
    if stem is not None:
        _add(found, by_form, lambda word: (stem(word),), STEM)
    if synsets is not None:
        _add(found, by_form, synsets, SYNONYM)
    for choices in found.values():
        choices.sort()
    return [found[word] for word in reference]


def _add(
    found: dict[str, list[tuple[int, int]]],
    by_form: dict[str, list[int]],
    keys: Callable[[str], Sequence[str | int]],
    module: int,
) -> None:
    """Add the matches between different words that share a key."""
    by_key: defaultdict[str | int, list[str]] = defaultdict(list)
    for word in by_form:
        for key in keys(word):
            by_key[key].append(word)
    for word, choices in found.items():
        others = {other for key in keys(word) for other in by_key.get(key, ()) if other != word}
        choices += [(position, module) for other in others for position in by_form[other]]


def align(options: Candidates) -> Alignment:
    """Choose the best alignment among the possible matches."""
    options = _without_hopeless(options)
    states: list[_State] = [(0, 0, _NOWHERE, None)]
    beam = max(min(BEAM, _MOST_STATES // max(len(options), 1)), 1)
    for here, step in enumerate(_steps(options, beam)):
        matched = _matched(states, here, step)
        states = _best(matched if step.must and matched else matched + _skipped(states), step.wanted, beam)
    return _traced(states[0][3])


def _without_hopeless(options: Candidates) -> Candidates:
    """Leave out matches that no best alignment has: those that would cost an exact one.

    Where the reference has a word no more often than the text, each of its places there is matched exactly; where the
    text has a word no more often than the reference, none of its places is left for a stem or a synonym.
    """
    distinct = {id(choices): choices for choices in options}
    exact = {
        key: frozenset(position for position, module in choices if module == EXACT) for key, choices in distinct.items()
    }
    times = Counter(exact[id(choices)] for choices in options)
    del times[frozenset()]
    if sum(map(len, times)) > len(frozenset[int]().union(*times)):
        return options
    kept = frozenset[int]().union(*(positions for positions, count in times.items() if count >= len(positions)))
    pruned: dict[int, list[tuple[int, int]]] = {}
    for key, choices in distinct.items():
        certain = 0 < times[exact[key]] <= len(exact[key])
        pruned[key] = [
            (position, module) for position, module in choices if module == EXACT or not (certain or position in kept)
        ]
    return [pruned[id(choices)] for choices in options]


class _Step(NamedTuple):
    """What a word of the reference can be matched with.

    ``linked`` are the choices that may lengthen a chunk: position, module, bit and what the match is worth. Of the
    others the nearest that is free is taken, by module: ``plain`` has their bits and what a match is worth at best.
    ``must`` says that the word is matched in any case; ``wanted`` are the positions that still matter afterwards.
    """

    linked: list[tuple[int, int, int, int]]
    plain: list[tuple[int, int, int]]
    must: bool
    wanted: int


class _Choices:
    """The choices of one word of the reference, wherever it stands there."""

    def __init__(self, choices: list[tuple[int, int]]) -> None:
        self.all = choices
        self.modules: dict[int, list[int]] = {}
        self.masks = [0, 0, 0]
        for position, module in choices:
            self.modules.setdefault(position, []).append(module)
            self.masks[module] |= 1 << position
        self.is_exact = all(module == EXACT for _, module in choices)

    def linked(self, before: _Choices, after: _Choices) -> set[int]:
        """Return the positions next to one that a neighbour in the reference may be matched with."""
        return {position for other, by in ((before, 1), (after, -1)) for position in self._next_to(other.modules, by)}

    def _next_to(self, others: Mapping[int, list[int]], by: int) -> list[int]:
        if len(others) < len(self.modules):
            return [position + by for position in others if position + by in self.modules]
        return [position for position in self.modules if position - by in others]


def _steps(options: Candidates, beam: int) -> Iterator[_Step]:
    choices = {key: _Choices(each) for key, each in {id(each): each for each in options}.items()}
    words = [choices[id(each)] for each in options]
    times, last = Counter(words), {word: here for here, word in enumerate(words)}
    uses: Counter[int] = Counter()
    last_use: dict[int, int] = {}
    for word, count in times.items():
        for position, _ in word.all:
            uses[position] += count
            last_use[position] = max(last_use.get(position, 0), last[word])
    over = [0] * len(words)
    for position, here in last_use.items():
        over[here] |= 1 << position
    nothing = _Choices([])
    around = [nothing, *words, nothing]
    if len(words) <= _SHORT:
        linked = [set(word.modules) for word in words]
    else:
        linked = [word.linked(around[here], around[here + 2]) for here, word in enumerate(words)]
    sought = _mask(set[int]().union(*linked))
    for here, (word, links) in enumerate(zip(words, linked, strict=True)):
        alone = len(word.all) == 1 and uses[word.all[0][0]] == 1
        worth = [_MATCH + (_SURE if alone or module == EXACT else 0) for module in (EXACT, STEM, SYNONYM)]
        near = sorted(links, key=lambda position: abs(position - here))[:beam] if len(links) > beam else links
        gains = [
            (position, module, 1 << position, worth[module] - abs(position - here))
            for position in near
            for module in word.modules[position]
        ]
        linked_mask = _mask(links)
        plain = []
        for module, mask in enumerate(word.masks):
            if others := mask & ~linked_mask:
                plain.append((others, module, worth[module]))
                # one that no other word is looking for may be nearer to the best
                if (unsought := others & ~sought) != others and unsought:
                    plain.append((unsought, module, worth[module]))
        yield _Step(gains, plain, alone or (word.is_exact and 0 < times[word] <= len(word.all)), ~over[here])


def _mask(positions: Iterable[int]) -> int:
    mask = 0
    for position in positions:
        mask |= 1 << position
    return mask


def _nearest(free: int, here: int) -> int:
    """Return the position nearest to a place, of two the later one."""
    above = free >> here
    after = here + (above & -above).bit_length() - 1
    before = (free & ((1 << here) - 1)).bit_length() - 1
    if not above:
        return before
    return after if before < 0 or after - here <= here - before else before


def _skipped(states: list[_State]) -> list[_State]:
    return [(rank, taken, _NOWHERE, chain) for rank, taken, _, chain in states]


def _matched(states: list[_State], here: int, step: _Step) -> list[_State]:
    """Match the word in each state: with any linked position that is free, of the others with the nearest free one."""
    matched = [
        (
            rank + gain if position == last + 1 else rank + gain - _CHUNK,
            taken | bit,
            position,
            (chain, here, position, module),
        )
        for rank, taken, last, chain in states
        for position, module, bit, gain in step.linked
        if not taken & bit
    ]
    for mask, module, worth in step.plain:
        for rank, taken, _, chain in states:
            if free := mask & ~taken:
                position = _nearest(free, here)
                gain = worth - abs(position - here) - _CHUNK
                matched.append((rank + gain, taken | 1 << position, position, (chain, here, position, module)))
    return matched


def _best(states: list[_State], wanted: int, beam: int) -> list[_State]:
    """Keep the best of the states that have the same future; ``wanted`` are the positions that still matter.

    Whatever a state may yet match the best state may match too, but for the words that only the best has taken: so it
    can gain on the best no more than those matches, a chunk for each and one for the word before.
    """
    if len(states) == 1:
        return states
    states.sort(key=itemgetter(0), reverse=True)
    top, top_taken = states[0][0], states[0][1] & wanted
    kept: dict[tuple[int, int], _State] = {}
    for rank, taken, last, chain in states:
        left = taken & wanted
        future = (left, last)
        if future in kept or (kept and top - rank >= _CHUNK + (top_taken & ~left).bit_count() * _MOST):
            continue
        kept[future] = (rank, left, last, chain)
        if len(kept) == beam:
            break
    return list(kept.values())


def _traced(chain: Any) -> Alignment:
    matches: list[Match] = []
    while chain is not None:
        chain, reference, text, module = chain
        matches.append(Match(text, reference, module))
    matches.reverse()
    return Alignment(tuple(matches), count_chunks(matches))
