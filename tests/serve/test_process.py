"""``celadon serve`` as a process: begun, told to stop, and begun wrongly."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests import processes
from tests.serve.conftest import process

TEXTS = [f"Sentence {at} is here, and so is {at * at}. It says {at} again." for at in range(150)]
# enough that work is left when the last request comes, on a fast machine too
LONGER = [" ".join([*TEXTS[at:], *TEXTS[:at]][:20]) for at in range(len(TEXTS))]


def test_what_was_taken_is_finished_and_then_it_ends_well() -> None:
    with process("--metric", "gruen.redundancy", "--max-batch", "1") as service, ThreadPoolExecutor(3) as clients:

        def ask(number: int) -> httpx.Response | None:
            try:
                return httpx.post(f"{service.address}/v1/score", json={"texts": LONGER}, timeout=60)
            except httpx.ConnectError:  # it connects only after the service has stopped listening
                return None

        # kept alive: a connection that was there before it was told to stop
        with httpx.Client(base_url=service.address) as watcher:
            assert watcher.get("/healthz").status_code == 200
            asked = [clients.submit(ask, number) for number in range(3)]
            while "celadon_queue_texts 0.0" in watcher.get("/metrics").text:
                time.sleep(0.01)
            service.process.send_signal(signal.SIGTERM)
            time.sleep(0.05)
            health = watcher.get("/healthz")
            assert (health.status_code, health.json()["status"]) == (503, "draining")
            assert httpx.post(f"{service.address}/v1/score", json={"text": "late"}).status_code == 503
        answers = [answer for each in asked if (answer := each.result()) is not None]
        taken = [answer for answer in answers if answer.status_code == 200]
        # one that came after the signal is told so, or refused
        assert {answer.status_code for answer in answers} <= {200, 503}
        assert all(len(answer.json()["results"]) == len(LONGER) for answer in taken)
        assert service.process.wait(20) == 0
        assert service.process.stderr is not None
        assert service.process.stderr.read() == f"celadon: stopped; {len(taken)} requests were scored\n"
        assert taken


def test_told_twice_it_ends_at_once() -> None:
    with process("--metric", "gruen.redundancy", "--max-batch", "1") as service, ThreadPoolExecutor(1) as clients:
        texts = {"texts": [" ".join(TEXTS)] * 50}
        asked = clients.submit(lambda: httpx.post(f"{service.address}/v1/score", json=texts, timeout=60))
        while "celadon_queue_texts 0.0" in httpx.get(f"{service.address}/metrics").text:
            time.sleep(0.01)
        for _ in range(2):
            service.process.send_signal(signal.SIGTERM)
            time.sleep(0.2)
        assert service.process.wait(5) == 128 + signal.SIGTERM
        with pytest.raises(httpx.TransportError):
            asked.result()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--metric", "rouge_lm"], 2, "whole set"),
        (["--metric", "nothing"], 2, "unknown metric"),
        (["--max-texts", "2000"], 2, "would never fit a queue of 1,024"),
        (["--port", "99999"], 2, "is no port"),
        (["--host", "198.51.100.7"], 2, "cannot listen on"),
        (["--api-keys", "nowhere"], 2, "nowhere: cannot be read"),
    ],
)
def test_what_cannot_be_served_is_told_in_a_line(
    capsys: pytest.CaptureFixture[str], options: list[str], code: int, message: str
) -> None:
    from celadon.cli import main

    given = ["serve", "--port", "0", "--metric", "gruen.redundancy", *options]
    # the later --metric is added to the earlier
    given = given if "--metric" not in options else ["serve", "--port", "0", *options]
    assert main(given) == code
    lines = capsys.readouterr().err.splitlines()
    assert message in lines[-1]
    assert "Traceback" not in "".join(lines)


def test_a_model_that_cannot_be_loaded_ends_it() -> None:
    command = [sys.executable, "-m", "celadon", "serve", "--port", "0", "--metric", "slor[model=nowhere/at/all]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "nowhere/at/all" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_without_the_extra_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError('No module', name='fastapi')", encoding="utf-8")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from celadon.cli import main; sys.exit(main(['serve']))"
    )
    done = processes.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr == "celadon: fastapi is not installed; install it with: celadon install serve\n"
