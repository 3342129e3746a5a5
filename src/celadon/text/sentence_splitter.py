"""Sentences by a trained model: every end mark is a candidate, a logistic regression decides by what stands around it.

``celadon.train.sentence_splitter`` trains the weights. :mod:`celadon.text.sentences` is what metrics use now.
"""

from __future__ import annotations

import json
import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, TypeVar

from celadon.text.scripts import is_wordless

WEIGHTS = Path(__file__).with_name("sentence_splitter.json")

# what str.splitlines takes for the end of a line
_LINE = re.compile("[^\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]+")
_CLOSING = "\"'”’»)\\]}*_"
# marks of scripts without spaces; end marks before white space, with a bracket or a smiley that stands apart; end marks
# that a capital follows at once ("the end.Next"); question and exclamation marks that any letter follows
_MARKS = ".!?…‽。！？｡।؟"
# a run of marks is tried from its beginning only, and taken whole, so that time is linear
_CANDIDATE = re.compile(
    rf"[{_MARKS}](?<![{_MARKS}]{{2}})[{_MARKS}]*+(?:(?<=[。！？｡।؟])[」』”’）】》]*+"
    rf"|[{_CLOSING}]*+(?=\s)(?:\s[)\]}}]++(?=\s|$))?(?:\s[:;]-?[()DPp]++(?=\s|$))?"
    r"|[\"'”’)\]]*+(?=[\"“‘(\[]?[^\W\d_a-z](?:[^\W_A-Z]|['’\s]))"
    r"|(?<![^.]\.)[\"”)]*+(?=[^\W\d_]))"
)
_WIDE = frozenset("。！？｡।؟")
_LIST_NUMBER = re.compile(r"[(\[]?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)\]]+")
_OPENING = "\"'“‘«([{*_-–—•"
_SHORT = frozenset(("I", "A", "C", "C3", "i", "ab", "U3"))
_LETTERS = re.compile(r"[^\W\d_]+")
_REACH = 40  # characters of a neighboring word that count
_MEMORY = 1 << 16  # words whose shapes are remembered

_CLASSES = {
    "title": "mr mrs ms messrs mme dr prof rev fr hon gen col lt maj capt cmdr sgt cpl pvt adm sen rep gov pres st ste"
    " mt ft supt insp det msgr atty asst assoc dir sr",
    "month": "jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun",
    "company": "corp inc ltd co cos bros llc plc llp jr ph.d phd m.d b.a m.a b.s esq est dept univ assn bldg intl",
    "place": "ave blvd rd hwy apt ste pl sq calif conn mass pa va ala ariz ark colo del fla ill ind kan ky mich minn"
    " miss mo mont neb nev okla ore tenn tex vt wash wis wyo ga n.y n.j n.h n.c s.c d.c n.m r.i u.s u.k u.n e.u u.s.a"
    " u.s.s.r l.a",
    "reference": "fig figs no nos vol vols p pp par sec sect ch chap ed eds eq eqs ex app art cl op ref refs tab trans",
    "latin": "e.g i.e eg ie etc al vs v cf viz ca approx incl excl resp aka a.k.a p.s n.b esp orig max min tel ext",
    "time": "a.m p.m am pm b.c a.d b.c.e c.e",
    "unit": "ft in oz lb lbs kg km cm mm mi yd sec min hr hrs mph gal sq cu deg bn mn",
}
_CLASS_OF = {word: name for name, words in reversed(_CLASSES.items()) for word in words.split()}


class Candidate(NamedTuple):
    """A place where a sentence may end: what stands around it.

    Attributes
    ----------
    end
        Where the sentence would end.
    shapes
        Kind of mark, space behind it, use of capitals in the line, shape and class of the word before, shape of the
        word after, shape of the word before the word before; empty where a sentence surely ends.
    before, after
        The words before and after, where they are frequent.
    """

    end: int
    shapes: tuple[str, ...]
    before: str = ""
    after: str = ""

    def features(self) -> list[str]:
        """Return the names of the features that are 1."""
        return [*shape_features(self.shapes), f"before {self.before}", f"after {self.after}|{self.shapes[4]}"]


class Model(NamedTuple):
    """Weights by the name of the feature; words that are mostly written small; words that have weights of their own."""

    weights: dict[str, float]
    common: frozenset[str]
    frequent: frozenset[str]


