"""Files of fitted weights: formulas, combinations, estimators of quality, MORCELA's numbers, BERTScore's baselines."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta, Struct

from celadon.core import FloatArray, InputError
from celadon.io.atomic import atomic_write_text
from celadon.io.json_file import JsonFile, Positive, Text, read_json

SCALES = ("none", "standard")
STATISTICS = ("mean", "least", "greatest")
"""What is taken of the sentences' vectors, place by place."""


class MorcelaWeights(JsonFile, frozen=True):
    """The weight of the unigram log-probability and the constant; ``model`` is the language model of the fit."""

    beta: float
    gamma: float
    model: str = ""


class FormulaFile(JsonFile, frozen=True):
    """A formula: metrics or parts of them, with their coefficients."""

    name: Text
    terms: Annotated[Mapping[str, float], Meta(min_length=1)]
    intercept: float = 0.0


class Feature(Struct, frozen=True, kw_only=True):
    """One of the numbers that a combination is made from."""

    name: Text  # a metric in its usual notation, a part of one after a dot, or a column of the input
    # whether it is computed or read from the input's column of that name
    origin: Annotated[str, Meta(pattern="^(metric|column)$")] = msgspec.field(default="metric", name="from")
    # mean, sd, low, high: of its values in the texts that the combination was fitted on
    mean: float
    sd: Positive
    low: float
    high: float
    signature: str = ""  # how those values were made; empty where they were in the table already

    @property
    def is_metric(self) -> bool:
        """Whether it is computed."""
        return self.origin == "metric"


class Combination(JsonFile, frozen=True, kw_only=True):
    """A support vector regression with a radial kernel."""

    FORMAT: ClassVar[str] = "celadon-combination/1"
    MAX_BYTES: ClassVar[int] = 64 << 20

    name: Text
    rating: Text = "the rating"  # the human rating that it predicts
    lower_is_better: bool = False  # whether less of that rating is better
    # ``none``: the features as they are; ``standard``: each minus its mean, over its standard deviation
    scale: Annotated[str, Meta(pattern="^(none|standard)$")] = "none"
    features: Annotated[tuple[Feature, ...], Meta(min_length=1)]  # in the order of the columns of ``support_vectors``
    # the value is ``intercept + sum_i coefficients[i] * exp(-gamma * |x - support_vectors[i]|^2)``
    gamma: Positive
    intercept: float
    coefficients: FloatArray
    support_vectors: FloatArray

    def __post_init__(self) -> None:
        if len({feature.name for feature in self.features}) < len(self.features):
            raise ValueError("a feature is there twice")
        rows = len(self.support_vectors)
        if self.support_vectors.shape != (rows, len(self.features)):
            raise ValueError(f"support_vectors must be lists of {len(self.features)} numbers, one for each feature")
        if self.coefficients.shape != (rows,):
            raise ValueError(f"there are {rows} support_vectors but {len(self.coefficients)} coefficients")


class QualityWeights(Struct, frozen=True, eq=False):
    """Numbers of the features: of those with a name, and of the vectors' places, [statistics, width]."""

    named: Mapping[str, float]
    vectors: FloatArray = np.zeros((0, 0))

    def __post_init__(self) -> None:
        if self.vectors.size and (self.vectors.ndim != 2 or len(self.vectors) != len(STATISTICS)):
            raise ValueError(f"vectors must be {len(STATISTICS)} lists of the same length")


class Head(QualityWeights, frozen=True, kw_only=True, eq=False):
    """A linear head: ``bias + sum of weights * (features - centre)`` is a rating on the scale from low to high."""

    low: float
    high: float
    lower_is_better: bool = False
    bias: float
    facts: Mapping[str, Any] = {}

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError("low must be below high")
        super().__post_init__()


class ModelNames(Struct, frozen=True):
    """What reads the texts for an estimator."""

    likelihood: str
    encoder: str


class QualityModel(JsonFile, frozen=True, kw_only=True):
    """A trained estimator of quality."""

    FORMAT: ClassVar[str] = "celadon-quality/1"
    MAX_BYTES: ClassVar[int] = 8 << 20

    name: Text
    models: ModelNames  # what reads the texts
    trained_on: tuple[Mapping[str, Any], ...]  # the sets: name, sha256 and more of each
    centre: QualityWeights  # what each feature is on average; taken where a text has none
    heads: Annotated[Mapping[str, Head], Meta(min_length=1)]  # one for each rating, by its name

    def __post_init__(self) -> None:
        if not all(isinstance(each.get(key), str) for each in self.trained_on for key in ("name", "sha256")):
            raise ValueError("trained_on must be a list of objects with name and sha256")
        for name, head in self.heads.items():
            same = head.named.keys() == self.centre.named.keys()
            if not same or (head.vectors.size and head.vectors.shape != self.centre.vectors.shape):
                raise ValueError(f"heads.{name}: has not the features that centre has")


