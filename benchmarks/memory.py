"""Peak memory of ``celadon score`` with output and report, at 100,000 and at 1,000,000 rows; and rows per second."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from pairs import make_pairs


def write_rows(path: Path, rows: int) -> None:
    """Write rows of 26-token pairs, over and over, of two systems."""
    pairs = make_pairs(26, 5000)
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            text, reference = pairs[number % len(pairs)]
            row = {"id": str(number // 2), "system": f"s{number % 2}", "text": f"{text} {number}"}
            file.write(json.dumps({**row, "references": [reference]}) + "\n")


def peak_memory(arguments: list[str]) -> tuple[float, float]:
    """Run celadon; return its peak resident memory in MB and its seconds."""
    command = [sys.executable, "-m", "celadon", *arguments]
    begin = time.perf_counter()
    child = os.posix_spawn(sys.executable, command, os.environ)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return usage.ru_maxrss / 1024, time.perf_counter() - begin


def main() -> None:
    """Print both peaks and their ratio."""
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in (100_000, 1_000_000):
            source, out, report = (Path(folder) / f"{rows}{ending}" for ending in (".jsonl", ".out.jsonl", ".html"))
            write_rows(source, rows)
            peak, seconds = peak_memory(["score", str(source), "-o", str(out), "--report", str(report), "--quiet"])
            peaks.append(peak)
            print(f"{rows:,} rows: peak {peak:.0f} MB, {rows / seconds:,.0f} rows/s", flush=True)
            source.unlink()
            out.unlink()
    print(f"ratio {peaks[1] / peaks[0]:.2f}")


if __name__ == "__main__":
    main()
