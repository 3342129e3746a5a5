"""Tables 3 and 7 of the SLOR paper: Pearson's r, and the mean squared error after the best linear fit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from celadon.core import FloatArray
from celadon.meta.correlation import mean_squared_error_after_fit, pearson
from celadon.meta.significance import fisher_independent, fisher_interval, squared_error_test
from celadon.reproduce.blocks import NO_DATA, NOTHING, Block, Figure, PaperTable, beside, not_run_notes, number, used
from celadon.reproduce.published import SLOR_3, SLOR_7, SlorRow
from celadon.reproduce.scoring import SINGLE, ScoredSet
from celadon.reproduce.sets import PLANS, Rating

_SINGLE_NAME = f"{SINGLE} (first reference)"
_TOUTANOVA = "toutanova"
_LEVEL = 0.05
_STAR = (
    "A star marks what is worse than the best of its column: p < 0.05, one-tailed, Fisher's z for Pearson, two-sample "
    "t on the squared errors for the error. "
)
_OWN = (
    "The same columns for the data at hand, which are not the paper's: its figures are not to be compared with these. "
    "Positive means agreement: metrics and ratings of which less is better are turned round. The error is in squares "
    "of the rating's own scale."
)


class _Pair(NamedTuple):
    """Pearson's r and the error of one metric on one rating."""

    pearson: Figure
    error: Figure


def table_3(sets: Mapping[str, ScoredSet]) -> PaperTable:
    """The paper's data where it is at hand, then every other set at hand in the same columns."""
    first, figures = _paper_block("slor3", sets.get(_TOUTANOVA), SLOR_3, trained=False)
    blocks = [first]
    for name, scored in sets.items():
        if name != _TOUTANOVA:
            block, found = _own_block(scored)
            blocks.append(block)
            figures += found
    title = "SLOR, Table 3: Pearson's r and mean squared error after the best linear fit"
    return PaperTable("slor3", title, f"{_STAR}{_OWN}", tuple(blocks), tuple(figures))


def table_7(sets: Mapping[str, ScoredSet]) -> PaperTable:
    """Combinations of a reference metric and a likelihood."""
    first, figures = _paper_block("slor7", sets.get(_TOUTANOVA), SLOR_7, trained=True)
    lines = []
    lacking: dict[tuple[str, str], list[str]] = {}
    for name, scored in sets.items():
        if name == _TOUTANOVA:
            continue
        rating = _fluency(scored)
        for row in SLOR_7:
            if row.ours is None or row.ours not in scored.scores:
                lacking.setdefault((row.label, _why(row, scored)), []).append(scored.rated.plan.title)
                continue
            pair = _pair("slor7", scored, rating, row.ours, scored.scores[row.ours])
            figures += pair
            cells = (number(pair.pearson.ours), number(pair.error.ours), *used(pair))
            refs = references(scored, row.ours)
            lines.append((scored.rated.plan.title, rating.title, f"{row.label}: {row.ours}", refs, "no", *cells))
    header = ("data", "rating", "metric", "refs", "train?", "Pearson", "MSE", "rows", "nulls")
    notes = tuple(f"Not run: {label}: {why} ({', '.join(where)})." for (label, why), where in lacking.items())
    own = Block("The data at hand", (_OWN,), header, tuple(lines), notes, left=5)
    caption = "The paper's rows are 1,955 test examples of Toutanova et al. (2016), the rest being for training."
    return PaperTable("slor7", "SLOR, Table 7: combinations", caption, (first, own), tuple(figures))


def _why(row: SlorRow, scored: ScoredSet) -> str:
    return scored.not_run.get(row.ours or "", "no such metric is registered")


def _fluency(scored: ScoredSet) -> Rating:
    plan = scored.rated.plan
    return next(rating for rating in plan.ratings if rating.dimension == plan.fluency)


def references(scored: ScoredSet, spec: str) -> str:
    """How many references a metric used."""
    if spec in scored.without_references:
        return "0"
    return "1" if spec == _SINGLE_NAME else scored.rated.reference_counts


def _columns(scored: ScoredSet) -> dict[str, FloatArray]:
    single = {_SINGLE_NAME: scored.single[SINGLE]} if SINGLE in scored.single else {}
    return {**scored.scores, **single}


