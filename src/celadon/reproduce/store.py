"""Scores kept between runs: a small NumPy archive for each stretch of rows of a metric.

Its key (signature and code) and the hash of the data it was made from are kept with it. A signature names a version,
and between two versions code changes many times: so the hash of the code that makes a metric's scores is in the key.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from celadon.core import FloatArray, Metric
from celadon.io.atomic import output_errors, write_atomically


class ScoreStore:
    """A folder of scores. A file appears whole or not at all, so a run that was killed goes on where it was.

    ``fresh`` passes over what is there, and makes every score again.
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


_ROOMS = tuple(f"celadon.{room}" for room in ("metrics", "text", "scoring.batch", "models", "parsing"))
# The registry knows every metric by name only; a new name changes no score.
_APART = frozenset({"celadon.metrics.registry"})


def fingerprint(metric: Metric) -> str:
    """The hash of the metric's module and of all modules it imports from the rooms in which scores are made."""
    seen: dict[str, str] = {}
    waiting = [type(metric).__module__]
    while waiting:
        name = waiting.pop()
        if name in seen or name in _APART:
            continue
        tree = _tree(name)
        seen[name], imported = ("", ()) if tree is None else _content(tree)
        waiting += imported
    facts = "\n".join(f"{name} {seen[name]}" for name in sorted(seen))
    return hashlib.sha256(facts.encode()).hexdigest()[:12]


@cache
def _tree(name: str) -> ast.Module | None:
    """A module's syntax; None where there is no such module or no source of it."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return ast.parse(Path(spec.origin).read_bytes())


@cache
def _content(tree: ast.Module) -> tuple[str, tuple[str, ...]]:
    """A module's syntax as text, and the modules of the rooms that it imports."""
    # the tree knows nothing of comments and line breaks, which make no difference
    return ast.dump(tree), tuple(name for name in _imported(tree) if name.startswith(_ROOMS))


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
