"""The report of a run: its shards once more, in their order, beside the rows they were made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from celadon.core import FloatArray, InputError, Metric, MetricScores
from celadon.io import Chunk, atomic_write_text
from celadon.io.pieces import Piece, Plan
from celadon.io.writers import REASON
from celadon.report.collector import ReportCollector
from celadon.runs.folder import RunFolder, part_name
from celadon.runs.local import REPORT_TITLE
from celadon.runs.manifest import RunConfig
from celadon.runs.shards import ShardRecord, rows_of
from celadon.scoring.scorer import Scorer, ignore
from celadon.scoring.scores import score_columns
from celadon.scoring.summary import Summary


def write_report(
    path: str,
    folder: RunFolder,
    config: RunConfig,
    plan: Plan,
    records: Sequence[ShardRecord],
    summary: Summary,
    progress: Callable[[int, int], None],
) -> None:
    """Write the HTML report of a run whose shards are all there.

    ``progress``: told how many rows are done, and of how many.
    """
    scorer = Scorer.from_dict(config.scorer)
    collector = ReportCollector(scorer.metrics, seed=config.seed)
    done, total = 0, sum(record.rows_scored for record in records)
    for piece, record in zip(plan.pieces, records, strict=True):
        if record.rows_scored:
            rows = (scorer.usable(chunk, ignore) for chunk in rows_of(piece, config, ignore))
            _add_shard(collector, folder, scorer.metrics, piece, rows, record.rows_scored)
            done += record.rows_scored
            progress(done, total)
    names = [Path(file.name).name for file in plan.files]
    rejected = sum(record.rows_rejected for record in records)
    atomic_write_text(path, collector.html(summary, title=REPORT_TITLE, inputs=names, rejected=rejected))


def _add_shard(
    collector: ReportCollector,
    folder: RunFolder,
    metrics: Sequence[Metric],
    piece: Piece,
    chunks: Iterable[Chunk],
    rows: int,
) -> None:
    import pyarrow.parquet as pq

    name = f"{part_name(piece.index)}.parquet"
    shard = pq.read_table(folder.local_copy(name), columns=[*score_columns(metrics), REASON])
    at = 0
    for chunk in filter(len, chunks):
        collector.add(chunk.samples, _scores(shard.slice(at, len(chunk)), metrics))
        at += len(chunk)
    if at != rows or at != shard.num_rows:
        raise InputError(f"{folder.name}{name}: does not hold the rows of its piece; check it with celadon runs show")
    folder.forget_copy(name)


def _scores(rows: Any, metrics: Sequence[Metric]) -> dict[str, MetricScores]:
    """Scores as they were when they were written."""
    why = reasons_of(rows.column(REASON).to_pylist(), [metric.spec for metric in metrics])
    return {
        metric.spec: MetricScores(
            metric.spec,
            _numbers(rows, metric.spec),
            {part: _numbers(rows, f"{metric.spec}.{part}") for part in metric.info.parts},
            why[metric.spec],
        )
        for metric in metrics
    }


def _numbers(rows: Any, column: str) -> FloatArray:
    return np.array([np.nan if value is None else value for value in rows.column(column).to_pylist()], dtype=np.float64)


def reasons_of(merged: Sequence[str | None], specs: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return for each metric why rows have no score, out of what :func:`celadon.scoring.scores.merged_reasons` made."""
    # a name that begins like another must be tried before it
    name = "|".join(re.escape(spec) for spec in sorted(specs, key=len, reverse=True))
    heads = re.compile(rf"(?:^|; )((?:{name})(?:, (?:{name}))*): ")
    one = re.compile(name)
    reasons: dict[str, dict[int, str]] = {spec: {} for spec in specs}
    for row, text in enumerate(merged):
        if text is None:
            continue
        matches = list(heads.finditer(text))
        ends = [*(match.start() for match in matches[1:]), len(text)]
        for match, end in zip(matches, ends, strict=False):
            for spec in one.findall(match[1]):
                reasons[spec][row] = text[match.end() : end]
    return reasons
