"""XTAG's syntactic lexicon and morphology, as its flat files have them.

A line of the lexicon is ``<<INDEX>>act<<ENTRY>>act<<POS>>V<<ENTRY>>out<<POS>>PL<<FAMILY>>Tnx0Vplnx1``: the word it is
found by, the anchors with their parts of speech, and the families (or, with ``<<TREES>>``, the trees) that they anchor.
A line of the morphology is a word, two tabs, and its readings with ``#`` between: a lemma, a tab, a part of speech and
features.
"""

from __future__ import annotations

from typing import NamedTuple

from celadon.core import InputError
from celadon.parsing.xtag_files import XtagFile
from celadon.parsing.xtag_trees import tree_name

# the parts of speech of the morphology that the lexicon calls otherwise
_PARTS = {"PropN": "N", "Pron": "N", "Adv": "Ad", "Prep": "P", "Det": "D", "Part": "PL"}


class Anchor(NamedTuple):
    """A word that anchors a tree, and its part of speech, with a number where there are several of one."""

    word: str
    part: str


class Entry(NamedTuple):
    """What the lexicon says of a word.

    Attributes
    ----------
    anchors
        The words that the trees have as anchors, the one that it is found by first; nearly always it is one.
    names
        Names of trees, or of families.
    are_families
        Which of the two.
    """

    anchors: tuple[Anchor, ...]
    names: tuple[str, ...]
    are_families: bool


class Reading(NamedTuple):
    """What an inflected word is a form of: a lemma, and its part of speech in the lexicon."""

    lemma: str
    part: str


def read_lexicon(file: XtagFile) -> dict[str, list[Entry]]:
    """The entries of each word.

    Raises
    ------
    InputError
        A line is no entry; the message says which.
    """
    found: dict[str, list[Entry]] = {}
    for number, line in enumerate(file.text.split("\n"), 1):
        if line.strip():
            index, entry = _entry(line, f"{file.where}:{number}")
            found.setdefault(index, []).append(entry)
    return found


def _entry(line: str, where: str) -> tuple[str, Entry]:
    fields = []
    for field in line.split("<<")[1:]:
        key, _, value = field.partition(">>")
        fields.append((key, value.strip()))
    words = [value for key, value in fields if key == "ENTRY"]
    parts = [value for key, value in fields if key == "POS"]
    named = [(key, value) for key, value in fields if key in ("TREES", "FAMILY")]
    if not fields or not line.startswith("<<") or fields[0][0] != "INDEX" or not fields[0][1]:
        raise InputError(f"{where}: an entry of the lexicon begins with <<INDEX>> and a word")
    if not words or len(words) != len(parts) or not all((*words, *parts)):
        raise InputError(f"{where}: an entry of the lexicon has <<ENTRY>> and <<POS>> for each of its words")
    if len(named) != 1 or not named[0][1]:
        raise InputError(f"{where}: an entry of the lexicon has <<TREES>> or <<FAMILY>>, and names after it")
    kind, names = named[0]
    index = fields[0][1]
    anchors = [Anchor(tree_name(word), part) for word, part in zip(words, parts, strict=True)]
    anchors.sort(key=lambda anchor: anchor.word != index)
    return index, Entry(tuple(anchors), tuple(map(tree_name, names.split())), kind == "FAMILY")


def read_morphology(file: XtagFile) -> dict[str, tuple[Reading, ...]]:
    """The readings of each word.

    Raises
    ------
    InputError
        A line is not a word with its readings; the message says which.
    """
    found: dict[str, tuple[Reading, ...]] = {}
    for number, line in enumerate(file.text.split("\n"), 1):
        if not line.strip():
            continue
        word, _, told = line.partition("\t\t")
        readings = []
        for each in told.split("#"):
            lemma, _, features = each.strip().partition("\t")
            if not word.strip() or not lemma or not features.split():
                raise InputError(f"{file.where}:{number}: is not a word, two tabs, and lemmas with parts of speech")
            part = features.split()[0]
            readings.append(Reading(lemma.strip(), _PARTS.get(part, part)))
        found[word.strip()] = (*found.get(word.strip(), ()), *readings)
    return found
