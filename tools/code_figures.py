"""Count what the code is made of: ``python tools/code_figures.py [CHECKOUT [PART ...]]``.

A part is a file or a folder of the package, such as ``text/structure``; only files of parts that are named count.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

LONG = 50


def main(checkout: Path, parts: list[str]) -> None:
    """Print the figures of a checkout's package, or of parts of it."""
    root = checkout / "src" / "celadon"
    places = [root / part for part in parts] or [root]
    paths = sorted(path for place in places for path in ([place] if place.is_file() else place.rglob("*.py")))
    sources = {_module(path, root): path.read_text(encoding="utf-8") for path in paths}
    trees = {name: ast.parse(source) for name, source in sources.items()}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, tree in trees.items():
        for imported in _imports(tree) & set(trees) - {name}:
            importers[imported].add(name)
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    figures = {
        "files": len(sources),
        "lines": sum(len(source.splitlines()) for source in sources.values()),
        "statements": sum(isinstance(node, ast.stmt) for node in nodes),
        "modules imported once": sum(len(importers[name]) == 1 for name in trees),
        "functions over 50 lines": sum((node.end_lineno or 0) - node.lineno >= LONG for node in functions),
    }
    if parts:
        del figures["modules imported once"]
    for name, figure in figures.items():
        sys.stdout.write(f"{name:24}{figure:8,}\n")


def _module(path: Path, root: Path) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(tree: ast.Module) -> set[str]:
    """Return the names of everything that a module imports, which may be modules or what they hold."""
    named: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            named.update([node.module, *(f"{node.module}.{alias.name}" for alias in node.names)])
    return named


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."), sys.argv[2:])
