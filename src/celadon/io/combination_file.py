"""The file of a fitted combination of metrics: a support vector regression as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError
from celadon.io.atomic import atomic_write_text
from celadon.io.json_file import read_json

FORMAT = "celadon-combination/1"
SCALES = ("none", "standard")
MAX_BYTES = 64 << 20
_COLUMN, _METRIC = "column", "metric"


class Feature(NamedTuple):
    """One of the numbers that a combination is made from.

    Attributes
    ----------
    name
        A metric in its usual notation, a part of one after a dot, or a column of the input.
    is_metric
        Whether it is computed; else it is read from the input's column of that name.
    mean, sd, low, high
        Of its values in the texts that the combination was fitted on.
    signature
        How those values were made; empty where they were in the table already.
    """

    name: str
    is_metric: bool
    mean: float
    sd: float
    low: float
    high: float
    signature: str = ""


@dataclass(frozen=True, eq=False)
class Combination:
    """A support vector regression with a radial kernel.

    Attributes
    ----------
    name
        What people call it.
    rating
        The human rating that it predicts.
    lower_is_better
        Whether less of that rating is better.
    scale
        ``none``: the features as they are; ``standard``: each minus its mean, over its standard deviation.
    features
        In the order of the columns of ``support_vectors``.
    gamma, intercept, support_vectors, coefficients
        The value is ``intercept + sum_i coefficients[i] * exp(-gamma * |x - support_vectors[i]|^2)``.
    facts
        What else the file says of its making: data, settings, figures.
    sha256
        Of the file's bytes; empty where it is not from a file.
    """

    name: str
    rating: str
    lower_is_better: bool
    scale: str
    features: tuple[Feature, ...]
    gamma: float
    intercept: float
    support_vectors: FloatArray
    coefficients: FloatArray
    facts: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""


def write_combination(path: str, combination: Combination) -> None:
    """Write a combination as JSON; the file appears whole or not at all."""
    head = {
        "format": FORMAT,
        "name": combination.name,
        "rating": combination.rating,
        "lower_is_better": combination.lower_is_better,
        "scale": combination.scale,
        "features": [_feature_object(feature) for feature in combination.features],
        **combination.facts,
        "gamma": combination.gamma,
        "intercept": combination.intercept,
    }
    # a person reads the head; of the numbers below each support vector has a line
    text = json.dumps(head, indent=2, ensure_ascii=False, allow_nan=False).removesuffix("\n}")
    vectors = ",\n    ".join(json.dumps(row) for row in combination.support_vectors.tolist())
    coefficients = json.dumps(combination.coefficients.tolist())
    body = f',\n  "coefficients": {coefficients},\n  "support_vectors": [\n    {vectors}\n  ]\n}}\n'
    atomic_write_text(path, text + body)


def _feature_object(feature: Feature) -> dict[str, Any]:
    content = feature._asdict()
    origin = _METRIC if content.pop("is_metric") else _COLUMN
    return {"name": content.pop("name"), "from": origin, **content}


def read_combination(path: str) -> Combination:
    """Read and check a combination.

    Raises
    ------
    InputError
        The file cannot be read or is no combination; the message says where and what.
    """
    return read_json(path, "a combination", partial(_checked, _Checker(path)), MAX_BYTES)


def _checked(check: _Checker, content: Any, digest: str) -> Combination:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise check.wrong(f'a combination is a JSON object with "format": "{FORMAT}"; celadon train combine writes it')
    given = content.get("features")
    if not isinstance(given, list) or not given:
        raise check.wrong("a combination needs features: a list of objects with name and from")
    features = tuple(check.feature(number, item) for number, item in enumerate(given, 1))
    if len({feature.name for feature in features}) < len(features):
        raise check.wrong("a feature is there twice")
    scale = content.get("scale", "none")
    if scale not in SCALES:
        raise check.wrong(f"scale must be {' or '.join(SCALES)}, not {_shown(scale)}")
    lower = content.get("lower_is_better", False)
    if not isinstance(lower, bool):
        raise check.wrong(f"lower_is_better must be true or false, not {_shown(lower)}")
    vectors, coefficients = check.vectors(content, len(features))
    read = ("format", "name", "rating", "lower_is_better", "scale", "features", "gamma", "intercept")
    return Combination(
        name=check.text("name", content.get("name", Path(check.path).stem)),
        rating=check.text("rating", content.get("rating", "the rating")),
        lower_is_better=lower,
        scale=scale,
        features=features,
        gamma=check.positive("gamma", content.get("gamma")),
        intercept=check.number("intercept", content.get("intercept")),
        support_vectors=vectors,
        coefficients=coefficients,
        facts={k: v for k, v in content.items() if k not in (*read, "support_vectors", "coefficients")},
        sha256=digest,
    )


class _Checker:
    """Values of one file, checked on the way out; every complaint names the file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def wrong(self, problem: str) -> InputError:
        return InputError(f"{self.path}: {problem}")

    def text(self, what: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(f"{what} must be a text, not {_shown(value)}")
        return value

    def number(self, what: str, value: Any) -> float:
        if not _is_number(value):
            raise self.wrong(f"{what} must be a number, not {_shown(value)}")
        return float(value)

    def positive(self, what: str, value: Any) -> float:
        if not _is_number(value) or value <= 0:
            raise self.wrong(f"{what} must be a number above 0, not {_shown(value)}")
        return float(value)

    def feature(self, number: int, item: Any) -> Feature:
        if not isinstance(item, dict):
            raise self.wrong(f"feature {number} must be an object with name and from, not {_shown(item)}")
        name = self.text(f"the name of feature {number}", item.get("name"))
        origin = item.get("from", _METRIC)
        if origin not in (_METRIC, _COLUMN):
            raise self.wrong(f"feature {name!r}: from must be {_METRIC} or {_COLUMN}, not {_shown(origin)}")
        signature = item.get("signature", "")
        return Feature(
            name,
            origin == _METRIC,
            mean=self.number(f"mean of feature {name!r}", item.get("mean")),
            sd=self.positive(f"sd of feature {name!r}", item.get("sd")),
            low=self.number(f"low of feature {name!r}", item.get("low")),
            high=self.number(f"high of feature {name!r}", item.get("high")),
            signature=signature if isinstance(signature, str) else "",
        )

    def vectors(self, content: Mapping[str, Any], width: int) -> tuple[FloatArray, FloatArray]:
        rows, coefficients = content.get("support_vectors"), content.get("coefficients")
        if not isinstance(rows, list) or not rows:
            raise self.wrong("a combination needs support_vectors: a list of lists of numbers")
        for number, row in enumerate(rows, 1):
            if not isinstance(row, list) or len(row) != width or not all(map(_is_number, row)):
                raise self.wrong(f"support vector {number} must be a list of {width} numbers, one for each feature")
        if not isinstance(coefficients, list) or not all(map(_is_number, coefficients)):
            raise self.wrong("coefficients must be a list of numbers")
        if len(coefficients) != len(rows):
            raise self.wrong(f"there are {len(rows)} support_vectors but {len(coefficients)} coefficients")
        return np.array(rows, dtype=np.float64), np.array(coefficients, dtype=np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _shown(value: Any) -> str:
    return json.dumps(value)[:60]
