"""The service under load from a second process: what batching is worth, what twice the capacity gets, and the end.

Needs wrk. For each metric: throughput and latency without batching (--max-batch 1) and with it; then more texts than
can be scored, in requests of four, which may get nothing but 200 and 429; then SIGTERM under load, after which every
request that was taken must have been answered.

    python benchmarks/service_load.py --seconds 120
    python benchmarks/service_load.py --seconds 5 --metric slor
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

TEXTS = 20_000
CONNECTIONS = 128
# At twice the capacity the queue is short, so that it fills.
SHORT_QUEUE = 64
MANY_CONNECTIONS = 512
# In single requests two cores cannot offer, refuse and score that much at a time.
TOGETHER = 4

_SUBJECTS = "The mayor;A young doctor;The old ferry;Her neighbour;The committee;A careless driver;The gardener".split(
    ";"
)
_VERBS = "opened;described;repaired;lost;painted;sold;noticed;remembered;closed".split(";")
_OBJECTS = "the bridge;a letter;the green boat;two tickets;the report;a small garden;the market;the first page".split(
    ";"
)
_PLACES = "near the station;in the rain;after lunch;without a word;on the island;before the meeting".split(";")

# Every thread begins elsewhere in the list, and what is refused is tried again later.
_SCRIPT = """
local bodies = {}
for line in io.lines("%(bodies)s") do bodies[#bodies + 1] = line end
local threads = {}
function setup(thread) table.insert(threads, thread); thread:set("number", #threads) end
function init(args) at = number * 7919; counts = ""; tally = {} end
local headers = {["Content-Type"] = "application/json"}
function request() at = at + 1; return wrk.format("POST", "/v1/score", headers, bodies[at %% #bodies + 1]) end
function response(status)
  tally[status] = (tally[status] or 0) + 1
  counts = ""
  for code, many in pairs(tally) do counts = counts .. code .. "=" .. many .. " " end
end
%(delay)s
function done(summary, latency)
  local all = ""
  for _, thread in ipairs(threads) do all = all .. thread:get("counts") end
  local errors = summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout
  print(string.format("RESULT %%d %%d %%d %%d %%d %%s", summary.duration, latency:percentile(50),
    latency:percentile(99), errors, latency.max, all))
end
"""


class Load(NamedTuple):
    """What wrk saw: seconds, milliseconds, errors of connections, answers by status."""

    seconds: float
    p50: float
    p99: float
    errors: int
    statuses: dict[int, int]

    def per_second(self, *statuses: int) -> float:
        """Answers of these statuses a second; of all, where none is named."""
        many = sum(self.statuses[status] for status in statuses or self.statuses if status in self.statuses)
        return many / self.seconds


def write_bodies(folder: Path) -> None:
    """Different texts of one or two sentences, a request each, and several a request."""
    draw = random.Random(7)

    def sentence() -> str:
        parts = (draw.choice(words) for words in (_SUBJECTS, _VERBS, _OBJECTS, _PLACES))
        return f"{' '.join(parts)} at {draw.randrange(1, 13)}:{draw.randrange(60):02}."

    texts: dict[str, None] = {}
    while len(texts) < TEXTS:
        texts[" ".join(sentence() for _ in range(draw.choice((1, 2))))] = None
    found = list(texts)
    several = (found[at : at + TOGETHER] for at in range(0, len(found), TOGETHER))
    for name, bodies in (
        ("one", ({"text": text} for text in found)),
        ("several", ({"texts": some} for some in several)),
    ):
        (folder / name).write_text("".join(json.dumps(body) + "\n" for body in bodies), encoding="utf-8")


class Server(NamedTuple):
    """A running service."""

    process: subprocess.Popen[str]
    address: str

    def metric(self, name: str) -> float:
        """One of its counts."""
        text = urlopen(f"{self.address}/metrics").read().decode()
        found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    def cpu_seconds(self) -> float:
        """What it has used of the processors."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> str:
        """Let it finish; gives the last that it says."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=90)
        assert self.process.returncode == 0, said
        return said


@contextmanager
def served(metric: str, *options: str) -> Iterator[Server]:
    """The service in a process of its own, ready."""
    command = [sys.executable, "-m", "celadon", "serve", "--port", "0", "--metric", metric, *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        address = process.stderr.readline().rsplit(" ", 1)[-1].strip()
        while True:
            try:
                if json.load(urlopen(f"{address}/healthz"))["status"] == "ready":
                    break
            except OSError:
                time.sleep(0.1)
        yield Server(process, address)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def wrk(folder: Path, address: str, connections: int, seconds: int, bodies: str = "one", delay_ms: float = 0.0) -> Load:
    """Drive the service for so long."""
    delay = f"function delay() return math.random(0, {2 * delay_ms:.0f}) end" if delay_ms else ""
    script = folder / "post.lua"
    script.write_text(_SCRIPT % {"bodies": folder / bodies, "delay": delay}, encoding="utf-8")
    command = [
        "wrk",
        "-t",
        "1",
        "-c",
        str(connections),
        "-d",
        f"{seconds}s",
        "--timeout",
        "60s",
        "-s",
        str(script),
        address,
    ]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    result = next(line.split() for line in said.splitlines() if line.startswith("RESULT"))
    duration, p50, p99, errors, _ = map(float, result[1:6])
    statuses: Counter[int] = Counter()
    for pair in result[6:]:
        code, many = pair.split("=")
        statuses[int(code)] += int(many)
    return Load(duration / 1e6, p50 / 1e3, p99 / 1e3, int(errors), dict(statuses))


def batching(folder: Path, metric: str, seconds: int) -> float:
    """Throughput without and with batching; gives the latter."""
    found = {}
    for name, options in (("alone", ("--max-batch", "1")), ("batched", ())):
        with served(metric, *options) as server:
            wrk(folder, server.address, CONNECTIONS, 2)
            texts, batches = (server.metric(f"celadon_batch_texts_{what}") for what in ("sum", "count"))
            cpu = server.cpu_seconds()
            load = wrk(folder, server.address, CONNECTIONS, seconds)
            cpu = server.cpu_seconds() - cpu
            texts = server.metric("celadon_batch_texts_sum") - texts
            batches = server.metric("celadon_batch_texts_count") - batches
            server.stop()
        assert set(load.statuses) == {200}, load
        assert not load.errors, load
        found[name] = load
        print(
            f"{metric:10} {name:8} {load.per_second(200):8.1f} texts/s  p50 {load.p50:5.0f} ms  p99 {load.p99:5.0f} ms "
            f"{texts / batches:5.1f} texts a batch  {1000 * cpu / texts:5.2f} ms of processor a text  "
            f"{CONNECTIONS} connections, {load.seconds:.0f} s",
            flush=True,
        )
    ratio = found["batched"].per_second(200) / found["alone"].per_second(200)
    print(f"{metric:10} batching is worth {ratio:.2f} times", flush=True)
    return found["batched"].per_second(200)


def overload(folder: Path, metric: str, seconds: int, capacity: float) -> None:
    """Offer at least twice what can be scored."""
    delay = 1000 * MANY_CONNECTIONS * TOGETHER / (3.5 * capacity)
    with served(metric, "--queue", str(SHORT_QUEUE), "--max-batch", str(SHORT_QUEUE)) as server:
        load = wrk(folder, server.address, MANY_CONNECTIONS, seconds, "several", delay)
        server.stop()
    assert set(load.statuses) <= {200, 429}, load
    assert not load.errors, load
    offered, taken, refused = (TOGETHER * load.per_second(*statuses) for statuses in ((), (200,), (429,)))
    print(
        f"{metric:10} overload {offered:8.1f} texts/s offered ({offered / capacity:.1f} times the capacity), "
        f"{TOGETHER} a request: {taken:.1f}/s got 200, {refused:.1f}/s got 429, nothing else; "
        f"p50 {load.p50:.0f} ms, p99 {load.p99:.0f} ms",
        flush=True,
    )


async def one_client(host: str, port: int, bodies: list[bytes], seen: Counter[str]) -> None:
    """Ask again and again until the service is gone."""
    while True:
        try:
            reader, writer = await asyncio.open_connection(host, port)
        except OSError:
            return
        try:
            while await _asked(reader, writer, random.choice(bodies), seen) == b"200":
                continue
        except ConnectionError:
            seen["closed before an answer"] += 1
        finally:
            writer.close()


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes, seen: Counter[str]) -> bytes:
    head = (
        f"POST /v1/score HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    await writer.drain()
    first = await reader.readline()
    if not first:
        raise ConnectionError
    try:
        lines = [line async for line in _head(reader)]
        length = next(int(line.split(b":")[1]) for line in lines if line.lower().startswith(b"content-length"))
        json.loads(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError, StopIteration):
        seen["cut"] += 1
        return b""
    seen[first.split()[1].decode()] += 1
    # the service closes a connection when it ends, and says so
    return b"" if any(b"connection: close" in line.lower() for line in lines) else first.split()[1]


async def _head(reader: asyncio.StreamReader) -> Any:
    while (line := await reader.readline()).strip():
        yield line


async def killed(folder: Path, metric: str, seconds: int) -> None:
    """SIGTERM under load; what clients got must be what the service says that it scored."""
    bodies = (folder / "one").read_bytes().splitlines()
    seen: Counter[str] = Counter()
    with served(metric) as server:
        host, port = server.address.removeprefix("http://").split(":")
        clients = [asyncio.create_task(one_client(host, int(port), bodies, seen)) for _ in range(CONNECTIONS)]
        await asyncio.sleep(seconds)
        waiting = int(await asyncio.to_thread(server.metric, "celadon_queue_texts"))
        begun = time.monotonic()
        said = await asyncio.to_thread(server.stop)
        took = time.monotonic() - begun
        await asyncio.gather(*clients)
    scored = int(re.findall(r"([\d,]+) requests were scored", said)[-1].replace(",", ""))
    print(
        f"{metric:10} SIGTERM  {waiting} texts waited; exit 0 after {took:.1f} s; {scored:,} requests were scored "
        f"and clients got {seen['200']:,} answers; cut: {seen['cut']}; told 503: {seen['503']}; "
        f"closed before an answer: {seen['closed before an answer']}",
        flush=True,
    )
    assert seen["200"] == scored, seen
    assert not seen["cut"], seen


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--seconds", type=int, default=120)
    options.add_argument("--metric", action="append", help="default: slor and celadon")
    arguments = options.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is not installed: apt-get install wrk")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_bodies(folder)
        for metric in arguments.metric or ("slor", "celadon"):
            capacity = batching(folder, metric, arguments.seconds)
            overload(folder, metric, arguments.seconds, capacity)
            asyncio.run(killed(folder, metric, min(arguments.seconds, 10)))


if __name__ == "__main__":
    main()
