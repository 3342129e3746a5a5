"""Agreement, biases and alternatives of one judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, InputError, IntArray
from celadon.meta.bootstrap import bootstrap
from celadon.meta.correlation import FEWEST, LEVELS, Kind, Level, complete_coefficient, correlate
from celadon.meta.cross_validated_ridge import cross_validated_ridge
from celadon.meta.errors_in_variables import effect_given_rating, rating_error_variances
from celadon.meta.jackknife import (
    MOMENTS,
    Estimate,
    cluster_sums,
    correlation_difference,
    correlation_of_sums,
    jackknife,
    mean_estimate,
    moments,
    no_estimate,
)
from celadon.meta.judges.inputs import JudgeTable
from celadon.meta.judges.results import Agreement, Alternative, Bias, Combination
from celadon.meta.raters import means
from celadon.meta.significance import holm

BoolArray: TypeAlias = npt.NDArray[np.bool_]

SHOWN = 0.05
# Intervals of many rows hardly differ from one set of draws to another; of few rows drawing costs nothing.
_MOST_DRAWN = 20_000_000
_FEWEST_RESAMPLES = 200
_MOST_SYSTEMS = 40
_FEWEST_OF_A_KIND = 5
_MOST_LEVELS = 100
_MOST_PICTURED = 5_000


def levels_of(table: JudgeTable) -> tuple[Level, ...]:
    """Return the levels at which the table has something to correlate."""
    enough = {
        "instance": True,
        "system": table.systems is not None and len(set(table.systems)) >= FEWEST,
        "within_item": max(Counter(table.items).values()) >= FEWEST,
    }
    return tuple(level for level in LEVELS if enough[level])


def agreement_of(table: JudgeTable, judge: str, kind: Kind, *, resamples: int, seed: int) -> tuple[Agreement, ...]:
    """Return how a judge agrees with people at every level, with intervals that draw whole items (and systems)."""
    scores, rating = table.score(judge), table.rating
    rows = np.flatnonzero(np.isfinite(scores) & np.isfinite(rating))
    systems = None if table.system_numbers is None else table.system_numbers[rows]
    items = table.item_numbers[rows]
    draws = max(min(resamples, _MOST_DRAWN // len(rows)), min(resamples, _FEWEST_RESAMPLES))
    found = []
    for level in levels_of(table):
        interval = bootstrap(
            scores[rows], rating[rows], systems=systems, items=items, level=level, kind=kind, resamples=draws, seed=seed
        )
        rater, as_rater = _against_others(table, scores, kind, level)
        found.append(
            Agreement(
                level=level,
                value=interval.value,
                low=interval.low,
                high=interval.high,
                used=len(rows),
                rater=rater,
                judge_as_rater=as_rater,
                advantage=_advantage(table, scores, kind) if level == "instance" else no_estimate(""),
                reason=interval.reason,
            )
        )
    return tuple(found)


def _others(table: JudgeTable) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Each rater with the mean of the others."""
    if table.ratings.shape[1] > 1:
        for rater in range(table.ratings.shape[1]):
            yield table.ratings[:, rater], means(np.delete(table.ratings, rater, axis=1))


def _against_others(table: JudgeTable, scores: FloatArray, kind: Kind, level: Level) -> tuple[float, float]:
    people: list[float] = []
    judge: list[float] = []
    for own, others in _others(table):
        both = np.isfinite(own) & np.isfinite(others) & np.isfinite(scores)
        for column, values in ((own, people), (scores, judge)):
            one = correlate(
                np.where(both, column, np.nan),
                others,
                systems=table.system_numbers,
                items=table.item_numbers,
                level=level,
                kind=kind,
            )
            values.append(one.value)
    finite = np.isfinite(people) & np.isfinite(judge)
    if not finite.any():
        return float("nan"), float("nan")
    return float(np.mean(np.array(people)[finite])), float(np.mean(np.array(judge)[finite]))


def _advantage(table: JudgeTable, scores: FloatArray, kind: Kind) -> Estimate:
    """How much better the judge agrees with the other raters than the one left out does."""
    parts = []
    for own, others in _others(table):
        both = np.isfinite(own) & np.isfinite(others) & np.isfinite(scores)
        if both.sum() < FEWEST or any(np.ptp(column[both]) == 0 for column in (own, others, scores)):
            continue
        judge, rater, target = (
            stats.rankdata(column[both]) if kind == "spearman" else column[both] for column in (scores, own, others)
        )
        sums = np.zeros((len(both), 2 * MOMENTS))
        sums[both] = np.hstack([moments(judge, target), moments(rater, target)])
        parts.append(sums)
    if not parts:
        return no_estimate("there are no two ratings of one text")
    rated = np.any([part[:, 0] > 0 for part in parts], axis=0)
    sums = cluster_sums(np.hstack(parts)[rated], table.item_numbers[rated])

    def advantage(some: FloatArray) -> FloatArray:
        blocks = np.split(some, 2 * len(parts), axis=1)
        values = [correlation_of_sums(block) for block in blocks]
        return np.asarray(np.mean(values[::2], axis=0) - np.mean(values[1::2], axis=0))

    return jackknife(sums, advantage, parameters=2)