def _pair(table: str, scored: ScoredSet, rating: Rating, name: str, values: FloatArray) -> _Pair:
    human = rating.rising(scored.rated.ratings[rating.dimension])
    r, fit = pearson(values, human), mean_squared_error_after_fit(values, human)
    low, high = fisher_interval(r.value, r.count)
    where = (table, scored.rated.plan.title, name, rating.dimension)
    return _Pair(
        Figure(*where, "pearson", r.value, None, r.count, r.nulls, low, high, r.reason),
        Figure(*where, "mse", fit.value, None, fit.count, fit.nulls, reason=fit.reason),
    )


def _starred(
    scored: ScoredSet, rating: Rating, columns: Mapping[str, FloatArray], pairs: Mapping[str, _Pair]
) -> dict[str, tuple[str, str]]:
    """Both numbers of each metric, with a star where it is worse than the best."""
    human = rating.rising(scored.rated.ratings[rating.dimension])
    there = [name for name in pairs if not math.isnan(pairs[name].pearson.ours)]
    cells = {name: (number(pair.pearson.ours), number(pair.error.ours)) for name, pair in pairs.items()}
    if not there:
        return cells
    best = max(there, key=lambda name: pairs[name].pearson.ours)
    least = min(there, key=lambda name: pairs[name].error.ours)
    for name in there:
        one, other = pairs[best].pearson, pairs[name].pearson
        by_r = fisher_independent(one.ours, one.count, other.ours, other.count, alternative="greater").pvalue
        by_error = squared_error_test(columns[name], columns[least], human, alternative="greater").pvalue
        stars = ["*" if p < _LEVEL else "" for p in (by_r, by_error)]
        cells[name] = (cells[name][0] + stars[0], cells[name][1] + stars[1])
    return cells


def _own_block(scored: ScoredSet) -> tuple[Block, list[Figure]]:
    plan, columns = scored.rated.plan, _columns(scored)
    pairs = {
        rating: {name: _pair("slor3", scored, rating, name, values) for name, values in columns.items()}
        for rating in plan.ratings
    }
    cells = {rating: _starred(scored, rating, columns, pairs[rating]) for rating in plan.ratings}
    lines = [
        (
            name,
            references(scored, name),
            *(cell for rating in plan.ratings for cell in cells[rating][name]),
            *used([pairs[rating][name].pearson for rating in plan.ratings]),
        )
        for name in columns
    ]
    pairwise = [f"{rating.title} {what}" for rating in plan.ratings for what in ("Pearson", "MSE")]
    text = (f"{len(scored.rated.samples):,} rows.",) if columns else ("No metric could run.",)
    header = ("metric", "refs", *pairwise, "rows", "nulls")
    notes = not_run_notes(scored.not_run, scored.not_run)
    figures = [figure for by_name in pairs.values() for pair in by_name.values() for figure in pair]
    return Block(f"{plan.title}, in the columns of Table 3", text, header, tuple(lines), notes), figures


def _paper_block(
    table: str, scored: ScoredSet | None, published: Sequence[SlorRow], *, trained: bool
) -> tuple[Block, list[Figure]]:
    """The paper's own data and rows."""
    title = PLANS[_TOUTANOVA].title
    figures: list[Figure] = []
    lines, notes = [], []
    for row in published:
        refs, train = row.references, ("yes" if row.trained else "no",) if trained else ()
        if scored is None:
            cells: tuple[str, ...] = (beside(NO_DATA, row.pearson), beside(NO_DATA, row.error), NOTHING, NOTHING)
        elif row.ours is None or row.ours not in (columns := _columns(scored)):
            notes.append(f"Not run: {row.label}: {_why(row, scored)}.")
            cells = (beside(NOTHING, row.pearson), beside(NOTHING, row.error), NOTHING, NOTHING)
        else:
            pair = _pair(table, scored, _fluency(scored), row.ours, columns[row.ours])
            pair = _Pair(pair.pearson._replace(theirs=row.pearson), pair.error._replace(theirs=row.error))
            figures += pair
            refs = references(scored, row.ours)
            cells = (*(beside(number(figure.ours), figure.theirs) for figure in pair), *used(pair))
        lines.append((row.label, refs, *train, *cells))
    header = ("metric", "refs", *(("train?",) if trained else ()), "Pearson", "MSE", "rows", "nulls")
    said = (f"Ours: {NO_DATA}.",) if scored is None else tuple(notes)
    shown = f"{title}: {NO_DATA}" if scored is None else title
    text = ("Ours, and in brackets the paper's.",)
    return Block(shown, text, header, tuple(lines), said), figures
