"""Evidence for a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap
from typing import NamedTuple

from celadon.core import Evidence, Sample, Section, Span
from celadon.report.evidence import DEEPEST, TOKEN_LEVELS, WORST, described, listed, shade, titled, worst, written
from celadon.text.layout import printable, table, width

_LISTED = 30
_PASSAGES = 10
_PAIRS = 5
_ROWS = 12
_LINES = 40
_PAIR_LINES = 4
_CONTEXT = 40
# a terminal this wide has room for more of a sentence than its value
_WIDE = 100
_OPERATIONS = {"match": ".", "substitution": "s", "insertion": "i", "deletion": "d", "move": "m"}
_COLORS = {"substitution": "35", "insertion": "34", "deletion": "31", "move": "36"}
# From pale yellow to red, of the 256 colors; the text on them is black.
_SHADES = ("", "230", "223", "216", "209", "203")


class Screen(NamedTuple):
    """How wide the terminal is, and whether it shows colors."""

    columns: int
    colored: bool


class _View(NamedTuple):
    """What a section is rendered with: the sample, the columns that are left, and whether there are colors."""

    sample: Sample
    room: int
    colored: bool

    def painted(self, text: str, depth: int) -> str:
        return f"\033[38;5;16;48;5;{_SHADES[depth]}m{text}\033[0m" if self.colored and depth else text

    def cut(self, text: str, taken: int = 0) -> str:
        """A text on one line that is no wider than what is left of it."""
        line, room = one_line(text), max(self.room - taken, 16)
        if width(line) <= room:
            return line
        used, kept = 0, []
        for character in line:
            used += width(character)
            if used > room - 1:
                break
            kept.append(character)
        return f"{''.join(kept).rstrip()}…"

    def wrapped(self, line: str) -> list[str]:
        """A line broken to the room there is; the rest of it stands further in."""
        indent = " " * (len(line) - len(line.lstrip(" ")))
        return wrap(
            printable(line.strip(" ")),
            self.room,
            initial_indent=indent,
            subsequent_indent=f"{indent}  ",
            break_on_hyphens=False,
        )


def one_line(text: str) -> str:
    """Return a text that a terminal can show on one line."""
    return printable(" ".join(text.split()))


def evidence_lines(
    sample: Sample,
    evidence: Evidence,
    screen: Screen,
    values: Mapping[str, float] | None = None,
    seen: list[Section] | None = None,
) -> Iterator[str]:
    """Render the evidence of one metric.

    ``values`` has the value of each aspect by name. Sections in ``seen`` are left out; those of this evidence are
    added.
    """
    if not evidence.aspects:
        yield f"  {one_line(evidence.summary)}"
        yield from _section_lines(sample, evidence.sections, screen, "  ", seen)
    for aspect in evidence.aspects:
        name = aspect.metric.partition("[")[0].rpartition(".")[2]
        value = f" {values[name]:.4f}" if values and name in values else ""
        line = f"{name}{value}: {one_line(aspect.summary)}"
        yield from wrap(line, max(screen.columns - 4, 20), initial_indent="  ", subsequent_indent="      ")
        yield from _section_lines(sample, aspect.sections, screen, "    ", seen)


def _section_lines(
    sample: Sample, sections: Iterable[Section], screen: Screen, margin: str, seen: list[Section] | None
) -> Iterator[str]:
    view = _View(sample, max(screen.columns - len(margin) - 4, 20), screen.colored)
    fresh = [section for section in sections if seen is None or section not in seen]
    if seen is not None:
        seen += fresh
    for group in titled(fresh):
        lines = list(_RENDERERS.get(group[0].kind, _anything)(view, group))
        title = group[0].title
        if lines and title:
            yield f"{margin}{one_line(title[0].lower() + title[1:])}:"
        yield from (f"{margin}{'  ' if title else ''}{line}".rstrip() for line in lines)


def _sentences(view: _View, group: Sequence[Section]) -> Iterator[str]:
    """Each sentence after its value; of very many the worst."""
    spans = [span for section in group for span in section.spans]
    # the worst first, the others in their order
    listed = sorted(worst(spans, [span.value for span in spans], _LISTED), key=lambda span: span.label != WORST)
    wide = max((len(span.note) for span in listed), default=0)
    for span in listed:
        number, _, rest = (span.note or f"{span.value or 0:.2f}").partition(":")
        detail = rest.ljust(wide - len(number) - 1) if view.room + 8 >= _WIDE else ""
        mark = "  (worst)" if span.label == WORST else ""
        sentence = view.cut(written(view.sample.text, span), len(number + detail) + 2 + len(mark))
        yield f"{view.painted(number, shade('sentences', span))}{detail}  {sentence}{mark}"
    yield from _more(spans, listed)


def _more(spans: Sequence[Span], listed: Sequence[Span]) -> Iterator[str]:
    left = [span.value for span in spans if span not in listed]
    if left:
        known = [value for value in left if value is not None]
        yield f"and {len(left):,} more" + (f", none below {min(known):.2f}" if known else "")


def _tokens(view: _View, group: Sequence[Section]) -> Iterator[str]:
    """The text with its tokens on a ground of their surprisal, and what the grounds mean; only in color."""
    if not view.colored:
        return
    text = view.sample.text
    for section in group:
        pieces, done = [], 0
        for span in section.spans:
            pieces.append(_kept_lines(text[done : span.start]))
            pieces.append(view.painted(printable(text[span.start : span.end]), shade("tokens", span)))
            done = span.end
        yield from "".join([*pieces, _kept_lines(text[done:])]).split("\n")
    levels = zip(TOKEN_LEVELS, range(1, DEEPEST + 1), strict=True)
    yield f"bits from {' '.join(view.painted(f' {bits:g} ', depth) for bits, depth in levels)} on"


def _kept_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def _spans(view: _View, group: Sequence[Section]) -> Iterator[str]:
    """Spans after what is said of them; a single word with what comes before it."""
    for section in group:
        spans = listed(section)
        descriptions = [one_line(each) for each in described(section, spans)][:_LISTED]
        wide = max(map(width, descriptions), default=0)
        for span, about in zip(spans, descriptions, strict=False):
            mark = "  (worst)" if span.label == WORST else ""
            before = _before(view.sample.text, span) if section.kind == "marks" else ""
            passage = view.cut(before + written(view.sample.text, span), wide + 2 + len(mark))
            padding = " " * (wide - width(about))
            yield (
                f"{padding}{about}  {passage}{mark}" if section.kind == "list" else f"{about}{padding}  {passage}{mark}"
            )
        if len(spans) > _LISTED:
            yield f"and {len(spans) - _LISTED:,} more"


def _before(text: str, span: Span) -> str:
    if " " in text[span.start : span.end]:
        return ""
    before = text[max(0, span.start - _CONTEXT) : span.start]
    return f"…{before[before.find(' ') + 1 :]}" if span.start > _CONTEXT else before


def _passages(view: _View, group: Sequence[Section]) -> Iterator[str]:
    """Each passage below what is said of it, its marks in brackets, then its lines and values; of many the worst."""
    leads = [section.spans[0] for section in group]
    listed = worst(group, [lead.value for lead in leads], _PASSAGES)
    for section in listed:
        lead, *marks = section.spans
        yield f"{one_line(lead.note or lead.label)}{'  (worst)' if lead.label == WORST else ''}"
        lines = [_bracketed(view.sample.text, lead, marks), *section.lines]
        lines += [f"{name}: {value}" for name, value in section.values.items()]
        for line in lines:
            yield from view.wrapped(f"  {one_line(line)}")
    yield from _more(leads, [section.spans[0] for section in listed])


def _bracketed(text: str, passage: Span, marks: Iterable[Span]) -> str:
    pieces, done = [], passage.start
    for mark in marks:
        pieces += [text[done : mark.start], f"[{text[mark.start : mark.end]}]"]
        done = mark.end
    return "".join([*pieces, text[done : passage.end]])


def _pairs(view: _View, group: Sequence[Section]) -> Iterator[str]:
    """Passages one above the other, what they share in brackets or underlined."""
    for section in group[:_PAIRS]:
        passages, shared = section.spans[:2], section.spans[2:]
        wide = max(width(passage.label) for passage in passages)
        for passage in passages:
            lines = _filled(_marked_words(view, passage, shared), view.room - wide - 2)
            leads = [passage.label, *[""] * (len(lines) - 1)]
            yield from (f"{lead:>{wide}}  {line}" for lead, line in zip(leads, lines, strict=True))
    if len(group) > _PAIRS:
        yield f"and {len(group) - _PAIRS:,} more"


def _marked_words(view: _View, passage: Span, shared: Iterable[Span]) -> Iterator[tuple[str, int]]:
    """The words of a passage with its shared stretches marked, each with how wide it is."""
    text, start, end = view.sample.text, passage.start, passage.end
    inside = [False] * (end - start)
    for span in shared:
        if start <= span.start and span.end <= end:
            inside[span.start - start : span.end - start] = [True] * (span.end - span.start)
    for word in re.finditer(r"\S+", text[start:end]):
        pieces, wide = [], 0
        for is_shared, places in groupby(range(*word.span()), key=inside.__getitem__):
            at = list(places)
            piece = printable(text[start + at[0] : start + at[-1] + 1])
            if is_shared and not view.colored:
                before = "" if at[0] and inside[at[0] - 1] else "["
                after = "" if at[-1] + 1 < len(inside) and inside[at[-1] + 1] else "]"
                piece = f"{before}{piece}{after}"
            wide += width(piece)
            pieces.append(f"\033[1;4m{piece}\033[0m" if is_shared and view.colored else piece)
        yield "".join(pieces), wide


def _filled(words: Iterable[tuple[str, int]], room: int) -> list[str]:
    """Words in lines of at most so many columns; after some lines an ellipsis."""
    lines: list[list[str]] = [[]]
    used = 0
    for word, wide in words:
        if used and used + 1 + wide > room:
            if len(lines) == _PAIR_LINES:
                lines[-1].append("…")
                break
            lines.append([])
            used = 0
        lines[-1].append(word)
        used += wide + (1 if used else 0)
    return [" ".join(line) for line in lines]


def _transitions(view: _View, group: Sequence[Section]) -> Iterator[str]:
    """The two passages of each transition after its value."""
    numbers = [f"{section.spans[1].value or 0:.3f}" for section in group[:_PAIRS]]
    wide = max(map(len, numbers))
    for number, section in zip(numbers, group, strict=False):
        for lead, span in zip((number, ""), section.spans, strict=False):
            yield f"{lead:>{wide}}  {view.cut(written(view.sample.text, span), wide + 2)}"
    if len(group) > _PAIRS:
        yield f"and {len(group) - _PAIRS:,} more"


def _alignment(view: _View, group: Sequence[Section]) -> Iterator[str]:
    """Reference, text and operations under each other, broken to the terminal's width."""
    for section in group:
        references = view.sample.references
        number = f" {section.reference + 1}" if section.reference is not None and len(references) > 1 else ""
        names = (f"reference{number}", "text", "")
        blocks: list[list[list[str]]] = [[[], [], []]]
        used = 0
        for reference, text, label in _columns(view.sample, section):
            wide = max(width(reference), width(text), 1)
            if used and used + wide + 1 > view.room - 8:
                blocks.append([[], [], []])
                used = 0
            for line, cell in zip(blocks[-1], (reference, text, _OPERATIONS[label]), strict=True):
                padded = cell + " " * (wide - width(cell))
                color = _COLORS.get(label)
                line.append(f"\033[{color}m{padded}\033[0m" if view.colored and color else padded)
            used += wide + 1
        for at, block in enumerate(blocks):
            yield from [""] * bool(at)
            yield from (f"{name:<12}{' '.join(line)}".rstrip() for name, line in zip(names, block, strict=True))


