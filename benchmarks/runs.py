"""Runs: the same bytes from every engine, their speed and memory; kills at random moments; a million short texts.

    python benchmarks/runs.py engines [--rows 20000] [--metrics rougeL,chrf] [--engines local1,local2,ray,ray3]
    python benchmarks/runs.py kills [--rows 20000] [--kills 3] [--engines local2,ray3]
    python benchmarks/runs.py long [--rows 1000000] [--metrics slor] [--workers 2]

``local1`` and ``local2`` are one and two processes of this machine, ``ray`` is Ray on one node with two workers and
``ray3`` a cluster of three nodes. Texts are beginnings of sentences of a corpus (``CELADON_DATA``), each a little
spoilt, the whole beginning being its reference; without the corpus, those of the example. The same rows every time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import polars
from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.runs.ray_nodes import Nodes, several_nodes  # noqa: E402
from tests.runs.run_parts import children_of, hashes, is_alive, kill, started  # noqa: E402

DATA = Path(os.environ.get("CELADON_DATA", ROOT.parent / "shared" / "data"))
STRING_METRICS = "simple_string_accuracy,generation_string_accuracy"
SHORT_WORDS = 12
SENTENCES = 50_000
SAMPLED_SECONDS = 0.5


def sentences() -> list[list[str]]:
    """Beginnings of sentences, as words."""
    corpus = DATA / "corpora" / "enwiki.txt.xz"
    if corpus.is_file():
        with lzma.open(corpus, "rt", encoding="utf-8") as lines:
            parts = (part.split()[:SHORT_WORDS] for line in lines for part in line.split(". "))
            found = list(islice(parts, SENTENCES))
    else:
        rows = (ROOT / "examples" / "summaries.jsonl").read_text(encoding="utf-8").splitlines()
        found = [part.split()[:SHORT_WORDS] for row in rows for part in json.loads(row)["text"].split(". ")]
    return [words for words in found if len(words) > 4]


def write_rows(path: Path, count: int) -> str:
    """Write the rows; return a hash that knows each row and its place."""
    known, generator, digest = sentences(), random.Random(10), hashlib.sha256()
    with path.open("w", encoding="utf-8") as file:
        for number in tqdm(range(count), desc="rows", unit_scale=True, leave=False, delay=2, disable=None):
            words = known[number % len(known)]
            spoilt = list(words)
            one, two = generator.randrange(len(spoilt)), generator.randrange(len(spoilt))
            spoilt[one], spoilt[two] = spoilt[two], spoilt[one]
            text, row_id = " ".join(spoilt), str(number)
            row = {"id": row_id, "text": text, "references": [" ".join(words)], "system": "ab"[number % 2]}
            file.write(json.dumps(row) + "\n")
            digest.update(f"{row_id}\n{text}\n".encode())
    return digest.hexdigest()


def rows_digest(out: Path) -> str:
    """The same hash, of the rows that a run wrote: equal only where each is there once and in its place."""
    digest = hashlib.sha256()
    for path in sorted(out.glob("part-*.parquet")):
        frame = polars.read_parquet(path, columns=["id", "text"])
        for row_id, text in frame.iter_rows():
            digest.update(f"{row_id}\n{text}\n".encode())
    return digest.hexdigest()


@contextmanager
def engine_options(name: str) -> Iterator[tuple[list[str], Nodes | None]]:
    """The options of an engine by its name here, and its nodes, where there are several."""
    if name.startswith("local"):
        yield ["--engine", "local", "--workers", name.removeprefix("local")], None
        return
    count = int(name.removeprefix("ray") or 1)
    with several_nodes(count) if count > 1 else nullcontext() as nodes:
        address = ["--address", nodes.address] if nodes else []
        yield ["--engine", "ray", "--workers", str(max(count, 2)), *address], nodes


def score_command(source: Path, out: Path, metrics: str, options: Sequence[str]) -> list[str]:
    """The command of a run."""
    base = [sys.executable, "-m", "celadon", "score", str(source), "-m", metrics, "-o", f"{out}/"]
    return [*base, *options]


def shard_facts(out: Path) -> list[dict[str, Any]]:
    """What is known of each shard, in the order in which they were made."""
    facts = [json.loads(path.read_bytes()) for path in out.glob("shards/part-*.json")]
    return sorted(facts, key=lambda shard: (shard["finished"], shard["index"]))


def engines(arguments: argparse.Namespace, folder: Path) -> None:
    """The same rows through every engine."""
    source = folder / "rows.jsonl"
    digest = write_rows(source, arguments.rows)
    first: dict[str, str] | None = None
    print(f"{arguments.rows:,} rows, {arguments.metrics}")
    print(f"{'engine':<8}{'rows/s':>9}{'seconds in all':>16}{'MB a worker':>13}  bytes")
    for name in arguments.engines:
        out = folder / name
        with engine_options(name) as (options, _):
            begin = time.perf_counter()
            told = [*options, "--shard-rows", str(arguments.shard_rows), "--quiet"]
            subprocess.run(score_command(source, out, arguments.metrics, told), check=True, stdout=subprocess.DEVNULL)
            seconds = time.perf_counter() - begin
        last = json.loads((out / "summary.json").read_bytes())["last_start"]
        peak = max(shard["peak_memory_bytes"] for shard in shard_facts(out)) / 1e6
        made = hashes(out)
        first = first or made
        same = "the same" if made == first and rows_digest(out) == digest else "DIFFERENT"
        print(f"{name:<8}{last['rows'] / last['seconds']:>9,.0f}{seconds:>16.1f}{peak:>13.0f}  {same}", flush=True)


def kills(arguments: argparse.Namespace, folder: Path) -> None:
    """Kill drivers, workers and nodes; count rows after the last start."""
    source = folder / "rows.jsonl"
    digest = write_rows(source, arguments.rows)
    generator = random.Random(arguments.seed)
    for name in arguments.engines:
        with engine_options(name) as (options, nodes):
            whole = folder / f"{name}-whole"
            told = [*options, "--shard-rows", str(arguments.shard_rows), "--quiet"]
            begin = time.perf_counter()
            subprocess.run(score_command(source, whole, arguments.metrics, told), check=True, stdout=subprocess.DEVNULL)
            length = time.perf_counter() - begin
            for victim in ["driver", "worker" if nodes is None else "node"]:
                once = True
                for number in range(arguments.kills):
                    # a driver is killed again and again in one run, which each time goes on; others do not end a run
                    out = folder / (f"{name}-driver" if victim == "driver" else f"{name}-{victim}-{number}")
                    line = score_command(source, out, arguments.metrics, told)
                    while not _killed(line, out, victim, nodes, length, generator):
                        print(f"{name}: the run had ended before the {victim} could be killed; once more", flush=True)
                        shutil.rmtree(out)
                    if victim != "driver" or number == arguments.kills - 1:
                        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
                        once = once and rows_digest(out) == digest and hashes(out) == hashes(whole)
                said = "each row once" if once else "WRONG"
                print(f"{name}: {victim} killed {arguments.kills} times: {said}", flush=True)


def _killed(
    line: list[str], out: Path, victim: str, nodes: Nodes | None, length: float, generator: random.Random
) -> bool:
    """Start a driver and kill somebody at a random moment of the time that a whole run takes."""
    with started(line, {}) as driver:
        end = time.monotonic() + generator.random() * length
        workers: list[int] = []
        while driver.poll() is None and (time.monotonic() < end or (victim == "worker" and not workers)):
            time.sleep(0.02)
            workers = children_of(driver.pid)
        if driver.poll() is not None:
            return False
        shards = len(list(out.glob("shards/part-*.json")))
        if victim == "driver":
            kill(driver.pid)
        elif nodes is not None:
            nodes.kill_one()
        else:
            kill(generator.choice(workers))
        code = driver.wait()
        if nodes is not None and victim == "node":
            nodes.replace_one()
    end = time.monotonic() + 10
    while any(map(is_alive, workers)) and time.monotonic() < end:
        time.sleep(0.05)
    left = sum(map(is_alive, workers))
    print(f"  {victim} killed at {shards} whole shards: exit {code}, {left} workers left", flush=True)
    return True


def long(arguments: argparse.Namespace, folder: Path) -> None:
    """Many short texts: speed, and memory over time."""
    source, out = folder / "rows.jsonl", folder / "out"
    digest = write_rows(source, arguments.rows)
    options = ["--workers", str(arguments.workers), "--shard-rows", str(arguments.shard_rows)]
    begin = time.monotonic()
    samples: list[tuple[float, int, int]] = []
    with started(score_command(source, out, arguments.metrics, options), {}) as driver:
        while driver.poll() is None:
            time.sleep(SAMPLED_SECONDS)
            sizes = [_resident(worker) for worker in children_of(driver.pid)]
            samples.append((time.monotonic() - begin, max(sizes, default=0), _resident(driver.pid)))
        if driver.returncode:
            raise SystemExit((driver.stderr.read() if driver.stderr else b"").decode())
    seconds = time.monotonic() - begin
    last = json.loads((out / "summary.json").read_bytes())["last_start"]
    speed = last["rows"] / last["seconds"]
    once = rows_digest(out) == digest
    print(
        f"{arguments.rows:,} rows, {arguments.metrics}, {arguments.workers} workers: {speed:,.0f} rows/s while scoring"
    )
    print(f"{seconds:.0f} s in all, {'each row once' if once else 'WRONG'}; resident MB, largest worker and driver:")
    for share in (0.1, 0.25, 0.5, 0.75, 0.98):
        at, worker, driver_size = samples[int(share * (len(samples) - 1))]
        print(f"  after {at:5.0f} s  {worker / 1e6:6.0f}  {driver_size / 1e6:6.0f}")
    written = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"on disk {source.stat().st_size / 1e6:.0f} MB in, {written / 1e6:.0f} MB out")
    hours = 1e6 / speed / 3600
    print(f"a million rows: {hours:.3f} hours of this machine; 100 million on ten of them: {10 * hours:.2f} hours")


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("engines", "kills", "long"))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--metrics", default=STRING_METRICS)
    parser.add_argument("--engines", type=lambda text: text.split(","))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--shard-rows", type=int)
    parser.add_argument("--seed", type=int, default=1, help="of the moments of the kills")
    arguments = parser.parse_args()
    arguments.rows = arguments.rows or (1_000_000 if arguments.what == "long" else 20_000)
    arguments.engines = arguments.engines or (
        ["local1", "local2", "ray", "ray3"] if arguments.what == "engines" else ["local2", "ray3"]
    )
    arguments.shard_rows = arguments.shard_rows or {"engines": 1024, "kills": 256, "long": 8192}[arguments.what]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CELADON_HOME"] = str(Path(folder) / "home")
        {"engines": engines, "kills": kills, "long": long}[arguments.what](arguments, Path(folder))


if __name__ == "__main__":
    main()
