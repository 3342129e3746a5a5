"""The file of a trained estimator of quality: JSON with a linear head for each rating."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError
from celadon.io.atomic import atomic_write_text
from celadon.io.json_file import number_of, read_json

FORMAT = "celadon-quality/1"
STATISTICS = ("mean", "least", "greatest")
"""What is taken of the sentences' vectors, place by place."""
MAX_BYTES = 8 << 20


class Weights(NamedTuple):
    """Numbers of the features: of those with a name, and of the vectors' places, [statistics, width]."""

    named: Mapping[str, float]
    vectors: FloatArray


@dataclass(frozen=True, eq=False)
class Head:
    """A linear head: ``bias + sum of weights * (features - centre)`` is a rating.

    Attributes
    ----------
    name
        The rating.
    low, high
        The ends of its scale.
    lower_is_better
        Whether less of it is better.
    bias
        The rating of a text whose features are all at the centre.
    weights
        Of the features as they are.
    facts
        How it was chosen.
    """

    name: str
    low: float
    high: float
    lower_is_better: bool
    bias: float
    weights: Weights
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class QualityModel:
    """A trained estimator.

    Attributes
    ----------
    name
        What people call it.
    models
        What reads the texts: ``likelihood`` and ``encoder``.
    centre
        What each feature is on average; taken where a text has none.
    heads
        One for each rating.
    trained_on
        The sets: name, sha256 and more of each.
    facts
        What else the file says of its making.
    sha256
        Of the file's bytes; empty where it is not from a file.
    """

    name: str
    models: Mapping[str, str]
    centre: Weights
    heads: tuple[Head, ...]
    trained_on: tuple[Mapping[str, Any], ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    sha256: str = ""


def write_quality(path: str, model: QualityModel) -> None:
    """Write an estimator; the file appears whole or not at all."""
    head = {
        "format": FORMAT,
        "name": model.name,
        "models": dict(model.models),
        "trained_on": list(model.trained_on),
        **model.facts,
    }
    # a person reads the top; of the numbers below each kind of vector has a line
    text = json.dumps(head, indent=2, ensure_ascii=False, allow_nan=False).removesuffix("\n}")
    heads = ",\n".join(f"    {json.dumps(head.name)}: {_head_text(head)}" for head in model.heads)
    centre = _weights_text(model.centre, "  ")
    atomic_write_text(path, f'{text},\n  "centre": {{{centre}\n  }},\n  "heads": {{\n{heads}\n  }}\n}}\n')


def _head_text(head: Head) -> str:
    facts = {"low": head.low, "high": head.high, "lower_is_better": head.lower_is_better, **head.facts}
    told = "".join(f"\n      {json.dumps(key)}: {json.dumps(value)}," for key, value in facts.items())
    return f'{{{told}\n      "bias": {_short(head.bias)},{_weights_text(head.weights, "    ")}\n    }}'


def _weights_text(weights: Weights, margin: str) -> str:
    named = json.dumps({name: _short(value) for name, value in weights.named.items()})
    rows = f",\n{margin}    ".join(_row_text(row) for row in weights.vectors.tolist())
    vectors = f"[\n{margin}    {rows}\n{margin}  ]" if weights.vectors.size else "[]"
    return f'\n{margin}  "named": {named},\n{margin}  "vectors": {vectors}'


def _row_text(row: Sequence[float]) -> str:
    return f"[{','.join(f'{value:.4g}' for value in row)}]"


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def read_quality(path: str) -> QualityModel:
    """Read and check an estimator.

    Raises
    ------
    InputError
        The file cannot be read or is no estimator; the message says where and what.
    """
    return read_json(path, "an estimator of quality", partial(_checked, path), MAX_BYTES)


def _checked(path: str, content: Any, digest: str) -> QualityModel:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(
            f'{path}: an estimator is a JSON object with "format": "{FORMAT}"; celadon train sumqe writes it'
        )
    name = content.get("name")
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{path}: name must be a text")
    centre = _weights(path, "centre", content.get("centre"))
    heads = content.get("heads")
    if not isinstance(heads, dict) or not heads:
        raise InputError(f"{path}: has no object heads")
    read = ("format", "name", "models", "trained_on", "centre", "heads")
    return QualityModel(
        name=name,
        models=_models(path, content.get("models")),
        centre=centre,
        heads=tuple(_head(path, name, found, centre) for name, found in heads.items()),
        trained_on=_trained_on(path, content.get("trained_on")),
        facts={key: value for key, value in content.items() if key not in read},
        sha256=digest,
    )


def _models(path: str, found: Any) -> dict[str, str]:
    names = ("likelihood", "encoder")
    if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in names):
        raise InputError(f"{path}: models must be an object with {' and '.join(names)}")
    return {name: found[name] for name in names}


def _trained_on(path: str, found: Any) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(found, list) or not all(
        isinstance(each, dict) and isinstance(each.get("name"), str) and isinstance(each.get("sha256"), str)
        for each in found
    ):
        raise InputError(f"{path}: trained_on must be a list of objects with name and sha256")
    return tuple(found)


def _head(path: str, name: str, found: Any, centre: Weights) -> Head:
    where = f"heads.{name}"
    if not isinstance(found, dict):
        raise InputError(f"{path}: {where} must be an object")
    low, high, bias = (number_of(path, f"{where}.{key}", found.get(key)) for key in ("low", "high", "bias"))
    if not low < high:
        raise InputError(f"{path}: {where}.low must be below high")
    weights = _weights(path, where, found)
    if set(weights.named) != set(centre.named) or weights.vectors.shape not in ((0, 0), centre.vectors.shape):
        raise InputError(f"{path}: {where} has not the features that centre has")
    lower = found.get("lower_is_better", False)
    if not isinstance(lower, bool):
        raise InputError(f"{path}: {where}.lower_is_better must be true or false")
    return Head(name, low, high, lower, bias, weights)


def _weights(path: str, where: str, found: Any) -> Weights:
    named = found.get("named") if isinstance(found, dict) else None
    if not isinstance(named, dict):
        raise InputError(f"{path}: has no object {where}.named")
    numbers = {name: number_of(path, f"{where}.named.{name}", value) for name, value in named.items()}
    rows = found.get("vectors", [])
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise InputError(f"{path}: {where}.vectors must be a list of lists of numbers")
    if rows and (len(rows) != len(STATISTICS) or len({len(row) for row in rows}) > 1 or not rows[0]):
        raise InputError(f"{path}: {where}.vectors must be {len(STATISTICS)} lists of the same length")
    checked = [[number_of(path, f"{where}.vectors", value) for value in row] for row in rows]
    return Weights(numbers, np.array(checked, dtype=np.float64) if rows else np.zeros((0, 0)))