def _columns(sample: Sample, section: Section) -> Iterator[tuple[str, str, str]]:
    """Pair the words of both sides, with what was done: aligned ones come in the same order in both."""
    reference_text = sample.references[section.reference or 0]
    above, below = list(section.reference_spans), list(section.spans)

    def cut(text: str, span: Span) -> str:
        return printable(text[span.start : span.end])

    while above or below:
        if above and above[0].label in ("deletion", "move"):
            span = above.pop(0)
            yield cut(reference_text, span), "", span.label
        elif below and below[0].label in ("insertion", "move"):
            span = below.pop(0)
            yield "", cut(sample.text, span), span.label
        else:
            span, other = above.pop(0), below.pop(0)
            yield cut(reference_text, span), cut(sample.text, other), span.label


def _table(view: _View, group: Sequence[Section]) -> Iterator[str]:
    for section in group:
        columns, rows = section.values["columns"], section.values["rows"]
        cells = [[_cell(cell) for cell in row] for row in rows[:_ROWS]]
        yield from (
            line.removeprefix("  ") for line in table([one_line(str(name)) for name in columns], cells).split("\n")
        )
        if len(rows) > _ROWS:
            yield f"and {len(rows) - _ROWS:,} more"


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else one_line(str(value))


def _tree(view: _View, group: Sequence[Section]) -> Iterator[str]:
    lines = [line for section in group for line in section.lines]
    for line in lines[:_LINES]:
        yield from view.wrapped(line)
    if len(lines) > _LINES:
        yield f"and {len(lines) - _LINES:,} more lines"


def _anything(view: _View, group: Sequence[Section]) -> Iterator[str]:
    """Lines, spans and values, as a section of an unknown kind has them."""
    yield from _tree(view, group)
    yield from _spans(view, group)
    for section in group:
        for name, value in section.values.items():
            yield from view.wrapped(f"{one_line(name)}: {_cell(value)}")


_RENDERERS: Mapping[str, Callable[[_View, Sequence[Section]], Iterator[str]]] = {
    "alignment": _alignment,
    "sentences": _sentences,
    "tokens": _tokens,
    "passage": _passages,
    "pair": _pairs,
    "transition": _transitions,
    "table": _table,
    "tree": _tree,
}
