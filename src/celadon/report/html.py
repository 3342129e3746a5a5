"""Pages: the templates, and texts with their marks, as HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from celadon.core import UNREMARKABLE, Evidence, Section, Span
from celadon.report.escape import clean, cut_at, escape
from celadon.report.evidence import WORST, described, listed, shade, titled, worst, written
from celadon.text.layout import width

if TYPE_CHECKING:
    import jinja2
    from markupsafe import Markup

NULL = "–"
NAME_LIMIT = 120
ALIGNMENT = frozenset({"match", "substitution", "insertion", "deletion", "move"})
WRONG = "#d0402b"
_QUIET = "#888"
# Elements, not classes with titles: a report has tens of thousands of them. The style sheet gives each its color, its
# non-color mark and its spoken name; the script gives it a tooltip.
_ELEMENTS = {
    "substitution": ("<mark>", "</mark>"),
    "insertion": ("<ins>", "</ins>"),
    "deletion": ("<del>", "</del>"),
    "move": ('<mark class="m">', "</mark>"),
}
SHADES = ("", "a", "b", "c", "d", "e")
"""The classes of shades in the style sheet, from none to the deepest."""
_ON_TEXT = ("alignment", "sentences", "tokens")
_WHOLE = ("table", "tree")
_PASSAGE = 300
_ENDS = 90
_MOST = 5
_TREE = 1_500
_TREE_WORD = 40


@cache
def templates() -> jinja2.Environment:
    """Return the templates of all pages; what is put into them is escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("celadon.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # what is put into a page is text that HTML can hold, wherever it comes from
        finalize=lambda value: clean(value) if type(value) is str else value,
    )
    environment.filters |= {
        "short": short,
        "breakable": breakable,
        "paragraphs": lambda text: [part for part in clean(text).split("\n\n") if part.strip()],
        "count": lambda number: f"{number:,}",
    }
    environment.globals |= {"NULL": NULL, "NAME_LIMIT": NAME_LIMIT, "svg": tree_svg}
    return environment


def render(template: str, **data: Any) -> str:
    """Fill a template."""
    return templates().get_template(template).render(data)


@cache
def asset(name: str) -> str:
    """Return a script, an icon or the style sheet of the package."""
    return files("celadon.report").joinpath("static", name).read_text(encoding="utf-8")


@cache
def style(*sections: str) -> str:
    """Return some sections of the style sheet."""
    _, *parts = re.split(r"/\* == (\w+) == \*/\n", asset("style.css"))
    named = dict(zip(parts[::2], parts[1::2], strict=True))
    return "".join(named[name] for name in sections)


def markup(html: str) -> Markup:
    """Say that a string is HTML already."""
    from markupsafe import Markup

    return Markup(html)  # its parts are escaped


def short(text: str, limit: int) -> str:
    """Return the beginning of a string, with an ellipsis and the number of characters left out."""
    cut = cut_at(text, limit)
    return text if cut == len(text) else f"{text[:cut]}… ({len(text) - cut:,} more characters)"


def breakable(name: str) -> Markup:
    """Write a name so that a narrow cell breaks it between its words."""
    return markup(re.sub(r"([_\[,=])", r"\1<wbr>", escape(short(name, NAME_LIMIT))))


def merged(spans: Iterable[Span], length: int) -> Iterator[Span]:
    """Put spans in order, clip them to the text and join neighbors that say the same.

    Of an alignment, neighbors with the same label say the same; of other spans, those whose notes are equal too.
    """
    current: Span | None = None
    for span in sorted(spans, key=itemgetter(0, 1, 2, 3)):
        start = max(span.start, current.end if current else 0, 0)
        end = min(span.end, length)
        if start >= end:
            continue
        if current and current.label == span.label and (span.label in ALIGNMENT or current.note == span.note):
            current = current._replace(end=end)
            continue
        if current:
            yield current
        current = Span(start, end, span.label, span.note)
    if current:
        yield current


def marked(text: str, spans: Iterable[Span], limit: int) -> Markup:
    """Show a text with its spans, cut after ``limit`` characters with a note of how many more there are."""
    if not text:
        return markup("<i>empty</i>")
    cut = cut_at(text, limit)
    marks = ((span.start, span.end, *_element(span)) for span in merged(spans, cut))
    return markup(_enclosed(text, 0, cut, marks) + _left(text, cut))


def _element(span: Span) -> tuple[str, str]:
    if span.label == "match":
        return "", ""
    if span.label in _ELEMENTS:
        return _ELEMENTS[span.label]
    title = f"{span.label}: {span.note}" if span.note else span.label
    return f'<span class="o" title="{escape(title)}">', "</span>"


def _enclosed(text: str, start: int, end: int, marks: Iterable[tuple[int, int, str, str]]) -> str:
    """Put elements around places of a stretch of text; each place is its own, however near the next is."""
    pieces = []
    for first, last, opening, closing in marks:
        begin, stop = max(first, start), min(last, end)
        if begin < stop:
            pieces += [escape(text[start:begin]), opening, escape(text[begin:stop]), closing]
            start = stop
    return "".join([*pieces, escape(text[start:end])])


