"""The report of a meta-evaluation: one self-contained HTML file made from a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from celadon.core import MissingExtraError
from celadon.meta.study import Study
from celadon.report import meta_tables, page
from celadon.report.blocks import Block, Folded, Head, PageSection, Table, count_cell, name_cell, text_cell
from celadon.report.html import markup, style
from celadon.report.meta_ladder import by_metric, ladder
from celadon.report.plots import inline_svg, of_study, require_matplotlib
from celadon.report.plots.of_study import Plot

BYTES = 4_900_000

_SCATTERS = 3
# of all scatter plots together: a mark takes about forty bytes
_POINTS = 12_000
_NOTES = 14


def meta_report(study: Study, *, title: str, source_name: str) -> str:
    """Return the report of a study as one HTML file that needs nothing else; the same for the same study."""
    upper = list(_sections(study))
    lower = _making(study)
    css = style("colors", "report", "tables")
    tab = study.table
    counts = [("Rows", tab.rows), ("Metrics", len(tab.metrics)), ("Ratings", len(tab.humans))]
    counts += [
        (name, len(set(values)))
        for name, values in (("Systems", tab.systems), ("Domains", tab.domains), ("Items", tab.items))
        if values is not None
    ]

    def rendered(limit: int, count: int) -> str:
        texts = PageSection(
            "texts",
            "Texts",
            "Where metrics and people differ most",
            "Ranks run from 0, the worst of the table, to 1, the best.",
            meta_tables.disagreements(study, limit, count),
        )
        sections = [section for section in (*upper, texts, lower) if section.blocks]
        return page.document(
            "meta.html",
            title=title,
            css=css,
            source_name=source_name,
            facts=[(name, f"{value:,}") for name, value in counts],
            places={section.place: section.name for section in sections},
            sections=sections,
        )

    return page.fitted(rendered, _texts_per_metric(study), BYTES)


def missing_plots() -> str:
    """Say in one line why the report has no plots and how to get them; nothing where it has them."""
    try:
        require_matplotlib()
    except MissingExtraError as error:
        return f"without plots: {error}"
    return ""


def _texts_per_metric(study: Study) -> int:
    counts: dict[tuple[str, str], int] = {}
    for row in study.disagreements:
        counts[row.metric, row.human] = counts.get((row.metric, row.human), 0) + 1
    return max(counts.values(), default=0)


def _sections(study: Study) -> Iterator[PageSection]:
    """The sections above the texts."""
    yield _words(study)
    yield PageSection(
        "correlations",
        "Correlations",
        "Correlation with people",
        "How well each metric agrees with each rating, with 95% bootstrap intervals. Signs are turned so that more is "
        "always better. The ceiling is what a metric would reach that knew every text's true quality: ratings "
        "themselves are noisy.",
        [
            *figure_blocks(of_study.against_ratings(study), "h"),
            *meta_tables.correlation_tables(study),
            *_between(study),
        ],
    )
    yield PageSection(
        "forest",
        "Intervals",
        "Intervals side by side",
        "Each dot is a correlation and its line the 95% interval; the dashed line is the human ceiling, where single "
        "raters are known.",
        figure_blocks(of_study.forests(study), "f"),
    )
    yield _scatters(study)
    yield PageSection(
        "compare",
        "Comparisons",
        "Which metric is better",
        "Whether the difference between two metrics is more than chance, for every pair, corrected for testing many.",
        meta_tables.comparisons(study),
    )
    yield from _groups(study)
    yield PageSection(
        "raters",
        "Raters",
        "How far people agree",
        "Pairwise r is the mean correlation between two raters, below it the lowest and highest. ICC mean is the "
        "reliability of the mean of the raters, and the ceiling its square root.",
        meta_tables.agreement_table(study),
    )
    yield PageSection(
        "accuracy",
        "Accuracy",
        "Ordering pairs as people do",
        "The share of pairs that a metric puts in the order people put them; scores closer than the tie threshold "
        "count as ties. The soft accuracy weighs pairs of systems by how sure people are.",
        meta_tables.accuracy_tables(study),
    )
    yield _levels(study)
    yield _ablations(study)
    yield _references(study)


def _words(study: Study) -> PageSection:
    blocks: list[Any] = [Block("notes", study.notes[:_NOTES])] if study.notes else []
    if more := study.notes[_NOTES:]:
        blocks.append(Folded("", [Block("notes", more)], f"{len(more):,} more"))
    if why := missing_plots():
        blocks.append(Block("note", f"This page is {why}"))
    return PageSection("words", "In words", "What this says", "In words, before the numbers.", blocks)


def figure_blocks(plots: Iterable[Plot], prefix: str, *, wide: bool = False) -> list[Block]:
    """Draw plots as figures of the page, named above where they are of one rating or metric.

    Without matplotlib there are none: the tables hold the same figures, and the page says what is missing.
    """
    if missing_plots():
        return []
    figures = [
        (
            [name for name in (plot.metric, plot.human) if name],
            markup(inline_svg(plot.draw(), key=f"{prefix}{place}-", label=plot.label)),
        )
        for place, plot in enumerate(plots)
    ]
    return [Block("figures", {"figures": figures, "wide": wide})] if figures else []


def _between(study: Study) -> Sequence[Block]:
    drawn = figure_blocks(of_study.between_metrics(study), "m", wide=True)
    return [Block("heading", "The metrics with each other"), *drawn] if drawn else []


def _scatters(study: Study) -> PageSection:
    count = len(list(of_study.scatters(study, _SCATTERS)))
    most = max(100, min(1_000, _POINTS // max(count, 1)))
    return PageSection(
        "scatter",
        "Scatter plots",
        "The best metrics, text by text",
        f"The {_SCATTERS} metrics that agree best with each rating. The line is the linear fit to all rows, with the "
        f"95% confidence band of its height; of more than {most:,} rows so many are drawn.",
        figure_blocks(of_study.scatters(study, _SCATTERS, most), "s"),
    )


def _groups(study: Study) -> Iterator[PageSection]:
    ranked = figure_blocks(of_study.ranks(study), "r")
    yield PageSection(
        "systems",
        "By system",
        "By system",
        "How systems rank by people and by the best metrics, and how well metrics agree with people on the texts of "
        "each system alone.",
        [*ranked, *meta_tables.group_tables(study, "system=")],
    )
    yield PageSection(
        "domains",
        "By domain",
        "By domain",
        "How well metrics agree with people on the texts of each domain alone.",
        meta_tables.group_tables(study, "domain="),
    )
    yield PageSection(
        "reliable",
        "Reliable items",
        "On reliable items",
        "Only the rows on which all raters agree.",
        meta_tables.group_tables(study, "reliable"),
    )


def _levels(study: Study) -> PageSection:
    parts = []
    for place, plot in enumerate(of_study.boxes(study)):
        drawn = figure_blocks([plot._replace(human="")], f"b{place}x", wide=True)
        numbers = meta_tables.level_tables(study, plot.human)
        parts.append(Folded(plot.human, [*drawn, *numbers], opened=place == 0))
    return PageSection(
        "levels",
        "Distributions",
        "Distributions by level of rating",
        "Boxes hold the middle half of the scores, the thick line is the median, whiskers reach to the ends, the "
        f"diamond is the mean; below each box its level and its rows. The {of_study.BOXED} best metrics are drawn. "
        "The clearer the boxes climb, the more the metric sees.",
        parts,
    )


def _ablations(study: Study) -> PageSection:
    plots = list(of_study.ablations(study))
    numbers = [meta_tables.ablation_table(study, plot.metric) for plot in plots]
    rungs = ladder(study)
    stages = [meta_tables.ladder_table(mine) for mine in by_metric(rungs).values()]
    return PageSection(
        "ablation",
        "Ablation",
        "What the parts do",
        "A metric's correlation when some of its parts are left out: what falls, the part was good for. Of GRUEN and "
        "celadon also grammaticality alone (G), with focus (GU), with redundancy (GRU) and with coherence (GRUEN), put "
        "together as the metric does, with 95% bootstrap intervals.",
        [*figure_blocks([*of_study.ladders(rungs), *plots], "a"), *stages, *numbers],
    )


def _references(study: Study) -> PageSection:
    plots = list(of_study.curves(study))
    numbers = [meta_tables.references_table(study, plot.human) for plot in plots]
    return PageSection(
        "references",
        "References",
        "How many references",
        "The correlation of a metric that is given only some of the references, drawn at random; the bars are one "
        "standard deviation over draws.",
        [*figure_blocks(plots, "n"), *numbers],
    )


def _making(study: Study) -> PageSection:
    tab = study.table
    heads = [Head("Column", "text"), Head("Is a", "text"), Head("Rows with a value"), Head("Nulls")]
    lines = []
    for kind, names in (("rating", tab.humans), ("metric", tab.metrics)):
        for name in names:
            known = int(np.isfinite(tab.columns[name]).sum())
            turned = ", lower is better" if name in tab.lower_is_better else ""
            counts = (count_cell(known), count_cell(tab.rows - known))
            lines.append([name_cell(name), text_cell(f"{kind}{turned}"), *counts])
    used = (
        ("Correlations", {row.kind for row in study.correlations}),
        ("Tests", {row.test for row in study.comparisons}),
    )
    listed = "".join(f"{title}: {', '.join(sorted(names))}. " for title, names in used if names)
    text = (
        f"{tab.rows:,} rows; seed {study.seed}; {study.resamples:,} resamples. {listed}"
        "A row without a score or a rating is left out of that pair only, and counted."
    )
    return PageSection(
        "making", "How it was made", "How this was made", text, [Table("Columns of the table", heads, lines)]
    )
