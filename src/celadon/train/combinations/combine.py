"""Metrics combined by support vector regression on human ratings (Kann et al. 2018, section 5).

The paper trains scikit-learn's regression with its default parameters on two scores as they are. The default width of
the kernel was 1 / features then (``gamma="auto"``); since scikit-learn 0.22 it is 1 / (features * variance)
(``gamma="scale"``), which is the default here too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from celadon.core import FloatArray, InputError, IntArray, Metric, MissingExtraError, UsageError
from celadon.io import Fields
from celadon.io.weight_files import SCALES, Combination, Feature, write_combination
from celadon.meta.correlation import mean_squared_error_after_fit, pearson, spearman
from celadon.meta.table import less_is_better
from celadon.metrics.combined import Computed, computed_feature, predict
from celadon.scoring.api import missing, score
from celadon.train.combinations.ratings import (
    Progress,
    RatedTexts,
    Split,
    as_object,
    check_output,
    check_rated,
    in_pieces,
    quiet,
    read_tables,
    split_rows,
)
from celadon.train.reporting import SILENT, Report

GAMMAS = ("scale", "auto")
PENALTY, EPSILON = 1.0, 0.1
# Rows scored between two moves of the bar.
_PIECE_ROWS = 256


class FeatureColumn(NamedTuple):
    """What a feature's values are made from: ``computed`` where it is a metric; ``given`` where the table had it."""

    name: str
    computed: Computed | None
    given: bool

    @property
    def signature(self) -> str:
        """How the values were made; empty where the table had them."""
        return "" if self.given or self.computed is None else self.computed.metric.signature


@dataclass(frozen=True, eq=False)
class Usable:
    """The rows that have the rating and every feature: texts x features, and the rating of each."""

    features: FloatArray
    ratings: FloatArray
    left_out: int
    reasons: Mapping[int, str]


