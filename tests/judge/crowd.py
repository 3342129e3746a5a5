"""A crowd that takes part at once over real connections, and a server that can be killed in the middle of it."""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from celadon.judge.experiment import Experiment, new_experiment, open_experiment
from celadon.judge.store import Store

TOKEN = re.compile(rb'name="form_token" value="([0-9a-f]+)"')
FIELD = re.compile(rb'type="radio" name="([^"]+)" value="1"')
PATIENCE = 120.0
CELLS, VARIANTS = 12, 4


class Server:
    """``celadon judge serve`` in a process of its own, which can be killed and started again."""

    def __init__(self, folder: Path, url: str | None, *options: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._command = [sys.executable, "-m", "celadon", "judge", "serve", str(folder), "--port", str(self.port)]
        self._command += options
        self._environment = {**os.environ, **({"CELADON_JUDGE_DATABASE": url} if url else {})}
        self._log = (folder / "server.log").open("ab")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and wait until it answers."""
        self._begin()
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.05)
        raise SystemExit("the server did not start; see its log")

    def _begin(self) -> None:
        self._process = subprocess.Popen(self._command, env=self._environment, stdout=self._log, stderr=self._log)

    def kill(self) -> None:
        """Kill it without a warning."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def close(self) -> None:
        """Kill it for good."""
        self.kill()
        self._log.close()


def _serve(folder: str, url: str | None, port: int) -> None:
    import uvicorn

    from celadon.judge.web.app import make_app

    experiment = open_experiment(Path(folder))
    uvicorn.run(make_app(experiment, Store(experiment, url)), port=port, log_level="error", access_log=False)


class ForkedServer(Server):
    """The same pages from a process that is forked from one that has imported everything: started in no time."""

    _fork = multiprocessing.get_context("forkserver")

    def __init__(self, folder: Path, url: str | None) -> None:
        super().__init__(folder, url)
        self._fork.set_forkserver_preload(["celadon.judge.web.app", "uvicorn", __name__])
        self._facts = (str(folder), url, self.port)
        self._forked: Any = None

    def _begin(self) -> None:
        self._forked = self._fork.Process(target=_serve, args=self._facts, daemon=True)
        self._forked.start()

    def kill(self) -> None:
        if self._forked is not None:
            self._forked.kill()
            self._forked.join()


class Person(threading.Thread):
    """Somebody who answers every page at random and does not give up when the connection is lost."""

    def __init__(self, port: int, link: str, number: int, think: float = 0.0) -> None:
        super().__init__(daemon=True)
        self._port, self._link, self._think = port, link, think
        self._draw = random.Random(number)
        self._connection: http.client.HTTPConnection | None = None
        self.times: list[float] = []
        self.confirmed: dict[tuple[int, str], str] = {}
        self.lost_connections = 0
        self.finished = False

    def run(self) -> None:
        """From the link to the code."""
        self._ask("GET", f"/p/{self._link}")
        _, page = self._ask("GET", "/consent")
        found = TOKEN.search(page)
        token = found[1].decode() if found else ""
        where, _ = self._ask("POST", "/consent", {"form_token": token})
        while where != "/done":
            where, page = self._ask("GET", where or "/task")
            if where:
                continue
            names = [name.decode() for name in FIELD.findall(page)]
            form = {name: str(self._draw.randint(1, 7)) for name in names}
            number = re.search(rb'action="/task/(\d+)"', page)
            if number is None:
                raise SystemExit(f"not a page of the way: {page[:300]!r}")
            position = int(number[1])
            time.sleep(self._draw.uniform(0.0, 2.0 * self._think))
            where, _ = self._ask("POST", f"/task/{position}", {"form_token": token, **form})
            if where:
                # the next page is known, so this one is confirmed
                self.confirmed.update({(position, name): value for name, value in form.items()})
        self.finished = True

    def _ask(self, method: str, path: str, form: Mapping[str, str] | None = None) -> tuple[str, bytes]:
        """Where the answer leads to, and its text; asks again until there is an answer."""
        body = None if form is None else urlencode(form)
        headers = {"cookie": f"celadon-judge={self._link}"}
        if body is not None:
            headers["content-type"] = "application/x-www-form-urlencoded"
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            begun = time.perf_counter()
            try:
                if self._connection is None:
                    self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
                self._connection.request(method, path, body, headers)
                response = self._connection.getresponse()
                text = response.read()
            except (OSError, http.client.HTTPException):
                self.lost_connections += 1
                self._connection = None
                time.sleep(self._draw.uniform(0.05, 0.2))
                continue
            self.times.append(time.perf_counter() - begun)
            if response.status >= 400:
                raise SystemExit(f"{method} {path}: {response.status}")
            return response.headers.get("location", ""), text
        raise SystemExit("no answer")


def make_study(folder: Path, people: int) -> Experiment:
    """An experiment for so many people, without limits of rate."""
    rows = [
        {
            "id": f"cell {cell}",
            "system": f"system {variant}",
            "text": f"Text {variant} of {cell}.",
            "context": "Before.",
        }
        for cell in range(CELLS)
        for variant in range(VARIANTS)
    ]
    items = folder.with_suffix(".jsonl")
    items.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    new_experiment(folder, str(items), "likert", title="A crowd")
    path = folder / "experiment.toml"
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"ratings_per_item = \d+", f"ratings_per_item = {people}", text)
    path.write_text(text + "\n[limits]\nrequests_per_minute = 1000000\n", encoding="utf-8")
    return open_experiment(folder)


