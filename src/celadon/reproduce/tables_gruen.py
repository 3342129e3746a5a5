"""Tables 2, 3, 4, 8 and 9 of the GRUEN paper: correlations over single texts, and Williams' test of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from celadon.core import FloatArray, IntArray
from celadon.meta.correlation import Kind, correlate
from celadon.meta.significance import DependentResult, williams
from celadon.reproduce.blocks import (
    NO_DATA,
    NOTHING,
    Block,
    Figure,
    PaperTable,
    beside,
    correlation_figure,
    not_run_notes,
    number,
    used,
)
from celadon.reproduce.published import (
    FAMILIES,
    GRUEN_2_CNNDM,
    GRUEN_2_ROWS,
    GRUEN_2_TAC,
    GRUEN_4,
    GRUEN_8,
    GRUEN_9,
    GRUEN_9_ROWS,
    GRUEN_14_CNNDM,
    LABELS,
    OVER_CHARACTERS,
    PEARSON,
    RHO,
    SYMBOLS,
    TAU,
    Figures,
    dialogue,
)
from celadon.reproduce.scoring import ScoredSet
from celadon.reproduce.sets import PLANS, Rating

Sets = Mapping[str, ScoredSet]

_RHO_R = (RHO, PEARSON)
_ALL = (RHO, TAU, PEARSON)
_SIGNS = (
    "Ours to three decimals, in brackets the paper's for the same data. Correlations are at the level of the single "
    "text, over all rows that have a score. Metrics of which less is better ({turned}) are turned round first."
)
_HTER = "Post-edits is hter, of which less is better, so that a good metric is negative there, as in the paper."
_BEST = (
    "BLEU-best and the like are, as in the paper, one version for a data set: here the one with the highest ρ on "
    "average over the paper's ratings, Post-edits counting turned round; the version is named."
)
_REGISTERED = "no such metric is registered"


def table_2(sets: Sets) -> PaperTable:
    """CNN/Daily Mail; TAC-2011, which is not at hand."""
    plan = PLANS["cnndm"]
    theirs = GRUEN_2_CNNDM | GRUEN_14_CNNDM
    text = f"The paper has {GRUEN_2_ROWS:,} rows; here a text that two systems made alike is one row."
    block, figures = _block("gruen2", sets.get("cnndm"), plan.title, plan.ratings, _RHO_R, theirs, (text,))
    readability = (Rating("Readability", "readability"),)
    lacking, _ = _block("gruen2", None, "TAC-2011", readability, _RHO_R, GRUEN_2_TAC)
    caption = (
        f"{_signs(sets, ['cnndm'])} {_HTER} {_BEST} Single versions are those of the paper's Table 14. Its BLEU is not "
        "BLEU over words but over characters, spaces included; BLEU over characters without spaces is given too."
    )
    title = "GRUEN, Table 2: Spearman's ρ and Pearson's r with ratings of summaries"
    return PaperTable("gruen2", title, caption, (block, lacking), figures)


def table_3(sets: Sets) -> PaperTable:
    """The three dialogue sets."""
    names = ["bagel", "sfhotel", "sfrest"]
    blocks: list[Block] = []
    figures: list[Figure] = []
    for name in names:
        plan = PLANS[name]
        block, found = _block("gruen3", sets.get(name), plan.title, plan.ratings, _RHO_R, dialogue(name))
        blocks.append(block)
        figures += found
    caption = (
        f"{_signs(sets, names)} Ratings are medians; the paper has no Informativeness, and does not say how it uses "
        f"several references: here each counts once, and metrics take the best of them, or all as BLEU does. "
        f"{_BEST} Single versions are those of the paper's Table 15."
    )
    title = "GRUEN, Table 3: Spearman's ρ and Pearson's r with ratings of dialogue outputs"
    return PaperTable("gruen3", title, caption, tuple(blocks), tuple(figures))


def table_4(sets: Sets) -> PaperTable:
    """Simplification: the paper's set, which is not at hand, and one that is."""
    grammar = (Rating("Grammar", "grammar"),)
    lacking, _ = _block("gruen4", None, "Xu et al. (2016)", grammar, _ALL, GRUEN_4)
    plan = PLANS["sulem"]
    text = (
        "Another set of simplified sentences, which the paper does not have, with the rows of the paper's table. It "
        "has source sentences but no references."
    )
    same_rows: Figures = {(label, plan.fluency, kind): None for label, _, kind in GRUEN_4}
    block, figures = _block("gruen4", sets.get("sulem"), plan.title, plan.ratings, _ALL, same_rows, (text,))
    caption = f"{_signs(sets, ['sulem'])} {_BEST}"
    title = "GRUEN, Table 4: ρ, τ and r with ratings of simplified sentences"
    return PaperTable("gruen4", title, caption, (lacking, block), figures)


