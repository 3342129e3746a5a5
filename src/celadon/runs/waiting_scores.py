"""Scores as plain data, for rows that wait on disk until the whole set is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from celadon.core import Components, FloatArray, MetricScores
from celadon.scoring.fitting import FirstPass


def packed(first: FirstPass) -> dict[str, Any]:
    """What the first pass left of a batch, as numbers, strings and bytes."""
    return {spec: _packed(made) for spec, made in first.items()}


def unpacked(data: Mapping[str, Any]) -> FirstPass:
    """The same scores and components, bit for bit."""
    return {spec: _unpacked(*made) for spec, made in data.items()}


def _packed(made: MetricScores | Components) -> tuple[Any, ...]:
    reasons = dict(made.reasons)
    if isinstance(made, Components):
        return _columns(made.columns), reasons
    statistics = None if made.statistics is None else _array(made.statistics)
    return _columns(made.parts), reasons, made.metric, _array(made.values), statistics


def _unpacked(columns: dict[str, Any], reasons: dict[int, str], *more: Any) -> MetricScores | Components:
    named = {name: _from_array(*column) for name, column in columns.items()}
    if not more:
        return Components(named, reasons)
    metric, values, statistics = more
    return MetricScores(
        metric, _from_array(*values), named, reasons, None if statistics is None else _from_array(*statistics)
    )


def _columns(columns: Mapping[str, FloatArray]) -> dict[str, Any]:
    return {name: _array(column) for name, column in columns.items()}


def _array(array: FloatArray) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, array.tobytes()


def _from_array(kind: str, shape: tuple[int, ...], data: bytes) -> FloatArray:
    # a copy, because an array over bytes cannot be written to
    return np.frombuffer(data, dtype=kind).reshape(shape).copy()
