"""What tests of runs share: inputs, ways to start a run, and what must be true of a finished one."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars

from celadon.runs.local import Job
from celadon.runs.run import RunResult, RunSettings, start_run

WORDS = "the a cat dog sat ran on under mat tree big small quickly green".split()
METRICS = ("rouge1", "bleu1")


def make_rows(count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Rows with ids, two systems and references; now and then a text without words."""
    generator = random.Random(seed)
    return [
        {
            "id": f"row-{number}",
            "text": "" if number % 29 == 3 else " ".join(generator.choices(WORDS, k=6)),
            "references": [" ".join(generator.choices(WORDS, k=6))],
            "system": "ab"[number % 2],
        }
        for number in range(count)
    ]


def write_rows(path: Path, rows: Sequence[Any]) -> Path:
    """Rows as JSON Lines; a string stands as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def run_of(
    source: Path | Sequence[Path], output: Path, *, workers: int = 1, shard_rows: int = 40, **job: Any
) -> RunResult:
    """Start a run in this process."""
    inputs = [source] if isinstance(source, Path) else source
    settings = RunSettings(workers=workers, shard_rows=shard_rows, restart=job.pop("restart", False))
    given = {"metrics": METRICS, "resamples": 20, **job}
    return start_run(Job([str(path) for path in inputs], output=f"{output}/", **given), settings)


def command(source: Path, output: Path, *more: str) -> list[str]:
    """The same run as a user starts it."""
    base = [sys.executable, "-m", "celadon", "score", str(source), "-m", ",".join(METRICS), "-o", f"{output}/"]
    return [*base, "--resamples", "20", "--shard-rows", "40", *more]


def hashes(output: Path) -> dict[str, str]:
    """The Parquet files and the states of their summaries, by name."""
    files = [*output.glob("part-*.parquet"), *output.glob("shards/part-*.npz")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def check_every_row_once(output: Path, rows: Sequence[dict[str, Any]]) -> None:
    """All rows of the input, each once and in order; and nothing that is half done."""
    frame = polars.concat([polars.read_parquet(path) for path in sorted(output.glob("part-*.parquet"))])
    read = frame.select(["id", "text", "references", "system"]).to_dicts()
    assert _digest(read) == _digest(rows)
    left = [path for path in output.rglob("*") if path.name.startswith(".")]
    assert left == []
    notes = sorted(path.stem for path in output.glob("shards/*.json"))
    assert notes == sorted(path.stem for path in output.glob("part-*.parquet"))


def _digest(rows: Sequence[dict[str, Any]]) -> str:
    return hashlib.sha256("\n".join(json.dumps(row, sort_keys=True) for row in rows).encode()).hexdigest()


def wait_until(met: Any, seconds: float = 60.0) -> None:
    """Wait for something to be true."""
    end = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.005)


def children_of(process: int) -> list[int]:
    """The workers of a driver: its children, but for the tracker of multiprocessing."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                status = (entry / "stat").read_text()
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(status.rpartition(")")[2].split()[1]) == process and b"spawn_main" in line:
                found.append(int(entry.name))
    return found


def is_alive(process: int) -> bool:
    """Whether a process still runs; a zombie does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def started(line: Sequence[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a driver."""
    return subprocess.Popen(line, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def kill(process: int) -> None:
    """Kill a process as nobody can prevent."""
    os.kill(process, signal.SIGKILL)