def table_9(sets: Sets) -> PaperTable:
    """The summaries whose raters all agree."""
    plan, scored = PLANS["cnndm"], sets.get("cnndm")
    rows = None if scored is None or scored.rated.reliable is None else np.flatnonzero(scored.rated.reliable)
    title = f"{plan.title}, reliable items"
    if scored is not None and rows is not None:
        text = f"{len(rows):,} rows on whose Overall rating all raters agree; the paper has {GRUEN_9_ROWS:,}."
        # not the same rows as the paper's, so figures stand beside each other with this said
        block, figures = _block("gruen9", scored, title, plan.ratings, _ALL, GRUEN_9, (text,), rows)
    else:
        block, figures = _block("gruen9", None, title, plan.ratings, _ALL, GRUEN_9)
    caption = f"{_signs(sets, ['cnndm'])} {_HTER} {_BEST}"
    return PaperTable("gruen9", "GRUEN, Table 9: ρ, τ and r on reliable items", caption, (block,), figures)


def _signs(sets: Sets, names: Sequence[str]) -> str:
    turned = sorted({spec for name in names if name in sets for spec in sets[name].turned})
    return _SIGNS.format(turned=", ".join(turned) or "none here")


def _block(
    table: str,
    scored: ScoredSet | None,
    title: str,
    ratings: Sequence[Rating],
    kinds: Sequence[Kind],
    theirs: Figures,
    text: tuple[str, ...] = (),
    rows: IntArray | None = None,
) -> tuple[Block, tuple[Figure, ...]]:
    """One data set: the paper's metrics in its order, then the others of ours."""
    labels = list(dict.fromkeys(label for label, _, _ in theirs))
    header = ("", *(f"{rating.title} {SYMBOLS[kind]}" for rating in ratings for kind in kinds), "rows", "nulls")
    if scored is None:
        lines = [_theirs_alone(label, ratings, kinds, theirs) for label in labels]
        return Block(f"{title}: {NO_DATA}", text, header, tuple(lines), (f"Ours: {NO_DATA}.",)), ()
    cut = np.arange(len(scored.rated.samples)) if rows is None else rows
    human = {rating.dimension: scored.rated.ratings[rating.dimension][cut] for rating in ratings}
    scores = {spec: values[cut] for spec, values in scored.scores.items()}
    notes = dict(scored.not_run)
    figures: list[Figure] = []
    lines = []
    rated = [rating for rating in ratings if any(rating.dimension == dimension for _, dimension, _ in theirs)]
    entries = [(label, *_ours(label, scores, human, rated)) for label in labels]
    taken = {spec for _, _, spec in entries}
    entries += [_other(spec) for spec in scores if spec not in taken]
    for label, name, spec in entries:
        if spec not in scores:
            notes.setdefault(spec, _REGISTERED)
            lines.append(_theirs_alone(label, ratings, kinds, theirs))
            continue
        found = [
            correlation_figure(
                table, title, name, rating, kind, scores[spec], human[rating.dimension],
                theirs.get((label, rating.dimension, kind)),
            )
            for rating in ratings
            for kind in kinds
        ]  # fmt: skip
        lines.append((name, *(beside(number(f.ours), f.theirs) for f in found), *used(found)))
        figures += found
    shown = [spec for _, _, spec in entries if spec not in scores] + list(notes)
    return Block(title, text, header, tuple(lines), not_run_notes(notes, shown)), tuple(figures)


def _other(spec: str) -> tuple[str, str, str]:
    """A metric that is in none of the paper's rows, or another version of one that is."""
    label = OVER_CHARACTERS.get(spec, "")
    return label, f"{label} over characters: {spec}" if label else spec, spec


def _theirs_alone(label: str, ratings: Sequence[Rating], kinds: Sequence[Kind], theirs: Figures) -> tuple[str, ...]:
    cells = [beside(NOTHING, theirs.get((label, rating.dimension, kind))) for rating in ratings for kind in kinds]
    return (label, *cells, NOTHING, NOTHING)


def _ours(
    label: str, scores: Mapping[str, FloatArray], human: Mapping[str, FloatArray], ratings: Sequence[Rating]
) -> tuple[str, str]:
    """What a row of the paper is called here, and the metric whose figures it shows."""
    if label in FAMILIES:
        there = [spec for spec in FAMILIES[label] if spec in scores]
        if not there:
            return label, FAMILIES[label][0]
        best = max(there, key=lambda spec: mean_agreement(scores[spec], human, ratings))
        return f"{label}: {best}", best
    return (f"{label}: {LABELS[label]}", LABELS[label]) if label in LABELS else (label, label)


def mean_agreement(scores: FloatArray, human: Mapping[str, FloatArray], ratings: Sequence[Rating]) -> float:
    """Spearman's ρ on average over ratings, turned so that more is better; a missing one counts as none."""
    values = [agreement(scores, human[rating.dimension], rating, RHO) for rating in ratings]
    return float(np.mean(np.nan_to_num(values)))


def agreement(scores: FloatArray, human: FloatArray, rating: Rating, kind: Kind) -> float:
    """A correlation of which more is better."""
    return correlate(scores, rating.rising(human), kind=kind).value