def _left(text: str, cut: int) -> str:
    if cut == len(text):
        return ""
    return f"{'' if text[cut - 1].isspace() else ' '}<bdi>… {len(text) - cut:,} more characters</bdi>"


def shaded(text: str, section: Section, marks: Sequence[Section], limit: int) -> Markup:
    """Show a text, cut after ``limit`` characters, with its sentences or tokens shaded and marks inside them.

    What is said of a whole sentence is told with it.
    """
    cut = cut_at(text, limit)
    if section.kind == "tokens":
        marks = ()
    whole = {(span.start, span.end) for span in section.spans}
    notes: dict[tuple[int, int], list[str]] = {}
    inside: list[Span] = []
    # what is listed below the text goes before what is only marked
    for each in sorted(marks, key=lambda each: not each.title):
        for span in each.spans:
            if (span.start, span.end) in whole:
                notes.setdefault((span.start, span.end), []).append(span.note)
            elif span.label not in UNREMARKABLE:
                inside += _outside(span, inside)
    elements = [(span.start, span.end, *_element(span)) for span in sorted(inside, key=lambda span: span[:4])]
    pieces, done = [], 0
    for span in section.spans:
        if span.start >= cut:
            break
        end = min(span.end, cut)
        lead = f"worst sentence, {span.note}" if span.label == WORST else span.note
        title = "; ".join(filter(None, (lead, *notes.get((span.start, span.end), ()))))
        depth = SHADES[shade(section.kind, span)]
        opening = f'<u{f" class={depth}" if depth else ""} title="{escape(title)}">'
        pieces += [escape(text[done : span.start]), opening, _enclosed(text, span.start, end, elements), "</u>"]
        done = end
    return markup("".join([*pieces, escape(text[done:cut]), _left(text, cut)]))


def _outside(span: Span, others: Iterable[Span]) -> list[Span]:
    """What is left of a span where others are taken out of it."""
    pieces = [span]
    for other in others:
        halves = [
            half
            for piece in pieces
            for half in (
                piece._replace(end=min(piece.end, other.start)),
                piece._replace(start=max(piece.start, other.end)),
            )
        ]
        pieces = [half for half in halves if half.start < half.end]
    return pieces


class Row(NamedTuple):
    """A row of a text's explanation: which macro renders it, what stands beside it, and its content."""

    kind: str
    label: str
    content: Any
    more: str = ""


