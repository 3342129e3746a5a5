"""What is wrong with a text, aspect by aspect, for a terminal."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from celadon.text.layout import printable, width

if TYPE_CHECKING:
    from celadon.core import Evidence, Span
    from celadon.metrics.aspects import AspectEvidence, SentenceEvidence
    from celadon.metrics.gruen.focus import FocusEvidence
    from celadon.metrics.gruen.redundancy import RedundancyEvidence

Place = tuple[int, int]

_SENTENCES = 30
_PAIRS = 5
_LINES = 4
_MARGIN = "    "
_CONTEXT = 40
# a terminal this wide has room for more of a sentence than its value
_WIDE = 100
# From red to pale yellow, of the 256 colours; the number on them is black.
_SHADES = ("203", "209", "216", "223", "230")


class Screen(NamedTuple):
    """How wide the terminal is, and whether it wants colours."""

    columns: int
    coloured: bool

    def room(self, taken: int) -> int:
        """How many columns of a line are left."""
        return max(self.columns - taken - len(_MARGIN), 20)


def aspect_lines(text: str, evidence: AspectEvidence, values: Mapping[str, float], screen: Screen) -> Iterator[str]:
    """Show each aspect with its value, and what it rests on.

    Parameters
    ----------
    text
        The text.
    evidence
        Of its aspects.
    values
        Each aspect's value by its name.
    screen
        Where the lines are to be shown.
    """
    for aspect in evidence.aspects:
        name = aspect.metric.partition("[")[0].rpartition(".")[2]
        told = f"{name} {values[name]:.4f}: {one_line(aspect.summary)}"
        yield from wrap(told, screen.room(0), initial_indent="  ", subsequent_indent="      ")
        yield from detail_lines(text, aspect, screen)


def detail_lines(text: str, evidence: Evidence, screen: Screen) -> Iterator[str]:
    """Show what the value of one aspect rests on; nothing where the evidence is of no aspect."""
    from celadon.metrics.aspects import SentenceEvidence
    from celadon.metrics.gruen.focus import FocusEvidence
    from celadon.metrics.gruen.redundancy import RedundancyEvidence

    if isinstance(evidence, SentenceEvidence):
        lines = _sentences(text, evidence, screen)
    elif isinstance(evidence, RedundancyEvidence):
        lines = _pairs(text, evidence, screen)
    elif isinstance(evidence, FocusEvidence):
        lines = _transitions(text, evidence, screen)
    else:
        lines = _order(text, evidence, screen)
    return (_MARGIN + line for line in lines)


def _sentences(text: str, evidence: SentenceEvidence, screen: Screen) -> Iterator[str]:
    """Each sentence after its value; of very many the worst. Then unknown words and loose ends."""
    from celadon.metrics.aspects import SENTENCE, WORST

    order = sorted(range(len(evidence.values)), key=lambda at: (evidence.values[at], at))
    shown = sorted(order[:_SENTENCES])
    wide = max((len(evidence.sentences[at].note) for at in shown), default=0)
    for at in shown:
        span = evidence.sentences[at]
        number, _, rest = span.note.partition(":")
        detail = rest.ljust(wide - len(number) - 1) if screen.columns >= _WIDE else ""
        mark = "  (worst)" if span.label == WORST else ""
        room = screen.room(len(number + detail) + 2 + len(mark))
        value = _shaded(number, evidence.values[at], screen)
        yield f"{value}{detail}  {_cut(text[span.start : span.end], room)}{mark}"
    if more := len(order) - len(shown):
        yield f"and {more:,} more, none below {evidence.values[order[_SENTENCES]]:.2f}"
    for span in [span for span in evidence.text_spans if span.label not in (SENTENCE, WORST)][:_SENTENCES]:
        said = f"{span.label}, {span.note}" if span.note else span.label
        yield f"{said}: {_up_to(text, span, screen.room(width(said) + 2))}"


def _up_to(text: str, span: Span, room: int) -> str:
    """A marked word with those before it, as many as there is room for."""
    before = text[max(0, span.start - _CONTEXT) : span.start]
    if span.start > _CONTEXT:
        before = f"…{before[before.find(' ') + 1 :]}"
    return _cut(before + text[span.start : span.end], room)


def _shaded(number: str, value: float, screen: Screen) -> str:
    """A value on the ground that the report gives it."""
    from celadon.report.aspect_html import LEVELS

    at = bisect.bisect_right(LEVELS, value)
    return f"\033[38;5;16;48;5;{_SHADES[at]}m{number}\033[0m" if screen.coloured and at < len(_SHADES) else number


def _pairs(text: str, evidence: RedundancyEvidence, screen: Screen) -> Iterator[str]:
    """Repeated sentences one above the other, what they share in brackets or underlined."""
    for pair in evidence.pairs[:_PAIRS]:
        wide = max(len(str(number)) for number in pair.numbers)
        for number, place, shared in zip(pair.numbers, pair.sentences, pair.shared, strict=True):
            lines = _wrapped(_marked_words(text, place, shared, screen), screen.room(wide + 2))
            yield from (f"{number if not at else '':>{wide}}  {line}" for at, line in enumerate(lines))


def _marked_words(text: str, place: Place, shared: Iterable[Place], screen: Screen) -> Iterator[tuple[str, int]]:
    """The words of a sentence with its shared stretches marked, each with how wide it is."""
    start, end = place
    inside = [False] * (end - start)
    for first, last in shared:
        inside[first - start : last - start] = [True] * (last - first)
    for word in re.finditer(r"\S+", text[start:end]):
        pieces, wide = [], 0
        for is_shared, group in groupby(range(*word.span()), key=inside.__getitem__):
            at = list(group)
            piece = printable(text[start + at[0] : start + at[-1] + 1])
            if is_shared and not screen.coloured:
                before = "" if at[0] and inside[at[0] - 1] else "["
                after = "" if at[-1] + 1 < len(inside) and inside[at[-1] + 1] else "]"
                piece = f"{before}{piece}{after}"
            wide += width(piece)
            pieces.append(f"\033[1;4m{piece}\033[0m" if is_shared and screen.coloured else piece)
        yield "".join(pieces), wide


def _wrapped(words: Iterable[tuple[str, int]], room: int) -> list[str]:
    """Words in lines of at most so many columns; after some lines an ellipsis."""
    lines: list[list[str]] = [[]]
    used = 0
    for word, wide in words:
        if used and used + 1 + wide > room:
            if len(lines) == _LINES:
                lines[-1].append("…")
                break
            lines.append([])
            used = 0
        lines[-1].append(word)
        used += wide + (1 if used else 0)
    return [" ".join(line) for line in lines]


def _transitions(text: str, evidence: FocusEvidence, screen: Screen) -> Iterator[str]:
    """The two sentences of each weak transition, the weakest first."""
    weak = sorted(evidence.weak, key=lambda transition: transition.similarity)
    numbers = [f"{transition.similarity:.3f}" for transition in weak[:_PAIRS]]
    wide = max(map(len, numbers), default=0)
    for number, transition in zip(numbers, weak, strict=False):
        for lead, (start, end) in ((number, transition.first), ("", transition.second)):
            yield f"{lead:>{wide}}  {_cut(text[start:end], screen.room(wide + 2))}"
    yield from _more(weak, "transitions")


def _order(text: str, evidence: Evidence, screen: Screen) -> Iterator[str]:
    """The sentences that look out of place; the summary tells of an opening that hangs in the air."""
    from celadon.metrics.gruen.coherence import DOUBTED

    doubted = [span for span in evidence.text_spans if span.label == DOUBTED]
    for span in doubted[:_SENTENCES]:
        yield f"{span.note}  {_cut(text[span.start : span.end], screen.room(width(span.note) + 2))}"
    if len(doubted) > _SENTENCES:
        yield f"and {len(doubted) - _SENTENCES:,} more"


def _more(found: Sequence[object], what: str) -> Iterator[str]:
    if len(found) > _PAIRS:
        yield f"and {len(found) - _PAIRS:,} more {what}"


def one_line(text: str) -> str:
    """A text that a terminal can show on one line."""
    return printable(" ".join(text.split()))


def _cut(text: str, room: int) -> str:
    """A text on one line that is no wider than so many columns."""
    line = one_line(text)
    if width(line) <= room:
        return line
    used, kept = 0, []
    for character in line:
        used += width(character)
        if used > room - 1:
            break
        kept.append(character)
    return f"{''.join(kept).rstrip()}…"