_TITLE = "GRUEN, Table 8: Williams' test"
_CAPTION = (
    "p of the one-sided test that the first metric's correlation is the greater one; *, **, *** mark p below 0.01, "
    "0.001 and 0.0001, in brackets the paper's, — where the first is not greater. Ratings of which less is better are "
    "turned round, metrics too. The test is derived for r; for ρ and τ it is used as the paper uses it."
)
_GRUEN = LABELS["GRUEN"]
_BASELINES = frozenset(LABELS.values()) - {_GRUEN}


def table_8(sets: Mapping[str, ScoredSet]) -> PaperTable:
    """GRUEN against the paper's baselines, then the best metric at hand against the next."""
    first, figures = _gruen(sets)
    second, more = _best_and_next(sets)
    return PaperTable("gruen8", _TITLE, _CAPTION, (first, second), (*figures, *more))


def _gruen(sets: Mapping[str, ScoredSet]) -> tuple[Block, list[Figure]]:
    figures: list[Figure] = []
    lines, notes = [], []
    for (name, dimension), stars in GRUEN_8.items():
        scored = sets.get(name)
        title = PLANS[name].title if name in PLANS else name
        if scored is None:
            lines.append((title, _rating_title(name, dimension), *(beside(NO_DATA, theirs) for theirs in stars)))
            continue
        rating = next(rating for rating in scored.rated.plan.ratings if rating.dimension == dimension)
        baselines = [spec for spec in scored.scores if spec in _BASELINES]
        if _GRUEN not in scored.scores or not baselines:
            why = scored.not_run.get(_GRUEN, _REGISTERED)
            notes.append(f"{_GRUEN}: {why}" if _GRUEN not in scored.scores else "no baseline of the paper ran")
            lines.append((title, rating.title, *(beside(NOTHING, theirs) for theirs in stars)))
            continue
        cells = []
        for kind, theirs in zip(_ALL, stars, strict=True):
            best = ranked(scored, rating, kind, baselines)[0]
            found = _test(scored, rating, kind, _GRUEN, best)
            figures.append(_williams_figure(title, rating, kind, f"{_GRUEN} > {best}", found, theirs))
            cells.append(beside(f"{_stars(found)} {best}", theirs))
        lines.append((title, rating.title, *cells))
    header = ("data", "rating", *(SYMBOLS[kind] for kind in _ALL))
    said = tuple(f"Not run: {why}." for why in dict.fromkeys(notes))
    return Block("GRUEN against the best baseline", (), header, tuple(lines), said, left=2), figures


def _rating_title(name: str, dimension: str) -> str:
    """A rating's title; what is not among our data sets goes by the paper's own."""
    ratings = PLANS[name].ratings if name in PLANS else ()
    return next((rating.title for rating in ratings if rating.dimension == dimension), dimension)


def _best_and_next(sets: Mapping[str, ScoredSet]) -> tuple[Block, list[Figure]]:
    figures: list[Figure] = []
    lines = []
    for scored in sets.values():
        for rating in scored.rated.plan.ratings:
            cells = []
            for kind in _ALL:
                order = ranked(scored, rating, kind, list(scored.scores))
                if len(order) < 2:
                    continue
                found = _test(scored, rating, kind, order[0], order[1])
                figures.append(
                    _williams_figure(scored.rated.plan.title, rating, kind, f"{order[0]} > {order[1]}", found, None)
                )
                cells.append(
                    f"{order[0]} {number(found.value_a)}, {order[1]} {number(found.value_b)}: p = {_stars(found)}"
                )
            if cells:
                lines.append((scored.rated.plan.title, rating.title, *cells))
    header = ("data", "rating", *(SYMBOLS[kind] for kind in _ALL))
    text = (
        "All metrics that ran; both correlations over the rows that both score. The two are picked on the same rows "
        "and nothing is corrected for it: a small p here is a hint, not a finding.",
    )
    return Block("The best metric at hand against the next best", text, header, tuple(lines), left=5), figures


def ranked(scored: ScoredSet, rating: Rating, kind: Kind, specs: Sequence[str]) -> list[str]:
    """Metrics from the best to the worst; those without a correlation left out, equals in their order."""
    human = scored.rated.ratings[rating.dimension]
    values = {spec: agreement(scored.scores[spec], human, rating, kind) for spec in specs}
    return sorted((spec for spec in specs if not math.isnan(values[spec])), key=lambda spec: -values[spec])


def _test(scored: ScoredSet, rating: Rating, kind: Kind, first: str, second: str) -> DependentResult:
    human = rating.rising(scored.rated.ratings[rating.dimension])
    return williams(scored.scores[first], scored.scores[second], human, kind=kind, alternative="greater")


def _stars(found: DependentResult) -> str:
    if math.isnan(found.pvalue):
        return NOTHING
    if found.value_a <= found.value_b:
        return "—"
    return number(found.pvalue) + "*" * sum(found.pvalue < level for level in (0.01, 0.001, 0.0001))


def _williams_figure(
    data: str, rating: Rating, kind: Kind, pair: str, found: DependentResult, theirs: str | None
) -> Figure:
    where = ("gruen8", data, pair, rating.dimension, f"williams p of {kind}")
    return Figure(*where, found.pvalue, theirs, found.count, found.nulls, reason=found.reason)
