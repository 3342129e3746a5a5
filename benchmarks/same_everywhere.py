"""How far the scores of every metric differ between processors, versions of ONNX Runtime and numpy, and thread counts.

    python benchmarks/same_everywhere.py [--texts FILE.jsonl] [--runtimes 1.25.1,1.31.1] [--numpys 1.26.4]
        [--cpus Haswell,Skylake-Client,Nehalem,max] [--emulated N] [--limit 0.001]

Rerun it whenever a graph, a kernel or a lower bound changes. Versions are installed into temporary folders with pip.
Processors are emulated by qemu-x86_64 (Debian: qemu-user), which is slow, so that only the first N texts are scored
there; numpy does without AVX2, whose gathers qemu 7.2 gets wrong. A difference is absolute up to 1 and relative beyond
(`ppl` has no bound). The exit code is 1 where one exceeds the limit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

EXAMPLES = Path(__file__).parent.parent / "examples" / "summaries.jsonl"
# metrics with a parser or a model that does not come with the package, or that need what the texts do not have
LEFT_OUT = {"pll", "gleu", "gleu_plus", "sari", "formula", "combined"}
TREES = {"simple_tree_accuracy", "generation_tree_accuracy", "understandability_accuracy", "quality_accuracy"}
HOURS = 3 * 3600
EVERY = 1 << 30

Scores = Mapping[str, Sequence[float | None]]


@dataclass(frozen=True)
class Machine:
    """One way to run celadon: packages before the installed ones, a processor, threads."""

    name: str
    packages: Path | None = None
    cpu: str = ""
    threads: int = 2
    texts: int = EVERY


def score_all(path: Path, count: int) -> dict[str, list[float | None]]:
    """Score the first texts of a file by every metric."""
    import celadon
    from celadon.metrics.registry import names

    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][:count]
    chosen = [name for name in names() if name not in LEFT_OUT | TREES]
    scores = celadon.score(
        [row["text"] for row in rows], references=[row["references"] for row in rows], metrics=chosen
    )
    return {name: [None if math.isnan(value) else float(value) for value in scores[name]] for name in chosen}


def run(machine: Machine, texts: Path) -> Scores:
    """Score in a process of its own, emulated where the machine says so."""
    paths = [str(machine.packages)] if machine.packages else []
    paths += [str(Path(__file__).parent.parent / "src"), sysconfig.get_path("purelib")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "CELADON_THREADS": str(machine.threads)}
    # the interpreter behind the virtual environment: qemu starts programs, not links to them
    command = [os.path.realpath(sys.executable), __file__, "--child", str(texts), "--emulated", str(machine.texts)]
    if machine.cpu:
        command = ["qemu-x86_64", "-cpu", machine.cpu, *command]
        # what numpy calls instructions beyond SSE4 from 2.4 on, and before; Nehalem has none of them
        environment["NPY_DISABLE_CPU_FEATURES"] = "" if machine.cpu == "Nehalem" else "X86_V3 AVX2 FMA3"
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HOURS, check=False)
    if done.returncode:
        raise SystemExit(f"{machine.name}: {done.stderr.strip().splitlines()[-1] if done.stderr else 'failed'}")
    scores: Scores = json.loads(done.stdout)
    return scores


def differences(scores: Scores, expected: Scores) -> dict[str, float]:
    """Return for each metric by how much a text's score differs at most; infinite where only one of them is null."""
    largest = {}
    for name, values in scores.items():
        pairs = zip(values, expected[name], strict=True)
        largest[name] = max(_difference(one, other) for one, other in pairs)
    return largest


def _difference(one: float | None, other: float | None) -> float:
    if one is None or other is None:
        return 0.0 if one is other else math.inf
    return abs(one - other) / max(1.0, abs(other))


def machines(arguments: argparse.Namespace, folder: Path) -> list[Machine]:
    """Return all that is compared with the machine as it is, two threads."""
    ways = [Machine("one thread", threads=1)]
    for package, versions in (("onnxruntime", arguments.runtimes), ("numpy", arguments.numpys)):
        for version in filter(None, versions.split(",")):
            place = folder / f"{package}-{version}"
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(place)]
            subprocess.run([*pip, f"{package}=={version}"], check=True, timeout=HOURS)
            ways += [Machine(f"{package} {version}, {threads} threads", place, threads=threads) for threads in (1, 2)]
    for cpu in filter(None, arguments.cpus.split(",")):
        ways.append(Machine(f"qemu {cpu}", cpu=cpu, threads=1, texts=arguments.emulated))
    return ways


def main() -> int:
    """Print a line for each machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, default=EXAMPLES, help="JSONL with text and references")
    parser.add_argument("--runtimes", default="", help="versions of onnxruntime, with commas between")
    parser.add_argument("--numpys", default="", help="versions of numpy, with commas between")
    parser.add_argument("--cpus", default="", help="processors that qemu knows, with commas between")
    parser.add_argument("--emulated", type=int, default=8, help="texts that are scored on an emulated processor")
    parser.add_argument("--limit", type=float, default=1e-3)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(score_all(arguments.child, arguments.emulated)))
        return 0
    if arguments.cpus and not shutil.which("qemu-x86_64"):
        raise SystemExit("qemu-x86_64 is missing; on Debian: apt-get install qemu-user")
    # metrics that are relative to the set are compared on equal sets
    counts = [EVERY, *([arguments.emulated] if arguments.cpus else [])]
    expected = {count: run(Machine("as it is", texts=count), arguments.texts) for count in counts}
    print(f"{len(expected[EVERY])} metrics; texts, largest difference, metric, seconds", flush=True)
    worst = 0.0
    with TemporaryDirectory() as folder:
        for machine in machines(arguments, Path(folder)):
            began = time.perf_counter()
            scores = run(machine, arguments.texts)
            largest = differences(scores, expected[machine.texts])
            name = max(largest, key=lambda metric: largest[metric])
            worst = max(worst, largest[name])
            took, count = time.perf_counter() - began, max(map(len, scores.values()))
            print(f"{machine.name}: {count}, {largest[name]:.1e}, {name}, {took:.0f}", flush=True)
    return int(worst > arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
