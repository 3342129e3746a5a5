"""Table 8 of the GRUEN paper: is a metric's correlation greater than the best baseline's, by Williams' test?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from celadon.meta.correlation import Kind
from celadon.meta.significance import DependentResult, williams
from celadon.reproduce.blocks import NO_DATA, NOTHING, Block, Figure, PaperTable, beside, number
from celadon.reproduce.published import GRUEN_8, LABELS, PEARSON, RHO, SYMBOLS, TAU
from celadon.reproduce.scoring import ScoredSet
from celadon.reproduce.sets import PLANS, Rating
from celadon.reproduce.tables_gruen import agreement

_TITLE = "GRUEN, Table 8: Williams' test"
_CAPTION = (
    "p of the one-sided test that the first metric's correlation is the greater one; *, **, *** mark p below 0.01, "
    "0.001 and 0.0001, in brackets the paper's, — where the first is not greater. Ratings of which less is better are "
    "turned round, metrics too. The test is derived for r; for ρ and τ it is used as the paper uses it."
)
_KINDS = (RHO, TAU, PEARSON)
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
            lines.append((title, _title(name, dimension), *(beside(NO_DATA, theirs) for theirs in stars)))
            continue
        rating = next(rating for rating in scored.rated.plan.ratings if rating.dimension == dimension)
        baselines = [spec for spec in scored.scores if spec in _BASELINES]
        if _GRUEN not in scored.scores or not baselines:
            why = scored.not_run.get(_GRUEN, "no such metric is registered")
            notes.append(f"{_GRUEN}: {why}" if _GRUEN not in scored.scores else "no baseline of the paper ran")
            lines.append((title, rating.title, *(beside(NOTHING, theirs) for theirs in stars)))
            continue
        cells = []
        for kind, theirs in zip(_KINDS, stars, strict=True):
            best = ranked(scored, rating, kind, baselines)[0]
            found = _test(scored, rating, kind, _GRUEN, best)
            figures.append(_figure(title, rating, kind, f"{_GRUEN} > {best}", found, theirs))
            cells.append(beside(f"{_stars(found)} {best}", theirs))
        lines.append((title, rating.title, *cells))
    header = ("data", "rating", *(SYMBOLS[kind] for kind in _KINDS))
    said = tuple(f"Not run: {why}." for why in dict.fromkeys(notes))
    return Block("GRUEN against the best baseline", (), header, tuple(lines), said, left=2), figures


def _title(name: str, dimension: str) -> str:
    """A rating's title; what is not among our data sets goes by the paper's own."""
    ratings = PLANS[name].ratings if name in PLANS else ()
    return next((rating.title for rating in ratings if rating.dimension == dimension), dimension)


def _best_and_next(sets: Mapping[str, ScoredSet]) -> tuple[Block, list[Figure]]:
    figures: list[Figure] = []
    lines = []
    for scored in sets.values():
        for rating in scored.rated.plan.ratings:
            cells = []
            for kind in _KINDS:
                order = ranked(scored, rating, kind, list(scored.scores))
                if len(order) < 2:
                    continue
                found = _test(scored, rating, kind, order[0], order[1])
                figures.append(_figure(scored.rated.plan.title, rating, kind, f"{order[0]} > {order[1]}", found, None))
                cells.append(
                    f"{order[0]} {number(found.value_a)}, {order[1]} {number(found.value_b)}: p = {_stars(found)}"
                )
            if cells:
                lines.append((scored.rated.plan.title, rating.title, *cells))
    header = ("data", "rating", *(SYMBOLS[kind] for kind in _KINDS))
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
    human = scored.rated.ratings[rating.dimension]
    turned = -human if rating.lower_is_better else human
    return williams(scored.scores[first], scored.scores[second], turned, kind=kind, alternative="greater")


def _stars(found: DependentResult) -> str:
    if math.isnan(found.pvalue):
        return NOTHING
    if found.value_a <= found.value_b:
        return "—"
    return number(found.pvalue) + "*" * sum(found.pvalue < level for level in (0.01, 0.001, 0.0001))


def _figure(data: str, rating: Rating, kind: Kind, pair: str, found: DependentResult, theirs: str | None) -> Figure:
    return Figure(
        "gruen8",
        data,
        pair,
        rating.dimension,
        f"williams p of {kind}",
        found.pvalue,
        theirs,
        found.count,
        found.nulls,
        reason=found.reason,
    )
