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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from celadon.judge.experiment import Experiment, new_experiment, open_experiment
from celadon.judge.store import Store
from tests import processes

TOKEN = re.compile(rb'name="form_token" value="([0-9a-f]+)"')
ACTION = re.compile(rb'action="/task/(\d+)"')
FIELD = re.compile(rb'type="radio" name="([^"]+)" value="1"')
PATIENCE = 120.0
VARIANTS = 4


@dataclass(frozen=True)
class Crowd:
    """How many people come at once and what they and the server do.

    ``cells`` are the pages of texts that a person is shown, beside practice and a check if there are ``extras``;
    ``kills`` is how often the server is killed with -9, ``think`` the seconds that a person takes for a page, ``twice``
    the share of forms that are sent a second time.
    """

    people: int
    cells: int = 12
    extras: bool = True
    kills: int = 0
    think: float = 0.0
    twice: float = 0.0


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
            self._process.wait(timeout=processes.LIMIT)

    def close(self) -> None:
        """Kill it for good."""
        self.kill()
        self._log.close()


def _serve(folder: str, url: str | None, port: int, log: str) -> None:
    from celadon.cli import main

    with Path(log).open("ab") as lines:
        os.dup2(lines.fileno(), 2)
    os.environ.update({"CELADON_JUDGE_DATABASE": url} if url else {})
    main(["judge", "serve", folder, "--port", str(port)])


class ForkedServer(Server):
    """The same command in a process that is forked from one that has imported everything: started in no time."""

    _fork = multiprocessing.get_context("forkserver")

    def __init__(self, folder: Path, url: str | None) -> None:
        super().__init__(folder, url)
        self._fork.set_forkserver_preload(["celadon.judge.web.app", "uvicorn", "psycopg", __name__])
        self._facts = (str(folder), url, self.port, self._log.name)
        self._forked: Any = None

    def _begin(self) -> None:
        self._forked = self._fork.Process(target=_serve, args=self._facts, daemon=True)
        self._forked.start()

    def kill(self) -> None:
        if self._forked is not None:
            self._forked.kill()
            self._forked.join(timeout=processes.LIMIT)


class Person(threading.Thread):
    """Somebody who answers every page at random and does not give up when the connection is lost."""

    def __init__(self, port: int, link: str, number: int, crowd: Crowd, together: threading.Barrier) -> None:
        super().__init__(daemon=True)
        self._port, self._crowd, self._together = port, crowd, together
        self._draw = random.Random(number)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.link = link
        self.times: list[float] = []
        self.confirmed: dict[tuple[int, str], str] = {}
        self.lost_connections = 0
        self.sent_twice = 0
        self.problem = "has not come to the end"

    def run(self) -> None:
        """From the link to the code."""
        try:
            self._connection.connect()
            self._together.wait(PATIENCE)
            self._take_part()
            self.problem = ""
        except (OSError, RuntimeError) as error:
            self.problem = repr(error)
            self._together.abort()
        finally:
            self._connection.close()

    def _take_part(self) -> None:
        self._ask("GET", f"/p/{self.link}")
        _, page = self._ask("GET", "/consent")
        found = TOKEN.search(page)
        token = found[1].decode() if found else ""
        where, _ = self._ask("POST", "/consent", {"form_token": token})
        while where != "/done":
            where, page = self._ask("GET", where or "/task")
            if not where:
                where = self._fill_in(page, token)

    def _fill_in(self, page: bytes, token: str) -> str:
        """Send the form of a page, now and then twice; where the answer leads to."""
        names = [name.decode() for name in FIELD.findall(page)]
        form = {name: str(self._draw.randint(1, 7)) for name in names}
        number = ACTION.search(page)
        if number is None:
            raise RuntimeError(f"not a page of the way: {page[:300]!r}")
        position = int(number[1])
        time.sleep(self._draw.uniform(0.0, 2.0 * self._crowd.think))
        again = self._draw.random() < self._crowd.twice
        for _ in range(1 + again):
            where, _ = self._ask("POST", f"/task/{position}", {"form_token": token, **form})
        self.sent_twice += again
        if where:
            # the next page is known, so this one is confirmed
            self.confirmed.update({(position, name): value for name, value in form.items()})
        return where

    def _ask(self, method: str, path: str, form: Mapping[str, str] | None = None) -> tuple[str, bytes]:
        """Where the answer leads to, and its text; asks again until there is an answer."""
        body = None if form is None else urlencode(form)
        headers = {"cookie": f"celadon-judge={self.link}"}
        if body is not None:
            headers["content-type"] = "application/x-www-form-urlencoded"
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            begun = time.perf_counter()
            try:
                self._connection.request(method, path, body, headers)
                response = self._connection.getresponse()
                text = response.read()
            except (OSError, http.client.HTTPException):
                self.lost_connections += 1
                self._connection.close()
                # not so often that a whole crowd at a closed door keeps the server from starting
                time.sleep(self._draw.uniform(0.1, 0.5))
                continue
            self.times.append(time.perf_counter() - begun)
            if response.status >= 400:
                raise RuntimeError(f"{method} {path}: {response.status}")
            return response.headers.get("location", ""), text
        raise RuntimeError(f"{method} {path}: no answer")


