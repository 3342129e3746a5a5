"""The report's lower part: best and worst texts, and the table of texts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from celadon.core import Evidence, Metric
from celadon.report.alignment import HEAD, alignment, in_part
from celadon.report.aspects import Aspects
from celadon.report.columns import NAME_LIMIT, NULL, Column, system_name
from celadon.report.escape import css_string, short
from celadon.report.keep import Kept
from celadon.report.parsed import ParsedTexts
from celadon.report.spans import legend, marked
from celadon.report.surprisal import Surprisals
from celadon.report.tree_drawings import TreeDrawings

_REASON_LIMIT = 200
_SNIPPET = 240


@dataclass
class TextView:
    """Shows kept texts with their alignments, aspects and surprisals, each aligned once however often it is shown."""

    metrics: Sequence[Metric]
    columns: Sequence[Column]
    named_systems: bool
    surprisals: Surprisals = field(default_factory=Surprisals)
    aspects: Aspects = field(default_factory=Aspects)
    parsed: ParsedTexts = field(default_factory=ParsedTexts)
    trees: TreeDrawings = field(default_factory=TreeDrawings)
    _aligned: dict[int, Evidence | None] = field(default_factory=dict)

    def legend(self, texts: Sequence[Kept]) -> str:
        """Say what the marks mean, where there are any."""
        aligned = legend() if any(kept.references for kept in texts) else ""
        judged = self.aspects.legend() if any(kept.position in self.aspects.found for kept in texts) else ""
        shaded = self.surprisals.legend() if any(map(self.surprisals.spans, texts)) else ""
        parsed = self.parsed.legend() if any(kept.position in self.parsed.found for kept in texts) else ""
        drawn = self.trees.legend() if any(kept.position in self.trees.found for kept in texts) else ""
        return aligned + judged + shaded + parsed + drawn

    def laid_out(self, kept: Kept, limit: int) -> str:
        """Show a text above its best reference, each cut after ``limit`` characters."""
        text = f'<b>Text</b><p dir="auto">{self._text(kept, limit)}</p>'
        reference = self._reference(kept, self._evidence(kept), limit)
        shaded = self._judged(kept, limit) + self._shaded(kept, limit) + self.parsed.lines(kept)
        return f'<div class="pair">{text}{reference}{shaded}{self.trees.lines(kept)}{self._reasons(kept)}</div>'

    def snippet(self, kept: Kept) -> str:
        """Show the beginning of a text."""
        return self._text(kept, _SNIPPET)

    def _text(self, kept: Kept, limit: int) -> str:
        """The text itself with its alignment, or else its sentences' grammaticality, or its tokens' surprisal."""
        evidence = self._evidence(kept)
        if evidence is None and (judged := self.aspects.shaded(kept, limit)):
            return judged
        return marked(kept.text, evidence.text_spans if evidence else self.surprisals.spans(kept), limit)

    def _judged(self, kept: Kept, limit: int) -> str:
        """Show the aspects, and the sentences in a line of their own where the text itself shows its alignment."""
        judged = self.aspects.shaded(kept, limit) if self._evidence(kept) is not None else ""
        sentences = f'<b>Sentences</b><p dir="auto">{judged}</p>' if judged else ""
        return sentences + self.aspects.lines(kept, limit)

    def _shaded(self, kept: Kept, limit: int) -> str:
        """Show the surprisal, in a line of its own where the text itself shows something else."""
        worst = self.surprisals.worst(kept)
        if not worst or (self._evidence(kept) is None and not self.aspects.shaded(kept, limit)):
            return worst
        shaded = marked(kept.text, self.surprisals.spans(kept), limit)
        return f'<b>Surprisal</b><p dir="auto">{shaded}</p>{worst}'

    def _evidence(self, kept: Kept) -> Evidence | None:
        if kept.position not in self._aligned:
            self._aligned[kept.position] = alignment(kept, self.metrics)
        return self._aligned[kept.position]

    def _reference(self, kept: Kept, evidence: Evidence | None, limit: int) -> str:
        if not kept.references:
            return ""
        aligned = evidence is not None and evidence.reference is not None
        which = evidence.reference or 0 if evidence else 0
        spans = evidence.reference_spans if evidence and aligned else ()
        label = f"Reference {which + 1} of {len(kept.references)}" if len(kept.references) > 1 else "Reference"
        note = f"<i>aligned by the first {HEAD:,} characters</i>" if evidence and in_part(kept) else ""
        return f'<b>{label}</b><p dir="auto">{marked(kept.references[which], spans, limit)}</p>{note}'

    def _reasons(self, kept: Kept) -> str:
        """Say why scores are null, each reason once with the metrics it holds for."""
        found: dict[str, list[str]] = {}
        for column, value, reason in zip(self.columns, kept.values, kept.reasons, strict=True):
            if not math.isfinite(value):
                found.setdefault(reason or "no reason given", []).append(column.spec)
        lines = [
            f"{short(', '.join(specs), _REASON_LIMIT)}: {short(reason, _REASON_LIMIT)}"
            for reason, specs in found.items()
        ]
        return f'<b>Null</b><p class="why">{"; ".join(lines)}</p>' if lines else ""

    def labels(self) -> list[str]:
        """Return the names of the table's columns, without marks."""
        first = ["Text", "System"] if self.named_systems else ["Text"]
        return first + [column.spec for column in self.columns]

    def row(self, kept: Kept, limit: int) -> str:
        """Show one text in the table of texts."""
        cells = [f'<th scope="row">{name_of(kept)}</th>']
        if self.named_systems:
            cells.append(f'<td dir="auto">{system_name(kept.system)}</td>')
        for column, value in zip(self.columns, kept.values, strict=True):
            cells.append(f"<td>{column.number(value)}</td>")
        return (
            f'<tbody id="t{kept.position}"><tr>{"".join(cells)}</tr>'
            f'<tr><td colspan="{len(cells)}">{self.laid_out(kept, limit)}</td></tr></tbody>'
        )


