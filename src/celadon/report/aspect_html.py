"""What is wrong with a text, aspect by aspect, as HTML."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from itertools import pairwise

from celadon.core import Evidence, Span
from celadon.metrics.aspects import WORST, SentenceEvidence
from celadon.metrics.gruen.coherence import DOUBTED, IN_ORDER
from celadon.metrics.gruen.focus import FocusEvidence, Transition
from celadon.metrics.gruen.redundancy import FEATURES, REPEATED, RedundancyEvidence, RedundantPair
from celadon.metrics.reading.evidence import HANGING, LOOSE, UNKNOWN
from celadon.report.escape import cut_at, escape, short

LEVELS = (0.2, 0.35, 0.5, 0.65, 0.8)
"""The bounds between the grounds of sentences."""
# from the worst to the best; the style sheet has them for tokens too
_SHADES = ("e", "d", "c", "b", "a", "")

_SENTENCE_LIMIT = 300
_ENDS_LIMIT = 90
_MOST_PAIRS = 5

Place = tuple[int, int]


def shade(value: float) -> str:
    """Return the class of a sentence's ground in the style sheet; none for a sound sentence."""
    return _SHADES[bisect.bisect_right(LEVELS, value)]


def sentences(text: str, evidence: SentenceEvidence, others: Iterable[Evidence], limit: int) -> str:
    """Show a text, cut after ``limit`` characters, with its sentences on their grounds and the marks inside them.

    Parameters
    ----------
    text
        The text, of which the evidence may know the beginning only.
    evidence
        Its sentences.
    others
        More evidence; what it says of the order of sentences is told with them, and what is repeated is marked.
    limit
        How many characters are shown.
    """
    cut = cut_at(text, limit)
    found = [span for each in others for span in each.text_spans]
    faulty = [span for span in found if span.label in (UNKNOWN, LOOSE)]
    repeated = [piece for span in found if span.label == REPEATED for piece in _outside(span, faulty)]
    marks = [_mark(span) for span in (*faulty, *repeated)]
    order = {(span.start, span.end): span.note for span in found if span.label in (DOUBTED, IN_ORDER)}
    pieces, done = [], 0
    for span, value in zip(evidence.sentences, evidence.values, strict=True):
        if span.start >= cut:
            break
        end = min(span.end, cut)
        worst = "worst sentence, " if span.label == WORST else ""
        title = "; ".join(filter(None, (worst + span.note, order.get((span.start, span.end)))))
        ground = shade(value)
        pieces.append(escape(text[done : span.start]))
        pieces.append(f'<u{f" class={ground}" if ground else ""} title="{escape(title)}">')
        pieces.append(f"{_enclosed(text, (span.start, end), marks)}</u>")
        done = end
    pieces.append(escape(text[done:cut]))
    if cut < len(text):
        pieces.append(f"{'' if text[cut - 1].isspace() else ' '}<bdi>… {len(text) - cut:,} more characters</bdi>")
    return "".join(pieces)


def _outside(span: Span, others: Iterable[Span]) -> list[Span]:
    """What is left of a span where others are taken out of it."""
    pieces = [span]
    for other in others:
        halves = (half for piece in pieces for half in _halves(piece, other))
        pieces = [half for half in halves if half.start < half.end]
    return pieces


def _halves(piece: Span, other: Span) -> tuple[Span, Span]:
    return piece._replace(end=min(piece.end, other.start)), piece._replace(start=max(piece.start, other.end))


def _mark(span: Span) -> tuple[Place, str, str]:
    title = f"{span.label}: {span.note}" if span.note else span.label
    return (span.start, span.end), f'<span class="o" title="{escape(title)}">', "</span>"


def _enclosed(text: str, within: Place, marks: Iterable[tuple[Place, str, str]]) -> str:
    """Put marks round places of a stretch of text; each place is its own, however near the next is."""
    done, end = within
    pieces = []
    for (start, stop), opening, closing in sorted(marks):
        first, last = max(start, done), min(stop, end)
        if first < last:
            pieces += [escape(text[done:first]), opening, escape(text[first:last]), closing]
            done = last
    return "".join([*pieces, escape(text[done:end])])


