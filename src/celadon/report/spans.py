"""A text with its marked stretches, as HTML. Any metric's spans can be shown; an alignment's have their own marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from celadon.core import Span
from celadon.metrics.likelihood_evidence import LABELS as SURPRISAL
from celadon.report.alignment import LABELS
from celadon.report.escape import cut_at, escape

# Elements, not classes with titles: a report has tens of thousands of them. The style sheet gives each its colour, its
# non-colour mark and its spoken name; the script gives it a tooltip.
_ELEMENTS = {
    "substitution": ("<mark>", "</mark>"),
    "insertion": ("<ins>", "</ins>"),
    "deletion": ("<del>", "</del>"),
    "move": ('<mark class="m">', "</mark>"),
}


def merged(spans: Iterable[Span], length: int) -> Iterator[Span]:
    """Put spans in order, clip them to the text and join neighbours that say the same.

    Of an alignment, neighbours with the same label say the same; of other spans, those whose notes are equal too; two
    tokens never do, however surprising they are.
    """

    def same(one: Span, other: Span) -> bool:
        alike = one.label in LABELS or (one.note == other.note and one.label not in SURPRISAL)
        return one.label == other.label and alike

    current: Span | None = None
    for span in sorted(spans):
        start = max(span.start, current.end if current else 0, 0)
        end = min(span.end, length)
        if start >= end:
            continue
        if current and same(current, span):
            current = current._replace(end=end)
            continue
        if current:
            yield current
        current = Span(start, end, span.label, span.note)
    if current:
        yield current


def marked(text: str, spans: Sequence[Span], limit: int) -> str:
    """Show a text with its spans, cut after ``limit`` characters with a note of how many more there are."""
    if not text:
        return "<i>empty</i>"
    cut = cut_at(text, limit)
    pieces: list[str] = []
    done = 0
    for span in merged(spans, cut):
        pieces.append(escape(text[done : span.start]))
        pieces.append(_element(span, escape(text[span.start : span.end])))
        done = span.end
    pieces.append(escape(text[done:cut]))
    if cut < len(text):
        pieces.append(f"{'' if text[cut - 1].isspace() else ' '}<bdi>… {len(text) - cut:,} more characters</bdi>")
    return "".join(pieces)


def _element(span: Span, inside: str) -> str:
    if span.label == "match":
        return inside
    if span.label in _ELEMENTS:
        opening, closing = _ELEMENTS[span.label]
        return f"{opening}{inside}{closing}"
    if span.label in SURPRISAL:
        shade = shade_class(span.label)
        return f'<u{f" class={shade}" if shade else ""} title="{escape(span.note)}">{inside}</u>'
    title = f"{span.label}: {span.note}" if span.note else span.label
    return f'<span class="o" title="{escape(title)}">{inside}</span>'


def shade_class(label: str) -> str:
    """Return the class of a level of surprisal in the style sheet; none for the lowest."""
    return " abcdefgh"[SURPRISAL.index(label)].strip()


def legend() -> str:
    """Say what the marks mean."""
    return (
        '<div class="legend"><h3>Reading the texts</h3><p>Each text is laid beside its reference, word by word.</p><ul>'
        "<li><span>plain</span> the same in both</li>"
        "<li><mark>substitution</mark> another word stands here</li>"
        "<li><ins>insertion</ins> in the text only</li>"
        "<li><del>deletion</del> in the reference only</li>"
        '<li><mark class="m">move</mark> the same words, elsewhere</li>'
        "</ul></div>"
    )
