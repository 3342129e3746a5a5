"""What a parser makes of the sentences of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from celadon.core import IntArray
from celadon.scoring.batch.units import places_of, units_of, unreadable

if TYPE_CHECKING:
    from celadon.scoring.batch import Batch


@dataclass(frozen=True, eq=False)
class Parses:
    """The sentences of a batch, parsed.

    Attributes
    ----------
    owner
        The sample of each sentence; samples in order, sentences in order.
    starts, ends
        The characters of each sentence in its text.
    results
        What the parser says of each sentence: its parse, or a :class:`celadon.parsing.Failure`.
    reasons
        For each sample without words, why it has no sentences.
    """

    owner: IntArray
    starts: IntArray
    ends: IntArray
    results: tuple[Any, ...]
    reasons: Mapping[int, str]


def parses_of(batch: Batch, name: str, recent: bool) -> Parses:
    """Parse the sentences of all texts, equal ones once."""
    from celadon.parsing.loading import parser, recent_parses

    units = units_of(batch)
    distinct = list(dict.fromkeys(unit.text for unit in units))
    found = recent_parses.known(name, distinct) if recent else {}
    if wanted := [text for text in distinct if text not in found]:
        new = dict(zip(wanted, parser(name).parse(wanted), strict=True))
        recent_parses.add(name, new.items())
        found |= new
    return Parses(
        *places_of(units),
        results=tuple(found[unit.text] for unit in units),
        reasons=unreadable(batch, (), name),
    )