def make_study(folder: Path, crowd: Crowd) -> Experiment:
    """An experiment for so many people, without limits of rate."""
    rows = [
        {
            "id": f"cell {cell}",
            "system": f"system {variant}",
            "text": f"Text {variant} of {cell}.",
            "context": "Before.",
        }
        for cell in range(crowd.cells)
        for variant in range(VARIANTS)
    ]
    items = folder.with_suffix(".jsonl")
    items.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    new_experiment(folder, str(items), "likert", title="A crowd")
    path = folder / "experiment.toml"
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"ratings_per_item = \d+", f"ratings_per_item = {crowd.people}", text)
    if not crowd.extras:
        text = re.sub(r"\[\[(practice|checks)\]\]\n(.+\n)+", "", text)
        text = re.sub(r"checks_per_person = \d+", "checks_per_person = 0", text)
    path.write_text(text + "\n[limits]\nrequests_per_minute = 1000000\n", encoding="utf-8")
    return open_experiment(folder)


class Comparison(NamedTuple):
    """How many answers pages confirmed; how many of them are lost or differ; how many are kept that should not be."""

    confirmed: int
    lost: int
    changed: int
    doubled: int


def compare(experiment: Experiment, store: Store, people: Mapping[str, Person]) -> Comparison:
    """What pages confirmed beside what the database holds."""
    kept: dict[tuple[str, int, str, str], list[str]] = {}
    for rating in store.all_ratings():
        key = (rating.participant, rating.position, rating.unit, rating.question)
        kept.setdefault(key, []).append(f"{rating.answer.number:g}")
    ways = store.all_pages()
    confirmed = lost = changed = 0
    for name, person in people.items():
        for (position, field), value in person.confirmed.items():
            confirmed += 1
            unit, _, question = field.partition(".")
            unit_key = experiment.units(ways[name][position].page)[int(unit)].key
            found = kept.get((name, position, unit_key, question), [])
            lost += not found
            changed += bool(found) and value not in found
    # a form that came twice and was taken for a change of mind is there twice as well
    rows = sum(map(len, kept.values())) + len(store.replaced_answers())
    return Comparison(confirmed, lost, changed, rows - (confirmed - lost))


def run(folder: Path, crowd: Crowd, url: str | None, kind: type[Server] = Server) -> dict[str, float | int | str]:
    """Let a crowd take part and say what came of it."""
    experiment = make_study(folder, crowd)
    store = Store(experiment, url)
    links = store.new_links(crowd.people)
    ids = {link: person.id for link in links if (person := store.participant(link))}
    server = kind(folder, url)
    together = threading.Barrier(crowd.people)
    people = [Person(server.port, link, number, crowd, together) for number, link in enumerate(links)]
    try:
        server.start()
        begun = time.perf_counter()
        for person in people:
            person.start()
        for number in range(crowd.kills):
            # spread over the study: at a sixth of the answers, at two sixths, ...
            _wait(people, (number + 1) / (crowd.kills + 1), experiment)
            server.kill()
            server.start()
        for person in people:
            # as long as the study takes, which a benchmark may stretch; threads end with their process
            person.join(timeout=None)
        seconds = time.perf_counter() - begun
        compared = compare(experiment, store, {ids[person.link]: person for person in people})
    finally:
        server.close()
        store.close()
    times = sorted(took for person in people for took in person.times)
    return {
        **asdict(crowd),
        "finished": sum(not person.problem for person in people),
        "problems": _problems(people),
        "requests": len(times),
        "requests_per_second": round(len(times) / seconds, 1),
        "median_ms": round(1000 * times[len(times) // 2], 1),
        "p99_ms": round(1000 * times[int(0.99 * len(times))], 1),
        "lost_connections": sum(person.lost_connections for person in people),
        "sent_twice": sum(person.sent_twice for person in people),
        **compared._asdict(),
    }


def _problems(people: list[Person]) -> str:
    return "; ".join(sorted({person.problem for person in people if person.problem}))


def _wait(people: list[Person], share: float, experiment: Experiment) -> None:
    fields = len(experiment.items) * len(experiment.config.questions)
    while sum(len(person.confirmed) for person in people) < share * fields * len(people):
        if not any(person.is_alive() for person in people):
            raise SystemExit(f"the crowd is gone: {_problems(people)}")
        time.sleep(0.01)