def name_of(kept: Kept) -> str:
    """Write a text's id, or its row where it has none."""
    return f"row {kept.position + 1}" if kept.id is None else f"<bdi>{short(kept.id, NAME_LIMIT)}</bdi>"


def label_rules(labels: Sequence[str]) -> str:
    """Name the values of a card, which has no header row above it, once for all cards."""
    names = [css_string(_breakable(label[:NAME_LIMIT])) for label in labels]
    return "".join(
        f".texts tbody tr:first-child>:nth-child({place})::before{{content:{name}}}"
        for place, name in enumerate(names[1:], start=2)
    )


def _breakable(label: str) -> str:
    return re.sub(r"([_\[,=])", "\\1\u200b", label)


@dataclass(frozen=True)
class Extremes:
    """Shows the best and worst texts; those that the table shows too (``shown``) are linked, not repeated."""

    view: TextView
    shown: set[int]
    limit: int

    def section(self, lists: Sequence[tuple[Sequence[Kept], Sequence[Kept]]]) -> str:
        """Show each metric's best and worst texts."""
        metrics = "".join(self._metric(place, best, worst) for place, (best, worst) in enumerate(lists))
        legend = self.view.legend([kept for best, worst in lists for kept in (*best, *worst)])
        return (
            '<section id="extremes"><h2>Best and worst texts</h2><p>Of all texts scored, by each metric in turn.</p>'
            f"{legend}{metrics}</section>"
        )

    def _metric(self, place: int, best: Sequence[Kept], worst: Sequence[Kept]) -> str:
        column = self.view.columns[place]
        ends = [column.number(texts[0].values[place]) for texts in (best, worst) if texts]
        span = ("no scores", "{} for every text", "best {}, worst {}")[len(ends)].format(*ends)
        lists = "".join(
            f"<div><h4>{name}</h4><ol>{''.join(self._entry(place, kept) for kept in texts)}</ol></div>"
            for name, texts in (("Best", best), ("Worst", worst))
            if texts
        )
        return (
            f'<details class="ends"><summary>{column.heading} <span class="range">{span}</span></summary>'
            f'<div class="both">{lists}</div></details>'
        )

    def _entry(self, place: int, kept: Kept) -> str:
        view = self.view
        if kept.position in self.shown:
            name = f'<a href="#t{kept.position}">{name_of(kept)}</a>'
            body = f'<p dir="auto">{view.snippet(kept)}</p>'
        else:
            name, body = name_of(kept), view.laid_out(kept, self.limit)
        system = f' <bdi class="system">{system_name(kept.system)}</bdi>' if view.named_systems else ""
        value = view.columns[place].number(kept.values[place])
        return f'<li><p class="line"><strong>{value}</strong> {name}{system}</p>{body}</li>'


def texts(view: TextView, drawn: Sequence[Kept], total: int, systems: Sequence[str | None], limit: int) -> str:
    """Show the table of texts."""
    if len(drawn) == total:
        many = f"All {total:,} texts" if total != 1 else "The one text"
    else:
        many = f"{len(drawn):,} of {total:,} texts, drawn at random"
    rows = "".join(view.row(kept, limit) for kept in drawn)
    return (
        f'<section id="texts"><h2>Texts</h2><p>{many}, in the order of the input.</p>{view.legend(drawn)}'
        f'{_filters(view, systems)}<table class="texts" data-sortable>{_heads(view)}{rows}</table></section>'
    )


def _heads(view: TextView) -> str:
    cells = ['<th scope="col" data-sort="text">Text</th>']
    if view.named_systems:
        cells.append('<th scope="col" data-sort="text">System</th>')
    for column in view.columns:
        first = "descending" if column.higher else "ascending"
        cells.append(f'<th scope="col" data-sort="number" data-first="{first}">{column.heading}</th>')
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def _filters(view: TextView, systems: Sequence[str | None]) -> str:
    """Controls that the script shows; without it they would do nothing."""
    choose = ""
    if view.named_systems:
        names = map(system_name, systems)
        options = "".join(f'<option value="{name}">{name}</option>' for name in names)
        choose = f'<label>System <select name="system"><option value="">all</option>{options}</select></label>'
    return (
        f'<form class="filters" hidden>{choose}<label>Search <input type="search" name="search" autocomplete="off">'
        f'</label><output aria-live="polite">{NULL}</output></form>'
    )