def split_sentences(text: str) -> tuple[tuple[int, int], ...]:
    """Return the characters of each sentence, begin and end, without white space around it.

    The end of a line always ends a sentence. Within a line, a stretch without letters and digits belongs to the
    sentence before it, or else to the one after it, and the number of a list's item (``2.``) to the one after it. Every
    character that is not white space is in one of the sentences.
    """
    return _default().split(text)


@cache
def _default() -> SentenceSplitter:
    data = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return SentenceSplitter(
        Model(data["weights"], frozenset(data["common"].split()), frozenset(data["frequent"].split()))
    )


class SentenceSplitter:
    """Splits texts by the weights of a model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        # what was computed once: the work of a word or a combination of shapes is done again and again
        self._left_of: dict[str, tuple[str, str, str]] = {}
        self._right_of: dict[str, tuple[str, str]] = {}
        self._score_of: dict[tuple[str, ...], float] = {}

    def split(self, text: str) -> tuple[tuple[int, int], ...]:
        """Return the characters of each sentence; see :func:`split_sentences`."""
        spans: list[tuple[int, int]] = []
        for line in _LINE.finditer(text):
            start, end = line.span()
            ends = [candidate[0] for candidate in self.candidates(text, start, end) if self._is_end(candidate)]
            _add_spans(text, (start, *ends, end), spans)
        return tuple(spans)

    def candidates(self, text: str, start: int, end: int) -> list[Candidate]:
        """Return the places in a line, from ``start`` to ``end``, where a sentence may end."""
        result: list[Candidate] = []
        case: str | None = None
        for match in _CANDIDATE.finditer(text, start, end):
            at, stop = match.span()
            if stop >= end:
                break
            if text[at] in _WIDE:
                result.append(Candidate(stop, ()))
                continue
            after = stop
            while after < end and text[after].isspace():
                after += 1
            if after == stop and not text[max(start, at - 2) : at].isalnum():
                continue
            if case is None:
                case = _case(text[start:end])
            begin = _word_start(text, start, at)
            space = text.find(" ", after, after + _REACH)
            left, kind, word = self._left(text[begin:at])
            right, next_word = self._right(text[after : min(end, space if space > 0 else after + _REACH)])
            position = ""
            if begin <= start:
                position = "first"
            elif kind or left in _SHORT:
                position = self._left(text[_word_start(text, start, begin - 1) : begin - 1])[0]
            gap = "0" if after == stop else "1" if after == stop + 1 else "2"
            shapes = (_mark(match.group()), gap, case, left, kind, right, position)
            result.append(Candidate(stop, shapes, word, next_word))
        return result

    def _is_end(self, candidate: Candidate) -> bool:
        _, shapes, before, after = candidate
        if not shapes:
            return True
        weights = self._model.weights
        score = self._score_of.get(shapes)
        if score is None:
            score = sum(weights.get(feature, 0.0) for feature in shape_features(shapes))
            _remember(self._score_of, shapes, score)
        if before:
            score += weights.get("before " + before, 0.0)
        if after:
            score += weights.get(f"after {after}|{shapes[4]}", 0.0)
        return score > 0

    def _left(self, token: str) -> tuple[str, str, str]:
        """Return the shape, the class and the form of a word before a mark."""
        known = self._left_of.get(token)
        if known is None:
            bare = token.lstrip(_OPENING + "/")
            lower = bare.lower()
            form = lower if lower in self._model.frequent else ""
            known = (_left_shape(token, bare), _CLASS_OF.get(lower, ""), form)
            _remember(self._left_of, token, known)
        return known

    def _right(self, token: str) -> tuple[str, str]:
        """Return the shape and the form of a word after a mark."""
        known = self._right_of.get(token)
        if known is None:
            bare = token.lstrip(_OPENING)
            letters = _LETTERS.match(bare)
            lower = letters.group().lower() if letters else ""
            shape = _right_shape(token, bare, lower in self._model.common)
            known = (shape, lower if lower in self._model.frequent else "")
            _remember(self._right_of, token, known)
        return known


_K = TypeVar("_K")
_V = TypeVar("_V")


def _remember(memory: dict[_K, _V], key: _K, value: _V) -> None:
    if len(memory) >= _MEMORY:
        memory.clear()
    memory[key] = value


def _word_start(text: str, start: int, end: int) -> int:
    """Return where the word begins that ends at ``end``, or how far back it counts."""
    reach = max(start, end - _REACH)
    return max(reach, text.rfind(" ", reach, end) + 1)


def shape_features(shapes: tuple[str, ...]) -> list[str]:
    """Return the names of the features of what stands around a candidate, but for the words themselves."""
    mark, gap, case, left, kind, right, position = shapes
    return [
        "bias",
        f"mark {mark}",
        f"mark right {mark}|{right}",
        f"left right {left}|{right}",
        f"gap {gap}|{right}|{mark[0]}",
        f"case {case}|{right}|{mark[0]}|{kind}",
        f"kind {kind}|{right}",
        f"position {position}|{left}|{kind}|{right}" if position else "",
    ]


def _case(line: str) -> str:
    """Return how a line uses capitals: not at all, only, not at its beginning, or as usual."""
    if line.islower():
        return "lower"
    if line.isupper():
        return "upper"
    return "small" if line.lstrip(_OPENING + " \t")[:1].islower() else ""


def _mark(marks: str) -> str:
    """Return the kind of end mark, and of what closes behind it."""
    if len(marks) == 1:
        return marks
    marks = marks.split(maxsplit=1)[0]
    bare = marks.rstrip("\"'”’»)]}*_")
    kind = bare if len(bare) == 1 else ".." if not bare.strip(".") else "…" if "…" in bare else "?!"
    closing = marks[len(bare) :]
    return kind + ("" if not closing else ")" if closing[-1] in ")]}" else "*" if closing[-1] in "*_" else '"')


def _left_shape(token: str, bare: str) -> str:
    if len(bare) <= 1:
        letter = "I" if bare.isupper() else "i" if bare.isalpha() else "D" if bare.isdigit() else "-"
        return letter if token else "0"
    if bare.isalpha():
        if not any(letter in "aeiouyAEIOUY" for letter in bare):
            return "ab"
        shape = "U" if bare.isupper() else "C" if bare[0].isupper() else "l"
        return shape + "3" if len(bare) <= 3 else shape
    if bare[-1].isdigit():
        return "D" if bare.isdigit() else "d"
    if "." in bare:
        return "A" if all(len(part) <= 1 or part == "Ph" for part in bare.split(".")) else "."
    return "h" if bare[-1].isalpha() else "m"


def _right_shape(token: str, bare: str, is_common: bool) -> str:
    opening = token[: len(token) - len(bare)][-1:]
    sign = "" if not opening else '"' if opening in "\"'“‘«" else "(" if opening in "([{" else "-"
    letters = _LETTERS.match(bare)
    if letters is None:
        return sign + ("D" if bare[:1].isdigit() else "P" if bare else "")
    word = letters.group()
    if word[0].islower():
        shape = "l"
    elif len(word) == 1:
        shape = word if word in "IA" else "J." if bare[1:2] == "." else "J"
    elif word.isupper():
        shape = "Uc" if is_common else "U"
    else:
        shape = "c" if is_common else "C"
    return sign + shape


def _add_spans(text: str, ends: tuple[int, ...], spans: list[tuple[int, int]]) -> None:
    """Add the sentences of a line, whose beginning and end are the first and the last of ``ends``."""
    waiting: int | None = None  # where a stretch begins that belongs to what comes after it
    first = len(spans)
    for begin, end in pairwise(ends):
        inside = text[begin:end]
        bare = inside.strip()
        if not bare:
            continue
        at = begin + len(inside) - len(inside.lstrip())
        wordless = not bare[0].isalpha() and is_wordless(bare)
        if (wordless and len(spans) == first) or (len(bare) <= 8 and _LIST_NUMBER.fullmatch(bare)):
            waiting = at if waiting is None else waiting
        elif wordless and waiting is None:
            spans[-1] = (spans[-1][0], at + len(bare))
        else:
            spans.append((at if waiting is None else waiting, at + len(bare)))
            waiting = None
    if waiting is not None:
        spans.append((waiting, ends[0] + len(text[ends[0] : ends[-1]].rstrip())))
