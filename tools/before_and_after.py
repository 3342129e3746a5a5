"""Compare two checkouts: outputs byte by byte, processor time and peak memory, the two taking turns.

    python tools/before_and_after.py BEFORE AFTER TEXTS [--rows 1000000] [--rounds 3] [--only help,report]

``TEXTS`` is a JSON Lines file with texts and references; rows of the large inputs are made from them. The best of the
rounds counts: a busy machine only adds to it. A first round, which compiles the modules, does not count.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

ACCURACIES = "simple_string_accuracy,generation_string_accuracy"
FOLDER_METRICS = "rougeL,bleu,slor"
FOLDER_OPTIONS = ["--workers", "2", "--shard-rows", "500"]
# what differs between any two runs of the same code
CHANGING = {"created", "versions", "seconds", "started", "last_start", "output", "finished", "peak_memory_bytes"}


class Usage(NamedTuple):
    """What one run of a command took."""

    seconds: float
    megabytes: float


def run(checkout: Path, arguments: list[str], bytecode: Path) -> Usage:
    """Run celadon as it is in a checkout; ``bytecode`` is the folder of compiled modules."""
    command = [sys.executable, "-m", "celadon", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "CELADON_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPYCACHEPREFIX"] = str(bytecode)
    # container images often set it; then each process compiles all it imports
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(sys.executable, command, environment, file_actions=silent)
    _, status, usage = os.wait4(child, 0)
    if status:
        raise SystemExit(f"{checkout}: {' '.join(arguments)} failed")
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def write_rows(texts: Path, path: Path, rows: int) -> None:
    """Write as many rows, each with an id of its own, a system, a text and its reference."""
    with texts.open(encoding="utf-8") as file:
        originals = [json.loads(line) for line in file]
    with path.open("w", encoding="utf-8") as file:
        for number, row in enumerate(islice(cycle(originals), rows)):
            words = row["output"].split()[:12]
            short = {"text": " ".join(words), "reference": " ".join(row["reference"].split()[:12])}
            file.write(json.dumps({"id": str(number), "system": f"s{number % 2}", **short}) + "\n")


def digests(output: Path) -> dict[str, str]:
    """Return the sha256 of each file of an output, without what differs between two runs of the same code."""
    files = [output] if output.is_file() else sorted(path for path in output.rglob("*") if path.is_file())
    return {path.name: hashlib.sha256(_content(path)).hexdigest() for path in files if path.name != "run.lock"}


def likeness(before: dict[str, str], after: dict[str, str]) -> str:
    """Say how far two outputs are the same; the files beside the shards of a run may hold other facts."""
    if before == after:
        return "same bytes"
    one, two = ({name: each for name, each in side.items() if name.endswith(".parquet")} for side in (before, after))
    return f"same bytes of {len(one)} shards" if one and one == two else "other bytes"


def _content(path: Path) -> bytes:
    data = path.read_bytes()
    return json.dumps(_lasting(json.loads(data)), sort_keys=True).encode() if path.suffix == ".json" else data


def _lasting(value: object) -> object:
    if isinstance(value, dict):
        return {name: _lasting(each) for name, each in value.items() if name not in CHANGING}
    return [_lasting(each) for each in value] if isinstance(value, list) else value


def main() -> None:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", metavar="NAMES", help="of the commands, with commas between")
    arguments = parser.parse_args()
    checkouts = {name: getattr(arguments, name).resolve() for name in ("before", "after")}
    only = set(filter(None, arguments.only.split(",")))
    with tempfile.TemporaryDirectory() as folder:
        many, thousand, judged, bytecode = (
            Path(folder) / name for name in ("many.jsonl", "thousand.jsonl", "judged.jsonl", "bytecode")
        )
        write_rows(arguments.texts, many, arguments.rows)
        lines = arguments.texts.read_text(encoding="utf-8").splitlines(keepends=True)
        for path, count in ((thousand, 1000), (judged, 2000)):
            path.write_text("".join(lines[:count]), encoding="utf-8")
        commands = {
            "help": (["--help"], "", 5),
            "report": (["score", str(thousand), "--quiet", "--report"], "report.html", 2),
            "rouge": (["score", str(thousand), "--quiet", "-m", "rouge1,rouge2,rougeL,chrf", "-o"], "out.jsonl", 2),
            "gruen": (["score", str(thousand), "--quiet", "-m", "gruen,slor", "-o"], "out.jsonl", 1),
            "rows": (["score", str(many), "--quiet", "-m", "rougeL", "-o"], "out.jsonl", 1),
            "shards": (["score", str(many), "--quiet", "-m", ACCURACIES, "--workers", "1", "-o"], "run/", 1),
            "folder": (["score", str(judged), "--quiet", "-m", FOLDER_METRICS, *FOLDER_OPTIONS, "-o"], "run/", 1),
        }
        for name, (command, output, factor) in commands.items():
            if only and name not in only:
                continue
            usages: dict[str, list[Usage]] = {side: [] for side in checkouts}
            outputs: dict[str, dict[str, str]] = {}
            for number in range(1 + arguments.rounds * factor):
                for side, checkout in checkouts.items():
                    with tempfile.TemporaryDirectory(dir=folder) as place:
                        target = f"{place}/{output}"
                        usage = run(checkout, [*command, target] if output else command, bytecode)
                        usages[side] += [usage] if number else []
                        outputs[side] = digests(Path(target)) if output else {}
            best = {side: Usage(*map(min, zip(*each, strict=True))) for side, each in usages.items()}
            one, two = best["before"], best["after"]
            same = likeness(outputs["before"], outputs["after"])
            sys.stdout.write(
                f"{name:8} {one.seconds:9.3f} s {two.seconds:9.3f} s ({two.seconds / one.seconds:.3f})  "
                f"{one.megabytes:6.0f} MB {two.megabytes:6.0f} MB ({two.megabytes / one.megabytes:.3f})  "
                f"{same if output else ''}\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