def compare(experiment: Experiment, store: Store, people: Mapping[str, Person]) -> tuple[int, int, int, int]:
    """How many answers pages confirmed; how many of them are lost, differ, or are there twice."""
    kept: dict[tuple[str, int, str], list[str]] = {}
    for rating in store.all_ratings():
        number = f"{rating.answer.number:g}"
        kept.setdefault((rating.participant, rating.position, f"{rating.unit}\0{rating.question}"), []).append(number)
    ways = store.all_pages()
    confirmed = lost = differ = 0
    for person, crowd in people.items():
        for (position, field), value in crowd.confirmed.items():
            confirmed += 1
            unit, _, question = field.partition(".")
            key = experiment.units(ways[person][position].page)[int(unit)].key
            found = kept.get((person, position, f"{key}\0{question}"), [])
            lost += not found
            differ += bool(found) and value not in found
    return confirmed, lost, differ, sum(len(found) > 1 for found in kept.values())


def run(
    folder: Path, count: int, kills: int, url: str | None, *, kind: type[Server] = Server, think: float = 0.0
) -> dict[str, float | int | str]:
    """Let a crowd take part and say what came of it."""
    experiment = make_study(folder, count)
    store = Store(experiment, url)
    links = store.new_links(count)
    ids = {link: person.id for link in links if (person := store.participant(link))}
    server = kind(folder, url)
    server.start()
    crowd = [Person(server.port, link, number, think) for number, link in enumerate(links)]
    begun = time.perf_counter()
    try:
        for person in crowd:
            person.start()
        for number in range(kills):
            # spread over the study: at a sixth of the answers, at two sixths, ...
            _wait(crowd, (number + 1) / (kills + 1), experiment)
            server.kill()
            server.start()
        for person in crowd:
            person.join()
        seconds = time.perf_counter() - begun
        confirmed, lost, differ, doubled = compare(experiment, store, {ids[p._link]: p for p in crowd})
    finally:
        server.close()
        store.close()
    times = sorted(took for person in crowd for took in person.times)
    return {
        "people": count,
        "seconds_of_thought": think,
        "finished": sum(person.finished for person in crowd),
        "requests": len(times),
        "requests_per_second": round(len(times) / seconds, 1),
        "median_ms": round(1000 * times[len(times) // 2], 1),
        "p99_ms": round(1000 * times[int(0.99 * len(times))], 1),
        "kills": kills,
        "lost_connections": sum(person.lost_connections for person in crowd),
        "confirmed": confirmed,
        "lost": lost,
        "changed": differ,
        "doubled": doubled,
    }


def _wait(crowd: list[Person], share: float, experiment: Experiment) -> None:
    fields = len(experiment.items) * len(experiment.config.questions)
    while sum(len(person.confirmed) for person in crowd) < share * fields * len(crowd):
        if not any(person.is_alive() for person in crowd):
            raise SystemExit("the crowd is gone")
        time.sleep(0.01)
