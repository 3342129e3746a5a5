"""How much faster a second run over the same file is with the score cache, and how large the cache becomes.

Each run is a process of its own, as a user's is. Both times are given: of the whole command, and of the scoring
without the start of Python, the imports and the loading of models.

    python benchmarks/score_cache.py TEXTS --rows 5000 --metric slor --metric celadon
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from celadon.io import Fields, Reader

_RUN = """
import json, sys, time
from celadon.runs.local import Job, run
from celadon.scoring.cache.score_cache import CacheSettings
from celadon.metrics.registry import load
from celadon.scoring.api import score
spec, path, cache, output = sys.argv[1:]
load(spec).signature
score(["A text that loads the models."], metrics=[spec])
begin = time.perf_counter()
settings = CacheSettings(cache) if cache else None
done = run(Job([path], metrics=[spec], output=output, cache=settings))
print(json.dumps([time.perf_counter() - begin, done.cache_hits, done.cache_misses]))
"""


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", help="a file of texts, as celadon score reads it")
    parser.add_argument("--text-field", help="the column of the texts")
    parser.add_argument("--rows", type=int, default=5000, help="how many distinct texts are scored (default: 5000)")
    parser.add_argument("--metric", action="append", help="default: slor and celadon")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        rows = _copy(arguments.texts, arguments.text_field, arguments.rows, path)
        print(f"{rows:,} distinct texts, mean {path.stat().st_size / rows:.0f} bytes a row")
        print(f"{'metric':<10}{'run':<14}{'scoring s':>10}{'rows/s':>10}{'command s':>11}{'hits':>8}{'times':>8}")
        for spec in arguments.metric or ["slor", "celadon"]:
            _measure(spec, path, rows, Path(folder))


def _copy(texts: str, field: str | None, rows: int, path: Path) -> int:
    """Write so many distinct texts to a file of their own; a second look at one would be a hit in the first run."""
    seen: set[str] = set()
    with path.open("w", encoding="utf-8") as file:
        for chunk in Reader([texts], Fields(text=field), on_bad=lambda bad: None):
            for sample in chunk.samples:
                if len(seen) < rows and sample.text not in seen:
                    seen.add(sample.text)
                    file.write(json.dumps({"text": sample.text}) + "\n")
            if len(seen) >= rows:
                break
    return len(seen)


def _measure(spec: str, path: Path, rows: int, folder: Path) -> None:
    cache = folder / f"{spec}.sqlite"
    first = None
    outputs = []
    for name, where in (("without", ""), ("first", str(cache)), ("second", str(cache))):
        output = folder / f"{spec}-{name}.jsonl"
        begin = time.perf_counter()
        seconds, hits, misses = json.loads(_run([spec, str(path), where, str(output)]))
        whole = time.perf_counter() - begin
        first = first or seconds
        share = f"{hits / max(hits + misses, 1):.0%}" if where else "-"
        speed = f"{rows / seconds:>10,.0f}{whole:>11.1f}{share:>8}{first / seconds:>8.1f}"
        print(f"{spec:<10}{name:<14}{seconds:>10.2f}{speed}")
        outputs.append(output.read_bytes())
    print(
        f"{spec:<10}outputs {'equal, byte by byte' if len(set(outputs)) == 1 else 'DIFFER'}; "
        f"the cache has {cache.stat().st_size / rows:.0f} bytes a text"
    )


def _run(arguments: Sequence[str]) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *arguments], capture_output=True, text=True, check=True, env=environment
    )
    return done.stdout


if __name__ == "__main__":
    main()
