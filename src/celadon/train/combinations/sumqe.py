"""Training of `sumqe`: linear heads from features of texts to ratings, each for itself or all together."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray, Sample, UsageError
from celadon.io import Fields
from celadon.io.weight_files import STATISTICS, Head, ModelNames, QualityModel, QualityWeights, write_quality
from celadon.meta.correlation import pearson, spearman
from celadon.metrics.gruen.models import model_names
from celadon.metrics.reading.features import ReadingModels
from celadon.metrics.sumqe import NAMED, quality_features
from celadon.scoring.batch import Batch
from celadon.train.combinations.rated_sets import RatedSet, damaged_sets, lower_ratings, read_sets
from celadon.train.combinations.ratings import FEWEST_ROWS, Progress, as_object, check_output, in_pieces, quiet
from celadon.train.combinations.ridge import BOTH, FOLDS, SHARES, Linear, Problem, Search, Setting
from celadon.train.corpus import Corpus
from celadon.train.reporting import SILENT, Report, made_by

SINGLE, MULTI = TASKS = ("single", "multi")
_PIECE_ROWS = 256


class Figure(NamedTuple):
    """How predictions agree with the ratings of texts that were not trained on."""

    held_out: str
    rating: str
    tasks: str
    pearson: float
    spearman: float
    n: int


@dataclass(frozen=True, eq=False)
class Measured:
    """Rated texts of all sets, with their features."""

    features: FloatArray  # texts x features: those with a name, then the vectors; NaN where a text lacks one
    ratings: FloatArray  # texts x ratings, as shares of the scales of their sets; NaN where a text has none
    names: tuple[str, ...]  # of the ratings
    scales: tuple[tuple[float, float], ...]  # the scale of each rating where all sets have the same, else 0 to 1
    # sets, items: the set of each text, and its item, both by number
    sets: IntArray
    items: IntArray
    left_out: int  # how many texts could not be read, and why the first could not
    reason: str

    def rows(self, chosen: npt.NDArray[np.bool_]) -> Measured:
        """Some of the texts."""
        return replace(
            self,
            features=self.features[chosen],
            ratings=self.ratings[chosen],
            sets=self.sets[chosen],
            items=self.items[chosen],
        )


class TrainedSumqe(NamedTuple):
    """An estimator, how well it does on what was held out, and how many texts could not be read."""

    model: QualityModel
    figures: tuple[Figure, ...]
    left_out: int


def measure(sets: Sequence[RatedSet], models: ReadingModels, progress: Progress = quiet) -> Measured:
    """Read all texts, equal ones of a set as often as they are there."""
    names = tuple(dict.fromkeys(name for each in sets for name in each.ratings))
    texts = [text for each in sets for text in each.texts]
    pieces, reasons = [], {}
    for piece in in_pieces(len(texts), _PIECE_ROWS, progress):
        found = quality_features(Batch([Sample(text) for text in texts[piece]]).prose(), models)
        pieces.append(np.concatenate([found.named, found.vectors.reshape(len(found.named), -1)], axis=1))
        reasons.update({piece.start + row: why for row, why in found.reasons.items()})
    read = np.ones(len(texts), dtype=bool)
    read[list(reasons)] = False
    if read.sum() < FEWEST_ROWS:
        why = f" (for example: {next(iter(reasons.values()))})" if reasons else ""
        raise InputError(
            f"{int(read.sum())} of {len(texts)} rated texts can be used{why}; at least {FEWEST_ROWS} are needed"
        )
    labels = [f"{number}:{item}" for number, each in enumerate(sets) for item in each.items]
    everything = Measured(
        features=np.concatenate(pieces),
        ratings=np.concatenate([_shares(each, names) for each in sets]),
        names=names,
        scales=tuple(_common_scale(sets, name) for name in names),
        sets=np.repeat(np.arange(len(sets)), [len(each.texts) for each in sets]),
        items=np.unique(labels, return_inverse=True)[1].reshape(-1),
        left_out=len(reasons),
        reason=next(iter(reasons.values()), ""),
    )
    return everything.rows(read)


def _shares(rated: RatedSet, names: Sequence[str]) -> FloatArray:
    """The ratings of a set as shares of their scales, texts x ratings."""
    found = np.full((len(rated.texts), len(names)), np.nan)
    for at, name in enumerate(names):
        if name in rated.ratings:
            low, high = rated.scales[name]
            found[:, at] = (rated.ratings[name] - low) / (high - low)
    return found


def _common_scale(sets: Sequence[RatedSet], name: str) -> tuple[float, float]:
    scales = {each.scales[name] for each in sets if name in each.scales}
    return scales.pop() if len(scales) == 1 else (0.0, 1.0)


class _Standard(NamedTuple):
    """Means and spreads of features and of ratings."""

    centre: FloatArray
    spread: FloatArray
    middle: FloatArray
    width: FloatArray

    @classmethod
    def of(cls, measured: Measured) -> _Standard:
        features, ratings = measured.features, measured.ratings
        known = np.isfinite(features)
        counts = np.maximum(known.sum(axis=0), 1)
        centre = np.where(known, features, 0).sum(axis=0) / counts
        spread = np.sqrt((np.where(known, features - centre, 0) ** 2).sum(axis=0) / counts)
        middle, width = np.nanmean(ratings, axis=0), np.nanstd(ratings, axis=0)
        return cls(centre, np.where(spread > 1e-9, spread, np.inf), middle, np.where(width > 0, width, 1.0))

    def features(self, given: FloatArray) -> FloatArray:
        return np.asarray(np.nan_to_num((given - self.centre) / self.spread))

    def ratings(self, given: FloatArray) -> FloatArray:
        return np.asarray((given - self.middle) / self.width)


@dataclass(frozen=True, eq=False)
class Fit:
    """Heads fitted to some texts, in both ways: of standardised features."""

    standard: _Standard
    settings: dict[str, tuple[Setting, ...]]
    linear: dict[str, Linear]

    def predict(self, tasks: str, features: FloatArray) -> FloatArray:
        """The ratings of texts, texts x ratings, as shares of their scales."""
        made = self.linear[tasks]
        found = self.standard.features(features) @ made.weights + made.bias
        return np.asarray(found * self.standard.width + self.standard.middle)


def fit_heads(measured: Measured, features: str = BOTH, seed: int = 0, step: Callable[[], None] = lambda: None) -> Fit:
    """Choose settings by cross-validation over items, and fit to all texts, for single tasks and for all together."""
    if features not in SHARES:
        raise UsageError(f"features are {', '.join(SHARES)}, not {features!r}")
    known = np.isfinite(measured.ratings).sum(axis=0)
    for name, many in zip(measured.names, known.tolist(), strict=True):
        if many < FEWEST_ROWS:
            raise InputError(f"{many} texts have the rating {name!r}; at least {FEWEST_ROWS} are needed")
    standard = _Standard.of(measured)
    problem = Problem(
        features=standard.features(measured.features),
        named=len(NAMED),
        ratings=standard.ratings(measured.ratings),
        sets=measured.sets,
        folds=folds_of(measured.items, seed),
    )
    search = Search(problem, features, step)
    single, multi = search.single(), search.multi()
    return Fit(
        standard,
        {SINGLE: tuple(single), MULTI: (multi,) * len(single)},
        {SINGLE: search.fit_single(single), MULTI: search.fit_multi(multi)},
    )


def folds_of(items: IntArray, seed: int, folds: int = FOLDS) -> IntArray:
    """Deal items out to folds at random; all texts of an item to the same."""
    distinct, places = np.unique(items, return_inverse=True)
    dealt = np.random.default_rng([seed, 9]).permutation(len(distinct)) % folds
    return np.asarray(dealt[places.reshape(-1)], dtype=np.int64)


def held_out_figures(
    measured: Measured,
    names: Sequence[str],
    features: str = BOTH,
    seed: int = 0,
    step: Callable[[], None] = lambda: None,
) -> tuple[Figure, ...]:
    """Leave each set out in turn, or each fifth of the items where there is one set, and predict it from the others.

    Settings are chosen anew each time, without what is left out. A rating that no other set has is not predicted.
    """
    predicted = {tasks: np.full(measured.ratings.shape, np.nan) for tasks in TASKS}
    for rows in _parts(measured, seed):
        others = measured.rows(~rows)
        rated = np.isfinite(others.ratings).sum(axis=0) >= FEWEST_ROWS
        if not (rated & np.isfinite(measured.ratings[rows]).any(axis=0)).any():
            continue
        fitted = fit_heads(_only(others, rated), features, seed, step)
        for tasks in TASKS:
            predicted[tasks][np.ix_(rows, rated)] = fitted.predict(tasks, measured.features[rows])
    return tuple(_figures(measured, names, predicted))


def parts_to_leave_out(measured: Measured) -> int:
    """How many fits :func:`held_out_figures` may take."""
    sets = len(np.unique(measured.sets))
    return sets if sets > 1 else FOLDS


def _parts(measured: Measured, seed: int) -> Iterator[npt.NDArray[np.bool_]]:
    """Which texts are left out at a time."""
    labels = measured.sets if len(np.unique(measured.sets)) > 1 else folds_of(measured.items, seed + 1)
    for label in np.unique(labels).tolist():
        yield labels == label


def _only(measured: Measured, columns: npt.NDArray[np.bool_]) -> Measured:
    """The texts that have one of some ratings, with these."""
    some = replace(
        measured,
        ratings=measured.ratings[:, columns],
        names=tuple(compress(measured.names, columns)),
        scales=tuple(compress(measured.scales, columns)),
    )
    return some.rows(np.asarray(np.isfinite(some.ratings).any(axis=1)))


def _figures(measured: Measured, names: Sequence[str], predicted: dict[str, FloatArray]) -> Iterator[Figure]:
    for number in np.unique(measured.sets).tolist():
        for at, rating in enumerate(measured.names):
            for tasks in TASKS:
                made, rated = predicted[tasks][:, at], measured.ratings[:, at]
                rows = (measured.sets == number) & np.isfinite(made) & np.isfinite(rated)
                if rows.sum() > 2:
                    figures = pearson(made[rows], rated[rows]).value, spearman(made[rows], rated[rows]).value
                    yield Figure(names[number], rating, tasks, *figures, int(rows.sum()))


def fit_sumqe(
    sets: Sequence[RatedSet],
    models: ReadingModels | None = None,
    *,
    name: str = "quality",
    tasks: str = SINGLE,
    features: str = BOTH,
    lower_is_better: Collection[str] = (),
    seed: int = 0,
    progress: Progress = quiet,
) -> TrainedSumqe:
    """Train an estimator of ratings on sets of texts, and try it on sets that it has not seen.

    With ``single`` tasks each rating has its own penalty and its own share of the encoder's vectors; with ``multi`` all
    share both, and a projection of low rank. The features are those with a name (``reading``), the vectors
    (``encoder``) or ``both``. The estimator is fitted to all texts; the figures are of fits without the set, or the
    items, that they are of.
    """
    if tasks not in TASKS:
        raise UsageError(f"tasks are {' or '.join(TASKS)}, not {tasks!r}")
    used = models or ReadingModels()
    measured = measure(sets, used, progress)
    total = (parts_to_leave_out(measured) + 1) * FOLDS * len(SHARES.get(features, ()))
    done = iter(range(1, total + 1))

    def step() -> None:
        progress(next(done, total), total)

    fitted = fit_heads(measured, features, seed, step)
    figures = held_out_figures(measured, [each.name for each in sets], features, seed, step)
    progress(total, total)
    return TrainedSumqe(
        QualityModel(
            name=name,
            models=ModelNames(**used._asdict()),
            centre=QualityWeights(*_weights(np.nan_to_num(fitted.standard.centre), vectors=True)),
            heads=_heads(fitted, tasks, measured, lower_is_better),
            trained_on=tuple(_described(at, each, measured) for at, each in enumerate(sets)),
            facts=_facts(used, tasks, features, seed, figures, measured.left_out),
        ),
        figures,
        measured.left_out,
    )


def _heads(fitted: Fit, tasks: str, measured: Measured, lower: Collection[str]) -> dict[str, Head]:
    standard, made = fitted.standard, fitted.linear[tasks]
    found = {}
    for at, (name, (low, high)) in enumerate(zip(measured.names, measured.scales, strict=True)):
        unit = float(standard.width[at]) * (high - low)
        setting = fitted.settings[tasks][at]
        weights = made.weights[:, at] / standard.spread * unit
        found[name] = Head(
            *_weights(weights, vectors=setting.share > 0),
            low=low,
            high=high,
            lower_is_better=name in lower,
            bias=low + float(standard.middle[at]) * (high - low) + float(made.bias[at]) * unit,
            facts={
                "share_of_vectors": "all" if math.isinf(setting.share) else setting.share,
                "penalty": setting.penalty,
                **({"rank": setting.rank} if setting.rank else {}),
            },
        )
    return found


def _weights(values: FloatArray, *, vectors: bool) -> tuple[dict[str, float], FloatArray]:
    named = dict(zip(NAMED, values[: len(NAMED)].tolist(), strict=True))
    rest = values[len(NAMED) :].reshape(len(STATISTICS), -1)
    return named, rest if vectors else np.zeros((0, 0))


def _described(number: int, rated: RatedSet, measured: Measured) -> dict[str, Any]:
    rows = measured.sets == number
    counts = np.isfinite(measured.ratings[rows]).sum(axis=0).tolist()
    return {
        "name": rated.name,
        "sha256": rated.sha256,
        "texts": int(rows.sum()),
        "ratings": {name: many for name, many in zip(measured.names, counts, strict=True) if many},
    }


def _facts(
    models: ReadingModels, tasks: str, features: str, seed: int, figures: Sequence[Figure], left_out: int
) -> dict[str, Any]:
    from celadon import __version__

    return {
        "read_by": list(model_names(likelihood=models.likelihood, acceptability=models.encoder)),
        "tasks": tasks,
        "features": features,
        "seed": seed,
        "left_out": left_out,
        "held_out": [
            as_object(each._replace(pearson=round(each.pearson, 4), spearman=round(each.spearman, 4)))
            for each in figures
        ],
        "made_with": {"celadon": __version__},
    }


def train_sumqe(
    ratings: Sequence[str],
    output: str | Path,
    *,
    rating: Sequence[str] = (),
    lower_is_better: Sequence[str] = (),
    scale: tuple[float, float] | None = None,
    set_field: str | None = None,
    format: str | None = None,  # noqa: A002
    text_field: str | None = None,
    damaged: Sequence[str] = (),
    documents: int = 2_000,
    treebank: Sequence[str] = (),
    tasks: str = SINGLE,
    features: str = BOTH,
    likelihood: str = "builtin",
    encoder: str = "builtin",
    name: str | None = None,
    seed: int = 0,
    about: str = "",
    report: Report = SILENT,
) -> TrainedSumqe:
    """Train the heads of `sumqe` on rated texts or on damaged documents, and write them to a JSON file.

    Parameters
    ----------
    ratings, rating, format, text_field, scale, set_field
        Tables of rated texts, as :func:`celadon.train.combinations.rated_sets.read_sets` reads them; each is a set.
    output
        The file, used as ``sumqe[model=FILE]``.
    lower_is_better
        Ratings of which less is better; of some that is known.
    damaged, documents, treebank
        Text files of which so many paragraphs are damaged by known amounts, which stand for DUC's five questions, and
        CoNLL-U files with more such documents.
    tasks, features, seed
        See :func:`fit_sumqe`.
    likelihood, encoder
        The language model and the sentence encoder that read the texts.
    name
        Of the estimator; by default the output's.
    about
        What the data are, and their license.
    report
        Receives the progress.
    """
    if not ratings and not damaged:
        raise UsageError("nothing to learn from: give files with ratings, or a corpus with --damaged")
    if treebank and not damaged:
        raise UsageError("--treebank adds to the documents of --damaged; give a corpus too")
    if rating and not ratings:
        raise UsageError("--rating names columns of RATINGS, and no such file was given")
    if documents < 1:
        raise UsageError(f"--documents must be at least 1, not {documents}")
    check_output(output, [*ratings, *damaged, *treebank])
    fields = Fields(text=text_field)
    sets = read_sets(ratings, rating, format=format, fields=fields, scale=scale, set_field=set_field)
    if damaged:
        corpus = Corpus(tuple(map(Path, damaged)))
        with report.bar("reading the corpus", corpus.size) as bar:
            sets += damaged_sets(corpus, treebank, documents, seed, bar.update)
    names = {each for one in sets for each in one.ratings}
    with report.count("steps") as progress:
        trained = fit_sumqe(
            sets,
            ReadingModels(likelihood, encoder),
            name=name or Path(output).stem,
            tasks=tasks,
            features=features,
            lower_is_better=lower_ratings(names, lower_is_better, format),
            seed=seed,
            progress=progress,
        )
    command = made_by(
        "sumqe",
        ratings,
        output=Path(output),
        rating=",".join(rating) or None,
        lower_is_better=",".join(lower_is_better) or None,
        damaged=list(map(Path, damaged)),
        treebank=list(map(Path, treebank)),
        scale=f"{scale[0]:g}:{scale[1]:g}" if scale else None,
        set_field=set_field,
        format=format,
        text_field=text_field,
        name=name,
        about=about or None,
        documents=documents if damaged else None,
        tasks=tasks,
        features=features,
        likelihood=likelihood,
        encoder=encoder,
        seed=seed,
    )
    facts = {"about": about or "Not stated.", "made_by": command, **trained.model.facts}
    write_quality(str(output), msgspec.structs.replace(trained.model, facts=facts))
    return trained
