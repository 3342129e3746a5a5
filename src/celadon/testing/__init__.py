"""For tests of programs that write text: an assertion that fails where a text does not read well, and says why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from celadon.compare.columns import Limit
    from celadon.core import Metric, MetricScores, NullKind, Sample

DEFAULT_MINIMUM: Mapping[str, float] = MappingProxyType({"celadon": 0.6})

_SHOWN_CHARS = 1000
_COLUMNS = 100


def assert_reads_well(
    text: str,
    *,
    references: str | Sequence[str] | None = None,
    source: str | None = None,
    minimum: Mapping[str, float] | None = None,
    maximum: Mapping[str, float] | None = None,
    gate: str | None = None,
    nulls: str | Iterable[str] | None = None,
    language: str = "english",
    markup: str = "auto",
) -> NullKind | None:
    """Fail unless a text keeps its limits; a text without a score fails too, unless it is a fragment or data.

    Parameters
    ----------
    text
        The text.
    references
        A text or several that people wrote for the same input, for metrics that need them.
    source
        What the text was made from, for metrics that need it.
    minimum, maximum
        Metrics with options, or parts of them, and what a text may not have less or more of:
        ``{"celadon": 0.6, "celadon.coherence": 0.5}``. Where neither these nor a gate are given, celadon must be at
        least 0.6.
    gate
        A file of ``celadon calibrate``; its limits are added to the others.
    nulls
        The kinds of texts that pass without a score: ``wordless``, ``fragment``, ``data``, ``language``, ``other``, or
        ``none`` of them. By default ``fragment`` and ``data``.
    language
        ``any`` where texts in other languages than English pass without a score as well.
    markup
        What the text is written in: ``auto``, ``markdown``, ``rst``, ``html`` or ``plain``.

    Returns
    -------
    NullKind or None
        What kind of text it is, where it passes without a score.

    Raises
    ------
    AssertionError
        The text does not keep a limit; the message has the score, the limit, and which sentences and words it is for.
    """
    __tracebackhide__ = True
    from celadon.compare.calibration import read_gate
    from celadon.compare.columns import nulls_of
    from celadon.core import Sample, null_kind
    from celadon.scoring.api import score

    if minimum is None and maximum is None and gate is None:
        minimum = DEFAULT_MINIMUM
    limits = _limits(minimum or {}, maximum or {})
    passing = nulls_of(nulls, language)
    if gate is not None:
        limits += read_gate(gate).checked_limits(gate)
    given = (references,) if isinstance(references, str) else tuple(references or ())
    sample = Sample(text, given, source, origin="the text", markup=markup)
    scores = score([sample], metrics=[limit.column.metric for limit in limits])
    columns, (sample,) = scores.columns, scores.samples
    lines: list[str] = []
    why: dict[str, list[str]] = {}
    passed: NullKind | None = None
    for limit in limits:
        value = float(limit.column.values(columns)[0])
        reason = limit.column.reason(columns, 0) if isnan(value) else ""
        if reason and null_kind(reason) in passing:
            passed = passed or null_kind(reason)
        elif not limit.kept_by(value):
            told = f"there is no score: {reason}" if reason else f"it is {value:.4f}"
            lines.append(f"{limit}, but {told}")
            metric = limit.column.metric
            if metric.spec not in why:
                why[metric.spec] = list(_why(metric, columns, sample))
    if lines:
        evidence = [line for each in why.values() for line in each]
        shown = repr(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…")
        raise AssertionError("\n".join(["the text does not read well", *lines, *evidence, f"text: {shown}"]))
    return passed


def _limits(minimum: Mapping[str, float], maximum: Mapping[str, float]) -> list[Limit]:
    from celadon.compare.columns import Limit, column_of

    return [
        *(Limit(column_of(name), float(bound), is_least=True) for name, bound in minimum.items()),
        *(Limit(column_of(name), float(bound), is_least=False) for name, bound in maximum.items()),
    ]


def _why(metric: Metric, columns: Mapping[str, MetricScores], sample: Sample) -> Iterator[str]:
    """The evidence, without spans that are marked in the text but not listed."""
    from celadon.report.terminal import Screen, evidence_lines

    evidence = metric.evidence(sample)
    if evidence is not None:
        values = {name: float(column[0]) for name, column in columns[metric.spec].parts.items()}
        yield from evidence_lines(sample, evidence, Screen(_COLUMNS, colored=False), values)
