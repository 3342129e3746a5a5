"""Which of two runs, or files of scores, reads better: rows are paired, wait on disk, and are gone through once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from celadon.compare.columns import Column, column_of, first_row, metrics_among, rows_in
from celadon.compare.pairing import Largest, PairStore
from celadon.core import InputError, UsageError, is_set_relative
from celadon.io import Fields, TableRow, read_table_rows
from celadon.io.remote import is_remote_folder, is_url, shown_name
from celadon.io.sources import STDIN
from celadon.meta.paired_differences import PairedDifferences
from celadon.meta.significance import holm
from celadon.report.compare import (
    ChangedText,
    ComparedMetric,
    Comparison,
    TextOf,
    in_order,
    is_lower_better,
)
from celadon.runs.folder import runs_named
from celadon.runs.state import FINISHED, state_of
from celadon.scoring.summary import DEFAULT_RESAMPLES, DEFAULT_SEED

FEW_PAIRS = 50
"""With fewer pairs, strongly skewed differences are told apart from none too often."""


@dataclass(frozen=True)
class Side:
    """One of the two: a run, or a file of scores."""

    name: str
    paths: tuple[str, ...]
    fields: Fields
    signatures: Mapping[str, str] | None  # how each metric's scores were made; None where a file does not tell
    rows: int | None  # how many rows a run has; None where that is not known before it is read

    def table_rows(self) -> Iterator[TableRow]:
        """All rows, in their order."""
        for path in self.paths:
            yield from read_table_rows(path)


def open_side(name: str, fields: Fields) -> Side:
    """Find a run by its folder or its name, or a file of scores.

    Raises InputError if there is neither, the run is not finished, or the file has no columns.
    """
    if name == STDIN:
        raise UsageError("what is compared cannot come from the standard input; give runs or files")
    place = _run(name)
    if place is None:
        if first_row(name) is None:
            raise InputError(f"{name}: has texts and no scores; celadon score {name} --output FILE makes them")
        return Side(shown_name(name), (name,), fields, None, None)
    state = state_of(place)
    config = state.manifest.config
    if state.state != FINISHED:
        raise InputError(f"{state.folder.name}: the run is {state.state}; start it again, and it goes on to its end")
    begin = state.folder.url or f"{state.folder.place}/"
    paths = tuple(f"{begin}{shard}" for shard in state.folder.names("part-*.parquet"))
    rows = sum(shard.rows_scored for shard in state.shards)
    return Side(state.folder.name, paths, config.fields, config.signatures, rows)


def _run(name: str) -> str | None:
    """The folder of a run; None where a file is meant."""
    if is_url(name):
        return name if name.endswith("/") or is_remote_folder(name) else None
    if Path(name).is_dir():
        return name
    if not Path(name).exists():
        named = runs_named(name)
        return named[0] if len(named) == 1 else None
    return None


def compare(
    sides: tuple[Side, Side],
    metrics: Sequence[str] = (),
    *,
    seed: int = DEFAULT_SEED,
    resamples: int = DEFAULT_RESAMPLES,
    most_listed: int = 10,
    anyway: bool = False,
    read: Callable[[int], None] = lambda more: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Comparison:
    """Compare two sets of scores, row by row.

    ``metrics``: which metrics or parts; all that both have where none is named.
    ``seed``, ``resamples``: of the bootstrap and the permutation test.
    ``most_listed``: how many of the texts that gained and of those that lost most are kept.
    ``anyway``: compare scores that were made in different ways too.
    ``read``: told how many more rows were read.
    ``progress``: told how many pairs are done, and of how many.
    Raises InputError if nothing can be compared, or the scores were not made in the same way.
    """
    columns, notes = _columns(sides, metrics)
    notes += _check_signatures(sides, columns, anyway)
    with PairStore((sides[0].name, sides[1].name)) as store:
        counts = [_fill(store, letter, side, columns, read) for letter, side in zip("ab", sides, strict=True)]
        pairing = store.pair()
        ranges = [column.range for column in columns]
        statistics = PairedDifferences(len(columns), ranges=ranges, resamples=resamples, seed=seed)
        sign = -1.0 if is_lower_better(columns[0].metric.info) else 1.0
        gained, lost = Largest(most_listed), Largest(most_listed)
        for chunk in store.chunks():
            statistics.add(chunk.first, chunk.second)
            gains = np.nan_to_num((chunk.second[:, 0] - chunk.first[:, 0]) * sign, nan=0.0)
            gained.add(chunk.numbers, gains)
            lost.add(chunk.numbers, -gains)
            progress(chunk.numbers.stop, pairing.pairs)
        compared = _compared(columns, statistics)
        notes += _few_pairs(compared)
        return Comparison(
            (sides[0].name, sides[1].name),
            (counts[0], counts[1]),
            pairing.pairs,
            pairing.by,
            pairing.alone,
            compared,
            tuple(_changed(store, pair, gain) for pair, gain in gained),
            tuple(_changed(store, pair, -loss) for pair, loss in lost),
            (sides[0].signatures, sides[1].signatures),
            tuple(notes),
            seed,
            resamples,
        )


def _compared(columns: Sequence[Column], statistics: PairedDifferences) -> tuple[ComparedMetric, ...]:
    results = statistics.results()
    adjusted = holm([result.pvalue for result in results]).tolist()
    return tuple(
        ComparedMetric(column.name, column.metric.info, is_lower_better(column.metric.info), result, chance)
        for column, result, chance in zip(columns, results, adjusted, strict=True)
    )


def _few_pairs(metrics: Sequence[ComparedMetric]) -> list[str]:
    """Say where p-values and intervals rest on so few pairs that skewed differences can mislead them."""
    few = {metric.name: metric.result.pairs for metric in metrics if 0 < metric.result.pairs < FEW_PAIRS}
    if not few:
        return []
    fewest = min(few.values())
    return [
        f"{', '.join(few)}: with {fewest} pair{'s' if fewest > 1 else ''} p can be too small where a few differences "
        "are far larger than the others (below 0.05 by chance in up to 10% of comparisons, not 5%); compare more texts"
    ]


def _columns(sides: tuple[Side, Side], metrics: Sequence[str]) -> tuple[list[Column], list[str]]:
    """What is compared, and what of the rest should be known."""
    there = [next(side.table_rows(), TableRow({}, "", "")) for side in sides]
    if metrics:
        columns = list(dict.fromkeys(map(column_of, metrics)))
        for column in columns:
            for side, row in zip(sides, there, strict=True):
                if column.name not in row:
                    known = ", ".join(metrics_among(row)) or "none"
                    raise InputError(f"{side.name}: has no column {column.name}; it has scores of: {known}")
        return columns, []
    both = [name for name in metrics_among(there[0]) if name in metrics_among(there[1])]
    common = [column_of(name) for name in in_order(both)]
    # a run tells where the constants are from, a file does not
    signed = all(side.signatures is not None for side in sides)
    relative = [column for column in common if is_set_relative(column.metric) and not signed]
    common = [column for column in common if column not in relative]
    if not common:
        raise InputError(f"{sides[0].name} and {sides[1].name} have no metric in common that can be compared")
    return common, [f"{column.name} says how a text stands in its own set, and is left out" for column in relative]


def _check_signatures(sides: tuple[Side, Side], columns: Sequence[Column], anyway: bool) -> list[str]:
    first, second = (side.signatures for side in sides)
    if first is None or second is None:
        files = " and ".join(side.name for side in sides if side.signatures is None)
        return [f"{files}: a file does not tell how its scores were made, so it was not checked that A and B agree"]
    different = [
        f"{spec} was made as {first[spec]} in A and as {second[spec]} in B"
        for spec in dict.fromkeys(column.metric.spec for column in columns)
        if first.get(spec) != second.get(spec)
    ]
    if different and not anyway:
        listed = "\n".join(f"  {line}" for line in different)
        raise InputError(
            f"{sides[0].name} and {sides[1].name} were not scored in the same way:\n{listed}\n"
            "score both alike, or give --anyway to compare them all the same"
        )
    return different


def _fill(store: PairStore, letter: str, side: Side, columns: Sequence[Column], read: Callable[[int], None]) -> int:
    count = 0
    for rows in rows_in(side.table_rows(), side.fields, columns):
        store.add(letter, rows)
        count += len(rows)
        read(len(rows))
    return count


def _changed(store: PairStore, pair: int, gain: float) -> ChangedText:
    first, second = (TextOf(row.id, row.system, row.where, row.text, float(row.values[0])) for row in store.rows(pair))
    return ChangedText(first, second, gain)
