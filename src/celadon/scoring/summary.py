"""Summaries of a stream of scores: per system the mean, the corpus score, intervals, nulls and a histogram.

Memory does not grow with the number of rows: sums, Poisson bootstrap totals and counts are all that is kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from celadon.core import (
    Direction,
    FloatArray,
    IntArray,
    MetricInfo,
    MetricScores,
    NullKind,
    Sample,
    UsageError,
    null_kind,
)
from celadon.meta.intervals import Interval, expanded_interval
from celadon.meta.poisson import PoissonWeights
from celadon.text.layout import printable, table

DEFAULT_RESAMPLES = 1000
DEFAULT_SEED = 20000601
AnyArray: TypeAlias = npt.NDArray[Any]

_BINS = 40
# the columns of a cell's totals before those of the statistics: values, their sum, wordless texts
_WORDLESS, _STATISTICS = 2, 3
_MOST_SYSTEMS = 500


class Bins(NamedTuple):
    """A histogram: ``counts[i]`` values lie between ``edges[i]`` and ``edges[i + 1]``."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class SummaryRow:
    """What is known of one system under one metric.

    ``mean`` is over the ``count`` texts with a value. ``nulls`` have none, ``null_share`` of all; of these ``wordless``
    are empty or have no words. ``mean_with_wordless`` is over texts with a value and wordless ones, which count as the
    metric's worst value; None where there are none, or the metric has no worst value. ``corpus`` is the score of all
    texts together, empty ones too, where that is more than the mean (BLEU, chrF, TER); otherwise None. Intervals are
    None where there is no value or only one text.
    """

    system: str | None
    metric: str
    count: int
    nulls: int
    null_share: float
    wordless: int
    mean: float | None
    mean_interval: Interval | None
    mean_with_wordless: float | None
    mean_with_wordless_interval: Interval | None
    corpus: float | None
    corpus_interval: Interval | None
    histogram: Bins = field(repr=False)


