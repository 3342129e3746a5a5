"""What a run has come to, put together from what is known of its shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from celadon.core import Fitted, Metric, fitted_constants
from celadon.runs.folder import RunFolder
from celadon.runs.shards import ShardOutcome
from celadon.runs.summary_file import summary_as_json
from celadon.scoring.summary import Summary


@dataclass(frozen=True)
class RunOutcome:
    """What a run has come to; beyond what :class:`celadon.runs.local.Outcome` tells, of this start of it.

    Attributes
    ----------
    folder
        The run.
    shards, shards_before
        All shards, and those that were there already.
    seconds
        How long this start scored.
    rows_now
        Rows scored by it.
    """

    folder: str
    summary: Summary
    rows_read: int
    rows_scored: int
    rows_rejected: int
    renamed: dict[str, str]
    fitted: dict[str, Fitted]
    cache_hits: int
    cache_misses: int
    shards: int
    shards_before: int
    seconds: float
    rows_now: int
    peak_memory_bytes: int

    def as_json(self, how: Mapping[str, Any]) -> dict[str, Any]:
        """Return what ``summary.json`` holds; ``how`` tells of the last start."""
        return {
            "rows_read": self.rows_read,
            "rows_scored": self.rows_scored,
            "rows_rejected": self.rows_rejected,
            "shards": self.shards,
            "constants": {metric: dict(fitted.constants) for metric, fitted in self.fitted.items()},
            "last_start": {**how, "rows": self.rows_now, "seconds": round(self.seconds, 3)},
            "peak_memory_bytes": self.peak_memory_bytes,
            "cache_hits": self.cache_hits,
            "cache_misses": self.cache_misses,
            **summary_as_json(self.summary, histograms=True),
        }


def outcome_of_run(
    folder: RunFolder,
    summary: Summary,
    metrics: Sequence[Metric],
    outcomes: Sequence[ShardOutcome],
    before: int,
    seconds: float,
    now: int,
) -> RunOutcome:
    """Return what all shards together come to, of which ``before`` were there and ``now`` rows are new."""
    rejected = sum(outcome.rows_rejected for outcome in outcomes)
    scored = sum(outcome.rows_scored for outcome in outcomes)
    return RunOutcome(
        folder=folder.name,
        summary=summary,
        rows_read=scored + rejected,
        rows_scored=scored,
        rows_rejected=rejected,
        renamed={old: new for outcome in outcomes for old, new in outcome.renamed.items()},
        fitted=fitted_constants(metrics),
        cache_hits=sum(outcome.cache_hits for outcome in outcomes),
        cache_misses=sum(outcome.cache_misses for outcome in outcomes),
        shards=len(outcomes),
        shards_before=before,
        seconds=seconds,
        rows_now=now,
        peak_memory_bytes=max(outcome.peak_memory_bytes for outcome in outcomes),
    )
