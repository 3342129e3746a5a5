"""What a worker must know to score its share of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from celadon.io import Fields
from celadon.io.remote import shown_name
from celadon.models.networks.transformers_network import VARIABLE as DEVICE
from celadon.models.networks.transformers_network import device_name
from celadon.scoring.cache.score_cache import CacheSettings

# What limits the threads of the libraries that models run on, each read when its library is loaded.
_THREADED = ("CELADON_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(frozen=True)
class RunOrder:
    """All that a worker needs beside its pieces; plain values, the same for every worker.

    Attributes
    ----------
    metrics, signatures
        The metrics in their notation, and how each score is to be made: a worker that would make it otherwise, with
        other weights or another version, refuses.
    named
        Whether the metrics were asked for by name, so that a row that lacks what they need is malformed.
    fields
        Which column is what.
    output
        The run's folder: an absolute path or an address.
    standardize_on, trees
        As of :class:`celadon.runs.local.Job`.
    skip_bad
        Whether malformed rows are set aside.
    batch_rows, max_text_chars, seed, resamples
        As of the job.
    cache
        Where scores are kept and taken from, if anywhere.
    threads
        How many threads the models of one worker may use.
    """

    metrics: tuple[str, ...]
    signatures: tuple[str, ...]
    named: bool
    fields: Fields
    output: str
    standardize_on: str | None
    trees: str | None
    skip_bad: bool
    batch_rows: int
    max_text_chars: int
    seed: int
    resamples: int
    cache: CacheSettings | None = None
    threads: int = 1

    def as_dict(self) -> dict[str, Any]:
        """Plain values, to be stored: addresses without their passwords."""
        places = {
            name: place and shown_name(place)
            for name, place in (
                ("output", self.output),
                ("standardize_on", self.standardize_on),
                ("trees", self.trees),
            )
        }
        return asdict(replace(self, **places))  # type: ignore[arg-type]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the order that :meth:`as_dict` wrote down."""
        given = dict(values)
        cache = given.pop("cache", None)
        return cls(
            **{
                **given,
                "metrics": tuple(given["metrics"]),
                "signatures": tuple(given["signatures"]),
                "fields": Fields(**given["fields"]),
                "cache": None if cache is None else CacheSettings(**cache),
            }
        )

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that a worker must start with; what the user has set stays."""
        # sums over rows are made by one thread, so that they do not depend on how many workers there are
        told = {**dict.fromkeys(_THREADED, str(self.threads)), "OPENBLAS_NUM_THREADS": "1"}
        # a node's own word on the device would make another signature
        told |= {DEVICE: device_name()}
        return {name: os.environ.get(name, value) for name, value in told.items()}
