"""The report of an audit: one self-contained HTML file, the verdict first."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from celadon.meta.judges.measures import covariate_residuals
from celadon.meta.judges.results import Audit, JudgeAudit
from celadon.meta.judges.verdict import verdict_lines
from celadon.meta.study.notes import LEVEL_WORDS
from celadon.report import page
from celadon.report.blocks import (
    Block,
    Cell,
    Folded,
    Head,
    PageSection,
    Table,
    count_cell,
    interval,
    name_cell,
    number,
    number_cell,
    probability_cell,
    text_cell,
)
from celadon.report.html import NULL, style
from celadon.report.meta_report import figure_blocks, missing_plots
from celadon.report.plots.audit_figures import IntervalRow, curve_plot, distribution_plot, interval_plot
from celadon.report.plots.figures import scatter
from celadon.report.plots.of_study import Plot

_POINTS = 600


def audit_report(result: Audit, *, source_name: str, title: str = "") -> str:
    """Return the report of an audit as one HTML file that needs nothing else; the same for the same audit."""
    table = result.table
    count = len(result.judges)
    facts = [("Texts", table.rows), ("Rated", int(np.isfinite(table.rating).sum())), ("Judges", count)]
    facts += [("Ratings a text, at most", result.raters), ("Items", len(set(table.items)))]
    if table.systems is not None:
        facts.append(("Systems", len(set(table.systems))))
    sections = [section for section in _sections(result) if section.blocks]
    usual = f"Audit of {result.judges[0].judge}" if count == 1 else f"Audit of {count} judges"
    return page.document(
        "meta.html",
        title=title or usual,
        css=style("colors", "report", "tables"),
        source_name=source_name,
        facts=[(name, f"{value:,}") for name, value in facts],
        places={section.place: section.name for section in sections},
        sections=sections,
    )


def _sections(result: Audit) -> Iterator[PageSection]:
    yield _verdicts(result)
    yield PageSection(
        "agreement",
        "Agreement",
        "Does it agree with people?",
        "The correlation of the judge with the mean rating, with 95% intervals that draw whole items (and systems). As "
        "a rater is its correlation with the mean of all raters but one; one rater is what the one left out reaches.",
        _each(result, _agreement),
    )
    yield PageSection(
        "gate",
        "Gate",
        "Does it pass the texts that people pass?",
        f"A text passes with at least {result.gate if result.gate is not None else NULL}. A constant answer always "
        "says what is more frequent; a coin passes as many texts as people do.",
        _each(result, _gate),
    )
    word = "run" if result.repeats == "runs" else "prompt"
    yield PageSection(
        "repeats",
        "Repeatability" if word == "run" else "Prompts",
        "Does it say the same again?" if word == "run" else "Does it depend on the prompt?",
        f"How far {word}s agree on a text, how many verdicts change from one {word} to the next, and what the mean of "
        f"several {word}s would do.",
        _each(result, _repeats),
    )
    yield PageSection(
        "bias",
        "Bias",
        "What else does it look at?",
        "The effect of each thing on the judge's score at the same human rating, with 95% intervals. Where texts have "
        "several ratings, the error of the ratings is taken out. Shown is what stands after Holm's correction for all "
        "effects of a judge; an effect that is not shown is not thereby shown to be none.",
        _each(result, _biases),
    )
    yield PageSection(
        "alternatives",
        "Alternatives",
        "Does a free score do as well?",
        "Correlations with people on the same texts, and their difference. All together is a ridge regression of judge "
        "and alternatives, judged on items that it was not fitted on.",
        _each(result, _alternatives),
    )
    yield PageSection(
        "labels",
        "Labels",
        "How many people are still needed?",
        "Mean ratings from the labels alone, and with the judge's scores of texts that nobody rated "
        "(prediction-powered inference). Worth is how many labels alone would give the same interval. The rated texts "
        "must be drawn at random.",
        _each(result, _labels),
    )
    yield _making(result)


def _each(result: Audit, part: Any) -> list[Any]:
    """The blocks of every judge; of several judges each under its name."""
    made = [(one.judge, list(part(result, one, f"{part.__name__}{place}"))) for place, one in enumerate(result.judges)]
    made = [(judge, blocks) for judge, blocks in made if blocks]
    if len(result.judges) == 1:
        return [block for _, blocks in made for block in blocks]
    return [Folded(judge, blocks, opened=place == 0) for place, (judge, blocks) in enumerate(made)]


def _verdicts(result: Audit) -> PageSection:
    blocks: list[Any] = []
    for one in result.judges:
        blocks.append(Block("heading", one.verdict.headline))
        for title, lines in verdict_lines(one.verdict):
            blocks += [Block("words", title), Block("notes", lines)]
    if result.notes:
        blocks += [Block("words", "Beware"), Block("notes", result.notes)]
    if why := missing_plots():
        blocks.append(Block("note", f"This page is {why}"))
    return PageSection("verdict", "Verdict", "Verdict", "In words, before the numbers.", blocks)


def _plots(key: str, *plots: Plot) -> list[Block]:
    return figure_blocks(plots, key)


def _agreement(result: Audit, one: JudgeAudit, key: str) -> Iterator[Any]:
    rows = [
        IntervalRow(LEVEL_WORDS[row.level], row.value, row.low, row.high, beside=row.rater) for row in one.agreement
    ]
    table = result.table
    axis = f"{result.kind} correlation with the mean rating"
    label = f"Correlations of {one.judge} with people, beside those of one rater"
    draw = partial(interval_plot, rows, axis=axis, beside="one rater with the others", reference=0.0)
    of_texts = partial(
        scatter, table.score(one.judge), table.rating, metric=one.judge, human=table.human, most=_POINTS,
        seed=result.seed,
    )  # fmt: skip
    points = Plot("scatter", "", "", f"Scatter plot of {one.judge} against {table.human}", of_texts)
    yield from _plots(key, Plot("agreement", "", "", label, draw), points)
    heads = [Head("Level", "text"), Head(result.kind.capitalize()), Head("As a rater"), Head("One rater")]
    heads += [Head("Judge less rater"), Head("Rated texts")]
    lines = [
        [
            name_cell(LEVEL_WORDS[row.level]),
            number_cell(row.value, small=interval(row.low, row.high) or row.reason),
            *(number_cell(row.judge_as_rater), number_cell(row.rater)),
            number_cell(row.advantage.value, small=interval(row.advantage.low, row.advantage.high)),
            count_cell(row.used),
        ]
        for row in one.agreement
    ]
    yield Table(f"Agreement of {one.judge}", heads, lines)
    if result.people is not None:
        yield Block(
            "note",
            f"Raters of one text: mean pairwise correlation {number(result.people.pairwise_mean)}, "
            f"intraclass correlation of one rating {number(result.people.icc_single)}, of the mean "
            f"{number(result.people.icc_mean)}; a judge without any error would reach {number(result.people.ceiling)}.",
        )


def _gate(result: Audit, one: JudgeAudit, key: str) -> Iterator[Any]:
    gate = one.gate
    if gate is None:
        return
    estimates = {"accuracy": gate.accuracy, "precision": gate.precision, "recall": gate.recall, "kappa": gate.kappa}
    people = {"accuracy": gate.rater, "kappa": gate.rater_kappa}
    rows = [
        IntervalRow(name, value.value, value.low, value.high, beside=people.get(name, math.nan))
        for name, value in estimates.items()
    ]
    rows += [IntervalRow("accuracy of a constant answer", gate.constant, math.nan, math.nan)]
    rows += [IntervalRow("accuracy of a coin", gate.coin, math.nan, math.nan)]
    draw = partial(interval_plot, rows, axis="at the gate", beside="one rater against the others")
    yield from _plots(key, Plot("gate", "", "", f"Verdicts of {one.judge} against people's", draw))
    heads = [Head("Figure", "text"), Head("Judge"), Head("One rater"), Head("Constant"), Head("Coin")]
    lines = []
    for name, value in estimates.items():
        others = (gate.constant, gate.coin) if name == "accuracy" else (math.nan, math.nan)
        cells = [number_cell(value.value, small=interval(value.low, value.high) or value.reason)]
        cells += [number_cell(other) for other in (people.get(name, math.nan), *others)]
        lines.append([name_cell(name), *cells])
    yield Table(f"{one.judge} at the gate", heads, lines)
    yield Block(
        "note", f"People pass {gate.passed:.1%} of {gate.texts:,} texts, the judge passes {gate.judge_passed:.1%}."
    )


def _repeats(result: Audit, one: JudgeAudit, key: str) -> Iterator[Any]:
    same = one.repeatability
    if same is None:
        return
    runs = [row.repetitions for row in one.averaging]
    curves = {"reliability": [row.reliability for row in one.averaging]}
    if one.flips is not None:
        curves["share of verdicts that change"] = [row.flips for row in one.averaging]
    draw = partial(curve_plot, runs, curves, x=f"{result.repeats} averaged", y="")
    yield from _plots(key, Plot("repeats", "", "", f"What averaging {result.repeats} of {one.judge} does", draw))
    heads = [Head("Figure", "text"), Head("Value"), Head("95% interval", "")]
    facts = [
        ("ICC(2,1), absolute agreement", same.agreement.value, same.agreement.low, same.agreement.high),
        ("ICC(3,1), consistency", same.consistency.value, same.consistency.low, same.consistency.high),
        ("Krippendorff's alpha", same.alpha, math.nan, math.nan),
        (f"Standard deviation between {result.repeats}", same.spread, math.nan, math.nan),
        (f"Greatest difference of two {result.repeats}' means", same.shift, math.nan, math.nan),
    ]
    if one.flips is not None:
        facts += [
            ("Texts with both verdicts", *one.flips.any[:1], *one.flips.any[2:4]),
            ("Verdicts that change from one to the next", *one.flips.rate[:1], *one.flips.rate[2:4]),
        ]
    lines = [
        [name_cell(name), number_cell(value), Cell(interval(low, high) or NULL)] for name, value, low, high in facts
    ]
    yield Table(f"{result.repeats.capitalize()} of {one.judge}", heads, lines)
    if one.flips is not None and one.flips.expected:
        heads = [Head("Checks in a suite"), Head("Flips expected"), Head("In 95% of cases", "")]
        cells = [
            [count_cell(row.checks), number_cell(row.flips, 1), Cell(f"{row.low} to {row.high}")]
            for row in one.flips.expected
        ]
        yield Table("Flips to expect", heads, cells)


def _biases(result: Audit, one: JudgeAudit, key: str) -> Iterator[Any]:
    if not one.biases:
        return
    table = result.table
    scale = [abs(bias.effect.value / bias.size) if bias.size else math.nan for bias in one.biases]
    rows = [
        IntervalRow(bias.name, bias.size, bias.effect.low / by, bias.effect.high / by, marked=bias.shown)
        for bias, by in zip(one.biases, scale, strict=True)
    ]
    axis = "effect in standard deviations (of the scale: see the table)"
    draw = partial(interval_plot, rows, axis=axis, reference=0.0, marked="shown")
    plots = [Plot("bias", "", "", f"Effects on {one.judge} at the same human rating", draw)]
    of_scale = {one.judge: table.judges[one.judge].ravel(), table.human: table.ratings.ravel()}
    spread = partial(distribution_plot, of_scale, axis="single scores and single ratings")
    plots.append(Plot("scale", "", "", f"How {one.judge} and people use the scale", spread))
    for name, (values, left) in covariate_residuals(table, one.judge).items():
        dots = partial(
            scatter, values, left, metric=name, human="score less what the rating says", most=_POINTS, seed=result.seed
        )
        plots.append(Plot(name, "", "", f"Scores of {one.judge} at the same rating, by {name}", dots))
    yield from _plots(key, *plots)
    heads = [Head("Bias", "text"), Head("Effect"), Head("In standard deviations"), Head("p", first="ascending")]
    heads += [
        Head("p, adjusted", first="ascending"),
        Head("With the judge"),
        Head("With people"),
        Head("Shown", "text"),
    ]
    heads += [Head("Effect of", "text")]
    lines = [
        [
            name_cell(bias.name),
            number_cell(bias.effect.value, small=interval(bias.effect.low, bias.effect.high)),
            *(number_cell(bias.size), probability_cell(bias.effect.pvalue), probability_cell(bias.adjusted)),
            *(number_cell(bias.judge_correlation), number_cell(bias.human_correlation)),
            *(text_cell("yes" if bias.shown else "no"), text_cell(bias.effect.reason or bias.unit)),
        ]
        for bias in one.biases
    ]
    yield Table(f"Biases of {one.judge}", heads, lines)


def _alternatives(result: Audit, one: JudgeAudit, key: str) -> Iterator[Any]:
    if not one.alternatives:
        return
    differences = [(row.name, row.difference) for row in one.alternatives]
    rows = [IntervalRow(name, value.value, value.low, value.high, marked=value.high < 0) for name, value in differences]
    axis = f"{result.kind} of the judge less that of the alternative"
    draw = partial(interval_plot, rows, axis=axis, reference=0.0, marked="alternative is better")
    yield from _plots(key, Plot("alternatives", "", "", f"{one.judge} against free scores", draw))
    heads = [Head("Score", "text"), Head(result.kind.capitalize()), Head("Judge"), Head("Judge less score")]
    heads += [Head("p, adjusted", first="ascending"), Head("Better", "text")]
    lines = [
        [
            *(name_cell(row.name), number_cell(row.alternative), number_cell(row.judge)),
            number_cell(row.difference.value, small=interval(row.difference.low, row.difference.high)),
            *(probability_cell(row.adjusted), text_cell(row.better or NULL)),
        ]
        for row in one.alternatives
    ]
    if one.combination is not None:
        gain = one.combination.gain
        cells = [name_cell("all together"), number_cell(one.combination.correlation), number_cell(math.nan)]
        lines.append(
            [*cells, number_cell(-gain.value, small=interval(-gain.high, -gain.low)), Cell(NULL), text_cell("")]
        )
    yield Table(f"{one.judge} and free scores", heads, lines)


def _labels(result: Audit, one: JudgeAudit, key: str) -> Iterator[Any]:
    if not one.means:
        return
    rows = [
        IntervalRow(row.system or "all texts", row.mean.value, row.mean.low, row.mean.high, beside=row.mean.classical)
        for row in one.means
    ]
    means = partial(interval_plot, rows, axis=f"mean of {result.table.human}", beside="the labels alone")
    plots = [Plot("means", "", "", f"Mean ratings with the scores of {one.judge}", means)]
    if len(one.widths) > 1:
        curves = {
            "labels alone": [point.alone for point in one.widths],
            "with the judge": [point.width for point in one.widths],
        }
        places = [point.labels for point in one.widths]
        x, y = "labels of a system", "width of the interval"
        draw = partial(curve_plot, places, curves, x=x, y=y, logarithmic=True)
        plots.append(Plot("widths", "", "", f"Width of intervals by labels, with {one.judge} and without", draw))
    yield from _plots(key, *plots)
    heads = [Head("System", "text"), Head("Labels"), Head("Texts"), Head("Labels alone"), Head("With the judge")]
    heads += [Head("Worth"), Head("Wanted width"), Head("Labels for it"), Head("Without the judge")]
    lines = [
        [
            name_cell(row.system or "all texts"),
            *(count_cell(mean.labels), count_cell(mean.labels + mean.unlabeled)),
            number_cell(mean.classical, small=interval(mean.classical_low, mean.classical_high)),
            number_cell(mean.value, small=interval(mean.low, mean.high)),
            *(count_cell(round(mean.equivalent)), number_cell(row.wanted)),
            *(count_cell(math.nan if some is None else some) for some in (row.needed, row.needed_alone)),
        ]
        for row, mean in ((row, row.mean) for row in one.means)
    ]
    yield Table(f"Mean ratings with {one.judge}", heads, lines)
    if one.differences:
        heads = [Head("Best", "text"), Head("Against", "text"), Head("Labels alone"), Head("With the judge")]
        heads += [Head("p", first="ascending"), Head("Item by item", "text")]
        cells = [
            [
                *(name_cell(row.first), Cell(row.second, "user")),
                number_cell(found.classical, small=interval(found.classical_low, found.classical_high)),
                number_cell(found.value, small=interval(found.low, found.high)),
                *(probability_cell(found.pvalue), text_cell("yes" if found.paired else "no")),
            ]
            for row, found in ((row, row.difference) for row in one.differences)
        ]
        yield Table("The best system against the others", heads, cells)


def _making(result: Audit) -> PageSection:
    heads = [Head("Judge", "text"), Head("Columns", "text"), Head("Texts with a score"), Head("Of these rated")]
    lines = [
        [name_cell(one.judge), Cell(", ".join(one.columns), "user"), count_cell(one.scored), count_cell(one.rated)]
        for one in result.judges
    ]
    text = (
        f"Ratings: {result.table.human}. Correlations: {result.kind}. Repetitions are {result.repeats}. Seed "
        f"{result.seed}; at most {result.resamples:,} resamples, fewer of very many rows. Intervals of biases, gates "
        "and differences leave out one item at a time."
    )
    return PageSection("making", "How it was made", "How this was made", text, [Table("Judges", heads, lines)])
