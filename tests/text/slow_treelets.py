"""Treelets compared word by word, in the plainest way: what the fast way must agree with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Counts(NamedTuple):
    substitutions: int
    insertions: int
    deletions: int
    moves: int


def aligned(reference: Sequence[str], text: Sequence[str]) -> list[int | None]:
    """Of each reference word its partner in the text: least cost, then fewest operations, matches from the end."""
    best = [[(0, 0)] * (len(text) + 1) for _ in range(len(reference) + 1)]

    def steps(i: int, j: int) -> list[tuple[tuple[int, int], str]]:
        found = []
        if i and j:
            same = reference[i - 1] == text[j - 1]
            cost, count = best[i - 1][j - 1]
            found.append(((cost, count) if same else (cost + 4, count + 1), "both"))
        if i:
            found.append(((best[i - 1][j][0] + 3, best[i - 1][j][1] + 1), "deletion"))
        if j:
            found.append(((best[i][j - 1][0] + 3, best[i][j - 1][1] + 1), "insertion"))
        return found

    for i in range(len(reference) + 1):
        for j in range(len(text) + 1):
            if i or j:
                best[i][j] = min(value for value, _ in steps(i, j))
    partner: list[int | None] = [None] * len(reference)
    i, j = len(reference), len(text)
    while i or j:
        step = next(step for value, step in steps(i, j) if value == best[i][j])
        if step == "both":
            partner[i - 1] = j - 1
        i, j = i - (step != "insertion"), j - (step != "deletion")
    return partner


def counted(reference: Sequence[str], text: Sequence[str]) -> Counts:
    partner = aligned(reference, text)
    pairs = [(reference[i], text[j]) for i, j in enumerate(partner) if j is not None]
    deleted = Counter(word for word, j in zip(reference, partner, strict=True) if j is None)
    inserted = Counter(word for j, word in enumerate(text) if j not in partner)
    substitutions = sum(a != b for a, b in pairs)
    return Counts(substitutions, inserted.total(), deleted.total(), (deleted & inserted).total())


def places(reference: Sequence[str], text: Sequence[str]) -> list[int | None]:
    """Where the text has each word of the reference."""
    matched = [(i, j) for i, j in enumerate(aligned(reference, text)) if j is not None and reference[i] == text[j]]
    here, there = {i for i, _ in matched}, {j for _, j in matched}
    for i, word in enumerate(reference):
        if i not in here:
            left = [j for j in range(len(text)) if j not in there and text[j] == word]
            if left:
                here.add(i)
                there.add(left[0])
    place: list[int | None] = [None] * len(reference)
    for word in set(reference):
        ours = [i for i in sorted(here) if reference[i] == word]
        theirs = [j for j in sorted(there) if text[j] == word]
        for i, j in zip(ours, theirs, strict=True):
            place[i] = j
    return place


def treelets(heads: Sequence[int]) -> dict[int, list[int]]:
    """Of each head its treelet's words in order; under -1 several roots, or the only word."""
    found = {head: sorted([head, *(w for w, h in enumerate(heads) if h == head)]) for head in set(heads) if head >= 0}
    roots = [word for word, head in enumerate(heads) if head < 0]
    if len(roots) > 1 or len(heads) == 1:
        found[-1] = roots
    return found


def compared(reference: Sequence[str], text: Sequence[str], heads: Sequence[int]) -> tuple[Counts, set[int]]:
    """The operations of all treelets, and the heads of those in another order."""
    place = places(reference, text)
    total = [0, len(text) - sum(j is not None for j in place), 0, 0]
    wrong = set()
    for head, members in treelets(heads).items():
        total[2] += sum(place[word] is None for word in members)
        known = [(place[word], word) for word in members if place[word] is not None]
        expected = [reference[word] for _, word in known]
        found = [reference[word] for _, word in sorted(known)]
        total = [a + b for a, b in zip(total, counted(expected, found), strict=True)]
        if sorted(known) != known:
            wrong.add(head)
    return Counts(*total), wrong
