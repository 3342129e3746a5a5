"""Plain-text grammars of the Stanford parser: read from a file that the user has, with the parser's own lexicon.

The lexicon gives P(word | tag) = P(tag | word) P(word) / P(tag). P(tag | word) is counted and leans a little on the
tags of new words; for new words it is that of the word's signature: capitals, digits, a hyphen and the last letter.
Such grammars have no counts to make a coarse grammar of, and are parsed without pruning.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from celadon.core import FloatArray, InputError
from celadon.parsing.grammar import Grammar, Numbers, RememberingLexicon, Rules, Tagging

ANY = ".*."
"""What stands for all words, or for all tags."""

CLOSING = ".$$."
ROOT = "ROOT"

_SECTION = "BEGIN "
_NAME = r'"((?:[^"\\]|\\.)*)"'
_LEXICON = re.compile(rf"{_NAME} -> {_NAME} (SEEN|UNSEEN) (\S+)")
_UNARY = re.compile(rf"{_NAME} -> {_NAME} (\S+)")
_BINARY = re.compile(rf"{_NAME} -> {_NAME} {_NAME} (\S+)")
_BASE = re.compile(r"-[A-Z]+-|[^-^]+")
_SMOOTHING = re.compile(r"smooth\[(\d)\] = (\S+)")
_LEAST = -100.0


def read_stanford_grammar(path: Path) -> tuple[Grammar, str]:
    """Read a grammar from a text file, plain or compressed with xz or gzip; return it and the sha256 of its text."""
    text = _text(path)
    try:
        grammar = _grammar(_sections(text))
    except (ValueError, KeyError, IndexError, ZeroDivisionError) as error:
        raise InputError(f"{path}: cannot be read as a grammar of the Stanford parser: {error!r}") from None
    return grammar, hashlib.sha256(text.encode()).hexdigest()


def _text(path: Path) -> str:
    try:
        raw = path.read_bytes()
        if raw.startswith(b"\xfd7zXZ\x00"):
            raw = lzma.decompress(raw)
        elif raw.startswith(b"\x1f\x8b"):
            raw = gzip.decompress(raw)
        return raw.decode("utf-8")
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as text: {error}") from None


def _sections(text: str) -> Mapping[str, list[str]]:
    sections: dict[str, list[str]] = defaultdict(list)
    name = ""
    for line in text.splitlines():
        if line.startswith(_SECTION):
            name = line.removeprefix(_SECTION)
        elif line.strip():
            sections[name].append(line)
    return sections


def _grammar(sections: Mapping[str, list[str]]) -> Grammar:
    unary = _read(sections["UNARY_GRAMMAR"], _UNARY)
    binary = _read(sections["BINARY_GRAMMAR"], _BINARY)
    counts = _LexiconCounts(sections["LEXICON"])
    tags = {tag for words in (counts.seen, counts.unseen) for row in words.values() for tag in row} - {ANY}
    names = sorted(tags.union(*(rule[:-1] for rule in unary), *(rule[:-1] for rule in binary)))
    numbers = {name: number for number, name in enumerate(names)}
    rules = Rules(
        len(names),
        numbers[ROOT],
        _columns(binary, numbers, 3),
        np.array([float(rule[-1]) for rule in binary]),
        _columns(unary, numbers, 2),
        np.array([float(rule[-1]) for rule in unary]),
    )
    options = dict(line.split(" ", 1) for line in sections["OPTIONS"])
    lexicon = StanfordLexicon(counts, numbers, float(options.get("smoothInUnknownsThreshold", 100)))
    return Grammar(tuple(names), tuple(map(_label, names)), rules, lexicon, closing=numbers.get(CLOSING))


def _read(lines: Sequence[str], pattern: re.Pattern[str]) -> list[tuple[str, ...]]:
    found = []
    for line in lines:
        match = pattern.fullmatch(line)
        if match is None:
            raise ValueError(f"the line {line!r} is no rule")
        found.append(match.groups())
    return found


def _columns(rules: Sequence[tuple[str, ...]], numbers: Mapping[str, int], width: int) -> Numbers:
    return np.array([[numbers[name] for name in rule[:-1]] for rule in rules], dtype=np.int32).reshape(-1, width)


def _label(state: str) -> str:
    if state == ROOT:
        return "TOP"
    base = _BASE.match(state)
    return "" if state.startswith("@") or state == CLOSING or base is None else base.group()


class _LexiconCounts:
    """The counts of words and of signatures with their tags, and by how much they lean on those of new words."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.seen: dict[str, dict[str, float]] = defaultdict(dict)
        self.unseen: dict[str, dict[str, float]] = defaultdict(dict)
        self.smooth = [1.0, 1.0]
        for line in lines:
            if match := _LEXICON.fullmatch(line):
                rows = self.seen if match[3] == "SEEN" else self.unseen
                word = re.sub(r"\\(.)", r"\1", match[2]).replace("\\/", "/").replace("\\*", "*")
                rows[word][match[1]] = float(match[4])
            elif match := _SMOOTHING.fullmatch(line):
                self.smooth[int(match[1])] = float(match[2])
            else:
                raise ValueError(f"the line {line!r} is no entry of a lexicon")


class StanfordLexicon(RememberingLexicon):
    """What words may be, as the Stanford parser reckons.

    A word seen more often than ``frequent`` has no tags but those it was seen with.
    """

    def __init__(self, counts: _LexiconCounts, numbers: Mapping[str, int], frequent: float) -> None:
        names = sorted(tag for tag in counts.seen[ANY] if tag not in (ANY, CLOSING))
        self._tags = np.array([numbers[name] for name in names], dtype=np.int32)
        self._place = {name: place for place, name in enumerate(names)}
        self._counts = counts
        self._frequent = frequent
        self._total = counts.seen[ANY].get(ANY) or sum(counts.seen[ANY].values())
        self._seen = self._row(counts.seen, ANY)
        self._new = self._row(counts.unseen, ANY) / counts.unseen[ANY][ANY]

    def _row(self, rows: Mapping[str, Mapping[str, float]], name: str) -> FloatArray:
        found = np.zeros(len(self._tags))
        for tag, count in rows.get(name, {}).items():
            if tag in self._place:
                found[self._place[tag]] = count
        return found

    def tagging(self, word: str, first: bool) -> Tagging:
        """What a word may be."""
        counts = self._row(self._counts.seen, word)
        total = counts.sum()
        if total > self._frequent:
            shares = counts / total
        else:
            lean = self._counts.smooth[1]
            if not total:
                counts, lean = self._row(self._counts.unseen, signature(word, first)), self._counts.smooth[0]
            shares = (counts + lean * self._new) / (counts.sum() + lean)
        with np.errstate(divide="ignore"):
            scores = np.log(shares * max(total, 1.0) / self._seen)
        kept = np.flatnonzero(scores > _LEAST)
        return Tagging(self._tags[kept], scores[kept])


def signature(word: str, first: bool) -> str:
    """Return the class of a new word by its look, as such grammars name it (``UNK-LC-DASHd``)."""
    has_digit, has_lower = any(map(str.isdigit, word)), any(map(str.islower, word))
    parts = ["UNK"]
    if word[:1].isupper():
        parts.append("-INIT" if has_lower and first else "-UC" if has_lower else "-ALLC")
    elif has_lower:
        parts.append("-LC")
    if "-" in word:
        parts.append("-DASH")
    if has_digit:
        parts.append("-NUM" if all(map(str.isdigit, word)) else "-DIG")
    elif len(word) > 3:
        parts.append(word[-1].lower())
    return "".join(parts)
