"""Repetition: sentences that say again what another one said, words that come again, loops inside a sentence.

Strings are compared as they stand. Words are those of the normalisation ``rouge`` (runs of letters and digits in lower
case), so that neither the capital at the beginning of a sentence nor the full stop at its end hides a repetition.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias

from rapidfuzz.distance import LCSseq, Levenshtein

from celadon.text.words import Word, located_words, words

NORMALISATION = "rouge"
MAX_CHARACTERS = 2_000_000
"""Of texts that are longer the sentences cannot be compared pair by pair in any useful time."""
MAX_DISTANCE = 200
"""How many words after its beginning a loop may begin again."""

Place: TypeAlias = tuple[int, int]
"""The characters of a stretch of text, begin and end."""

# a share times a length may miss a whole number by a hair
_HAIR = 1e-9


class RepeatedPair(NamedTuple):
    """Two sentences, by their positions, and what tells that they repeat each other.

    ``features`` are some of A (a long common substring), B (a long common run of words), C (few edits) and D (many
    common words), in this order.
    """

    first: int
    second: int
    features: str


class SharedParts(NamedTuple):
    """What two sentences have in common, with places in the one and in the other.

    The substring is the first of several; of a word that one sentence has more often, the first ones are taken.
    """

    substring: tuple[Place, Place] | None
    words: tuple[tuple[Place, ...], tuple[Place, ...]]


class RepeatedGrams(NamedTuple):
    """The n-grams of words that came before; none goes over the end of a sentence.

    ``in_text`` and ``in_sentence`` count those that came before in the text and in the same sentence; ``places`` are
    those of the text.
    """

    n: int
    total: int
    in_text: int
    in_sentence: int
    places: tuple[Place, ...]

    @property
    def share_in_text(self) -> float:
        """The share of n-grams that came before in the text."""
        return self.in_text / self.total if self.total else 0.0

    @property
    def share_in_sentence(self) -> float:
        """The share of n-grams that came before in their sentence."""
        return self.in_sentence / self.total if self.total else 0.0


class Loop(NamedTuple):
    """A run of words that comes twice: its length, the number of words between, and both places."""

    words: int
    gap: int
    first: Place
    second: Place


class _Sentence(NamedTuple):
    """A sentence, its words as a string of one character for each, these sorted, and what it takes to be repetitive.

    ``least_...`` hold where it is the shorter one of a pair, ``most_edits`` where it is the longer.
    """

    text: str
    words: str
    sorted_words: str
    least_substring: int
    least_run: int
    least_common: int
    most_edits: int


def repeated_pairs(
    sentences: Sequence[str], *, common_substring: float, common_run: float, edit_distance: float, common_words: float
) -> Iterator[RepeatedPair]:
    """Yield the pairs of sentences that repeat each other by at least one feature, in order.

    Parameters
    ----------
    sentences
        The sentences of one text, of at most ``MAX_CHARACTERS`` in all.
    common_substring
        A: the longest common substring is longer than this share of the shorter string.
    common_run
        B: the longest common run of words is longer than this share of the words of the sentence with fewer.
    edit_distance
        C: the edit distance in characters is smaller than this share of the longer string.
    common_words
        D: the common words, repeats counted, are more than this share of the words of the sentence with fewer.
    """
    coded = _coded(sentences)
    read = [
        _Sentence(
            text=text,
            words=numbers,
            sorted_words="".join(sorted(numbers)),
            least_substring=_more_than(common_substring, len(text)),
            least_run=_more_than(common_run, len(numbers)),
            least_common=_more_than(common_words, len(numbers)),
            most_edits=math.ceil(edit_distance * len(text) - _HAIR) - 1,
        )
        for text, numbers in zip(sentences, coded, strict=True)
    ]
    for (first, left), (second, right) in combinations(enumerate(read), 2):
        features = _features(left, right)
        if features:
            yield RepeatedPair(first, second, features)


def _coded(sentences: Sequence[str]) -> list[str]:
    """Each sentence's words as characters, equal where the words are: runs of words are then found as substrings."""
    numbers: dict[str, int] = {}
    return [
        "".join([chr(numbers.setdefault(word, len(numbers))) for word in words(sentence, NORMALISATION)])
        for sentence in sentences
    ]


def _more_than(share: float, length: int) -> int:
    return math.floor(share * length + _HAIR) + 1


def _features(left: _Sentence, right: _Sentence) -> str:
    found = ""
    shorter, longer = (left, right) if len(left.text) <= len(right.text) else (right, left)
    if _has_common(shorter.text, longer.text, shorter.least_substring):
        found = "A"
    fewer, more = (left, right) if len(left.words) <= len(right.words) else (right, left)
    least = min(fewer.least_run, fewer.least_common)
    # common words, repeats counted, are the longest common subsequence once both sides are sorted
    common = LCSseq.similarity(fewer.sorted_words, more.sorted_words, score_cutoff=least)
    if common >= fewer.least_run and _has_common(fewer.words, more.words, fewer.least_run):
        found += "B"
    most = longer.most_edits
    if most >= 0 and Levenshtein.distance(left.text, right.text, score_cutoff=most) <= most:
        found += "C"
    return f"{found}D" if common >= fewer.least_common else found