def section_rows(text: str, evidence: Iterable[Evidence], limit: int) -> Iterator[Row]:
    """Render the sections below a text, of which ``limit`` characters are shown; of a small one, fewer entries."""
    most, room = max(1, min(_MOST, limit // 200)), min(limit, _PASSAGE)
    for each in evidence:
        for group in titled(section for section in each.sections if section.kind not in _ON_TEXT):
            kind, title = group[0].kind, group[0].title
            content: list[Any]
            count = len(group)
            if kind in _WHOLE:
                content = list(group)
            elif kind == "passage":
                listed = worst(group, [section.spans[0].value for section in group], most)
                content = [_passage(text, section) for section in listed]
            elif kind == "pair":
                content = [_pair(text, section, room) for section in group[:most]]
            elif kind == "transition":
                content = [_transition(text, section, min(room, _ENDS)) for section in group[:most]]
            else:
                entries = [entry for section in group for entry in _entries(text, section, room)]
                kind, content, count = "entries", entries[:most], len(entries)
            left = count - len(content)
            if content and title:
                yield Row(kind, title, content, f"and {left:,} more" if left else "")


def _entries(text: str, section: Section, room: int) -> Iterator[tuple[str, str]]:
    """What is listed: passages, each with what is said of it; of sentences with values, the worst."""
    spans = listed(section)
    if section.kind == "list" and any(span.label == WORST for span in spans):
        spans = [span for span in spans if span.label == WORST]
    for span, description in zip(spans, described(section, spans), strict=True):
        yield _beginning(written(text, span), room), f"{description} (worst)" if span.label == WORST else description
    if section.kind not in ("marks", "list"):
        yield from (("", line) for line in section.lines)
        yield from (
            ("", f"{name}: {value:.4g}" if isinstance(value, float) else f"{name}: {value}")
            for name, value in section.values.items()
        )


def _passage(text: str, section: Section) -> dict[str, Any]:
    lead, *marks = section.spans
    elements = [(mark.start, mark.end, *_element(mark)) for mark in marks]
    return {
        "text": markup(_enclosed(text, lead.start, lead.end, elements)),
        "note": f"{lead.note} (worst)" if lead.label == WORST else lead.note,
        "lines": section.lines,
        "values": {name: short(str(value), _TREE) for name, value in section.values.items()},
    }


def _pair(text: str, section: Section, room: int) -> dict[str, Any]:
    passages, shared = section.spans[:2], section.spans[2:]
    elements = [(span.start, span.end, "<em>", "</em>") for span in sorted(shared, key=lambda span: span.start)]
    sides = []
    for passage in passages:
        cut = passage.start + cut_at(text[passage.start : passage.end], room)
        within = [mark for mark in elements if passage.start <= mark[0] < passage.end]
        ellipsis = "…" if cut < passage.end else ""
        sides.append((passage.label, markup(_enclosed(text, passage.start, cut, within) + ellipsis)))
    return {"sides": sides, "why": ", ".join(section.lines)}


def _transition(text: str, section: Section, room: int) -> tuple[str, str, str]:
    first, second = (text[span.start : span.end] for span in section.spans[:2])
    if len(first) > room:
        first = first[-room:]
        first = f"…{first[first.find(' ') + 1 :]}"
    return f"{section.spans[1].value or 0:.3f}", first, _beginning(second, room)


def _beginning(text: str, limit: int) -> str:
    cut = cut_at(text, limit)
    return f"{text[:cut].rstrip()}…" if cut < len(text) else text


_LETTER, _GAP, _MARGIN = 8, 20, 12
_LEVEL, _LINE, _DROP = 20, 22, 56
_Arc = tuple[int, int]


def tree_svg(section: Section) -> Markup:
    """Draw the tree of a reference, and where its words stand in the text, as SVG that needs nothing else.

    Above, the reference's words under the arcs of its tree; below, the words of the text in their order, each joined to
    its partner. Arcs of wrong treelets are red and dashed, and words that moved in their treelet are red; words that
    the text lacks are struck through, words that only the text has are underlined. The rest takes the color of what
    stands around, so that it can be read on dark ground too.
    """
    values = section.values
    heads, place = values["heads"], values["place"]
    wrong = {treelet["head"] for treelet in values["treelets"]}
    moved = {word for treelet in values["treelets"] for word in treelet["moved"]}
    words, text_words = ([_cut_word(word) for word in values[name]] for name in ("words", "text_words"))
    above, below = _centers(words), _centers(text_words)
    levels = arc_levels(heads)
    top = _MARGIN + _LEVEL * (1 + max(levels.values(), default=0))
    first, second = top + _LINE, top + _LINE + _DROP + _LINE
    paired = set(place)
    arcs = [(f"M{above[at]} {_MARGIN}V{top - 5}", above[at], -1 in wrong) for at, head in enumerate(heads) if head < 0]
    arcs += [
        (_arc_path(above[head], above[word], top, level), above[word], head in wrong)
        for (head, word), level in levels.items()
    ]
    return markup(
        render(
            "tree.svg",
            width=max(_row_width(words), _row_width(text_words)),
            height=second + _MARGIN,
            top=top,
            arcs=arcs,
            links=[
                (f"M{above[word]} {first}L{below[at]} {second - 18}", word in moved)
                for word, at in enumerate(place)
                if at >= 0
            ],
            words=[
                *(
                    (x, first - 6, word, "line-through" if place[at] < 0 else "", at in moved or place[at] < 0)
                    for at, (x, word) in enumerate(zip(above, words, strict=True))
                ),
                *(
                    (x, second - 6, word, "" if at in paired else "underline", at not in paired)
                    for at, (x, word) in enumerate(zip(below, text_words, strict=True))
                ),
            ],
            wrong=WRONG,
            quiet=_QUIET,
            count=len(wrong),
        )
    )


def _cut_word(word: str) -> str:
    whole = clean(word)
    return whole if len(whole) <= _TREE_WORD else f"{whole[: _TREE_WORD - 1]}…"


def _centers(words: Sequence[str]) -> list[int]:
    places, at = [], _MARGIN
    for word in words:
        wide = max(_LETTER * width(word), _LETTER)
        places.append(at + wide // 2)
        at += wide + _GAP
    return places


def _row_width(words: Sequence[str]) -> int:
    return 2 * _MARGIN - _GAP + sum(max(_LETTER * width(word), _LETTER) + _GAP for word in words)


def arc_levels(heads: Sequence[int]) -> dict[_Arc, int]:
    """Return how high each arc, from head to daughter, must be to pass over those beneath it."""
    arcs = sorted(((h, w) for w, h in enumerate(heads) if h >= 0), key=lambda arc: (abs(arc[0] - arc[1]), min(arc)))
    # the highest level so far over each gap between neighbors
    over = [0] * len(heads)
    levels: dict[_Arc, int] = {}
    for head, word in arcs:
        left, right = min(head, word), max(head, word)
        levels[head, word] = 1 + max(over[left:right])
        over[left:right] = [levels[head, word]] * (right - left)
    return levels


def _arc_path(head: int, word: int, y: int, level: int) -> str:
    # daughters leave their head a little to their own side, so that arcs do not meet there
    begin = head + (4 if word > head else -4)
    bend = 6 if word > begin else -6
    return f"M{begin} {y}V{y - _LEVEL * level + 6}q0 -6 {bend} -6H{word - bend}q{bend} 0 {bend} 6V{y - 5}"
