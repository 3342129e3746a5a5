"""The file of BERTScore's baselines: what texts that have nothing to do with each other score, layer by layer."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import NamedTuple

from celadon.core import InputError

_COLUMNS = ["LAYER", "P", "R", "F"]


class Baseline(NamedTuple):
    """What unrelated texts score."""

    precision: float
    recall: float
    f: float


def read_baseline(path: str, layer: int) -> Baseline:
    """Read the baselines of a layer from the layout of the package bert_score: ``LAYER,P,R,F``, a line for each layer.

    Raises
    ------
    InputError
        It cannot be read, or does not have the layer; the message says where.
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
            at, *found = map(float, row)
            baseline = Baseline(*found)
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
