"""A hash of the code that makes a metric's scores, so that scores kept from before a change are not taken for new ones.

A signature names a version, and between two versions code changes many times.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from celadon.core import Metric

_ROOMS = tuple(f"celadon.{room}" for room in ("metrics", "text", "batch", "models", "parsing"))
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
        # the tree knows nothing of comments and line breaks, which make no difference
        seen[name] = "" if tree is None else ast.dump(tree)
        waiting += [] if tree is None else [found for found in _imported(tree) if found.startswith(_ROOMS)]
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


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
