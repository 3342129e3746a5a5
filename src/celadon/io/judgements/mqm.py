"""Freitag et al. 2021, MQM: translations with spans of errors, marked by professional translators.

``mqm_ted_zhen.tsv`` and its like are tab-separated without quotes, a row per error: system, doc, seg_id, rater, target
(the span between ``<v>`` and ``</v>``), category, severity. Ours is JSON lines, a row per translation.

An error weighs 5 (major) or 1 (minor), a minor one of punctuation 0.1, a translation that is none 25, as in the paper.
Where several raters judged a segment, scores are means over them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from celadon.io.judgements.files import json_lines, text_lines
from celadon.io.judgements.plain_jsonl import plain_row
from celadon.io.judgements.rows import Fields, Row, judgement, mean

DIMENSIONS = ("fluency_errors", "fluency_spans", "style_errors", "mqm_errors")
PATTERN = "mqm*.jsonl* mqm*.tsv* ted/zhen/mqm_ted_zhen.tsv*"

_NEEDED = ("system", "doc", "seg_id", "rater", "target", "category", "severity")
_MARK = re.compile("</?v>")
_WEIGHTS = {"major": 5.0, "minor": 1.0}


def read(path: str) -> Iterator[Row]:
    """Rows of one file, a translation each; all translations of a segment share an id."""
    if ".jsonl" in path.lower():
        for row in json_lines(path):
            extra = {"raters": row.number("raters"), "spans": row.any("spans")}
            yield plain_row(row, **extra) | {"id": row.text("doc")}
        return
    found: dict[tuple[str, str], _Translation] = {}
    for row in _rows(path):
        key = (row.text("system"), f"{row.text('doc')}-{row.text('seg_id')}")
        found.setdefault(key, _Translation(_MARK.sub("", row.text("target")))).add(row)
    for (system, segment), translation in found.items():
        yield translation.row(segment, system)


def weight(category: str, severity: str) -> float:
    """What an error costs."""
    kind, grade = category.lower(), severity.lower()
    if kind.startswith("non-translation"):
        return 25.0
    return 0.1 if (kind, grade) == ("fluency/punctuation", "minor") else _WEIGHTS.get(grade, 0.0)


@dataclass
class _Translation:
    """All rows of one translation."""

    text: str
    spans: list[dict[str, object]] = field(default_factory=list)
    # per rater, in the order of DIMENSIONS
    sums: dict[str, list[float]] = field(default_factory=dict)

    def add(self, row: Fields) -> None:
        sums = self.sums.setdefault(row.text("rater"), [0.0] * len(DIMENSIONS))
        category, severity = row.text("category"), row.text("severity").lower()
        cost = weight(category, severity)
        if not cost:
            return
        if category.startswith("Fluency/"):
            sums[0] += cost
            sums[1] += 1
        elif category.startswith("Style/"):
            sums[2] += cost
        sums[3] += cost
        before, _, rest = row.text("target").partition("<v>")
        # an omission is marked in the source
        text = rest.partition("</v>")[0] if rest else None
        start = len(before) if rest else None
        self.spans.append({"category": category, "severity": severity, "text": text, "start": start})

    def row(self, segment: str, system: str) -> Row:
        columns = zip(*self.sums.values(), strict=True)
        return judgement(
            id=segment,
            system=system,
            text=self.text,
            scores={name: mean(values) for name, values in zip(DIMENSIONS, columns, strict=True)},
            raters=len(self.sums),
            spans=self.spans,
        )


def _rows(path: str) -> Iterator[Fields]:
    head: list[str] = []
    for where, line in text_lines(path):
        cells = line.split("\t")
        if not head:
            head = [cell.strip() for cell in cells]
            lacking = [name for name in _NEEDED if name not in head]
            if lacking:
                raise Fields(path, {}).wrong(f"has no column {', '.join(lacking)}; its columns are {', '.join(head)}")
            continue
        row = Fields(where, dict(zip(head, cells, strict=False)))
        if len(cells) != len(head):
            raise row.wrong(f"{len(head)} cells are expected, not {len(cells)}")
        yield row
