"""The report of a meta-evaluation: one self-contained HTML file made from a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from celadon.core import MissingExtraError
from celadon.meta.study import Study
from celadon.report import meta_tables, page
from celadon.report.escape import escape, short
from celadon.report.meta_cells import Head, count_cell, folded, name_cell, section, table, text_of
from celadon.report.meta_compare import comparisons
from celadon.report.meta_ladder import by_metric, ladder
from celadon.report.meta_texts import disagreements
from celadon.report.plots import inline_svg, of_study, require_matplotlib
from celadon.report.plots.of_study import Plot

BYTES = 4_900_000

_SCATTERS = 3
# of all scatter plots together: a mark takes about forty bytes
_POINTS = 12_000
_NOTE_LIMIT = 2_000
_NOTES = 14


def meta_report(study: Study, *, title: str, source_name: str) -> str:
    """Return the report of a study as one HTML file that needs nothing else.

    Parameters
    ----------
    study
        The results.
    title
        The report's heading.
    source_name
        Where the table came from.

    Returns
    -------
    str
        The file's content, to be written as UTF-8; the same for the same study.
    """
    upper = list(_sections(study))
    lower = _making(study)
    style = page.asset("style.css") + page.asset("meta.css")

    def render(limit: int, count: int) -> str:
        texts = section(
            "texts",
            "Where metrics and people differ most",
            "Ranks run from 0, the worst of the table, to 1, the best.",
            disagreements(study, limit, count),
        )
        found = [part for part in (*upper, texts, lower) if part]
        head = _header(study, title, source_name) + page.navigation(_links(found))
        return page.document(title, f"{head}<main>{''.join(found)}</main>", style=style)

    return page.fitted(render, _texts_per_metric(study), BYTES)


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


def _links(sections: Iterable[str]) -> dict[str, str]:
    names = {
        "words": "In words",
        "correlations": "Correlations",
        "forest": "Intervals",
        "scatter": "Scatter plots",
        "compare": "Comparisons",
        "systems": "By system",
        "domains": "By domain",
        "reliable": "Reliable items",
        "raters": "Raters",
        "accuracy": "Accuracy",
        "levels": "Distributions",
        "ablation": "Ablation",
        "references": "References",
        "texts": "Texts",
        "making": "How it was made",
    }
    present = {part.split('"', 2)[1] for part in sections}
    return {place: name for place, name in names.items() if place in present}


def _header(study: Study, title: str, source_name: str) -> str:
    tab = study.table
    facts = [("Rows", tab.rows), ("Metrics", len(tab.metrics)), ("Ratings", len(tab.humans))]
    facts += [
        (name, len(set(values)))
        for name, values in (("Systems", tab.systems), ("Domains", tab.domains), ("Items", tab.items))
        if values is not None
    ]
    listed = "".join(f"<div><dt>{name}</dt><dd>{value:,}</dd></div>" for name, value in facts)
    return (
        f'<header><h1 dir="auto">{short(title, 300)}</h1>'
        f'<p class="inputs">From <bdi>{short(source_name, 200)}</bdi></p>'
        f'<dl class="facts">{listed}</dl></header>'
    )


def _sections(study: Study) -> Iterator[str]:
    """The sections above the texts."""
    yield _words(study)
    yield section(
        "correlations",
        "Correlation with people",
        "How well each metric agrees with each rating, with 95% bootstrap intervals. Signs are turned so that more is "
        "always better. The ceiling is what a metric would reach that knew every text's true quality: ratings "
        "themselves are noisy.",
        _figures(of_study.against_ratings(study), "h") + meta_tables.correlation_tables(study) + _between(study),
    )
    yield section(
        "forest",
        "Intervals side by side",
        "Each dot is a correlation and its line the 95% interval; the dashed line is the human ceiling, where single "
        "raters are known.",
        _figures(of_study.forests(study), "f"),
    )
    yield _scatters(study)
    yield section(
        "compare",
        "Which metric is better",
        "Whether the difference between two metrics is more than chance, for every pair, corrected for testing many.",
        comparisons(study),
    )
    yield from _groups(study)
    yield section(
        "raters",
        "How far people agree",
        "Pairwise r is the mean correlation between two raters, below it the lowest and highest. ICC mean is the "
        "reliability of the mean of the raters, and the ceiling its square root.",
        meta_tables.agreement_table(study),
    )
    yield section(
        "accuracy",
        "Ordering pairs as people do",
        "The share of pairs that a metric puts in the order people put them; scores closer than the tie threshold "
        "count as ties. The soft accuracy weighs pairs of systems by how sure people are.",
        meta_tables.accuracy_tables(study),
    )
    yield _levels(study)
    yield _ablations(study)
    yield _references(study)


def _words(study: Study) -> str:
    notes = [f'<li dir="auto">{short(note, _NOTE_LIMIT)}</li>' for note in study.notes]
    listed = f'<ul class="notes">{"".join(notes[:_NOTES])}</ul>' if notes else ""
    if more := notes[_NOTES:]:
        listed += folded(f"{len(more):,} more", f'<ul class="notes">{"".join(more)}</ul>')
    if why := missing_plots():
        listed += f'<p class="notes">This page is {escape(why)}</p>'
    return section("words", "What this says", "In words, before the numbers.", listed)


def _figures(plots: Iterable[Plot], prefix: str, *, wide: bool = False) -> str:
    """Draw plots as figures of the page, named above where they are of one rating or metric.

    Without matplotlib there are none: the tables hold the same figures, and the page says what is missing.
    """
    if missing_plots():
        return ""
    figures = []
    for place, plot in enumerate(plots):
        named = ", ".join(text_of(name) for name in (plot.metric, plot.human) if name)
        caption = f"<figcaption>{named}</figcaption>" if named else ""
        drawn = inline_svg(plot.draw(), key=f"{prefix}{place}-", label=plot.label)
        figures.append(f'<figure class="plot" tabindex="0">{caption}{drawn}</figure>')
    kind = "plots wide-plots" if wide else "plots"
    return f'<div class="{kind}">{"".join(figures)}</div>' if figures else ""


def _between(study: Study) -> str:
    drawn = _figures(of_study.between_metrics(study), "m", wide=True)
    return f"<h3>The metrics with each other</h3>{drawn}" if drawn else ""


def _scatters(study: Study) -> str:
    count = len(list(of_study.scatters(study, _SCATTERS)))
    most = max(100, min(1_000, _POINTS // max(count, 1)))
    return section(
        "scatter",
        "The best metrics, text by text",
        f"The {_SCATTERS} metrics that agree best with each rating. The line is the linear fit to all rows, with the "
        f"95% confidence band of its height; of more than {most:,} rows so many are drawn.",
        _figures(of_study.scatters(study, _SCATTERS, most), "s"),
    )


def _groups(study: Study) -> Iterator[str]:
    ranked = _figures(of_study.ranks(study), "r")
    yield section(
        "systems",
        "By system",
        "How systems rank by people and by the best metrics, and how well metrics agree with people on the texts of "
        "each system alone.",
        ranked + meta_tables.group_tables(study, "system="),
    )
    yield section(
        "domains",
        "By domain",
        "How well metrics agree with people on the texts of each domain alone.",
        meta_tables.group_tables(study, "domain="),
    )
    yield section(
        "reliable",
        "On reliable items",
        "Only the rows on which all raters agree.",
        meta_tables.group_tables(study, "reliable"),
    )


def _levels(study: Study) -> str:
    parts = []
    for place, plot in enumerate(of_study.boxes(study)):
        drawn = _figures([plot._replace(human="")], f"b{place}x", wide=True)
        numbers = meta_tables.level_tables(study, plot.human)
        parts.append(folded(text_of(plot.human), drawn + numbers, opened=place == 0))
    return section(
        "levels",
        "Distributions by level of rating",
        "Boxes hold the middle half of the scores, the thick line is the median, whiskers reach to the ends, the "
        f"diamond is the mean; below each box its level and its rows. The {of_study.BOXED} best metrics are drawn. "
        "The clearer the boxes climb, the more the metric sees.",
        "".join(parts),
    )


def _ablations(study: Study) -> str:
    plots = list(of_study.ablations(study))
    numbers = [meta_tables.ablation_table(study, plot.metric) for plot in plots]
    rungs = ladder(study)
    stages = [meta_tables.ladder_table(mine) for mine in by_metric(rungs).values()]
    return section(
        "ablation",
        "What the parts do",
        "A metric's correlation when some of its parts are left out: what falls, the part was good for. Of GRUEN and "
        "celadon also grammaticality alone (G), with focus (GU), with redundancy (GRU) and with coherence (GRUEN), put "
        "together as the metric does, with 95% bootstrap intervals.",
        _figures([*of_study.ladders(rungs), *plots], "a") + "".join([*stages, *numbers]),
    )


def _references(study: Study) -> str:
    plots = list(of_study.curves(study))
    numbers = [meta_tables.references_table(study, plot.human) for plot in plots]
    return section(
        "references",
        "How many references",
        "The correlation of a metric that is given only some of the references, drawn at random; the bars are one "
        "standard deviation over draws.",
        _figures(plots, "n") + "".join(numbers),
    )


def _making(study: Study) -> str:
    tab = study.table
    heads = [Head("Column", "text"), Head("Is a", "text"), Head("Rows with a value"), Head("Nulls")]
    lines = []
    for kind, names in (("rating", tab.humans), ("metric", tab.metrics)):
        for name in names:
            known = int(np.isfinite(tab.columns[name]).sum())
            turned = ", lower is better" if name in tab.lower_is_better else ""
            counts = count_cell(known) + count_cell(tab.rows - known)
            lines.append(f"{name_cell(name)}<td>{kind}{turned}</td>{counts}")
    used = (
        ("Correlations", {row.kind for row in study.correlations}),
        ("Tests", {row.test for row in study.comparisons}),
    )
    listed = "".join(f"{title}: {', '.join(sorted(names))}. " for title, names in used if names)
    said = (
        f"{tab.rows:,} rows; seed {study.seed}; {study.resamples:,} resamples. {escape(listed)}"
        "A row without a score or a rating is left out of that pair only, and counted."
    )
    return section("making", "How this was made", said, table(heads, lines, label="Columns of the table"))
