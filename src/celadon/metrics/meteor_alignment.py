"""METEOR's alignment: which word of the text is matched with which word of the reference, one to one.

Wanted is the alignment with, in this order,

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

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

BEAM = 40

EXACT, STEM, SYNONYM = range(3)
MODULES = ("exact", "stem", "synonym")


class Match(NamedTuple):
    """One word of the text matched with one of the reference, by a module's number."""

    text: int
    reference: int
    module: int


class Alignment(NamedTuple):
    """Matches in the order of the reference, and the number of chunks they make."""

    matches: tuple[Match, ...]
    chunks: int


# For each reference position, the text positions it may be matched with and by which module.
Candidates: TypeAlias = list[list[tuple[int, int]]]
# How good a partial alignment is, in one number: sure matches, then chunks, then matches, then distance.
_SURE, _CHUNK, _MATCH = 1 << 60, 1 << 45, 1 << 30
# A partial alignment: how good, the text positions taken, the last one matched, and its matches from the last back.
_State: TypeAlias = tuple[int, int, int, Any]
_NOWHERE = -2
# The most that one match can be worth.
_MOST = _SURE + _CHUNK + _MATCH


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
    uses: dict[int, int] = {}
    last_use: dict[int, int] = {}
    for here, choices in enumerate(options):
        for position, _ in choices:
            uses[position] = uses.get(position, 0) + 1
            last_use[position] = here
    states: list[_State] = [(0, 0, _NOWHERE, None)]
    for here, choices in enumerate(options):
        if len(choices) == 1 and uses[choices[0][0]] == 1:
            states = _best(_matched(states, here, choices, sure=True), -1)
        elif choices:
            over = sum([1 << position for position, _ in choices if last_use[position] == here])
            states = _best(_matched(states, here, choices, sure=False) + _skipped(states), ~over)
        else:
            states = _best(_skipped(states), -1)
    return _traced(states[0][3])


def _skipped(states: list[_State]) -> list[_State]:
    return [(rank, taken, _NOWHERE, chain) for rank, taken, _, chain in states]


def _matched(states: list[_State], here: int, choices: list[tuple[int, int]], sure: bool) -> list[_State]:
    gains = [
        (position, module, 1 << position, (_SURE if sure or module == EXACT else 0) + _MATCH - abs(position - here))
        for position, module in choices
    ]
    return [
        (
            rank + gain if position == last + 1 else rank + gain - _CHUNK,
            taken | bit,
            position,
            (chain, here, position, module),
        )
        for rank, taken, last, chain in states
        for position, module, bit, gain in gains
        if not taken & bit
    ]


def _best(states: list[_State], wanted: int) -> list[_State]:
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
        if len(kept) == BEAM:
            break
    return list(kept.values())


def _traced(chain: Any) -> Alignment:
    matches: list[Match] = []
    while chain is not None:
        chain, reference, text, module = chain
        matches.append(Match(text, reference, module))
    matches.reverse()
    chunks = 1 if matches else 0
    for before, after in pairwise(matches):
        chunks += after.text != before.text + 1 or after.reference != before.reference + 1
    return Alignment(tuple(matches), chunks)
