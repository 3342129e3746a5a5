"""Scores kept between runs: a small NumPy archive for each stretch of rows of a metric.

Its key (signature and code) and the hash of the data it was made from are kept with it.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from celadon.core import FloatArray
from celadon.io.atomic import output_errors, write_atomically


class ScoreStore:
    """A folder of scores. A file appears whole or not at all, so a run that was killed goes on where it was.

    Parameters
    ----------
    folder
        Made where it does not exist.
    fresh
        Whether to pass over what is there, and make every score again.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self._folder = folder
        self._fresh = fresh
        self._made: set[Path] = set()

    def _path(self, name: str, spec: str, key: str, data: str) -> Path:
        metric = re.sub(r"[^\w.=-]", "_", spec)[:60]
        how = hashlib.sha256(f"{spec}\n{key}".encode()).hexdigest()[:12]
        return self._folder / name / f"{metric}-{how}" / f"{data[:16]}.npz"

    def read(self, name: str, spec: str, key: str, data: str, rows: int) -> FloatArray | None:
        """The scores, if they are there and are those of this key and these data; a damaged file is no scores."""
        path = self._path(name, spec, key, data)
        if self._fresh and path not in self._made:
            return None
        with suppress(OSError, ValueError, KeyError, EOFError, BadZipFile), np.load(path) as kept:
            if str(kept["key"]) == key and str(kept["data"]) == data:
                values: FloatArray = kept["values"]
                return values if values.shape == (rows,) and values.dtype == np.float64 else None
        return None

    def write(self, name: str, spec: str, key: str, data: str, values: FloatArray) -> None:
        """Keep scores."""
        path = self._path(name, spec, key, data)
        with output_errors(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
        with write_atomically(str(path)) as file:
            np.savez(file, key=key, data=data, metric=spec, values=values)
        self._made.add(path)
