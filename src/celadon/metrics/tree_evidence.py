"""Why a text has its tree accuracy: the tree of its reference, and the treelets that went wrong."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from celadon.core import Evidence, Sample, Section, Span
from celadon.text.treelets import Compared
from celadon.text.words import located_words

ROOTS = -1
"""Stands for the head of a treelet of several roots."""


class WrongTreelet(NamedTuple):
    """A treelet that is not as in the reference: words are told by their numbers in the reference.

    ``head`` is ``ROOTS`` for the treelet of several roots; ``moved`` are the fewest of the words in the text that would
    have to be moved, and ``note`` says what it takes to mend it.
    """

    head: int
    expected: tuple[int, ...]
    found: tuple[int, ...]
    moved: tuple[int, ...]
    note: str


def explain(
    metric: str,
    told: Mapping[str, float],
    sample: Sample,
    reference: int,
    normalisation: str,
    heads: Sequence[int],
    compared: Compared,
    pair: int,
) -> Evidence:
    """Show why one pair has its value: the tree of the reference, the treelets that went wrong, new and lost words."""
    text = located_words(sample.text, normalisation)
    words = located_words(sample.references[reference], normalisation)
    begin = int(compared.operations.reference_words[:pair].sum())
    place = tuple(compared.place[begin : begin + len(words)].tolist())
    mended = _mended(compared, pair, moves="moves" in told)
    every = _treelets(heads)
    wrong = tuple(
        treelet
        for head, members in sorted(every.items())
        if (treelet := _wrong(head, members, place, mended.get(head))) is not None
    )
    moved = {word for treelet in wrong for word in treelet.moved}
    paired = set(place)
    parts = ", ".join(f"{name.replace('_', ' ')} {value:.4g}" for name, value in told.items())
    new = [word for at, word in enumerate(text) if at not in paired]
    lost_or_moved = tuple(
        Span(word.start, word.end, "deletion" if place[at] < 0 else "move")
        for at, word in enumerate(words)
        if place[at] < 0 or at in moved
    )
    marks = Section(
        "marks",
        spans=tuple(Span(word.start, word.end, "insertion") for word in new),
        reference=reference,
        reference_spans=lost_or_moved,
    )
    forms = tuple(word.form for word in words)
    lines = [line for treelet in wrong for line in _lines(treelet, forms)]
    if new:
        lines.append(f"in no treelet: {' '.join(word.form for word in new)}")
    values = {
        "words": forms,
        "heads": tuple(heads),
        "place": place,
        "text_words": tuple(word.form for word in text),
        "treelets": tuple(treelet._asdict() for treelet in wrong),
    }
    summary = f"{parts}; {len(wrong)} of {len(every)} treelets went wrong"
    return Evidence(metric, summary, (marks, Section("tree", "Tree", lines=tuple(lines), values=values)))


def _lines(treelet: WrongTreelet, words: Sequence[str]) -> tuple[str, str, str]:
    head = "several roots" if treelet.head == ROOTS else words[treelet.head]
    expected, found = (" ".join(words[at] for at in side) for side in (treelet.expected, treelet.found))
    return f"{head}: {treelet.note}", f"  reference  {expected}", f"  text       {found}"


def _mended(compared: Compared, pair: int, *, moves: bool) -> dict[int, dict[str, int]]:
    """For each head of a reordered treelet, how many operations of each kind it takes; moves may be one of them."""
    wrong = compared.wrong
    found = {}
    for at in np.flatnonzero(wrong.pair == pair).tolist():
        moved = int(wrong.operations.moves[at]) if moves else 0
        found[int(wrong.head[at])] = {
            "moves": moved,
            "substitutions": int(wrong.operations.substitutions[at]),
            "insertions": int(wrong.operations.insertions[at]) - moved,
            "deletions": int(wrong.operations.deletions[at]) - moved,
        }
    return found


def _treelets(heads: Sequence[int]) -> dict[int, list[int]]:
    """The words of each treelet, in their order."""
    found: dict[int, list[int]] = {}
    for word, head in enumerate(heads):
        found.setdefault(head, [head] if head >= 0 else []).append(word)
    if len(found.get(ROOTS, [])) == 1 and len(heads) > 1:
        del found[ROOTS]
    return {head: sorted(members) for head, members in found.items()}


def _wrong(
    head: int, members: Sequence[int], place: Sequence[int], mended: dict[str, int] | None
) -> WrongTreelet | None:
    """The treelet, where words of it are missing or stand in another order."""
    missing = sum(place[word] < 0 for word in members)
    counts = dict(mended or {})
    if missing:
        counts["deletions"] = counts.get("deletions", 0) + missing
    note = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    if not note:
        return None
    there = sorted((word for word in members if place[word] >= 0), key=lambda word: place[word])
    kept = set(_longest_rise(there))
    return WrongTreelet(head, tuple(members), tuple(there), tuple(word for word in there if word not in kept), note)


def _longest_rise(numbers: Sequence[int]) -> list[int]:
    """The longest selection of numbers that rises; of several one with high numbers at its end."""
    # from the end, where numbers must fall: for each length so far the selection that leaves the most room below
    firsts: list[int] = []
    after: dict[int, int | None] = {}
    for number in reversed(numbers):
        at = bisect_left(firsts, -number)
        after[number] = -firsts[at - 1] if at else None
        firsts[at : at + 1] = [-number]
    chosen: list[int] = []
    rising = -firsts[-1] if firsts else None
    while rising is not None:
        chosen.append(rising)
        rising = after[rising]
    return chosen
