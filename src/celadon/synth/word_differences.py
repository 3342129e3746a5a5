"""Which words of a faulty sentence are wrong, told by its difference from the sound one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from celadon.models.encoders.word_findings import FindingKind, word_spans
from celadon.synth import english
from celadon.synth.faulty_words import AGREEMENT

_PREPOSITIONS = english.STRICT_PREPOSITIONS | english.LOOSE_PREPOSITIONS | {"to", "as"}
# how alike two words must be for one to be a misspelling of the other
_ALIKE = 0.6
# the most words that stand for others one by one
_FEW = 2


class WordLabel(NamedTuple):
    """A word of a text, and what is wrong with it; None where that is not known."""

    start: int
    end: int
    kind: FindingKind | None


def sound_labels(text: str) -> list[WordLabel]:
    """Return the labels of a text without faults."""
    return [WordLabel(start, end, FindingKind.OK) for start, end in word_spans(text)]


def unknown_labels(text: str) -> list[WordLabel]:
    """Return the labels of a text of which nothing is known."""
    return [WordLabel(start, end, None) for start, end in word_spans(text)]


def difference_labels(
    faulty: str, sound: str, known: Collection[str] = (), kind: FindingKind | None = None, *, seam: bool = False
) -> list[WordLabel]:
    """Label the words of a faulty sentence by what must be changed to make it the sound one.

    Parameters
    ----------
    faulty, sound
        The two sentences; case does not count.
    known
        Words in small letters that are spelled right wherever they stand.
    kind
        The kind of all faults, where it is known; otherwise it is guessed from the words.
    seam
        Whether the sentence goes wrong at one place, so that only the first word there is labeled.
    """
    spans = word_spans(faulty)
    words = [faulty[start:end].lower() for start, end in spans]
    right = [sound[start:end].lower() for start, end in word_spans(sound)]
    kinds = _seam_kinds(words, right) if seam else _kinds(words, right, known)
    if kind is not None:
        kinds = [each if each is FindingKind.OK else kind for each in kinds]
    return [WordLabel(start, end, each) for (start, end), each in zip(spans, kinds, strict=True)]


def _seam_kinds(words: Sequence[str], right: Sequence[str]) -> list[FindingKind]:
    """Label the first word that differs, or the last word where the sentence ends too early."""
    kinds = [FindingKind.OK] * len(words)
    same = next((at for at, (one, two) in enumerate(zip(words, right, strict=False)) if one != two), len(words))
    if kinds:
        kinds[min(same, len(words) - 1)] = FindingKind.BROKEN_OFF
    return kinds


def _kinds(words: Sequence[str], right: Sequence[str], known: Collection[str]) -> list[FindingKind]:
    kinds = [FindingKind.OK] * len(words)
    changes = SequenceMatcher(None, words, right, autojunk=False).get_opcodes()
    deleted = Counter(word for tag, i, j, _, _ in changes if tag == "delete" for word in words[i:j])
    inserted = Counter(word for tag, _, _, k, m in changes if tag == "insert" for word in right[k:m])
    moved = {word for word in deleted if inserted[word] and word[0].isalnum()}
    for tag, i, j, k, m in changes:
        if tag == "delete":
            for at in range(i, j):
                kinds[at] = FindingKind.WORD_ORDER if words[at] in moved else _spurious(words, at, i, j)
        elif tag == "insert":
            _label_gap(kinds, words, right[k:m], i, moved)
        elif tag == "replace":
            kinds[i:j] = _replaced(words[i:j], right[k:m], known)
    return kinds


def _spurious(words: Sequence[str], at: int, begin: int, end: int) -> FindingKind:
    """Return what a word is that should not be there."""
    size, word = end - begin, words[at]
    if not word[0].isalnum():
        return FindingKind.PUNCTUATION
    if word in (*words[max(0, begin - size) : begin], *words[end : end + size]):
        return FindingKind.DOUBLED
    return _of_class([word], FindingKind.WRONG_WORD)


def _of_class(words: Sequence[str], otherwise: FindingKind) -> FindingKind:
    if all(not word[0].isalnum() for word in words):
        return FindingKind.PUNCTUATION
    if all(word in english.ARTICLES for word in words):
        return FindingKind.ARTICLE
    if all(word in _PREPOSITIONS for word in words):
        return FindingKind.PREPOSITION
    return otherwise


def _label_gap(
    kinds: list[FindingKind], words: Sequence[str], missing: Sequence[str], at: int, moved: Collection[str]
) -> None:
    """Label the word before which words are missing, or the last one where the end is."""
    if not words:
        return
    at_end = all(not word[0].isalnum() for word in words[at:])
    if at_end and any(word[0].isalnum() for word in missing):
        kinds[min(at, len(words) - 1)] = FindingKind.BROKEN_OFF
    elif all(word in moved for word in missing):
        kinds[min(at, len(words) - 1)] = FindingKind.WORD_ORDER
    else:
        kinds[min(at, len(words) - 1)] = _of_class(missing, FindingKind.MISSING_WORD)


def _replaced(words: Sequence[str], right: Sequence[str], known: Collection[str]) -> list[FindingKind]:
    if sorted(words) == sorted(right):
        return [FindingKind.WORD_ORDER] * len(words)
    if len(words) == len(right):
        pairs = zip(words, right, strict=True)
    elif len(words) <= _FEW:
        pairs = zip(words, [right[min(at, len(right) - 1)] for at in range(len(words))], strict=True)
    else:
        return [FindingKind.WRONG_WORD] * len(words)
    return [FindingKind.OK if word == other else _confused(word, other, known) for word, other in pairs]


def _confused(word: str, right: str, known: Collection[str]) -> FindingKind:
    """Return the kind of a word that stands for another."""
    if not word[0].isalnum() or not right[0].isalnum():
        return FindingKind.PUNCTUATION
    verb = english.VERB_OF.get(word)
    if verb and verb == english.VERB_OF.get(right) and {word, right} != {verb.base, verb.third}:
        return FindingKind.VERB_FORM
    if _agree_otherwise(word, right):
        return FindingKind.AGREEMENT
    if {word, right} <= english.ARTICLES or {word, right} <= _PREPOSITIONS:
        return _of_class([word], FindingKind.WRONG_WORD)
    if word not in known and SequenceMatcher(None, word, right).ratio() > _ALIKE:
        return FindingKind.SPELLING
    return FindingKind.WRONG_WORD


def _agree_otherwise(word: str, right: str) -> bool:
    """Return whether two words are the forms of one for one and for many."""
    return AGREEMENT.get(word) == right or AGREEMENT.get(right) == word or right in _numbers_of(word)


def _numbers_of(word: str) -> tuple[str | None, ...]:
    return english.add_s(word), english.drop_s(word)
