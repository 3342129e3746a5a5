"""The public functions: score and load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from celadon.core import Metric, UsageError
from celadon.io.fields import Fields
from celadon.metrics.registry import load
from celadon.scoring.needs import missing
from celadon.scoring.scorer import BATCH_ROWS, Scorer
from celadon.scoring.scores import Scores
from celadon.scoring.tables import is_table, samples_from_lists, samples_from_table

__all__ = ["BATCH_ROWS", "load", "missing", "score"]


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
    scorer = Scorer(metrics, fit_on=standardize_on, trees=trees, fields=Fields(**(fields or {})))
    return scorer.score(samples)
