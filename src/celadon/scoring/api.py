"""The public functions: score and load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from celadon.core import Metric, UsageError
from celadon.io.fields import Fields
from celadon.io.written_in import markup_named
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
    markup: Sequence[str] | str | None = None,
    languages: Sequence[str] | str | None = None,
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
    markup
        For each text what it is written in, or one for all: ``auto`` (the default), ``markdown``, ``rst``, ``html`` or
        ``plain``. For a table: one for all rows whose column of markup, if ``fields`` names one, says none.
    languages
        For each text its language, or one for all: an ISO 639 code or an English name. By default it is identified.
    metrics
        Names with options, or metrics; by default rougeL, chrf and the string accuracies, or slor where there are no
        references.
    fields
        For a table: which column is ``text``, ``references``, ``source``, ``system``, ``id``, ``markup``,
        ``language``; the last two are never guessed.
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
    columns = Fields(**{"default_markup": _for_all(markup), **(fields or {})})
    if is_table(texts):
        own = [references, sources, systems, ids, languages, None if isinstance(markup, str) else markup]
        if any(column is not None for column in own):
            raise UsageError("a table has its own columns: name them with fields=, or give lists")
        samples = samples_from_table(texts, columns)
    else:
        samples = samples_from_lists(texts, references, sources, systems, ids, markup, languages)
    scorer = Scorer(metrics, fit_on=standardize_on, trees=trees, fields=columns)
    return scorer.score(samples)


def _for_all(markup: Sequence[str] | str | None) -> str:
    try:
        return markup_named(markup) if isinstance(markup, str) else "auto"
    except ValueError as error:
        raise UsageError(str(error)) from None
