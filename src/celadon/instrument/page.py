"""The page of an instrument: one self-contained HTML file made from its figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from celadon.instrument.figures import Cell, Instrument
from celadon.instrument.plots import Dots, dot_rows, length_curve, scale_bands
from celadon.report import blocks, page
from celadon.report.blocks import (
    Block,
    Head,
    PageSection,
    Table,
    count_cell,
    interval,
    name_cell,
    number,
    number_cell,
    text_cell,
)
from celadon.report.html import style
from celadon.report.meta_report import figure_blocks, missing_plots
from celadon.report.plots.of_study import Plot

OFTEN = 0.05
"""Of a cell whose interval lies wholly above this share, the page says that it has too many false alarms."""
_NAMED = 5
# every other score of the scale has a column
_EVERY = 2


def instrument_page(figures: Instrument, *, source_name: str) -> str:
    """Return the page as one HTML file that needs nothing else; the same for the same figures."""
    sections = [section for section in _sections(figures) if section.blocks]
    facts = [
        ("Gate", number(figures.gate)),
        ("False alarms", number(figures.false_alarms)),
        ("Cells", f"{len(figures.counted):,}"),
        ("Sound passages", f"{sum(cell.passages for cell in figures.cells):,}"),
    ]
    return page.document(
        "meta.html",
        title=f"How good an instrument {figures.metric} is",
        css=style("colors", "report", "tables"),
        source_name=source_name,
        facts=facts,
        places={section.place: section.name for section in sections},
        sections=sections,
    )


def verdict(figures: Instrument) -> list[str]:
    """Say in words what the figures come to; the first sentence is the verdict."""
    return [sentence for sentence in _sentences(figures) if sentence]


def _sentences(figures: Instrument) -> Iterator[str]:
    hits = [hit for hit in figures.hits if math.isfinite(hit.caught)]
    caught = f"catches {_percent(sum(hit.caught for hit in hits) / len(hits))} of damaged copies" if hits else ""
    if figures.counted:
        alarms = f"rejects {_percent(figures.false_alarms)} of sound passages"
        means = f"means of {_count(len(figures.counted), 'cell')}" + (
            f" and {_count(len(hits), 'kind')}" if hits else ""
        )
        parts = " and ".join(filter(None, (alarms, caught)))
        yield f"At a gate of {figures.gate:.3f}, {figures.metric} {parts} ({means})."
    else:
        yield f"No sound passage has a score of {figures.metric}, so nothing can be said of false alarms."
    often = sorted((cell for cell in figures.counted if cell.low > OFTEN), key=lambda cell: -cell.below)
    if often:
        more = f", and {len(often) - _NAMED:,} more" if len(often) > _NAMED else ""
        listed = ", ".join(f"{_cell_name(cell)} ({_percent(cell.below)})" for cell in often[:_NAMED])
        many = _count(len(often), "cell")
        yield f"More than {_percent(OFTEN)} false alarms, beyond chance, in {many}: {listed}{more}."
    elif figures.counted:
        yield f"No cell has more than {_percent(OFTEN)} false alarms beyond chance."
    if math.isfinite(figures.length):
        yield f"The rank correlation of score and length is {figures.length:.3f}."
    if hits:
        worst, best = (choose(hits, key=lambda hit: hit.auc) for choose in (min, max))
        yield f"The damage it notices best is {best.kind} (AUC {best.auc:.3f}), worst {worst.kind} ({worst.auc:.3f})."
    if figures.corrections:
        total = figures.corrections[-1]
        yield f"Of {total.pairs:,} corrections {_percent(total.raised)} raise the score, ties counted half."
    systems = [each for each in figures.best_systems if math.isfinite(each.mean)]
    if len(systems) > 1:
        first, last = systems[0], systems[-1]
        lowest = f"{last.system} the lowest ({last.mean:.3f})"
        yield f"Of {len(systems):,} systems, {first.system} has the highest mean ({first.mean:.3f}), {lowest}."
    nulls, passages = (sum(getattr(cell, what) for cell in figures.cells) for what in ("nulls", "passages"))
    yield f"Without a score: {nulls:,} of {_count(passages, 'sound passage')}."


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %".replace(".0 %", " %")


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _size(cell: Cell) -> str:
    return f"{cell.size} words" if cell.size else "replies"


def _cell_name(cell: Cell) -> str:
    return f"{cell.cell}, {_size(cell)}"


def _sections(figures: Instrument) -> Iterator[PageSection]:
    notes = [Block("notes", verdict(figures))]
    if why := missing_plots():
        notes.append(Block("note", f"This page is {why}"))
    yield PageSection("words", "In words", "What this says", "In words, before the numbers.", notes)
    yield _scale(figures)
    yield _alarms(figures)
    yield _lengths(figures)
    yield _hits(figures)
    yield _corrections(figures)
    yield _systems(figures)


def _blocks(
    title: str,
    plots: Iterable[Plot],
    heads: Sequence[Head],
    rows: Sequence[Sequence[blocks.Cell]],
    words: str = "",
) -> list[Block | Table]:
    """Return pictures, words about them, and a table of the same figures; nothing where there are no rows."""
    if not rows:
        return []
    plots = list(plots)
    said = [Block("words", words)] if words else []
    return [*figure_blocks(plots, plots[0].kind), *said, Table(title, heads, rows)]


def _scale(figures: Instrument) -> PageSection:
    title = "Shares of sound passages below each score, by genre"
    scores = list(figures.genres[0].below)[::_EVERY] if figures.genres else []
    heads = [Head("Genre", "text"), Head("Passages"), *(Head(f"Below {score}") for score in scores)]
    rows = [
        [name_cell(each.genre), count_cell(each.passages), *(number_cell(each.below[score], 2) for score in scores)]
        for each in figures.genres
    ]
    return PageSection(
        "scale",
        "Meaning",
        "What a score means",
        "For each genre, the share of its sound passages that lie below a score: a score is low if few sound texts of "
        "the genre have less. The dashed line is the gate.",
        _blocks(title, [Plot("scale", "", "", title, partial(scale_bands, figures))], heads, rows),
    )


def _alarms(figures: Instrument) -> PageSection:
    plots = []
    for size in sorted({cell.size for cell in figures.cells}):
        cells = sorted((cell for cell in figures.cells if cell.size == size), key=lambda cell: -_known(cell.below))
        names = [f"{cell.cell}{'' if cell.counted else ' *'}" for cell in cells]
        dots = Dots([cell.below for cell in cells], [cell.low for cell in cells], [cell.high for cell in cells])
        draw = partial(
            dot_rows, names, {"below": dots}, label="share below the gate", line=OFTEN, line_label=f"{OFTEN:g}"
        )
        plots.append(Plot("alarms", "", _size(cells[0]), f"Shares of false alarms by cell, {_size(cells[0])}", draw))
    heads = [Head("Cell", "text"), Head("Words"), Head("Counted", "text"), Head("Passages"), Head("Without a score")]
    heads += [Head("Mean"), Head("Below the gate")]
    rows = [
        [
            name_cell(cell.cell),
            count_cell(cell.size) if cell.size else text_cell("reply"),
            text_cell("yes" if cell.counted else "no"),
            *map(count_cell, (cell.passages, cell.nulls)),
            number_cell(cell.mean),
            number_cell(cell.below, small=interval(cell.low, cell.high)),
        ]
        for cell in figures.cells
    ]
    return PageSection(
        "alarms",
        "False alarms",
        "False alarms by cell",
        "The share of sound passages below the gate, with Wilson's 95% interval. Cells with a star are listed but not "
        "counted in the mean: their genres are those of speech.",
        _blocks("False alarms by cell", plots, heads, rows),
    )


def _known(value: float) -> float:
    return value if math.isfinite(value) else -math.inf


def _lengths(figures: Instrument) -> PageSection:
    title = "Scores of sound passages by length"
    heads = [Head("Words", "text"), Head("Passages"), Head("Lower quartile"), Head("Median"), Head("Upper quartile")]
    rows = [
        [
            name_cell(f"{each.shortest:,} to {each.longest:,}"),
            count_cell(each.passages),
            *map(number_cell, (each.lower, each.median, each.upper)),
        ]
        for each in figures.lengths
    ]
    joined = figures.joined
    words = (
        f"Two adjacent passages together differ from their word-weighted mean by {joined.mean:.3f} on average, and by "
        f"at most 0.05 in {_percent(joined.within)} of {_count(joined.pairs, 'pair')}."
    )
    draw = partial(length_curve, figures.lengths, figures.metric)
    return PageSection(
        "length",
        "Length",
        "Score against length",
        "The line is the median of the scores of sound passages that are about equally long, the band their middle "
        "half. Length is no fault: the line should be level.",
        _blocks(title, [Plot("length", "", "", title, draw)], heads, rows, words if joined.pairs else ""),
    )


def _shares(kind: str, title: str, names: Sequence[str], series: Mapping[str, Dots], label: str) -> Plot:
    """Return a plot of shares from 0 to 1 of which a half is guessing."""
    draw = partial(dot_rows, names, series, label=label, line=0.5, line_label="0.5", limits=(-0.02, 1.02))
    return Plot(kind, "", "", title, draw)


def _hits(figures: Instrument) -> PageSection:
    title, hits = "Hits by kind of damage", figures.hits
    series = {"AUC": Dots([hit.auc for hit in hits]), "caught at the gate": Dots([hit.caught for hit in hits])}
    heads = [Head("Damage", "text"), Head("Copies"), Head("Without a score"), Head("AUC"), Head("Caught")]
    rows = [
        [name_cell(hit.kind), *map(count_cell, (hit.copies, hit.nulls)), *map(number_cell, (hit.auc, hit.caught))]
        for hit in hits
    ]
    plot = _shares("hits", title, [hit.kind for hit in hits], series, "AUC, share caught")
    return PageSection(
        "hits",
        "Damage",
        title,
        "AUC is the chance that a sound passage scores higher than a damaged copy of any passage: 0.5 is guessing, 1 "
        "perfect. Caught is the share of the copies below the gate. A copy without a score is a miss.",
        _blocks(title, [plot], heads, rows),
    )


def _corrections(figures: Instrument) -> PageSection:
    title, pairs = "Corrections by kind", figures.corrections
    heads = [Head("Kind", "text"), Head("Pairs"), Head("Raised")]
    rows = [[name_cell(each.kind), count_cell(each.pairs), number_cell(each.raised)] for each in pairs]
    series = {"raised": Dots([each.raised for each in pairs])}
    plot = _shares("corrections", title, [each.kind for each in pairs], series, "share that raises the score")
    return PageSection(
        "corrections",
        "Corrections",
        title,
        "The share of people's corrections that raise the score; ties and texts without a score count half, so that "
        "0.5 is guessing.",
        _blocks(title, [plot], heads, rows),
    )


def _systems(figures: Instrument) -> PageSection:
    title, systems = "Means by system", figures.best_systems
    dots = Dots([each.mean for each in systems], [each.low for each in systems], [each.high for each in systems])
    names = [each.system for each in systems]
    draw = partial(dot_rows, names, {"mean": dots}, label="mean score")
    heads = [Head("System", "text"), Head("Passages"), Head("Without a score"), Head("Mean")]
    rows = [
        [
            name_cell(each.system),
            *map(count_cell, (each.passages, each.nulls)),
            number_cell(each.mean, small=interval(each.low, each.high)),
        ]
        for each in systems
    ]
    return PageSection(
        "systems",
        "Systems",
        title,
        "The mean score of each system's passages, with a 95% interval that takes the passages of one document as one.",
        _blocks(title, [Plot("systems", "", "", title, draw)], heads, rows),
    )
