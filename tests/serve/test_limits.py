"""What is refused and why: a full queue, time, keys; who goes away; and what a crash tells."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from celadon.core import InputError
from celadon.serve.service import State
from celadon.web.security import HEADERS, read_api_keys
from tests.serve.conftest import Running, refusal, run, until


def test_a_full_queue_refuses_and_says_when_to_try_again(start: Callable[..., Running]) -> None:
    running = start(max_batch=2, queue=4, max_texts=4, batch_wait=0.0)
    with ThreadPoolExecutor(8) as clients, running.held():
        taken = [clients.submit(running.score, {"texts": ["a b c", "d e f"]}) for _ in range(3)]
        until(lambda: running.service.batcher.waiting == 4)
        answer = running.score({"text": "one too many"})
        assert refusal(answer) == (429, "queue_full", None)
        assert int(answer.headers["retry-after"]) >= 1
        assert running.count("celadon_queue_texts") == 4
    assert [each.result().status_code for each in taken] == [200] * 3
    assert running.score({"text": "now there is room"}).status_code == 200
    assert running.count('celadon_rejected_total{reason="queue_full"}') == 1


def test_a_request_that_takes_too_long_is_given_up_and_leaves_the_queue(start: Callable[..., Running]) -> None:
    running = start(max_batch=1, timeout=0.3)
    with running.held():
        assert refusal(running.score({"texts": ["a", "b", "c"]})) == (504, "timeout", None)
        assert running.service.batcher.waiting == 0
    assert running.score({"text": "again"}).status_code == 200


def test_who_goes_away_leaves_the_queue(start: Callable[..., Running]) -> None:
    running = start(max_batch=1, batch_wait=0.0)
    host, _, port = running.address.removeprefix("http://").partition(":")
    for accept in ("application/json", "application/x-ndjson"):
        with running.held():
            body = json.dumps({"texts": ["a b", "c d", "e f"]})
            head = f"POST /v1/score HTTP/1.1\r\nhost: x\r\naccept: {accept}\r\ncontent-type: application/json\r\n"
            with socket.create_connection((host, int(port))) as client:
                client.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
                until(lambda: running.service.batcher.waiting == 2)
            until(lambda: running.service.batcher.waiting == 0)
        assert running.score({"text": "somebody else"}).status_code == 200
    assert running.count('celadon_rejected_total{reason="client_gone"}') == 2


def test_half_a_request_is_none_and_does_not_stay(start: Callable[..., Running]) -> None:
    running = start(timeout=0.2)
    host, _, port = running.address.removeprefix("http://").partition(":")
    head = b"POST /v1/score HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n"
    with socket.create_connection((host, int(port))) as client:
        client.sendall(head + b'{"text": "')
        client.settimeout(10)
        assert client.recv(100).startswith(b"HTTP/1.1 408")


def test_keys_are_asked_for_and_told_to_nobody(start: Callable[..., Running], tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# ours\n\n0123456789abcdef-one\n0123456789abcdef-two\n", encoding="utf-8")
    running = start(api_keys=str(keys))
    asked = {"text": "Hello there."}
    for headers in (
        {},
        {"authorization": "Bearer"},
        {"authorization": "Bearer 0123456789abcdef-"},
        {"authorization": "Bearer # ours"},
        {"authorization": "Basic 0123456789abcdef-one"},
        {"x-api-key": "0123456789abcdef-ONE"},
        {"authorization": b"Bearer \xff\xfe"},
    ):
        answer = running.score(asked, headers=headers)
        assert refusal(answer) == (401, "no_key", None)
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "abcdef" not in answer.text
    for headers in ({"authorization": "bearer 0123456789abcdef-two"}, {"x-api-key": "0123456789abcdef-one"}):
        assert running.score(asked, headers=headers).status_code == 200
        assert running.client.get("/v1/metrics", headers=headers).status_code == 200
    assert running.client.get("/v1/metrics").status_code == 401
    assert running.client.get("/healthz").status_code == 200
    document = running.client.get("/openapi.json").json()
    assert document["paths"]["/v1/score"]["post"]["security"] == [{"key": []}]
    page = running.client.post("/", data={"text": "Hello there.", "key": "wrong"})
    assert page.status_code == 401
    assert 'type="password"' in page.text
    assert 'class="scores' in running.client.post("/", data={**asked, "key": "0123456789abcdef-two"}).text


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "no key"), ("# nothing\n", "no key"), ("short\n", ":1: a key must"), ("0123456789 abcdef\n", "visible")],
)
def test_a_file_of_keys_that_cannot_be_used(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "keys"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as refused:
        read_api_keys(str(path))
    assert "short" not in str(refused.value)


def test_loading_and_draining_are_told(start: Callable[..., Running]) -> None:
    running = start()
    for state in (State.LOADING, State.DRAINING):
        running.service.state = state
        health = running.client.get("/healthz")
        assert (health.status_code, health.json()) == (503, {"status": str(state)})
        answer = running.score({"text": "a"})
        assert refusal(answer) == (503, str(state), None)
        assert "retry-after" in answer.headers


def test_a_crash_tells_nothing_and_hurts_nobody_else(start: Callable[..., Running]) -> None:
    running = start(max_batch=8, batch_wait=0.1)
    metric = running.service.scorer.metrics["gruen.redundancy"]
    real = type(metric).score

    def broken(self: Any, batch: Any) -> Any:
        if any("poison" in sample.text for sample in batch.samples):
            raise RuntimeError("the password is 1234")
        return real(self, batch)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(3) as clients:
        patch.setattr(type(metric), "score", broken)
        texts = ["A text.", "poison", "Another."]
        answers = list(clients.map(lambda text: running.score({"text": text}), texts))
    assert [answer.status_code for answer in answers] == [200, 500, 200]
    assert refusal(answers[1]) == (500, "failed", None)
    assert "1234" not in answers[1].text
    assert all(name in answers[1].headers for name in HEADERS)


def test_a_thousand_texts_do_not_keep_one_waiting(start: Callable[..., Running]) -> None:
    running = start(max_batch=16)
    done: list[str] = []

    async def ask() -> None:
        async with httpx.AsyncClient(base_url=running.address, timeout=30) as client:

            async def one(name: str, content: Any) -> None:
                assert (await client.post("/v1/score", json=content)).status_code == 200
                done.append(name)

            long = asyncio.create_task(one("long", {"texts": [f"Say {n}. Say {n}." for n in range(1000)]}))
            while not running.service.batcher.waiting:
                await asyncio.sleep(0)
            await one("short", {"text": "One. Two."})
            await long

    run(ask())
    assert done == ["short", "long"]
