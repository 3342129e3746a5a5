"""What is shown of evidence in a terminal and on a page: which spans are listed, how deep a shade is, what is worst."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from celadon.core import UNREMARKABLE, Evidence, Section, Span
from celadon.metrics.likelihood_evidence import LEVELS

SENTENCE_LEVELS = (0.2, 0.35, 0.5, 0.65, 0.8)
"""The bounds between the shades of sentences."""
TOKEN_LEVELS = LEVELS
DEEPEST = len(TOKEN_LEVELS)
WORST = "worst"

Item = TypeVar("Item")


def shade(kind: str, span: Span) -> int:
    """Return the shade of a span in a section of sentences or tokens: 0 for none, up to ``DEEPEST``."""
    if span.value is None:
        return 0
    if kind == "tokens":
        return bisect_right(TOKEN_LEVELS, span.value)
    return DEEPEST - bisect_right(SENTENCE_LEVELS, span.value)


def single(evidence: Iterable[Evidence]) -> Iterator[Evidence]:
    """Yield the evidence of single aspects, and that of metrics without aspects."""
    for each in evidence:
        yield from single(each.aspects) if each.aspects else (each,)


def titled(sections: Iterable[Section]) -> Iterator[list[Section]]:
    """Yield the sections that share a kind and a title and follow each other."""
    for _, group in groupby(sections, key=lambda section: (section.kind, section.title)):
        yield list(group)


def worst(items: Sequence[Item], values: Sequence[float | None], most: int) -> list[Item]:
    """Return the ``most`` items with the lowest values, in their order; those without a value come last."""
    order = sorted(range(len(items)), key=lambda at: (values[at] is None, values[at] or 0.0, at))
    return [items[at] for at in sorted(order[:most])]


def listed(section: Section) -> list[Span]:
    """Return the spans that a section lists."""
    if section.kind == "marks":
        return [span for span in section.spans if section.title and span.label not in UNREMARKABLE]
    alone = len(section.spans) == 1 and section.spans[0].label in UNREMARKABLE
    return [] if alone else list(section.spans)


def described(section: Section, spans: Sequence[Span]) -> list[str]:
    """Say of each listed span what the metric says: the note, after the label where marks have several."""
    several = section.kind == "marks" and len({span.label for span in spans}) > 1
    return [
        ", ".join(filter(None, (span.label, span.note))) if several or not span.note else span.note for span in spans
    ]


def written(text: str, span: Span) -> str:
    """Return the characters of a span; of one that has none, whose end it is."""
    if span.end > span.start:
        return text[span.start : span.end]
    return f"the end after {''.join(text[: span.start].rsplit(maxsplit=1)[-1:])}"
