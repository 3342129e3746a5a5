"""The weights of MORCELA, learned from ratings (Tjuatja et al. 2024).

MORCELA is ``(ln p_M - beta * ln p_u + gamma) / |S|``; SLOR is beta 1 and gamma 0. A rating is regressed on
``ln p_M / |S|``, ``ln p_u / |S|`` and ``1 / |S|``, with the coefficients c1, c2, c3: beta is ``-c2 / c1``, gamma is
``c3 / c1``. The standard errors are those of the regression, carried over to the ratios (delta method).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import stats

from celadon.core import FloatArray, InputError, UsageError
from celadon.io import Fields, atomic_write_text
from celadon.meta.correlation import pearson, spearman
from celadon.meta.table import less_is_better
from celadon.models.language.language_model import LanguageModel, language_model
from celadon.train.combinations.ratings import (
    Progress,
    RatedTexts,
    area_under_curve,
    as_object,
    best_threshold,
    check_output,
    check_rated,
    in_pieces,
    matthews,
    quiet,
    read_tables,
    split_rows,
)
from celadon.train.reporting import SILENT, Report

Kind: TypeAlias = Literal["linear", "logistic"]

FORMAT = "celadon-morcela/1"
KINDS = ("auto", "linear", "logistic")
# Texts given to the model between two moves of the bar.
_PIECE_ROWS = 256
_MOST_STEPS = 60
_CONFIDENCE = 0.975
# Beyond this the three columns are as good as two.
_WORST_CONDITION = 1e7


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """Of each text ``ln p_M``, ``ln p_u`` and the number of tokens."""

    logprobs: FloatArray
    unigrams: FloatArray
    lengths: FloatArray

    def __getitem__(self, rows: Any) -> Likelihoods:
        return Likelihoods(self.logprobs[rows], self.unigrams[rows], self.lengths[rows])

    def morcela(self, beta: float, gamma: float) -> FloatArray:
        """The score of each text; ``morcela(1, 0)`` is SLOR, ``morcela(0, 0)`` the negative cross-entropy."""
        return np.asarray((self.logprobs - beta * self.unigrams + gamma) / self.lengths)


class Weights(NamedTuple):
    """Learned weights, with their standard errors."""

    kind: Kind  # ``linear`` (least squares) or ``logistic``
    # beta, gamma: the weight of the unigram probability and that of the length
    beta: float
    gamma: float
    # beta_error, gamma_error: their standard errors
    beta_error: float
    gamma_error: float
    coefficients: tuple[float, ...]  # of the regression: intercept, ``ln p_M / |S|``, ``ln p_u / |S|``, ``1 / |S|``
    errors: tuple[float, ...]  # their standard errors
    rows: int  # how many texts they rest on


class Figure(NamedTuple):
    """How a score agrees with ratings.

    ``auc`` and ``mcc`` (Matthews' correlation, the threshold being the best one of the texts trained on) are for two
    labels, and NaN for ratings.
    """

    name: str
    pearson: float
    spearman: float
    auc: float
    mcc: float
    n: int


@dataclass(frozen=True, eq=False)
class Learned:
    """Weights and how well they do, on texts trained on and on others; beside SLOR and NCE."""

    weights: Weights
    training: tuple[Figure, ...]
    held_out: tuple[Figure, ...]
    left_out: int
    rows: int
    content: Mapping[str, Any]


def measure(model: LanguageModel, texts: Sequence[str], progress: Progress = quiet) -> Likelihoods:
    """Score texts, each as one sequence; a text without tokens has NaN."""
    found = np.full((3, len(texts)), np.nan)
    for piece in in_pieces(len(texts), _PIECE_ROWS, progress):
        for row, tokens in enumerate(model.score(texts[piece]), piece.start):
            if len(tokens):
                found[:, row] = tokens.logprobs.sum(), tokens.unigrams.sum(), len(tokens)
    return Likelihoods(*found)


def learn_weights(likelihoods: Likelihoods, ratings: FloatArray, kind: str = "auto") -> Weights:
    """Learn beta and gamma from likelihoods, all finite, and ratings, of which more is better.

    ``auto`` is logistic where there are two different ratings. Raises InputError where the ratings do not vary or fall
    with the likelihood, or the texts are too alike.
    """
    chosen = _chosen(kind, ratings)
    columns = np.column_stack(
        [
            likelihoods.logprobs / likelihoods.lengths,
            likelihoods.unigrams / likelihoods.lengths,
            1 / likelihoods.lengths,
        ]
    )
    means, spreads = columns.mean(axis=0), columns.std(axis=0)
    if spreads[2] <= 1e-12:
        raise InputError("all texts have the same number of tokens, so that no weight of the length can be learned")
    if (spreads <= 1e-12).any() or np.linalg.cond((columns - means) / spreads) > _WORST_CONDITION:
        raise InputError("likelihood, unigram likelihood and length of these texts go together; give more, other texts")
    design = np.column_stack([np.ones(len(ratings)), (columns - means) / spreads])
    values, covariance = (
        _logistic(design, ratings == ratings.max()) if chosen == "logistic" else _linear(design, ratings)
    )
    # back from standardised columns: c = A z
    back = np.diag([1.0, *(1 / spreads)])
    back[0, 1:] = -means / spreads
    values, covariance = back @ values, back @ covariance @ back.T
    return _ratios(chosen, values, covariance, len(ratings))


def _chosen(kind: str, ratings: FloatArray) -> Kind:
    different = len(np.unique(ratings))
    if different < 2:
        raise InputError("the ratings are all the same; nothing can be learned from them")
    if kind == "auto":
        return "logistic" if different == 2 else "linear"
    if kind == "logistic":
        if different > 2:
            raise UsageError(f"a logistic regression is of two labels; these ratings have {different} values")
        return "logistic"
    if kind != "linear":
        raise UsageError(f"unknown kind {kind!r}; known: {', '.join(KINDS)}")
    return "linear"


def _linear(design: FloatArray, ratings: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least squares: coefficients and their covariance."""
    values = np.linalg.lstsq(design, ratings, rcond=None)[0]
    left = ratings - design @ values
    noise = float(left @ left) / (len(ratings) - design.shape[1])
    return np.asarray(values, np.float64), np.asarray(noise * np.linalg.inv(design.T @ design), np.float64)


def _logistic(design: FloatArray, labels: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
    """Maximum likelihood without a penalty, by Newton's steps: coefficients and their covariance."""
    values = np.zeros(design.shape[1])
    loss = _loss(design, labels, values)
    for _ in range(_MOST_STEPS):
        chances = _chances(design, values)
        curvature = (design * (chances * (1 - chances))[:, None]).T @ design
        # where two groups can be parted without an error the coefficients grow without end
        if np.linalg.cond(curvature) > 1e12 or np.abs(values).max() > 1e3:
            break
        step = np.linalg.solve(curvature, design.T @ (labels - chances))
        while (tried := _loss(design, labels, values + step)) > loss and np.abs(step).max() > 1e-14:
            step = step / 2
        values, loss = values + step, tried
        if np.abs(step).max() < 1e-10:
            return values, np.asarray(np.linalg.inv(curvature), np.float64)
    raise InputError("the two labels are parted without an error by likelihood and length; give more texts")


def _chances(design: FloatArray, values: FloatArray) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(design @ values))


def _loss(design: FloatArray, labels: npt.NDArray[np.bool_], values: FloatArray) -> float:
    return float(np.logaddexp(0, np.where(labels, -1, 1) * (design @ values)).sum())


def _ratios(kind: Kind, values: FloatArray, covariance: FloatArray, rows: int) -> Weights:
    c1, c2, c3 = values[1:].tolist()
    if c1 <= 0:
        raise InputError(
            f"the ratings fall as the likelihood rises (its coefficient is {c1:.4g}), and no MORCELA can be made of "
            "that; if less of the rating is better, say --lower-is-better; else give more texts or another model"
        )
    inner = covariance[1:, 1:]
    of_beta = np.array([c2 / c1**2, -1 / c1, 0.0])
    of_gamma = np.array([-c3 / c1**2, 0.0, 1 / c1])
    return Weights(
        kind=kind,
        beta=-c2 / c1,
        gamma=c3 / c1,
        beta_error=math.sqrt(float(of_beta @ inner @ of_beta)),
        gamma_error=math.sqrt(float(of_gamma @ inner @ of_gamma)),
        coefficients=tuple(values.tolist()),
        errors=tuple(np.sqrt(np.diag(covariance)).tolist()),
        rows=rows,
    )


def figures(
    weights: Weights, seen: tuple[Likelihoods, FloatArray], others: tuple[Likelihoods, FloatArray]
) -> tuple[Figure, ...]:
    """How NCE, SLOR and MORCELA agree with ``others``; thresholds are from ``seen``."""
    found = []
    ratings = others[1]
    best = seen[1].max()
    for name, beta, gamma in (("nce", 0.0, 0.0), ("slor", 1.0, 0.0), ("morcela", weights.beta, weights.gamma)):
        scores = others[0].morcela(beta, gamma)
        auc = mcc = math.nan
        if len(np.unique(seen[1])) == 2:
            labels = ratings == best
            threshold = best_threshold(seen[0].morcela(beta, gamma), seen[1] == best)
            auc, mcc = area_under_curve(scores, labels), matthews(scores >= threshold, labels)
        found.append(
            Figure(name, pearson(scores, ratings).value, spearman(scores, ratings).value, auc, mcc, len(ratings))
        )
    return tuple(found)


def fit_morcela(
    table: RatedTexts,
    model: LanguageModel,
    *,
    kind: str = "auto",
    test: RatedTexts | None = None,
    train: int | None = None,
    hold_out: int | None = None,
    seed: int = 0,
    lower_is_better: bool = False,
    progress: Progress = quiet,
) -> Learned:
    """Learn the weights of a model from rated texts, and try them on texts that they have not seen.

    The parameters are those of :func:`train_morcela`; each text is one sequence, as a sentence is.
    """
    sign = -1.0 if lower_is_better else 1.0
    likelihoods, ratings, left_out = _measured(table, model, progress)
    parts = split_rows(len(ratings), train=train, hold_out=0 if test else hold_out, seed=seed)
    seen = likelihoods[parts.training], sign * ratings[parts.training]
    others = likelihoods[parts.held_out], sign * ratings[parts.held_out]
    if test is not None:
        measured, rated, _ = _measured(test, model, progress)
        others = measured, sign * rated
    weights = learn_weights(*seen, kind)
    on_training = figures(weights, seen, seen)
    on_others = figures(weights, seen, others) if len(others[1]) else ()
    trained_on = {
        "file": table.name,
        "sha256_of_rows": table.sha256,
        "rating": table.rating,
        "rows": len(parts.training),
        "held_out": len(parts.held_out),
        "left_out": left_out,
        "seed": seed,
    }
    tested_on = {"file": test.name, "sha256_of_rows": test.sha256} if test else None
    content = _content(weights, model, {"trained_on": trained_on, "tested_on": tested_on}, on_training, on_others)
    return Learned(weights, on_training, on_others, left_out, len(table.rows), content)


def _measured(table: RatedTexts, model: LanguageModel, progress: Progress) -> tuple[Likelihoods, FloatArray, int]:
    rated = np.flatnonzero(np.isfinite(table.values))
    samples = table.samples(rated)
    likelihoods = measure(model, [sample.text for sample in samples], progress)
    usable = np.isfinite(likelihoods.logprobs) & np.isfinite(likelihoods.unigrams)
    empty = [f"{samples[row].origin}: the text has no tokens" for row in np.flatnonzero(~usable).tolist()]
    check_rated(table, int(usable.sum()), empty)
    return likelihoods[usable], table.values[rated][usable], len(table.rows) - int(usable.sum())


def interval(value: float, error: float) -> tuple[float, float]:
    """The 95% confidence interval of a weight."""
    half = float(stats.norm.ppf(_CONFIDENCE)) * error
    return value - half, value + half


def _content(
    weights: Weights,
    model: LanguageModel,
    data: Mapping[str, Any],
    training: Sequence[Figure],
    held_out: Sequence[Figure],
) -> dict[str, Any]:
    from celadon import __version__

    return {
        "format": FORMAT,
        "beta": weights.beta,
        "gamma": weights.gamma,
        "beta_interval": interval(weights.beta, weights.beta_error),
        "gamma_interval": interval(weights.gamma, weights.gamma_error),
        "kind": weights.kind,
        "coefficients": dict(
            zip(("intercept", "logprob", "unigram", "inverse_length"), weights.coefficients, strict=True)
        ),
        "model": model.name,
        "model_sha256": model.digest,
        "model_facts": dict(model.facts),
        **data,
        "figures": {
            "training": [as_object(figure) for figure in training],
            "held_out": [as_object(figure) for figure in held_out],
        },
        "made_with": {"celadon": __version__},
    }


def train_morcela(
    ratings: str,
    output: str | Path,
    *,
    model: str = "builtin",
    rating: str | None = None,
    format: str | None = None,  # noqa: A002
    fields: Fields | None = None,
    test: str | None = None,
    lower_is_better: bool = False,
    kind: str = "auto",
    train: int | None = None,
    hold_out: int | None = None,
    seed: int = 0,
    report: Report = SILENT,
) -> Learned:
    """Learn beta and gamma of MORCELA from rated sentences, and write them to a JSON file.

    Parameters
    ----------
    ratings, rating, format, fields
        The table, as :func:`celadon.train.combinations.ratings.read_ratings` reads it.
    output
        The file.
    model
        The language model whose weights they are.
    test
        Another table for the figures.
    lower_is_better
        Whether less of the rating is better; of some ratings that is known.
    kind, train, hold_out, seed
        See :func:`fit_morcela`.
    report
        Receives the progress.
    """
    check_output(output, [ratings, test])
    table, other = read_tables(ratings, test, rating, format, fields)
    opened = language_model(model)
    with report.count("texts") as progress:
        learned = fit_morcela(
            table,
            opened,
            kind=kind,
            test=other,
            train=train,
            hold_out=hold_out,
            seed=seed,
            lower_is_better=lower_is_better or less_is_better(table.rating),
            progress=progress,
        )
    atomic_write_text(str(output), json.dumps(learned.content, indent=2, ensure_ascii=False) + "\n")
    return learned