def read_morcela(path: str) -> MorcelaWeights:
    """Read MORCELA's weights: ``{"beta": 0.71, "gamma": 1.9, "model": "builtin"}``."""
    return read_json(path, "weights of MORCELA (celadon train morcela writes them)", MorcelaWeights)


def read_formula(path: str) -> FormulaFile:
    """Read a formula: ``{"name": "quality", "intercept": -0.2, "terms": {"rougeL": 1.3, "ter.edits": -0.1}}``."""
    return read_json(path, "a formula", FormulaFile)


def read_combination(path: str) -> Combination:
    """Read a combination of metrics."""
    return read_json(path, "a combination (celadon train combine writes it)", Combination)


def read_quality(path: str) -> QualityModel:
    """Read an estimator of quality."""
    return read_json(path, "an estimator of quality (celadon train sumqe writes it)", QualityModel)


def write_combination(path: str, combination: Combination) -> None:
    """Write a combination as JSON; the file appears whole or not at all."""
    fields = msgspec.structs.asdict(combination)
    head = {
        "format": combination.FORMAT,
        **{key: fields[key] for key in ("name", "rating", "lower_is_better", "scale")},
        "features": msgspec.to_builtins(combination.features),
        **combination.facts,
        "gamma": combination.gamma,
        "intercept": combination.intercept,
    }
    # a person reads the head; of the numbers below each support vector has a line
    vectors = ",\n    ".join(json.dumps(row) for row in combination.support_vectors.tolist())
    coefficients = json.dumps(combination.coefficients.tolist())
    body = f',\n  "coefficients": {coefficients},\n  "support_vectors": [\n    {vectors}\n  ]\n}}\n'
    atomic_write_text(path, _open_object(head) + body)


def write_quality(path: str, model: QualityModel) -> None:
    """Write an estimator; the file appears whole or not at all."""
    head = {
        "format": model.FORMAT,
        "name": model.name,
        "models": msgspec.to_builtins(model.models),
        "trained_on": list(model.trained_on),
        **model.facts,
    }
    heads = ",\n".join(f"    {json.dumps(name)}: {_head_text(each)}" for name, each in model.heads.items())
    centre = _weights_text(model.centre, "  ")
    body = f',\n  "centre": {{{centre}\n  }},\n  "heads": {{\n{heads}\n  }}\n}}\n'
    atomic_write_text(path, _open_object(head) + body)


def _open_object(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False).removesuffix("\n}")


def _head_text(head: Head) -> str:
    facts = {"low": head.low, "high": head.high, "lower_is_better": head.lower_is_better, **head.facts}
    lines = "".join(f"\n      {json.dumps(key)}: {json.dumps(value)}," for key, value in facts.items())
    return f'{{{lines}\n      "bias": {_short(head.bias)},{_weights_text(head, "    ")}\n    }}'


def _weights_text(weights: QualityWeights, margin: str) -> str:
    named = json.dumps({name: _short(value) for name, value in weights.named.items()})
    rows = f",\n{margin}    ".join(f"[{','.join(f'{value:.4g}' for value in row)}]" for row in weights.vectors.tolist())
    vectors = f"[\n{margin}    {rows}\n{margin}  ]" if weights.vectors.size else "[]"
    return f'\n{margin}  "named": {named},\n{margin}  "vectors": {vectors}'


def _short(value: float) -> float:
    return float(f"{value:.6g}")


_COLUMNS = ["LAYER", "P", "R", "F"]


class Baseline(NamedTuple):
    """What unrelated texts score."""

    precision: float
    recall: float
    f: float


def read_baseline(path: str, layer: int) -> Baseline:
    """Read the baselines of a layer from the layout of the package bert_score: ``LAYER,P,R,F``, a line for each layer.

    Raises InputError if it cannot be read, or does not have the layer; the message says where.
    """
    try:
        with Path(path).expanduser().open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the baselines cannot be read: {error}") from None
    if not rows or rows[0] != _COLUMNS:
        raise InputError(f"{path}:1: a file of baselines begins with {','.join(_COLUMNS)}")
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        try:
            at, *values = map(float, row)
            baseline = Baseline(*values)
        except (ValueError, TypeError):
            raise InputError(f"{path}:{number}: {','.join(row)[:60]!r} is not a layer and three numbers") from None
        if at == layer:
            return checked(baseline, f"{path}:{number}")
    raise InputError(f"{path}: has no baseline of layer {layer}")


def checked(baseline: Baseline, where: str) -> Baseline:
    """Return baselines; refused where scores cannot be rescaled by them."""
    if not all(math.isfinite(value) and value < 1 for value in baseline):
        raise InputError(f"{where}: a baseline is a number below 1, not {' '.join(map(str, baseline))}")
    return baseline