def faults(text: str, shown: Iterable[Evidence], limit: int) -> str:
    """List what is wrong: marks in sentences, repeated pairs, weak transitions, sentences out of place."""
    most = max(1, min(_MOST_PAIRS, limit // 200))
    room = min(limit, _SENTENCE_LIMIT)
    lines = []
    for evidence in shown:
        if isinstance(evidence, SentenceEvidence):
            lines.append(_loose(text, evidence, most))
        elif isinstance(evidence, RedundancyEvidence):
            lines.append(_repeated(text, evidence, most, room))
        elif isinstance(evidence, FocusEvidence):
            lines.append(_weak(text, evidence, most, min(room, _ENDS_LIMIT)))
        else:
            lines.append(_misplaced(text, evidence, most, room))
    return "".join(lines)


def _listed(name: str, entries: Sequence[str], most: int) -> str:
    """A line of the text's list, with a note of how many entries are not shown."""
    if not entries:
        return ""
    more = [f"<i>and {len(entries) - most:,} more</i>"] if len(entries) > most else []
    lines = "\n".join([*entries[:most], *more])
    return f'<b>{name}</b><p class="why">{lines}</p>'


def _loose(text: str, evidence: SentenceEvidence, most: int) -> str:
    marks = [span for span in evidence.text_spans if span.label in (UNKNOWN, LOOSE)]
    return _listed("Marks", [_told(text, span, _ENDS_LIMIT) for span in marks], most)


def _told(text: str, span: Span, limit: int) -> str:
    """A stretch of text and what is said of it."""
    said = f"{span.label}, {span.note}" if span.note else span.label
    return f"<bdi>{short(text[span.start : span.end], limit)}</bdi> {escape(said)}"


def _repeated(text: str, evidence: RedundancyEvidence, most: int, room: int) -> str:
    """Lay repeated sentences side by side, what they share marked."""
    if not evidence.pairs:
        return ""
    left = len(evidence.pairs) - most
    more = f"<i>and {left:,} more pairs</i>" if left > 1 else "<i>and 1 more pair</i>" if left == 1 else ""
    pairs = "".join(_pair(text, pair, room) for pair in evidence.pairs[:most])
    return f'<b>Said twice</b><div class="twice">{pairs}{more}</div>'


def _pair(text: str, pair: RedundantPair, room: int) -> str:
    why = ", ".join(FEATURES[letter] for letter in pair.features)
    sides = []
    for number, (start, end), shared in zip(pair.numbers, pair.sentences, pair.shared, strict=True):
        cut = start + cut_at(text[start:end], room)
        marked = _enclosed(text, (start, cut), [(place, "<em>", "</em>") for place in shared])
        sides.append(f'<p dir="auto"><small>{number}</small> {marked}{"…" if cut < end else ""}</p>')
    return f"<div>{''.join(sides)}<small>{escape(why)}</small></div>"


def _weak(text: str, evidence: FocusEvidence, most: int, room: int) -> str:
    """Name the ends of weak transitions, the weakest first."""

    def told(transition: Transition) -> str:
        first, second = (text[start:end] for start, end in (transition.first, transition.second))
        return (
            f"{transition.similarity:.3f} between <bdi>{_last(first, room)}</bdi> and <bdi>{_first(second, room)}</bdi>"
        )

    weakest = sorted(evidence.weak, key=lambda transition: transition.similarity)
    return _listed("Weak transitions", [told(transition) for transition in weakest], most)


def _first(sentence: str, limit: int) -> str:
    cut = cut_at(sentence, limit)
    return f"{escape(sentence[:cut].rstrip())}…" if cut < len(sentence) else escape(sentence)


def _last(sentence: str, limit: int) -> str:
    """The end of a sentence, from the beginning of a word on."""
    if len(sentence) <= limit:
        return escape(sentence)
    rest = sentence[-limit:]
    return f"…{escape(rest[rest.find(' ') + 1 :])}"


def _misplaced(text: str, evidence: Evidence, most: int, room: int) -> str:
    """Name sentences that would rather stand elsewhere, and an opening that refers to nothing."""
    doubted = [span for span in evidence.text_spans if span.label == DOUBTED]
    hanging = [span for span in evidence.text_spans if span.label == HANGING]
    entries = [f"<bdi>{_first(text[span.start : span.end], room)}</bdi> {escape(span.note)}" for span in doubted]
    openings = [f"<bdi>{escape(text[span.start : span.end])}</bdi> {escape(span.note)}" for span in hanging]
    return _listed("Out of place", entries, most) + _listed("Hanging opening", openings, 1)


def legend(metric: str, *, shaded: bool) -> str:
    """Say what the grounds of sentences mean, where there are any, and the marks in what is said twice."""
    names = [f"under {LEVELS[0]:g}", *(f"{low:g} to {high:g}" for low, high in pairwise(LEVELS))]
    names.append(f"{LEVELS[-1]:g} and more")
    grounds = "".join(
        f"<li><u{f' class={ground}' if ground else ''}>{name}</u></li>"
        for ground, name in zip(_SHADES, names, strict=True)
    )
    above = (
        "Each sentence is on a ground of its grammaticality, which is shown when it is pointed at; unknown words, "
        'loose ends and what is repeated are <span class="o">dotted</span>. '
    )
    return (
        f'<div class="legend"><h3>Aspects</h3><p>By {escape(metric)}. {above if shaded else ""}Below a text are pairs '
        "of sentences that say the same, what they share <em>marked</em>, neighbours that have little to do with each "
        f"other, and sentences that seem out of place.</p>{f'<ul>{grounds}</ul>' if shaded else ''}</div>"
    )
