"""Texts with what explains them, as rows that the templates render."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from celadon.core import UNREMARKABLE, Evidence, Metric, Section
from celadon.report.columns import Column
from celadon.report.evidence import SENTENCE_LEVELS, TOKEN_LEVELS, single
from celadon.report.explained import ALIGNED, HEAD, Aspect, alignment, is_aligned_in_part
from celadon.report.html import SHADES, Row, marked, section_rows, shaded, short
from celadon.report.keep import Kept

if TYPE_CHECKING:
    from markupsafe import Markup

_REASON_LIMIT = 200
_SNIPPET = 240


def _bounds(levels: Sequence[float], unit: str = "") -> list[str]:
    names = [f"under {levels[0]:g}{unit}", *(f"{low:g} to {high:g}" for low, high in pairwise(levels))]
    return [*names, f"{levels[-1]:g} and more"]


SCALES = {
    "sentences": list(zip(reversed(SHADES), _bounds(SENTENCE_LEVELS), strict=True)),
    "tokens": list(zip(SHADES, _bounds(TOKEN_LEVELS, " bits"), strict=True)),
}
"""What the shades mean, for the legend."""


@dataclass
class TextView:
    """Shows texts with their evidence, by position and of the first ``head`` characters, each aligned once."""

    metrics: Sequence[Metric]
    columns: Sequence[Column]
    aspects: Sequence[Aspect] = ()
    evidence: Mapping[int, tuple[Evidence, ...]] = field(default_factory=dict)
    head: int = HEAD
    _aligned: dict[int, Evidence | None] = field(default_factory=dict)

    def legend(self, texts: Iterable[Kept]) -> dict[str, str]:
        """Return the kinds of sections that are shown, each with the metrics that give them."""
        kinds: dict[str, dict[str, None]] = {}
        for kept in texts:
            if kept.references:
                kinds.setdefault("alignment", {})
            for each in single(self.evidence.get(kept.position, ())):
                for section in each.sections:
                    kinds.setdefault(section.kind, {})[each.metric] = None
        return {kind: " and ".join(metrics) for kind, metrics in kinds.items()}

    def snippet(self, kept: Kept) -> Markup:
        """Show the beginning of a text."""
        return self._text(kept, _SNIPPET)

    def rows(self, kept: Kept, limit: int) -> Iterator[Row]:
        """Show a text above its best reference, each cut after ``limit`` characters, and why it has its values."""
        yield Row("text", "Text", self._text(kept, limit))
        yield from self._reference(kept, limit)
        evidence = list(single(self.evidence.get(kept.position, ())))
        on_text = None if self._alignment(kept) else self._shaded(kept)
        values = [
            f"{aspect.name} {value:.3f}"
            for aspect, value in zip(self.aspects, kept.aspects, strict=True)
            if math.isfinite(value)
        ]
        aspects = Row("why", "Aspects", ", ".join(values)) if values and evidence else None
        below: list[Row] = []
        for each in evidence:
            for section in each.sections:
                if section.kind in ("sentences", "tokens") and section is not on_text:
                    below.append(Row("text", section.title, shaded(kept.text, section, self._marks(kept), limit)))
            is_aspect = any(each.metric.partition("[")[0].endswith(f".{aspect.name}") for aspect in self.aspects)
            if aspects and is_aspect:
                below.append(aspects)
                aspects = None
            below += section_rows(kept.text, [each], limit)
        if len(kept.text) > self.head and below:
            yield Row("note", "", f"what follows is of the first {self.head:,} characters")
        yield from below
        yield from self._reasons(kept)

    def _text(self, kept: Kept, limit: int) -> Markup:
        """The text itself with its alignment, or else its sentences or tokens shaded, or else its marks."""
        if evidence := self._alignment(kept):
            return marked(kept.text, evidence.text_spans, limit)
        if section := self._shaded(kept):
            return shaded(kept.text, section, self._marks(kept), limit)
        marks = [span for section in self._marks(kept) for span in section.spans if span.label not in UNREMARKABLE]
        return marked(kept.text, marks, limit)

    def _shaded(self, kept: Kept) -> Section | None:
        """The sentences of a text, or else its tokens."""
        sections = [section for each in single(self.evidence.get(kept.position, ())) for section in each.sections]
        return next((section for kind in ("sentences", "tokens") for section in sections if section.kind == kind), None)

    def _marks(self, kept: Kept) -> list[Section]:
        return [mark for each in single(self.evidence.get(kept.position, ())) for mark in each.of_kind("marks")]

    def _alignment(self, kept: Kept) -> Evidence | None:
        if kept.position not in self._aligned:
            self._aligned[kept.position] = alignment(kept, self.metrics)
        return self._aligned[kept.position]

    def _reference(self, kept: Kept, limit: int) -> Iterator[Row]:
        if not kept.references:
            return
        evidence = self._alignment(kept)
        which = (evidence.reference if evidence else None) or 0
        label = f"Reference {which + 1} of {len(kept.references)}" if len(kept.references) > 1 else "Reference"
        spans = evidence.reference_spans if evidence else ()
        yield Row("text", label, marked(kept.references[which], spans, limit))
        if evidence and is_aligned_in_part(kept):
            yield Row("note", "", f"aligned by the first {ALIGNED:,} characters")

    def _reasons(self, kept: Kept) -> Iterator[Row]:
        """Say why scores are null, each reason once with the metrics it holds for."""
        reasons: dict[str, list[str]] = {}
        for column, value, reason in zip(self.columns, kept.values, kept.reasons, strict=True):
            if not math.isfinite(value):
                reasons.setdefault(reason or "no reason given", []).append(column.spec)
        lines = [
            f"{short(', '.join(specs), _REASON_LIMIT)}: {short(reason, _REASON_LIMIT)}"
            for reason, specs in reasons.items()
        ]
        if lines:
            yield Row("why", "Null", "; ".join(lines))