class Figure(NamedTuple):
    """How a column agrees with the ratings: correlations, the error left after a linear fit, and of how many rows."""

    name: str
    pearson: float
    spearman: float
    mse: float
    n: int


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted combination and how well it does; ``held_out`` is empty where nothing was held out.

    Each list of figures has the combination first, then every feature on its own. ``predicted`` and ``rated`` are of
    the held-out rows, or of those trained on where there are no others.
    """

    combination: Combination
    training: tuple[Figure, ...]
    held_out: tuple[Figure, ...]
    predicted: FloatArray
    rated: FloatArray
    left_out: int
    rows: int
    from_table: tuple[str, ...]


def feature_columns(table: RatedTexts, names: Sequence[str]) -> tuple[FeatureColumn, ...]:
    """Find where each feature comes from: the table if it has the column, else a metric."""
    if not names:
        raise UsageError("no feature: name metrics or columns, for example --features wpslor,rougeL")
    found = []
    for name in dict.fromkeys(names):
        if name in (table.rating, f"scores.{table.rating}") or f"scores.{name}" == table.rating:
            raise UsageError(f"{name!r} is named both as a feature and as the rating; it can be one of them")
        given, computed = name in table.columns, computed_feature(name)
        if not given and computed is None:
            raise table.columns.missing(name, "feature column or metric")
        found.append(FeatureColumn(name, computed, given))
    return tuple(found)


def usable_rows(table: RatedTexts, columns: Sequence[FeatureColumn], progress: Progress = quiet) -> Usable:
    """Compute the features that the table lacks, and keep the rows that have everything."""
    rated = np.flatnonzero(np.isfinite(table.values))
    features = np.full((len(rated), len(columns)), np.nan)
    for at, column in enumerate(columns):
        if column.given:
            features[:, at] = table.columns.numbers(column.name, "feature column")[rated]
    reasons = _compute(table, rated, columns, features, progress)
    whole = np.isfinite(features).all(axis=1)
    for row in np.flatnonzero(~whole).tolist():
        absent = columns[int(np.flatnonzero(~np.isfinite(features[row]))[0])]
        reasons.setdefault(row, f"{table.rows[rated[row]].origin}: {absent.name} has no value")
    check_rated(table, int(whole.sum()), list(reasons.values()))
    return Usable(features[whole], table.values[rated][whole], len(table.rows) - int(whole.sum()), reasons)


def _compute(
    table: RatedTexts, rated: IntArray, columns: Sequence[FeatureColumn], features: FloatArray, progress: Progress
) -> dict[int, str]:
    """Fill in the features that are to be computed; return why rows have none."""
    wanted = {at: c.computed for at, c in enumerate(columns) if not c.given and c.computed is not None}
    reasons: dict[int, str] = {}
    if not wanted:
        return reasons
    samples = table.samples(rated)
    metrics: tuple[Metric, ...] = tuple({one.metric.spec: one.metric for one in wanted.values()}.values())
    lacking = missing(samples, metrics)
    reasons.update({row: f"{samples[row].origin}: {why}" for row, why in lacking.items()})
    able = [row for row in range(len(samples)) if row not in lacking]
    for piece in in_pieces(len(able), _PIECE_ROWS, progress):
        rows = able[piece]
        scores = score([samples[row] for row in rows], metrics=metrics)
        for at, (metric, part) in wanted.items():
            column = scores.columns[metric.spec]
            features[rows, at] = column.values if part is None else column.parts[part]
            for place, why in column.reasons.items():
                reasons.setdefault(rows[place], f"{samples[rows[place]].origin}: {metric.spec}: {why}")
    return reasons


def fit_combination(
    columns: Sequence[FeatureColumn],
    features: FloatArray,
    ratings: FloatArray,
    *,
    rating: str,
    name: str | None = None,
    lower_is_better: bool = False,
    scale: str = "none",
    gamma: str = "scale",
) -> Combination:
    """Fit the regression from features, texts x features, to ratings; see :func:`train_combination`.

    Raises InputError where the ratings or a feature do not vary.
    """
    if scale not in SCALES or gamma not in GAMMAS:
        raise UsageError(f"scale is {' or '.join(SCALES)}, gamma is {' or '.join(GAMMAS)}")
    described = tuple(_described(column, features[:, at]) for at, column in enumerate(columns))
    if scale == "standard":
        features = (features - [feature.mean for feature in described]) / [feature.sd for feature in described]
    model = _support_vector_regression(features, ratings, gamma)
    if not len(model.support_):
        raise InputError(
            f"the ratings {rating!r} vary by less than {2 * EPSILON:g}, which the regression takes for noise; "
            "multiply them, for example to a range of 1 to 5"
        )
    return Combination(
        name=name or rating,
        rating=rating,
        lower_is_better=lower_is_better,
        scale=scale,
        features=described,
        gamma=float(model._gamma),
        intercept=float(model.intercept_[0]),
        support_vectors=np.array(model.support_vectors_, dtype=np.float64),
        coefficients=np.array(model.dual_coef_[0], dtype=np.float64),
    )


def _described(column: FeatureColumn, values: FloatArray) -> Feature:
    mean, spread = float(values.mean()), float(values.std())
    if spread <= 1e-12 * abs(mean):
        raise InputError(f"the feature {column.name!r} has the same value in every row that is trained on")
    return Feature(
        name=column.name,
        origin="metric" if column.computed is not None else "column",
        mean=mean,
        sd=spread,
        low=float(values.min()),
        high=float(values.max()),
        signature=column.signature,
    )


def _support_vector_regression(features: FloatArray, ratings: FloatArray, gamma: str) -> Any:
    try:
        from sklearn.svm import SVR
    except ImportError:
        raise MissingExtraError("scikit-learn", "train") from None
    return SVR(kernel="rbf", C=PENALTY, epsilon=EPSILON, gamma=gamma).fit(features, ratings)


def figures(combination: Combination, features: FloatArray, ratings: FloatArray) -> tuple[Figure, ...]:
    """How the combination, and every feature on its own, agree with ratings."""
    named = {"combined": predict(combination, features)}
    named.update({feature.name: features[:, at] for at, feature in enumerate(combination.features)})
    return tuple(
        Figure(
            name,
            pearson(column, ratings).value,
            spearman(column, ratings).value,
            mean_squared_error_after_fit(column, ratings).value,
            len(ratings),
        )
        for name, column in named.items()
    )


def fit_table(
    table: RatedTexts,
    features: Sequence[str],
    *,
    test: RatedTexts | None = None,
    train: int | None = None,
    hold_out: int | None = None,
    seed: int = 0,
    scale: str = "none",
    gamma: str = "scale",
    name: str | None = None,
    lower_is_better: bool = False,
    progress: Progress = quiet,
) -> Trained:
    """Fit a combination of metrics to ratings, and try it on rows that it has not seen, or on another table.

    The parameters are those of :func:`train_combination`; how many rows are trained on or held out is as in
    :func:`celadon.train.combinations.ratings.split_rows`.
    """
    columns = feature_columns(table, features)
    usable = usable_rows(table, columns, progress)
    parts = split_rows(len(usable.ratings), train=train, hold_out=0 if test else hold_out, seed=seed)
    seen, rated = usable.features[parts.training], usable.ratings[parts.training]
    others = usable.features[parts.held_out], usable.ratings[parts.held_out]
    if test is not None:
        # what the first table had in a column, the second may have or not: each is asked on its own
        tested = usable_rows(test, feature_columns(test, features), progress)
        others = tested.features, tested.ratings
    made = fit_combination(
        columns, seen, rated, rating=table.rating, name=name, lower_is_better=lower_is_better, scale=scale, gamma=gamma
    )
    on_training = figures(made, seen, rated)
    on_others = figures(made, *others) if len(others[1]) else ()
    shown = others if on_others else (seen, rated)
    facts = _facts(table, test, parts, usable, seed, gamma, on_training, on_others)
    return Trained(
        combination=msgspec.structs.replace(made, facts=facts),
        training=on_training,
        held_out=on_others,
        predicted=predict(made, shown[0]),
        rated=shown[1],
        left_out=usable.left_out,
        rows=len(table.rows),
        from_table=tuple(column.name for column in columns if column.given and column.computed is not None),
    )


def _facts(
    table: RatedTexts,
    test: RatedTexts | None,
    parts: Split,
    usable: Usable,
    seed: int,
    gamma: str,
    training: Sequence[Figure],
    held_out: Sequence[Figure],
) -> dict[str, Any]:
    from importlib.metadata import version

    from celadon import __version__

    trained_on = {
        "file": table.name,
        "sha256_of_rows": table.sha256,
        "rows": len(parts.training),
        "held_out": len(parts.held_out),
        "left_out": usable.left_out,
        "seed": seed,
    }
    return {
        "trained_on": trained_on,
        "tested_on": {"file": test.name, "sha256_of_rows": test.sha256} if test else None,
        "settings": {"kernel": "rbf", "C": PENALTY, "epsilon": EPSILON, "gamma": gamma},
        "figures": {
            "training": [as_object(figure) for figure in training],
            "held_out": [as_object(figure) for figure in held_out],
        },
        "made_with": {"celadon": __version__, "scikit-learn": version("scikit-learn")},
    }


def train_combination(
    ratings: str,
    output: str | Path,
    features: Sequence[str],
    *,
    rating: str | None = None,
    format: str | None = None,  # noqa: A002
    fields: Fields | None = None,
    test: str | None = None,
    lower_is_better: bool = False,
    train: int | None = None,
    hold_out: int | None = None,
    seed: int = 0,
    scale: str = "none",
    gamma: str = "scale",
    name: str | None = None,
    report: Report = SILENT,
) -> Trained:
    """Fit a support vector regression from metrics to a human rating, and write it to a JSON file.

    Parameters
    ----------
    ratings, rating, format, fields
        The table, as :func:`celadon.train.combinations.ratings.read_ratings` reads it.
    output
        The file, used as ``combined[file=FILE]``.
    features
        Columns of the table, metrics and parts of metrics.
    test
        Another table for the figures.
    lower_is_better
        Whether less of the rating is better; of some ratings that is known.
    train, hold_out, seed, scale, gamma, name
        See :func:`fit_table`.
    report
        Receives the progress.
    """
    check_output(output, [ratings, test])
    table, other = read_tables(ratings, test, rating, format, fields)
    with report.count("texts") as progress:
        trained = fit_table(
            table,
            features,
            test=other,
            train=train,
            hold_out=hold_out,
            seed=seed,
            scale=scale,
            gamma=gamma,
            name=name,
            lower_is_better=lower_is_better or less_is_better(table.rating),
            progress=progress,
        )
    write_combination(str(output), trained.combination)
    return trained
