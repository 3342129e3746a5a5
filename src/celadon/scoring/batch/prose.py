"""The prose of a text, with its place in the original and, where there is none, why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from celadon.core import NO_WORDS, Evidence, NullKind, Section, Span
from celadon.text.language import ENGLISH, NAMES
from celadon.text.prose import Nothing, Place, Prose, prose_version, read_prose
from celadon.text.sentences import splitter_version
from celadon.text.structure import Markup
from celadon.text.structure.blocks import STOPS, end_mark

PLAIN = "plain"
"""The option ``markup`` of a metric that reads the text as it is, as the papers do."""
MARKUPS = ("auto", PLAIN)
_REASONS = {
    Nothing.EMPTY: NO_WORDS,
    Nothing.WORDLESS: NO_WORDS,
    Nothing.FRAGMENT: f"{NullKind.FRAGMENT}: a word or two, no sentence to judge",
    Nothing.DATA: f"{NullKind.DATA}: code or data only, no prose to judge",
}


def ended(sentence: str) -> str:
    """Return a sentence with a mark of its end: items of lists and lines of verse do without, and models mind."""
    return sentence if end_mark(sentence) in STOPS else f"{sentence.rstrip(_OPEN_ENDS)}."


def reading_facts(markup: str) -> dict[str, str]:
    """Return what a signature must say of how texts are read with this option ``markup``."""
    return {"sentences": splitter_version()} if markup == PLAIN else {"prose": prose_version()}


_OPEN_ENDS = " ,;:-–—"


@dataclass(frozen=True, slots=True)
class ProseOfText:
    """The prose of one text: the text that is judged, its sentences, and why there are none."""

    text: str
    sentences: tuple[Place, ...]
    reason: str
    source: Prose

    def relocated(self, evidence: Evidence) -> Evidence:
        """Return evidence about the prose with its spans where they stand in the original."""
        return replace(
            evidence,
            sections=tuple(self._relocated(section) for section in evidence.sections),
            aspects=tuple(self.relocated(aspect) for aspect in evidence.aspects),
        )

    def _relocated(self, section: Section) -> Section:
        return replace(section, spans=tuple(map(self._placed, section.spans)))

    def _placed(self, span: Span) -> Span:
        last = min(span.end, len(self.text))
        # what has no characters, the end of a sentence, is right after those before it
        start, end = self.source.source_span(min(span.start, last - 1), last)
        return span._replace(start=start if span.start < last else end, end=end)


@lru_cache(maxsize=4096)
def prose_of(text: str, markup: str = "auto", language: str = "") -> ProseOfText:
    """Read the prose of a text, as its row says it is written."""
    prose = read_prose(text, Markup(markup), language)
    if prose.nothing is None:
        return ProseOfText(prose.text, prose.sentences, "", prose)
    if prose.nothing is Nothing.LANGUAGE:
        reason = f"{NullKind.LANGUAGE}: text is {prose.language.name}; celadon supports {NAMES[ENGLISH]} only"
    else:
        reason = _REASONS[prose.nothing]
    return ProseOfText("", (), reason, prose)
