"""Services behind real sockets, in a thread of the tests or in a process of their own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from threading import Event
from typing import Any, NamedTuple, TypeVar

import httpx
import pytest

from tests import processes

Result = TypeVar("Result")

# nothing here can be imported without the extra; in CI, where all must be there, that is an error
if (
    any(find_spec(name) is None for name in ("fastapi", "httptools", "jinja2", "prometheus_client", "uvicorn"))
    and os.environ.get("CI") != "true"
):
    warnings.warn(
        "the extra serve is not installed, so celadon serve is not tried: ./celadon install serve", stacklevel=1
    )
    collect_ignore_glob = ["test_*.py"]

LIGHT = ("gruen.redundancy", "rougeL")
WITH_MODEL = ("slor", "gruen.redundancy", "rougeL")


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Run in a thread of its own: a browser of another test may have a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


class Running(NamedTuple):
    """A service in this process, and somebody to ask it."""

    service: Any
    address: str
    client: httpx.Client

    def score(self, content: Any, **options: Any) -> httpx.Response:
        """Ask for scores."""
        return self.client.post("/v1/score", json=content, **options)

    def count(self, name: str) -> float:
        """A count of Prometheus; 0 where it is not there."""
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.client.get("/metrics").text, re.MULTILINE)
        return float(found[1]) if found else 0.0

    @contextmanager
    def held(self) -> Iterator[None]:
        """The scoring thread is busy with something else."""
        gate = Event()
        self.service.batcher._thread.submit(gate.wait, 20)
        try:
            yield
        finally:
            gate.set()


def refusal(response: httpx.Response) -> tuple[int, str, str | None]:
    """The status, the code and the place of a refusal, which has a sentence too."""
    error = response.json()["error"]
    assert error["message"]
    assert "Traceback" not in response.text
    return response.status_code, error["code"], error["where"]


@contextmanager
def started(**settings: Any) -> Iterator[Running]:
    """A service that is ready."""
    from celadon.serve.app import make_app
    from celadon.serve.service import Service
    from celadon.serve.settings import ServeSettings
    from celadon.web.protocol import QuickProtocol
    from tests.judge.conftest import served

    service = Service(ServeSettings(**settings))
    with served(make_app(service), QuickProtocol) as address, httpx.Client(base_url=address, timeout=30) as client:
        until(lambda: client.get("/healthz").status_code == 200)
        yield Running(service, address, client)


def until(done: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something that is bound to happen."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture(scope="session")
def light() -> Iterator[Running]:
    """A service without models, for all tests that leave it as it is."""
    with started(metrics=LIGHT, max_text_chars=2_000, max_texts=100, max_body_bytes=400_000) as running:
        yield running


@pytest.fixture(scope="session")
def modelled() -> Iterator[Running]:
    """A service with a language model."""
    with started(metrics=WITH_MODEL, batch_wait=0.05) as running:
        yield running


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    """Starts services for one test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(started(**{"metrics": LIGHT, **settings}))


class Process(NamedTuple):
    """A service in a process of its own."""

    process: subprocess.Popen[str]
    address: str


@contextmanager
def process(*options: str) -> Iterator[Process]:
    """``celadon serve`` as a user starts it, ready."""
    command = [sys.executable, "-m", "celadon", "serve", "--port", "0", *options]
    started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert started.stderr is not None
        address = started.stderr.readline().rpartition(" ")[2].strip()
        until(lambda: _is_ready(address))
        yield Process(started, address)
    finally:
        if started.poll() is None:
            started.kill()
        started.communicate(timeout=processes.LIMIT)


def _is_ready(address: str) -> bool:
    try:
        return json.loads(httpx.get(f"{address}/healthz").content) == {"status": "ready"}
    except httpx.TransportError:
        return False
