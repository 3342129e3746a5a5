"""What each metric of a run needs of a cluster: cores and GPUs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from celadon.core import UsageError
from celadon.metrics.registry import load_all
from celadon.models.networks.transformers_network import VARIABLE as DEVICE
from celadon.models.networks.transformers_network import device_name

# What limits the threads of the libraries that models run on, each read when its library is loaded.
_THREADED = ("CELADON_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
_FORM = "say METRIC=cpu:2,gpu:0.5"


class Resources(NamedTuple):
    """Cores, and GPUs or the share of one."""

    cpus: float = 1.0
    gpus: float = 0.0


ONE_CORE = Resources()


def resources_of_worker(options: Sequence[str], specs: Sequence[str]) -> Resources:
    """What a worker needs that scores all metrics of a run, one after the other: the most of each.

    ``options``: for metrics of the run what they need: ``pll=cpu:2,gpu:0.5``. Others need one core.
    ``specs``: the metrics of the run, in their notation.
    """
    needs = dict.fromkeys(specs, ONE_CORE)
    for one in options:
        metric, _, amounts = one.rpartition("=")
        spec = _spec(metric.strip(), one)
        if spec not in needs:
            raise UsageError(f"--resources {one}: the run has no {spec}; its metrics are {', '.join(specs)}")
        needs[spec] = _read(amounts, one)
    return Resources(max(each.cpus for each in needs.values()), max(each.gpus for each in needs.values()))


def worker_environment(threads: int) -> dict[str, str]:
    """Return the environment variables that a worker must start with; what the user has set stays."""
    values = {
        **dict.fromkeys(_THREADED, str(threads)),
        # sums over rows are made by one thread, so that they do not depend on how many workers there are
        "OPENBLAS_NUM_THREADS": "1",
        # a node's own word on the device would make another signature
        DEVICE: device_name(),
    }
    return {name: os.environ.get(name, value) for name, value in values.items()}


def _spec(metric: str, one: str) -> str:
    if not metric:
        raise UsageError(f"--resources {one}: no metric is named; {_FORM}")
    return load_all([metric])[0].spec


def _read(amounts: str, one: str) -> Resources:
    counts: dict[str, float] = {}
    for amount in amounts.split(","):
        name, _, number = amount.strip().partition(":")
        if name not in {"cpu", "gpu"} or name in counts:
            raise UsageError(f"--resources {one}: {amount!r} is not understood; {_FORM}")
        counts[name] = _number(number, name, one)
    return _checked(counts, one)


def _number(number: str, name: str, one: str) -> float:
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise UsageError(f"--resources {one}: {number!r} is no number of {name}s; {_FORM}")
    return value


def _checked(counts: Mapping[str, float], one: str) -> Resources:
    resources = Resources(counts.get("cpu", 1.0), counts.get("gpu", 0.0))
    if resources.cpus < 1 or resources.cpus % 1:
        raise UsageError(f"--resources {one}: a worker has one core or more, and whole ones")
    # as Ray has it: one GPU can be shared, several cannot
    if resources.gpus > 1 and resources.gpus % 1:
        raise UsageError(f"--resources {one}: more than one GPU can only be whole ones")
    return resources
