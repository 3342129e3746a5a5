"""The public functions: score and load."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from celadon.core import InputError, Metric, MetricScores, Sample, UsageError
from celadon.io.fields import Fields
from celadon.metrics.registry import DEFAULTS_WITH_REFERENCES, DEFAULTS_WITHOUT_REFERENCES, load, load_all
from celadon.metrics.tree_accuracy import check_use_of_trees, told_of_trees
from celadon.scoring.batch import Batch
from celadon.scoring.fitting import BATCH_ROWS, Fitting, first_pass, fitted_on, missing, second_pass
from celadon.scoring.scores import Scores
from celadon.scoring.tables import is_table, samples_from_lists, samples_from_table

__all__ = ["BATCH_ROWS", "load", "missing", "score", "score_batch"]


def score(
    texts: Any,
    references: Sequence[str | Sequence[str] | None] | None = None,
    *,
    sources: Sequence[str] | None = None,
    systems: Sequence[str] | str | None = None,
    ids: Sequence[str] | None = None,
    metrics: Iterable[str | Metric] | str | None = None,
    fields: Mapping[str, str] | None = None,
    standardize_on: Any = None,
    trees: Any = None,
) -> Scores:
    """Score texts.

    Parameters
    ----------
    texts
        A list of texts, of :class:`celadon.Sample`, or a table: a pandas or polars frame, a ``datasets.Dataset``.
        A table's columns are found as on the command line (``text``, ``output`` or ``prediction``; ``references``,
        ``reference`` or ``ref0``, ``ref1`` ...; ``source``, ``system``, ``id``).
    references
        For each text a reference or a list of them.
    sources
        For each text what it was made from.
    systems
        For each text who made it, or one name for all.
    ids
        For each text the item it belongs to.
    metrics
        Names with options, or metrics; by default rougeL, chrf and the string accuracies, or slor where there are no
        references.
    fields
        For a table: which column is ``text``, ``references``, ``source``, ``system``, ``id``.
    standardize_on
        For metrics that are relative to the scored set (rouge_lm): the set that gives their constants instead. A file
        of texts, or one that ``celadon score --output`` wrote; samples, a table, or the result of an earlier call.
    trees
        For metrics that rest on dependency trees of the references (simple_tree_accuracy): a CoNLL-U file whose
        ``sent_id`` is the id of a text (``id#2`` for its second reference), or for each text a :class:`celadon.Tree`
        or a list of them. By default those that samples carry, else the parser of the extra ``parse``.

    Returns
    -------
    Scores
        With ``to_polars()``, ``to_pandas()`` and ``summary()``.
    """
    if is_table(texts):
        if any(column is not None for column in (references, sources, systems, ids)):
            raise UsageError("a table has its own columns: name them with fields=, or give lists")
        samples = samples_from_table(texts, Fields(**(fields or {})))
    else:
        samples = samples_from_lists(texts, references, sources, systems, ids)
    chosen = _chosen(metrics, samples)
    if metrics is not None:
        for row, message in missing(samples, chosen).items():
            raise InputError(f"{samples[row].origin}: {message}")
    samples, chosen = _with_trees(samples, chosen, trees)
    if standardize_on is not None:
        chosen = fitted_on(chosen, standardize_on, Fields(**(fields or {})))
    return _scored(samples, chosen)


def _with_trees(
    samples: tuple[Sample, ...], metrics: tuple[Metric, ...], trees: Any
) -> tuple[tuple[Sample, ...], tuple[Metric, ...]]:
    """Samples with the trees that were given for them, and metrics that know whose these are."""
    if trees is None and not any(sample.trees for sample in samples):
        return samples, metrics
    from celadon.io.tree_file import check_trees, digest_of, read_trees, with_trees

    if trees is not None:
        check_use_of_trees(metrics)
    if isinstance(trees, str | os.PathLike):
        read = read_trees(os.fspath(trees))
        return tuple(map(read.given_to, samples)), told_of_trees(metrics, read.digest)
    if trees is not None:
        samples = with_trees(samples, trees)
    else:
        for sample in samples:
            if sample.trees:
                check_trees(sample)
    digest = digest_of((sample.id or "", tree) for sample in samples for tree in sample.trees)
    return samples, told_of_trees(metrics, digest)


def _scored(samples: tuple[Sample, ...], metrics: tuple[Metric, ...]) -> Scores:
    parts = [samples[at : at + BATCH_ROWS] for at in range(0, len(samples), BATCH_ROWS)] or [()]
    fitting = Fitting(metrics)
    firsts = []
    for part in parts:
        batch = Batch(part)
        firsts.append(first_pass(batch, metrics))
        fitting.add(batch, firsts[-1])
    fitted = fitting.fitted()
    columns = [second_pass(Batch(part), first, fitted) for part, first in zip(parts, firsts, strict=True)]
    return Scores(samples, fitted, _joined(columns))


def score_batch(batch: Batch, metrics: Iterable[Metric]) -> dict[str, MetricScores]:
    """Score a batch with each metric; views are shared among them."""
    return {metric.spec: metric.score(batch) for metric in metrics}


def _joined(parts: Sequence[Mapping[str, MetricScores]]) -> dict[str, MetricScores]:
    """The scores of consecutive batches as if they had been one."""
    if len(parts) == 1:
        return dict(parts[0])
    return {name: _concatenated([part[name] for part in parts]) for name in parts[0]}


def _concatenated(scores: Sequence[MetricScores]) -> MetricScores:
    first = scores[0]
    offsets = np.cumsum([0, *(len(part.values) for part in scores)]).tolist()
    return MetricScores(
        first.metric,
        np.concatenate([part.values for part in scores]),
        {name: np.concatenate([part.parts[name] for part in scores]) for name in first.parts},
        {row + at: why for part, at in zip(scores, offsets, strict=False) for row, why in part.reasons.items()},
        np.concatenate([part.statistics for part in scores if part.statistics is not None])
        if first.statistics is not None
        else None,
    )


def _chosen(metrics: Iterable[str | Metric] | str | None, samples: Sequence[Sample]) -> tuple[Metric, ...]:
    if metrics is None:
        referenced = not samples or any(sample.references for sample in samples)
        return load_all(DEFAULTS_WITH_REFERENCES if referenced else DEFAULTS_WITHOUT_REFERENCES)
    if isinstance(metrics, str | Metric):
        metrics = [metrics]
    chosen = load_all(metrics)
    if not chosen:
        raise UsageError("no metric was named")
    return chosen
