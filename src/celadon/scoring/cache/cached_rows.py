"""Scores of single texts as bytes, and the keys they are kept under."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from celadon.core import Metric, MetricScores, Sample, Tree, fitted_constants

KEY_BYTES = 16

Rows = npt.NDArray[np.uint8]
"""One text per row: the bytes of its value, its parts and its statistics, as the layout says."""


def contents_of(samples: Sequence[Sample]) -> list[bytes]:
    """A digest of all that a metric may look at, for each sample."""
    return [blake2b(_encoded(sample), digest_size=32).digest() for sample in samples]


def keys_of(metric: Metric, contents: Sequence[bytes]) -> list[bytes]:
    """The key of each text under a metric: nothing else that a metric may look at has it."""
    begun = blake2b(b"".join(_text(_maker(each)) for each in with_members(metric)), digest_size=KEY_BYTES)
    keys = []
    for content in contents:
        key = begun.copy()
        key.update(content)
        keys.append(key.digest())
    return keys


def with_members(metric: Metric) -> Iterator[Metric]:
    """Yield a metric and its members: a formula's own signature tells of their models, not of all their facts."""
    yield metric
    for member in metric.members().values():
        yield from with_members(member)


def _maker(metric: Metric) -> str:
    # the signature rounds the constants, and scores are to come back bit for bit
    constants = (item for fitted in fitted_constants([metric]).values() for item in fitted.constants.items())
    return metric.signature + "".join(f"|{name}={value!r}" for name, value in constants)


def _encoded(sample: Sample) -> bytes:
    """All fields so that no two samples look alike: every string after its length, every list after its count."""
    pieces = [_text(sample.text), _count(len(sample.references)), *map(_text, sample.references)]
    pieces.append(b"-" if sample.source is None else b"+" + _text(sample.source))
    pieces.append(_count(len(sample.trees)))
    for tree in sample.trees:
        if isinstance(tree, Tree):
            pieces += [b"+", _count(len(tree.words)), *map(_text, tree.words)]
            pieces += [_count(len(tree.heads)), *(head.to_bytes(8, "little", signed=True) for head in tree.heads)]
        else:
            pieces += [b"-", _text(tree)]
    if sample.markup != "auto" or sample.language:  # what was kept before there were these is still found
        pieces += [_text(sample.markup), _text(sample.language)]
    return b"".join(pieces)


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return _count(len(data)) + data


def _count(number: int) -> bytes:
    return number.to_bytes(8, "little")


def layout_of(scores: MetricScores) -> str | None:
    """How the numbers of one text follow each other; None where they are not plain columns of numbers."""
    columns = [scores.values, *scores.parts.values()]
    if any(column.ndim != 1 or column.dtype.kind not in "fiub" for column in columns):
        return None
    parts = [[name, column.dtype.str] for name, column in scores.parts.items()]
    statistics: list[Any] | None = None
    if scores.statistics is not None:
        if scores.statistics.ndim != 2 or scores.statistics.dtype.kind not in "fiub":
            return None
        statistics = [scores.statistics.dtype.str, scores.statistics.shape[1]]
    return json.dumps([scores.values.dtype.str, parts, statistics])


def packed(scores: MetricScores) -> Rows:
    """The numbers of each text as bytes; there must be a layout for them, and at least one text."""
    columns = [column[:, None] for column in (scores.values, *scores.parts.values())]
    if scores.statistics is not None and scores.statistics.shape[1]:
        columns.append(scores.statistics)
    return np.concatenate([np.ascontiguousarray(column).view(np.uint8) for column in columns], axis=1)


def width_of(layout: str) -> int | None:
    """How many bytes a text takes; None where the layout cannot be read."""
    try:
        return sum(kind.itemsize * count for kind, count in _columns(layout))
    except (TypeError, ValueError, LookupError):
        return None


def unpacked(metric: str, layout: str, rows: Rows, reasons: Mapping[int, str]) -> MetricScores:
    """Return the scores of :func:`packed` again, bit for bit."""
    columns = []
    at = 0
    for kind, count in _columns(layout):
        wide = kind.itemsize * count
        columns.append(np.ascontiguousarray(rows[:, at : at + wide]).view(kind))
        at += wide
    _, parts, statistics = json.loads(layout)
    named = {name: column[:, 0] for (name, _), column in zip(parts, columns[1:], strict=False)}
    return MetricScores(
        metric, columns[0][:, 0], named, dict(sorted(reasons.items())), None if statistics is None else columns[-1]
    )


def _columns(layout: str) -> list[tuple[np.dtype[Any], int]]:
    value, parts, statistics = json.loads(layout)
    columns = [(np.dtype(value), 1), *((np.dtype(kind), 1) for _, kind in parts)]
    if statistics is not None:
        columns.append((np.dtype(statistics[0]), statistics[1]))
    return columns
