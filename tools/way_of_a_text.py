"""List the functions that a text passes on its way from ``celadon score`` to the report: those that get or give it.

``python tools/way_of_a_text.py``, in the environment of a checkout. A function is listed where an argument of it, or a
local variable at its end, is the text, a sample or a batch that holds it, or scores of it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

from celadon.cli import main

_TEXT = "The kiln was fired at dawn. The glaze ran down the sides of the bowl, and it cracked."
_HOLDERS = {"Sample", "Batch", "Chunk", "MetricScores", "Scores", "ScoredChunk"}


def way() -> list[tuple[str, str]]:
    """Return the modules and functions, in the order in which they are first called."""
    passed: dict[tuple[str, str], None] = {}

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        name = frame.f_globals.get("__name__", "")
        if event != "call" or not name.startswith("celadon.") or frame.f_code.co_name.startswith("<"):
            return
        if any(_holds(value) for value in frame.f_locals.values()):
            passed.setdefault((name, frame.f_code.co_qualname))

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "texts.txt")
        source.write_text(_TEXT + "\n", encoding="utf-8")
        sys.setprofile(watch)
        try:
            main(["score", str(source), "--metric", "slor", "--report", str(Path(folder, "report.html"))])
        finally:
            sys.setprofile(None)
    return list(passed)


def _holds(value: Any) -> bool:
    if isinstance(value, str):
        return value == _TEXT
    if type(value).__name__ in _HOLDERS:
        return True
    return isinstance(value, list | tuple) and len(value) == 1 and _holds(value[0])


if __name__ == "__main__":
    functions = way()
    for module, function in functions:
        sys.stdout.write(f"{module}.{function}\n")
    sys.stdout.write(f"{len(functions)} functions in {len({module for module, _ in functions})} modules\n")
