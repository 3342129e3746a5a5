"""A summary as JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from celadon.meta.poisson import Interval
from celadon.scoring.summary import Bins, Summary, SummaryRow


def summary_as_json(summary: Summary, *, histograms: bool = False) -> dict[str, Any]:
    """Return a summary as plain values.

    Parameters
    ----------
    summary
        Of one stream of scores.
    histograms
        Whether the histograms are told, which a summary read back needs.
    """
    return {
        "seed": summary.seed,
        "resamples": summary.resamples,
        "signatures": dict(summary.signatures),
        "scores": [_row_as_json(row, histograms) for row in summary.rows],
    }


def summary_from_json(values: Mapping[str, Any]) -> Summary:
    """Return the summary that was written with its histograms."""
    rows = tuple(
        SummaryRow(
            **{
                **row,
                "mean_interval": _interval(row["mean_interval"]),
                "corpus_interval": _interval(row["corpus_interval"]),
                "histogram": Bins(tuple(row["histogram"][0]), tuple(row["histogram"][1])),
            }
        )
        for row in values["scores"]
    )
    return Summary(rows, values["signatures"], values["seed"], values["resamples"])


def _row_as_json(row: SummaryRow, histogram: bool) -> dict[str, Any]:
    told = {
        "system": row.system,
        "metric": row.metric,
        "count": row.count,
        "nulls": row.nulls,
        "mean": row.mean,
        "mean_interval": row.mean_interval,
        "corpus": row.corpus,
        "corpus_interval": row.corpus_interval,
    }
    return {**told, "histogram": row.histogram} if histogram else told


def _interval(bounds: list[float] | None) -> Interval | None:
    return None if bounds is None else Interval(*bounds)