def _has_common(shorter: str, longer: str, length: int) -> bool:
    """Whether two strings have a common substring of at least this length."""
    spare = len(shorter) - length
    # every stretch of this length covers the middle, which most pairs do not share; none where it is half or less
    if spare < 0 or shorter[spare:length] not in longer:
        return False
    return any(shorter[at : at + length] in longer for at in range(spare + 1))


def shared_parts(left: str, right: str) -> SharedParts:
    """Return what two sentences have in common, and where; places are counted from the beginning of each."""
    start, length = _longest_common(left, right)
    there = right.find(left[start : start + length])
    substring = ((start, start + length), (there, there + length)) if length else None
    ours, theirs = located_words(left, NORMALISATION), located_words(right, NORMALISATION)
    common = Counter(word.form for word in ours) & Counter(word.form for word in theirs)
    return SharedParts(substring, (_first(ours, common), _first(theirs, common)))


def _longest_common(left: str, right: str) -> tuple[int, int]:
    """Where the longest common substring begins in the left string, and its length."""
    begin = length = 0
    for start in range(len(left)):
        while start + length < len(left) and left[start : start + length + 1] in right:
            begin, length = start, length + 1
    return begin, length


def _first(found: Sequence[Word], wanted: Counter[str]) -> tuple[Place, ...]:
    left = Counter(wanted)
    places = []
    for word in found:
        if left[word.form] > 0:
            left[word.form] -= 1
            places.append((word.start, word.end))
    return tuple(places)


def sentence_words(text: str, sentences: Sequence[Place]) -> list[list[Word]]:
    """Return the words of each sentence with their places in the text."""
    return [
        [
            Word(word.form, word.start + start, word.end + start)
            for word in located_words(text[start:end], NORMALISATION)
        ]
        for start, end in sentences
    ]


def repeated_grams(
    sentences: Sequence[Sequence[Word]], n: int, ignored: frozenset[str] = frozenset(), within: int | None = None
) -> RepeatedGrams:
    """Find the n-grams of a text that came before.

    An n-gram of ignored words alone does not count: function words come again in every text. ``within`` limits how many
    words before it may stand; without it, long texts have a larger share than short ones.
    """
    last: dict[tuple[str, ...], tuple[int, int]] = {}
    total = in_sentence = offset = 0
    places: list[Place] = []
    for number, sentence in enumerate(sentences):
        forms = [word.form for word in sentence]
        for at in range(len(forms) - n + 1):
            gram = tuple(forms[at : at + n])
            if ignored.issuperset(gram):
                continue
            total += 1
            before, owner = last.get(gram, (-1, -1))
            last[gram] = (offset + at, number)
            if owner >= 0 and (within is None or offset + at - before <= within):
                in_sentence += owner == number
                places.append((sentence[at].start, sentence[at + n - 1].end))
        offset += len(forms)
    return RepeatedGrams(n, total, len(places), in_sentence, tuple(places))


def longest_loop(sentence: Sequence[Word], gap: int, ignored: frozenset[str] = frozenset()) -> Loop | None:
    """Find the longest run of words that comes again without overlap, of several the one with the fewest words between.

    At most ``gap`` words may stand between: 0 finds "the the", 1 "the bottle of the bottle". A run of ignored words
    alone counts only where it comes again at once. None where nothing begins again within ``MAX_DISTANCE`` words.
    """
    best: Loop | None = None
    for end, distance, length in _recurring(sentence):
        between = distance - length
        second = sentence[end - length : end]
        if between > gap or (best and (length, -between) <= (best.words, -best.gap)):
            continue
        if between == 0 or not ignored.issuperset(word.form for word in second):
            first = sentence[end - distance - length : end - distance]
            best = Loop(length, between, _place(first), _place(second))
    return best


def _recurring(sentence: Sequence[Word]) -> Iterator[tuple[int, int, int]]:
    """For each word and each earlier one like it, the words up to here that are those up to there, without overlap.

    Yields where they end, how many words before they came, and their number.
    """
    recent: dict[str, deque[int]] = {}
    runs: dict[int, int] = {}  # by distance
    for at, word in enumerate(sentence):
        before = recent.setdefault(word.form, deque())
        while before and at - before[0] > MAX_DISTANCE:
            before.popleft()
        runs = {at - place: runs.get(at - place, 0) + 1 for place in before}
        before.append(at)
        for distance, run in runs.items():
            yield at + 1, distance, min(run, distance)


def _place(run: Sequence[Word]) -> Place:
    return run[0].start, run[-1].end