class _Effect(NamedTuple):
    name: str
    unit: str
    effect: Estimate
    scale: float
    covariate: FloatArray | None = None


def biases_of(table: JudgeTable, judge: str, surface: Mapping[str, FloatArray]) -> tuple[Bias, ...]:
    """Return every effect that the table can tell: of length and layout, systems, position, time, and of the scale.

    ``surface`` are the columns of length and layout by what one step of them is called.
    """
    scores, rating = table.score(judge), table.rating
    corrected = table.ratings.shape[1] > 1 and bool((np.isfinite(table.ratings).sum(axis=1) > 1).any())
    noise = rating_error_variances(table.ratings) if corrected else None
    rated = np.isfinite(scores) & np.isfinite(rating)
    spread = float(scores[rated].std())
    effects: list[_Effect] = []
    for name, (unit, covariate) in _covariates(table, judge, surface, rated).items():
        effect = effect_given_rating(scores, rating, [covariate], error_variances=noise, clusters=table.item_numbers)
        effects.append(_Effect(name, unit, effect, spread, covariate))
    effects += _of_scale(table, judge, rated, noise)
    adjusted = holm([one.effect.pvalue for one in effects])
    columns = [np.where(rated, column, np.nan) for column in (scores, rating)]
    biases = []
    for one, chance in zip(effects, adjusted.tolist(), strict=True):
        with_judge, with_people = (
            float("nan") if one.covariate is None else complete_coefficient(column, one.covariate, "pearson", FEWEST)
            for column in columns
        )
        biases.append(
            Bias(
                name=one.name,
                unit=one.unit,
                effect=one.effect,
                size=one.effect.value / one.scale if one.scale > 0 else float("nan"),
                judge_correlation=with_judge,
                human_correlation=with_people,
                adjusted=chance,
                # to clump less than people do is no fault
                shown=chance < SHOWN and (one.name != "clumping" or one.effect.value > 0),
                corrected=corrected or one.name in ("leniency", "clumping"),
            )
        )
    return tuple(biases)


def _covariates(
    table: JudgeTable, judge: str, surface: Mapping[str, FloatArray], rated: BoolArray
) -> dict[str, tuple[str, FloatArray]]:
    columns: dict[str, tuple[str, FloatArray]] = {}
    units = {"length": "twice as many words"}
    for name, column in surface.items():
        if _varies(column[rated]):
            columns[name] = (units.get(name, "10% more of the text"), column)
    for name, column in table.covariates.items():
        known = column[rated & np.isfinite(column)]
        if _varies(known):
            columns[name] = ("one standard deviation more", column / known.std())
    if table.systems is not None:
        systems = np.array(table.systems, dtype=object)
        own = table.families.get(judge, frozenset())
        if own:
            mine = np.isin(systems, list(own)).astype(float)
            if _varies(mine[rated]):
                columns["own family"] = (f"texts of {', '.join(sorted(own))} against others", mine)
        counts = Counter(systems[rated].tolist())
        if len(counts) > 1:
            for name, _ in counts.most_common(_MOST_SYSTEMS):
                mine = (systems == name).astype(float)
                if _varies(mine[rated]):
                    columns[f"system {name}"] = ("its texts against others", mine)
    for name, unit, values in (
        ("position", "from the first place to the last", table.positions),
        ("drift", "from the first moment to the last", table.times),
    ):
        if values is not None and _varies(known := values[rated & np.isfinite(values)]):
            columns[name] = (unit, (values - known.min()) / np.ptp(known))
    return columns


def _varies(values: FloatArray) -> bool:
    """Whether enough values differ from the most common one for an effect to be told."""
    values = values[np.isfinite(values)]
    if len(values) < 2 * _FEWEST_OF_A_KIND:
        return False
    return len(values) - int(np.unique(values, return_counts=True)[1].max()) >= _FEWEST_OF_A_KIND


def _of_scale(table: JudgeTable, judge: str, rated: BoolArray, noise: FloatArray | None) -> Iterator[_Effect]:
    """How the judge uses the scale: leniency and compression where both are on one, and clumping."""
    scores, rating = table.score(judge), table.rating
    if same_scale(table.judges[judge], table.ratings):
        lenient = mean_estimate(np.where(rated, scores - rating, np.nan), table.item_numbers)
        spread = float(np.nanstd(table.ratings[rated]))
        yield _Effect("leniency", "points above the mean rating", lenient, spread)
        slope = effect_given_rating(scores, rating, error_variances=noise, clusters=table.item_numbers)
        less = slope._replace(value=slope.value - 1, low=slope.low - 1, high=slope.high - 1)
        if slope.error > 0:
            chance = 2 * stats.t.sf(abs(less.value) / slope.error, max(slope.clusters - 2, 1))
            less = less._replace(pvalue=float(chance))
        yield _Effect("compression", "points per point of true quality, less 1", less, 1.0)
    yield _Effect(
        "clumping", "chance that two texts get the same score, less that of people",
        _clumping(table.judges[judge], table.ratings, rated, table.item_numbers), 1.0,
    )  # fmt: skip


