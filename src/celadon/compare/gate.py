"""The gate: do all texts keep their limits, and is their mean no worse than a baseline's?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

import numpy as np

from celadon.compare.baseline import (
    EXCUSED,
    Baseline,
    Regression,
    columns_to_compare,
    load_baseline,
    regressions,
    rows_of,
)
from celadon.compare.columns import PASSING_NULLS, Column, Limit, lower_is_better
from celadon.compare.pairing import Pairing, PairStore
from celadon.core import FloatArray, MetricScores, NullKind, UsageError, null_kind
from celadon.io import Chunk, check_distinct
from celadon.io.atomic import Draft, output_errors
from celadon.report.escape import cut_at, escape
from celadon.runs.local import Job
from celadon.runs.local import run as run_job
from celadon.scoring.scorer import Progress, no_progress

_SHOWN_CHARS = 200
# Room for the counts, which are known at the end: three names and numbers of any length.
_ROOM = 120
_HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="celadon check">\n<testsuite name="texts" '


@dataclass(frozen=True)
class Check:
    """What is to be checked."""

    job: Job  # the inputs and how they are read; its metrics are those of the limits and of the baseline
    limits: tuple[Limit, ...] = ()  # what every text must keep
    baseline: Baseline | None = None  # what the means are compared with, if with anything
    junit: str | None = None  # where a JUnit file goes, if anywhere
    most_listed: int = 10  # offences, and texts that fell
    nulls: frozenset[NullKind] = PASSING_NULLS  # which texts may have no score


class Offence(NamedTuple):
    """A text that does not keep a limit."""

    id: str | None
    system: str | None
    # file, line: where it stands; no line in Parquet
    file: str
    line: int | None
    where: str  # the same as people are told it
    limit: Limit  # what it does not keep
    value: float  # its value; NaN where it has none
    reason: str  # why it has none
    text: str

    @property
    def message(self) -> str:
        """What is wrong, in one line."""
        if math.isnan(self.value):
            return f"{self.limit}: no score, {self.reason}"
        return f"{self.limit}, but it is {self.value:.4g}"


class LimitCount(NamedTuple):
    """How many texts do not keep a limit, and how many of these have no value; without those that may have none."""

    limit: Limit
    failed: int
    nulls: int


@dataclass(frozen=True)
class Verdict:
    """What came of a check."""

    rows: int
    failed_rows: int  # how many of them do not keep all limits
    limits: tuple[LimitCount, ...]  # the counts of each limit
    offences: tuple[Offence, ...]  # the first offences, as many as were asked for
    regressions: tuple[Regression, ...]  # how each column compares with the baseline
    pairing: Pairing | None  # how rows were paired with the baseline's, if there is one
    # cache_hits, cache_misses: of the texts that were checked
    cache_hits: int
    cache_misses: int
    passed_nulls: Mapping[NullKind, int] = field(default_factory=dict)  # how many texts passed without a score, by kind

    @property
    def passed(self) -> bool:
        """Whether every text keeps every limit and nothing is worse than the baseline allows."""
        return not self.failed_rows and all(each.passed for each in self.regressions)


def run_check(
    check: Check, progress: Progress = no_progress, read: Callable[[int], None] = lambda more: None
) -> Verdict:
    """Check texts; memory does not grow with their number.

    ``read``: told how many more rows of a baseline of scores were read.
    Raises UsageError if there is nothing to check.
    """
    if not check.limits and check.baseline is None:
        raise UsageError("there is nothing to check: give --min, --max, --gate or --max-regression")
    if check.junit is not None:
        check_distinct(check.junit, [*check.job.inputs, *([check.baseline.path] if check.baseline else [])])
    limited = tuple(dict.fromkeys(limit.column for limit in check.limits))
    compared: tuple[Column, ...] = ()
    with ExitStack() as stack:
        store: PairStore | None = None
        if check.baseline is not None:
            compared = columns_to_compare(check.baseline, limited, check.job)
            store = stack.enter_context(PairStore((check.baseline.path, "the checked texts")))
            load_baseline(store, check.baseline, compared, check.job, progress, read)
        junit = None if check.junit is None else stack.enter_context(JunitFile(check.junit))
        gate = _Gate(check, compared, store, junit)
        specs = list(dict.fromkeys(column.metric.spec for column in (*limited, *compared)))
        # nobody sees the intervals of the summary, which would cost the most
        done = run_job(replace(check.job, metrics=specs, resamples=1, watch=gate.add), progress)
        pairing, regressions = gate.regressions()
        if junit is not None:
            junit.finish(regressions)
        return Verdict(
            done.rows_scored,
            gate.failed_rows,
            tuple(map(LimitCount, check.limits, gate.failed, gate.nulls)),
            tuple(gate.offences),
            regressions,
            pairing,
            done.cache_hits,
            done.cache_misses,
            gate.passed_nulls,
        )


class _Gate:
    """Looks at each text as it is scored."""

    def __init__(
        self, check: Check, compared: Sequence[Column], store: PairStore | None, junit: JunitFile | None
    ) -> None:
        self._check = check
        self._compared = tuple(compared)
        self._store = store
        self._junit = junit
        self.offences: list[Offence] = []
        self.failed_rows = 0
        self.failed = [0] * len(check.limits)
        self.nulls = [0] * len(check.limits)
        self.passed_nulls: Counter[NullKind] = Counter()

    def add(self, chunk: Chunk, scores: Mapping[str, MetricScores]) -> None:
        offences: dict[int, list[Offence]] = {}
        columns = dict.fromkeys((*(limit.column for limit in self._check.limits), *self._compared))
        excused = {column: self._excused(column, scores) for column in columns}
        for at, limit in enumerate(self._check.limits):
            values = limit.column.values(scores)
            within = values >= limit.bound if limit.is_least else values <= limit.bound
            for row in np.flatnonzero(~within).tolist():
                if row in excused[limit.column]:
                    continue
                value = float(values[row])
                self.failed[at] += 1
                self.nulls[at] += math.isnan(value)
                reason = limit.column.reason(scores, row) if math.isnan(value) else ""
                offences.setdefault(row, []).append(_offence(chunk, row, limit, value, reason))
        self.failed_rows += len(offences)
        # of several metrics, the first says why
        passed: dict[int, str] = {}
        for reasons in excused.values():
            passed = {row: why for row, why in reasons.items() if row not in offences} | passed
        self.passed_nulls.update(map(null_kind, passed.values()))
        for row in sorted(offences):
            room = self._check.most_listed - len(self.offences)
            self.offences += offences[row][: max(room, 0)]
        if self._junit is not None:
            for row, sample in enumerate(chunk.samples):
                messages = [offence.message for offence in offences.get(row, [])]
                name = " of ".join(label for label in (sample.id, sample.system) if label) or sample.origin
                self._junit.add(chunk.files[row], name, messages, sample.text, passed.get(row, ""))
        if self._store is not None:
            values = np.stack(
                [_comparable(column.values(scores), excused[column]) for column in self._compared], axis=1
            )
            self._store.add("b", rows_of(chunk, values))

    def _excused(self, column: Column, scores: Mapping[str, MetricScores]) -> dict[int, str]:
        """Return the texts that have no value and may have none, and why."""
        rows = np.flatnonzero(np.isnan(column.values(scores))).tolist()
        reasons = {row: column.reason(scores, row) for row in rows}
        return {row: why for row, why in reasons.items() if null_kind(why) in self._check.nulls}

    def regressions(self) -> tuple[Pairing | None, tuple[Regression, ...]]:
        baseline = self._check.baseline
        if self._store is None or baseline is None:
            return None, ()
        lower = [lower_is_better(column, self._check.limits) for column in self._compared]
        return regressions(self._store, self._compared, lower, baseline.tolerance, self._check.most_listed)


def _comparable(values: FloatArray, excused: Iterable[int]) -> FloatArray:
    values = np.where(np.isfinite(values), values, np.nan)
    values[list(excused)] = EXCUSED
    return values


def _offence(chunk: Chunk, row: int, limit: Limit, value: float, reason: str) -> Offence:
    sample = chunk.samples[row]
    line = chunk.lines[row] if chunk.batch is None else None
    return Offence(sample.id, sample.system, chunk.files[row], line, sample.origin, limit, value, reason, sample.text)


class JunitFile:
    """A JUnit file with a test case per text and one per metric of the baseline.

    It is written as texts come, and appears whole, once :meth:`finish` is called, or not at all.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._draft = Draft(path)
        self._temporary, self._file = self._draft.open()
        self._tests = self._failures = self._skipped = 0
        self._write(_HEAD + b" " * _ROOM + b">\n")

    def add(self, group: str, name: str, failures: Sequence[str], text: str, skipped: str = "") -> None:
        """Take one text.

        ``failures``: what is wrong with it; nothing where it passes.
        ``text``: the text itself, of which the beginning is shown where it fails.
        ``skipped``: why it has no score, where it passes without one.
        """
        self._tests += 1
        self._failures += bool(failures)
        self._skipped += bool(skipped)
        self._write(_case(group, name, failures, text, skipped))

    def finish(self, regressions: Sequence[Regression]) -> None:
        """Write the rest, and put the file in its place."""
        end = "</testsuite>\n"
        if regressions:
            failed = sum(not each.passed for each in regressions)
            end += f'<testsuite name="baseline" {_counts(len(regressions), failed)}>\n'
            self._write(end.encode())
            for each in regressions:
                self._write(_case("baseline", each.column, [] if each.passed else [each.describe()], ""))
            end = "</testsuite>\n"
        self._write(f"{end}</testsuites>\n".encode())
        with output_errors(self._path):
            self._file.seek(len(_HEAD))
            self._file.write(_counts(self._tests, self._failures, self._skipped).encode())
        self._draft.commit(self._temporary)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._draft.abort()

    def _write(self, data: bytes) -> None:
        with output_errors(self._path):
            self._file.write(data)


def _counts(tests: int, failures: int, skipped: int = 0) -> str:
    return f'tests="{tests}" failures="{failures}" errors="0" skipped="{skipped}"'


def _case(group: str, name: str, failures: Sequence[str], text: str, skipped: str = "") -> bytes:
    opening = f'<testcase classname="{_attribute(group)}" name="{_attribute(name)}"'
    if skipped:
        return f'{opening}><skipped message="{_attribute(skipped)}"/></testcase>\n'.encode()
    if not failures:
        return f"{opening}/>\n".encode()
    cut = cut_at(text, _SHOWN_CHARS)
    beginning = text[:cut] + ("…" if cut < len(text) else "")
    body = "\n".join([*failures, beginning])
    message = _attribute("; ".join(failures))
    return f'{opening}><failure message="{message}" type="limit">{escape(body)}</failure></testcase>\n'.encode()


def _attribute(text: str) -> str:
    # a reader makes a space of every line end in an attribute
    return escape(" ".join(text.split()))
