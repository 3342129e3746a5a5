"""Which samples lack what a metric needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from celadon.core import InputError, Metric, Need, Sample


def missing(samples: Sequence[Sample], metrics: Iterable[Metric]) -> dict[int, str]:
    """Return the rows that lack what a metric needs, each with a message."""
    messages: dict[Need, str] = {}
    for metric in metrics:
        for need in metric.info.needs:
            messages.setdefault(need, f"{metric.info.name} needs {need}, and this row has none")
    lacking: dict[int, str] = {}
    for row, sample in enumerate(samples):
        if Need.SOURCE in messages and sample.source is None:
            lacking[row] = messages[Need.SOURCE]
        elif Need.REFERENCES in messages and not sample.references:
            lacking[row] = messages[Need.REFERENCES]
    return lacking


def refuse_missing(samples: Sequence[Sample], metrics: Iterable[Metric]) -> None:
    """Raise InputError for the first sample that lacks what a metric needs."""
    for row, message in missing(samples, metrics).items():
        raise InputError(f"{samples[row].origin}: {message}")
