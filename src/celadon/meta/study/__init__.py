"""Everything that a table of scores and ratings has to say."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from celadon.core import UsageError
from celadon.meta.bootstrap import Unit
from celadon.meta.correlation import Kind, Level
from celadon.meta.study.ablations import ablation_rows
from celadon.meta.study.comparisons import Test, accuracy_rows, comparison_rows
from celadon.meta.study.correlations import allowed_levels, between_metrics, check_level, check_unit, correlation_rows
from celadon.meta.study.notes import study_notes
from celadon.meta.study.people import agreement_rows, disagreement_rows, level_rows
from celadon.meta.study.rows import (
    AblationRow,
    AccuracyRow,
    AgreementRow,
    ComparisonRow,
    CorrelationRow,
    DisagreementRow,
    LevelRow,
    ReferencesRow,
    Study,
)
from celadon.meta.table import Table

__all__ = [
    "DEFAULT_RESAMPLES",
    "DEFAULT_SEED",
    "PARTS",
    "AblationRow",
    "AccuracyRow",
    "AgreementRow",
    "ComparisonRow",
    "CorrelationRow",
    "DisagreementRow",
    "LevelRow",
    "ReferencesRow",
    "Study",
    "make_study",
]

DEFAULT_SEED = 20000601
DEFAULT_RESAMPLES = 1000
PARTS = (
    "correlations",
    "comparisons",
    "accuracies",
    "agreements",
    "disagreements",
    "levels",
    "ablations",
    "between_metrics",
)


def make_study(
    table: Table,
    *,
    kind: Kind = "pearson",
    levels: Sequence[Level] | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    parts: Collection[str] | None = None,
    test: Test | None = None,
    groups: Collection[str] = ("system", "domain", "reliable"),
    worst: int = 10,
    unit: Unit | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> Study:
    """Compare the metrics of a table with its ratings in every way.

    Parameters
    ----------
    table
        Scores and ratings.
    kind
        Of correlation: ``pearson``, ``spearman`` or ``kendall``.
    levels
        ``instance``, ``system``, ``within_item``; by default those that the table allows.
    resamples, seed
        Of the bootstrap intervals and of the permutation tests; the same seed gives the same figures.
    parts
        Which parts of the study to make, of :data:`PARTS`; by default all.
    test
        How pairs of metrics are compared: ``williams``, ``fisher``, ``steiger``, ``meng``, ``t`` or ``permutation``;
        by default as :func:`default_test` says.
    groups
        By what to break down the correlations, where it is known.
    worst
        How many disagreements to list of each metric and rating.
    unit
        What the bootstrap draws: ``rows``, ``items``, ``systems`` or ``both``; by default as :func:`bootstrap` does.
    tick
        Called with how many of how many correlations are done: they take nearly all of the time.
    """
    wanted = set(PARTS if parts is None else parts)
    if unknown := sorted(wanted - set(PARTS)):
        raise UsageError(f"a study has no part {unknown[0]!r}; known: {', '.join(PARTS)}")
    chosen = allowed_levels(table) if levels is None else tuple(dict.fromkeys(levels))
    for level in chosen:
        check_level(table, level)
    check_unit(table, unit)
    draw: dict[str, Any] = {"resamples": resamples, "seed": seed}
    makers: dict[str, Callable[[], Any]] = {
        "correlations": lambda: correlation_rows(table, kind, chosen, groups, unit=unit, tick=tick, **draw),
        "comparisons": lambda: comparison_rows(table, kind, test, **draw),
        "accuracies": lambda: accuracy_rows(table, **draw),
        "agreements": lambda: agreement_rows(table, kind),
        "disagreements": lambda: disagreement_rows(table, worst),
        "levels": lambda: level_rows(table),
        "ablations": lambda: ablation_rows(table, kind),
        "between_metrics": lambda: between_metrics(table, kind),
    }
    study = Study(table=table, **draw, **{part: makers[part]() for part in PARTS if part in wanted})
    return study.with_notes(study_notes(study))
