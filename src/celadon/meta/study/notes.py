"""A study in words: what is shown, what is not, and what the figures rest on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from celadon.meta.study.rows import ComparisonRow, CorrelationRow, Study

# With more pairs of metrics than this, what is shown of the best metric is told and the others are counted.
_MOST_PAIRS = 12
_STATISTICS = {
    "williams": "Williams t",
    "fisher": "Fisher z",
    "steiger": "Steiger z",
    "meng": "Meng z",
    "t": "t of squared errors",
    "permutation": "permutation test, difference",
}
LEVEL_WORDS = {"instance": "over all texts", "system": "over systems", "within_item": "within items"}


def study_notes(study: Study) -> tuple[str, ...]:
    """Say in sentences what the study found; every note stands for itself."""
    return (
        *_best(study),
        *_people(study),
        *_nulls(study),
        *_passed_over(study),
        *_reasons(study),
        *comparison_notes(study.comparisons),
    )


def _best(study: Study) -> Iterator[str]:
    whole = [row for row in study.correlations if not row.group and not math.isnan(row.value)]
    for key in dict.fromkeys((row.human, row.level) for row in whole):
        rows = [row for row in whole if (row.human, row.level) == key]
        best = max(rows, key=lambda row: row.value)
        yield (
            f"{key[0]}, {LEVEL_WORDS[key[1]]}: {best.metric} agrees best of {_count(len(rows), 'metric')} "
            f"({best.kind} {best.value:.3f}{_interval(best)})"
        )


def _interval(row: CorrelationRow) -> str:
    return "" if math.isnan(row.low) else f", 95% interval {row.low:.3f} .. {row.high:.3f}"


def comparison_notes(comparisons: Sequence[ComparisonRow]) -> Iterator[str]:
    """Comparisons as sentences; of very many pairs what the best metric is shown to beat, and counts of the rest."""
    tests = {row.test for row in comparisons if row.kind == "kendall"} - {"permutation", "t"}
    if tests:
        yield f"{', '.join(sorted(tests))}: derived for Pearson's correlation; with Kendall's it finds too little"
    for human in dict.fromkeys(row.human for row in comparisons):
        rows = [row for row in comparisons if row.human == human]
        if len(rows) <= _MOST_PAIRS:
            yield from map(in_words, rows)
        else:
            yield from _in_short(human, rows)


def _in_short(human: str, rows: list[ComparisonRow]) -> Iterator[str]:
    values = {row.first: row.first_value for row in rows} | {row.second: row.second_value for row in rows}
    known = {metric: value for metric, value in values.items() if not math.isnan(value)}
    best = max(known, key=lambda metric: known[metric], default="")
    others: dict[bool, list[str]] = {True: [], False: []}
    for row in rows:
        if best in (row.first, row.second) and not row.reason:
            others[row.shown].append(row.second if row.first == best else row.first)
    if others[True]:
        yield f"{human}: {best} ({known[best]:.3f}) is shown to agree better than {', '.join(others[True])}"
    if others[False]:
        yield f"{human}: not shown to agree less than {best}: {', '.join(others[False])}"
    significant = sum(row.shown for row in rows)
    rest = len(rows) - significant
    yield f"{human}: of {len(rows)} pairs of metrics {significant} differ and {rest} are not shown to"


def in_words(row: ComparisonRow) -> str:
    """One comparison as a sentence: what is shown, or that it is not."""
    first, second = (row.first, row.first_value), (row.second, row.second_value)
    if row.reason:
        return f"not compared: {row.first} and {row.second} with {row.human}: {row.reason}"
    ahead = row.statistic > 0 or (row.statistic == 0 and row.first_value >= row.second_value)
    better, worse = (first, second) if ahead else (second, first)
    verb = "predicts" if row.test == "t" else "agrees with"
    claim = (
        f"{better[0]} {verb} {row.human} better than {worse[0]} ({better[1]:.3f} against {worse[1]:.3f}, "
        f"{_STATISTICS[row.test]} = {abs(row.statistic):.2f}, {probability(row.pvalue)}, "
        f"after Holm's correction {probability(row.adjusted)})"
    )
    return claim if row.shown else f"not shown: that {claim}"


def probability(value: float) -> str:
    """``p = 0.012`` or ``p < 0.0001``."""
    return "p < 0.0001" if value < 0.0001 else f"p = {value:.2g}"


def _people(study: Study) -> Iterator[str]:
    for row in study.agreements:
        if math.isnan(row.ceiling):
            yield f"{row.human}: the agreement of the raters is not known: {row.reason}"
            continue
        yield (
            f"{row.human}: {row.raters:.3g} ratings a text; the mean rating has a reliability of {row.icc_mean:.3f}, "
            f"so that even a perfect metric would reach a correlation of about {row.ceiling:.3f}"
        )


def _nulls(study: Study) -> Iterator[str]:
    table = study.table
    for name in (*table.humans, *table.metrics):
        column = table.columns[name]
        nulls = sum(not math.isfinite(value) for value in column.tolist())
        if nulls:
            kind = "rating" if name in table.humans else "score"
            yield f"{name}: {nulls:,} of {_count(table.rows, 'row')} have no {kind} and are left out where it is used"


def _passed_over(study: Study) -> Iterator[str]:
    if study.table.passed_over:
        yield f"not taken for metrics, because they were not named: {', '.join(study.table.passed_over)}"


def _reasons(study: Study) -> Iterator[str]:
    for row in study.correlations:
        if row.reason and not row.group:
            yield f"no correlation of {row.metric} with {row.human} {LEVEL_WORDS[row.level]}: {row.reason}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