@dataclass(frozen=True)
class Summary:
    """Rows in the order in which systems were first seen, within a system in the order of the metrics."""

    rows: tuple[SummaryRow, ...]
    signatures: Mapping[str, str]
    seed: int
    resamples: int

    @property
    def systems(self) -> tuple[str | None, ...]:
        """The systems in their order; a lone None where none was named."""
        return tuple(dict.fromkeys(row.system for row in self.rows))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics' columns in their order."""
        return tuple(dict.fromkeys(row.metric for row in self.rows))

    def __str__(self) -> str:
        """A table per system: mean, interval, corpus score and nulls of each metric."""
        return _tables(self)

    def row(self, system: str | None, metric: str) -> SummaryRow:
        """Return one system's row under one metric."""
        return next(row for row in self.rows if row.system == system and row.metric == metric)

    def to_dict(self, *, histograms: bool = False) -> dict[str, Any]:
        """Return plain values; with histograms, :meth:`from_dict` can read them back."""
        names = [each.name for each in fields(SummaryRow) if histograms or each.name != "histogram"]
        return {
            "seed": self.seed,
            "resamples": self.resamples,
            "signatures": dict(self.signatures),
            "scores": [{name: getattr(row, name) for name in names} for row in self.rows],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the summary that was written with its histograms."""
        rows = []
        for row in values["scores"]:
            intervals = {name: row[name] and Interval(*row[name]) for name in row if name.endswith("_interval")}
            rows.append(SummaryRow(**{**row, **intervals, "histogram": Bins(*map(tuple, row["histogram"]))}))
        return cls(tuple(rows), values["signatures"], values["seed"], values["resamples"])


class GrowingHistogram:
    """Counts in bins that double their width whenever a value falls outside, so that any stream fits.

    Bins lie on a grid, and which of its levels is in use follows from the lowest and highest value alone: neither the
    order of a stream nor how it is cut into batches shows.
    """

    def __init__(self, low: float, high: float) -> None:
        self._low = low if math.isfinite(low) else (high - 1.0 if math.isfinite(high) else 0.0)
        self._high = high if math.isfinite(high) else self._low + 1.0
        self._width = (self._high - self._low) / _BINS
        self._level = 0
        self._first = 0
        self._counts: IntArray = np.zeros(_BINS, dtype=np.int64)

    def add(self, values: FloatArray) -> None:
        """Count finite values."""
        if not len(values):
            return
        # the end of the range belongs to its last bin
        inside = np.where(values == self._high, math.nextafter(self._high, self._low), values)
        # always from the narrowest bins up, so that a rounding does not depend on the level
        places = np.floor((inside - self._low) / self._width) // 2.0**self._level
        taken = np.flatnonzero(self._counts) + self._first
        lowest = min(float(places.min()), 0.0, *taken[:1].tolist())
        highest = max(float(places.max()), 0.0, *taken[-1:].tolist())
        more = 0
        while highest // 2.0**more - lowest // 2.0**more >= _BINS:
            more += 1
        self._move(more, int(lowest // 2.0**more))
        self._counts += np.bincount((places // 2.0**more).astype(np.int64) - self._first, minlength=_BINS)

    def merge(self, level: int, first: int, counts: IntArray) -> None:
        """Add what :meth:`state` of a histogram over the same range told."""
        taken = np.flatnonzero(counts)
        if not len(taken):
            return
        common = max(level, self._level)
        more = common - self._level
        self._move(more, self._first >> more)
        places = (taken + first) >> (common - level)
        mine = np.flatnonzero(self._counts) + self._first
        lowest = min(int(places[0]), 0, *mine[:1].tolist())
        highest = max(int(places[-1]), 0, *mine[-1:].tolist())
        more = 0
        while (highest >> more) - (lowest >> more) >= _BINS:
            more += 1
        self._move(more, lowest >> more)
        np.add.at(self._counts, (places >> more) - self._first, counts[taken])

    def state(self) -> tuple[int, int, IntArray]:
        """Return the level and the first place of the grid, and the counts."""
        return self._level, self._first, self._counts

    def _move(self, more: int, first: int) -> None:
        """Merge bins into wider ones, and begin at another place of the grid."""
        if (more, first) == (0, self._first):
            return
        counts: IntArray = np.zeros(_BINS, dtype=np.int64)
        for place in np.flatnonzero(self._counts).tolist():
            counts[((place + self._first) >> more) - first] += self._counts[place]
        self._level += more
        self._first, self._counts = first, counts

    def bins(self) -> Bins:
        """Return the histogram as plain numbers."""
        edges = self._low + (self._first + np.arange(_BINS + 1)) * self._width * 2.0**self._level
        return Bins(tuple(edges.tolist()), tuple(self._counts.tolist()))


class Summarized(Protocol):
    """What a summary must know of scores: a metric, or an aspect of one."""

    @property
    def spec(self) -> str:
        """The name of the column."""
        ...

    @property
    def info(self) -> MetricInfo:
        """The range of the values."""
        ...

    @property
    def signature(self) -> str:
        """How the scores were made."""
        ...

    def aggregate(self, statistics: FloatArray) -> float | None:
        """Return the corpus score; None where it is the mean."""
        ...


@dataclass
class _Cell:
    """Running totals of one system under one metric: values, their sum, wordless texts; the rest are statistics."""

    histogram: GrowingHistogram
    totals: FloatArray
    resampled: FloatArray
    nulls: int = 0


@dataclass
class Summarizer:
    """Takes scores batch by batch and gives a :class:`Summary` at the end.

    Parameters
    ----------
    metrics
        The metrics whose scores will come.
    resamples, seed
        Of the Poisson bootstrap.
    first_position
        Where in the whole stream the first row is, so that parts of a stream summed up apart draw as the whole would.
    """

    metrics: Sequence[Summarized]
    resamples: int = DEFAULT_RESAMPLES
    seed: int = DEFAULT_SEED
    first_position: int = 0
    _cells: dict[tuple[str | None, str], _Cell] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._position = self.first_position
        self._weights = PoissonWeights(self.resamples, self.seed)

    def add(self, samples: Sequence[Sample], scores: Mapping[str, MetricScores]) -> None:
        """Take the scores of the next samples of the stream."""
        rows_of: dict[str | None, list[int]] = {}
        for row, sample in enumerate(samples):
            rows_of.setdefault(sample.system, []).append(row)
        for system, rows in rows_of.items():
            self._add_system(system, np.array(rows, dtype=np.int64), scores)
        self._position += len(samples)

    def _add_system(self, system: str | None, rows: IntArray, scores: Mapping[str, MetricScores]) -> None:
        columns, cells, widths = [], [], []
        for metric in self.metrics:
            result = scores[metric.spec]
            values = result.values[rows]
            known = np.isfinite(values)
            reasons = [result.reasons.get(row, "") for row in rows.tolist()] if result.reasons else [""] * len(rows)
            wordless = [null_kind(reason) is NullKind.WORDLESS for reason in reasons]
            table = [np.stack([known, np.where(known, values, 0.0), wordless], axis=1)]
            if result.statistics is not None:
                table.append(result.statistics[rows])
            block = np.concatenate(table, axis=1)
            cell = self._cell(system, metric, block.shape[1])
            cell.histogram.add(values[known])
            cell.nulls += int((~known).sum())
            cell.totals += block.sum(axis=0)
            columns.append(block)
            cells.append(cell)
            widths.append(block.shape[1])
        if not columns:
            return
        resampled = np.zeros((self.resamples, sum(widths)))
        self._weights.add_to(resampled, np.concatenate(columns, axis=1), rows + self._position)
        for cell, part in zip(cells, np.split(resampled, np.cumsum(widths)[:-1], axis=1), strict=True):
            cell.resampled += part

    def _cell(self, system: str | None, metric: Summarized, width: int) -> _Cell:
        key = (system, metric.spec)
        if key not in self._cells:
            if len(self._cells) >= _MOST_SYSTEMS * len(self.metrics):
                raise UsageError(
                    f"there are more than {_MOST_SYSTEMS} systems; is their field the right one? "
                    "--system-field names another"
                )
            self._cells[key] = _Cell(
                GrowingHistogram(metric.info.low, metric.info.high),
                np.zeros(width),
                np.zeros((self.resamples, width)),
            )
        return self._cells[key]

    def state(self) -> dict[str, AnyArray]:
        """Return all that is known, as plain arrays for :meth:`merge`."""
        cells = list(self._cells.values())
        # names may hold any characters, NUL too, which an array of strings would lose
        names = json.dumps([list(key) for key in self._cells]).encode("ascii")
        histograms = [cell.histogram.state() for cell in cells]
        return {
            "names": np.frombuffer(names, dtype=np.uint8),
            "widths": np.array([len(cell.totals) for cell in cells], dtype=np.int64),
            "totals": np.concatenate([np.zeros(0), *(cell.totals for cell in cells)]),
            "resampled": np.concatenate([np.zeros((self.resamples, 0)), *(cell.resampled for cell in cells)], axis=1),
            "nulls": np.array([cell.nulls for cell in cells], dtype=np.int64),
            "grids": np.array([grid[:2] for grid in histograms], dtype=np.int64).reshape(-1, 2),
            "counts": np.array([grid[2] for grid in histograms], dtype=np.int64).reshape(-1, _BINS),
        }

    def merge(self, state: Mapping[str, AnyArray]) -> None:
        """Add what another part of the stream has shown; parts come in the order of the stream."""
        by_name = {metric.spec: metric for metric in self.metrics}
        names = json.loads(bytes(state["names"]))
        ends = np.cumsum(state["widths"])
        for place, (system, name) in enumerate(names):
            columns = slice(int(ends[place] - state["widths"][place]), int(ends[place]))
            cell = self._cell(system, by_name[name], columns.stop - columns.start)
            cell.totals += state["totals"][columns]
            cell.resampled += state["resampled"][:, columns]
            cell.nulls += int(state["nulls"][place])
            level, first = state["grids"][place].tolist()
            cell.histogram.merge(level, first, state["counts"][place])

    def summary(self) -> Summary:
        """Return what the stream has shown so far."""
        by_name = {metric.spec: metric for metric in self.metrics}
        rows = tuple(_summary_row(system, by_name[name], cell) for (system, name), cell in self._cells.items())
        signatures = {metric.spec: metric.signature for metric in self.metrics}
        return Summary(rows, signatures, self.seed, self.resamples)


def _summary_row(system: str | None, metric: Summarized, cell: _Cell) -> SummaryRow:
    info = metric.info
    count, wordless = int(cell.totals[0]), int(cell.totals[_WORDLESS])
    texts = count + cell.nulls
    mean, mean_interval = _mean(cell, info, 0.0, 0)
    worst = info.low if info.direction is Direction.HIGHER else info.high
    with_wordless = _mean(cell, info, worst, wordless) if wordless and math.isfinite(worst) else (None, None)
    corpus, corpus_interval = None, None
    if texts and len(cell.totals) > _STATISTICS:
        corpus = metric.aggregate(cell.totals[_STATISTICS:])
        drawn = [metric.aggregate(row) for row in cell.resampled[:, _STATISTICS:] if row.any()]
        if corpus is not None:
            replicates = np.array([value for value in drawn if value is not None])
            corpus_interval = expanded_interval(corpus, replicates, texts, low=info.low, high=info.high)
    return SummaryRow(
        system=system,
        metric=metric.spec,
        count=count,
        nulls=cell.nulls,
        null_share=cell.nulls / texts if texts else 0.0,
        wordless=wordless,
        mean=mean,
        mean_interval=mean_interval,
        mean_with_wordless=with_wordless[0],
        mean_with_wordless_interval=with_wordless[1],
        corpus=corpus,
        corpus_interval=corpus_interval,
        histogram=cell.histogram.bins(),
    )


def _mean(cell: _Cell, info: MetricInfo, worst: float, wordless: int) -> tuple[float | None, Interval | None]:
    """Return the mean of the values, and of so many wordless texts that count as the worst value, and its interval."""
    units = int(cell.totals[0]) + wordless
    if not units:
        return None, None
    with np.errstate(divide="ignore", invalid="ignore"):
        counts, sums, more = np.vstack([cell.totals, cell.resampled])[:, :_STATISTICS].T
        if wordless:
            counts, sums = counts + more, sums + more * worst
        means = sums / counts
    value = float(means[0])
    return value, expanded_interval(value, means[1:], units, low=info.low, high=info.high)


def _tables(summary: Summary) -> str:
    blocks = []
    for system in summary.systems:
        rows = [row for row in summary.rows if row.system == system]
        texts = rows[0].count + rows[0].nulls
        title = "all texts" if system is None else printable(system)
        more = {name: heading for name, heading in _MORE if any(getattr(row, name) is not None for row in rows)}
        header = ["metric", "mean", "95% interval"]
        header += [heading for each in more.values() for heading in (each, "95% interval")]
        blocks.append(
            f"{title}: {texts:,} text{'s' if texts != 1 else ''}\n"
            + table([*header, "nulls"], [_cells(row, tuple(more)) for row in rows])
        )
    return "\n\n".join(blocks)


_MORE = (("mean_with_wordless", "with empty texts as worst"), ("corpus", "corpus"))


def _cells(row: SummaryRow, more: Sequence[str]) -> list[str]:
    digits = 2 if max(abs(value) for value in row.histogram.edges) > 10 else 3
    cells = [row.metric, _number(row.mean, digits), _bounds(row.mean_interval, digits)]
    for name in more:
        value = getattr(row, name)
        has = value is not None
        cells += [_number(value, digits), _bounds(getattr(row, f"{name}_interval"), digits)] if has else ["", ""]
    return [*cells, f"{row.nulls:,}" + (f" ({row.null_share:.1%})" if row.nulls else "")]


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _bounds(bounds: Interval | None, digits: int) -> str:
    return "-" if bounds is None else f"{bounds.low:.{digits}f} .. {bounds.high:.{digits}f}"