def same_scale(judge: FloatArray, ratings: FloatArray) -> bool:
    """Return whether scores lie on the scale of the ratings, as far as the middle nine tenths of them tell."""
    low, high = float(np.nanmin(ratings)), float(np.nanmax(ratings))
    room = high - low
    first, last = np.nanquantile(judge, [0.05, 0.95]).tolist()
    return bool(room > 0 and first >= low - 0.5 * room and last <= high + 0.5 * room and last - first >= 0.25 * room)


def _clumping(judge: FloatArray, ratings: FloatArray, rated: BoolArray, items: IntArray) -> Estimate:
    """The chance that two texts share a score, of single scores of the judge and single ratings of people."""
    blocks = []
    for matrix in (judge, ratings):
        levels = np.unique(matrix[rated][np.isfinite(matrix[rated])])
        if not 1 < len(levels) <= _MOST_LEVELS:
            return no_estimate(f"{len(levels):,} different values", int(rated.sum()))
        blocks.append([(column[rated][:, None] == levels).astype(float) for column in matrix.T])
    widths = [block.shape[1] for blocks_of in blocks for block in blocks_of]
    sums = cluster_sums(np.hstack([block for blocks_of in blocks for block in blocks_of]), items[rated])
    edges = np.cumsum(widths)[:-1]

    def difference(some: FloatArray) -> FloatArray:
        chances = []
        for counts in np.split(some, edges, axis=1):
            n = counts.sum(axis=1)
            chances.append((np.sum(counts**2, axis=1) - n) / (n * (n - 1)))
        of_judge, of_people = chances[: len(blocks[0])], chances[len(blocks[0]) :]
        return np.asarray(np.nanmean(of_judge, axis=0) - np.nanmean(of_people, axis=0))

    return jackknife(sums, difference)


def alternatives_of(
    table: JudgeTable, judge: str, others: Mapping[str, FloatArray], kind: Kind
) -> tuple[Alternative, ...]:
    """Compare the judge with every other score on the rated texts that have both."""
    scores, rating = table.score(judge), table.rating
    ranks = kind == "spearman"
    rows = []
    for name, column in others.items():
        both = np.isfinite(scores) & np.isfinite(column)
        own, other = (
            complete_coefficient(np.where(both, values, np.nan), rating, kind, FEWEST) for values in (scores, column)
        )
        difference = correlation_difference(scores, column, rating, table.item_numbers, ranks=ranks)
        rows.append(Alternative(name, own, other, difference, float("nan"), ""))
    adjusted = holm([row.difference.pvalue for row in rows])
    ahead = ["judge" if row.difference.value > 0 else "alternative" for row in rows]
    return tuple(
        row._replace(adjusted=float(chance), better=better if chance < SHOWN else "")
        for row, better, chance in zip(rows, ahead, adjusted, strict=True)
    )


def combination_of(
    table: JudgeTable, judge: str, others: Mapping[str, FloatArray], kind: Kind, seed: int
) -> Combination | None:
    """Put judge and alternatives together; None where there are none, or too few rated items."""
    scores, rating = table.score(judge), table.rating
    rated = np.isfinite(scores) & np.isfinite(rating)
    usable = {name: column for name, column in others.items() if np.isfinite(column[rated]).mean() > 0.5}
    if not usable:
        return None
    try:
        ridge = cross_validated_ridge({judge: scores, **usable}, rating, clusters=table.item_numbers, seed=seed)
    except InputError:
        return None
    value = complete_coefficient(ridge.predictions, rating, kind, FEWEST)
    gain = correlation_difference(ridge.predictions, scores, rating, table.item_numbers, ranks=kind == "spearman")
    return Combination(value, gain, ridge.intercept, ridge.terms, ridge.penalty, ridge.rows)


def covariate_residuals(table: JudgeTable, judge: str) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return what a judge might look at beside its score less what the rating says, for pictures.

    The values are those of the column itself: words, position, time; NaN where a text is not rated.
    """
    from celadon.text.structure.blocks import WORD

    scores, rating = table.score(judge), table.rating
    rated = np.isfinite(scores) & np.isfinite(rating)
    noise = rating_error_variances(table.ratings) if table.ratings.shape[1] > 1 else None
    slope = effect_given_rating(scores, rating, error_variances=noise, clusters=table.item_numbers).value
    if not np.isfinite(slope):
        return {}
    left = np.where(rated, scores - scores[rated].mean() - slope * (rating - rating[rated].mean()), np.nan)
    columns: dict[str, FloatArray] = dict(table.covariates)
    if table.texts is not None:
        words = np.full(table.rows, np.nan)
        for row in np.flatnonzero(rated)[:_MOST_PICTURED].tolist():
            words[row] = sum(1 for _ in WORD.finditer(table.texts[row]))
        columns = {"words": words, **columns}
    for name, values in (("position", table.positions), ("time", table.times)):
        if values is not None:
            columns[name] = values
    return {name: (values, left) for name, values in columns.items()}
