"""What parsers made of a text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from celadon.cli.explain_aspects import Screen, one_line

if TYPE_CHECKING:
    from celadon.core import Span
    from celadon.metrics.gleu_evidence import GleuEvidence

_SENTENCES = 10
_MARGIN = "  "


def parse_lines(text: str, evidence: GleuEvidence, screen: Screen) -> Iterator[str]:
    """Show each sentence with its value, the words that no linkage could use, its fragments, what rules mark, its tree.

    Parameters
    ----------
    text
        The text.
    evidence
        What the parsers made of it.
    screen
        Where the lines are to be shown.
    """
    from celadon.metrics.aspects import WORST

    order = sorted(range(len(evidence.values)), key=lambda at: (evidence.values[at], at))
    for at in sorted(order[:_SENTENCES]):
        span = evidence.sentences[at]
        mark = "  (worst)" if span.label == WORST else ""
        yield f"{_MARGIN}{span.note}{mark}"
        unused = [word for word in evidence.text_spans if span.start <= word.start < span.end]
        yield from _wrapped(_bracketed(text, span, unused), screen)
        if unused:
            yield from _wrapped(f"no linkage could use: {', '.join(_of(text, word) for word in unused)}", screen)
        if evidence.fragments[at]:
            yield from _wrapped(f"fragments: {' | '.join(_of(text, run) for run in evidence.fragments[at])}", screen)
        for found in evidence.marks:
            if span.start <= found.start < span.end:
                yield from _wrapped(f"rule: {_of(text, found)}: {one_line(found.note)}", screen)
        yield from _wrapped(f"tree: {one_line(evidence.trees[at])}", screen)
    if len(order) > _SENTENCES:
        least = evidence.values[order[_SENTENCES]]
        yield f"{_MARGIN}and {len(order) - _SENTENCES:,} more, none below {least:.2f}"


def _of(text: str, span: Span) -> str:
    return one_line(text[span.start : span.end])


def _bracketed(text: str, sentence: Span, unused: list[Span]) -> str:
    """The sentence with the words that no linkage could use in brackets, as Link Grammar itself shows them."""
    pieces, done = [], sentence.start
    for word in unused:
        pieces += [text[done : word.start], f"[{text[word.start : word.end]}]"]
        done = word.end
    return one_line("".join([*pieces, text[done : sentence.end]]))


def _wrapped(line: str, screen: Screen) -> list[str]:
    indent = _MARGIN * 2
    return wrap(line, screen.room(0), initial_indent=indent, subsequent_indent=indent + _MARGIN, break_on_hyphens=False)
