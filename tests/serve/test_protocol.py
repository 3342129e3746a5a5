"""What comes over the wire and is no request, or never ends."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import repeat

import pytest

from celadon.web.security import HEADERS
from tests.serve.conftest import Running

BODY = json.dumps({"text": "The glaze is green."}).encode()
HEAD = b"POST /v1/score HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
PIECES = CHUNKED + b"".join(b"1\r\n%c\r\n" % byte for byte in BODY)
A_LOT = 4_000_000


def _answer(running: Running, pieces: Iterable[bytes]) -> tuple[bytes, int]:
    """All that comes back, and how many bytes could be sent."""
    host, _, port = running.address.removeprefix("http://").partition(":")
    sent, found = 0, b""
    with socket.create_connection((host, int(port)), 10) as connection:
        with suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
                sent += len(piece)
                if sent > A_LOT:
                    break
        with suppress(ConnectionError):
            found = b"".join(iter(lambda: connection.recv(65_536), b""))
    return found, sent


def _endless(start: bytes, more: bytes) -> Iterator[bytes]:
    yield start
    yield from repeat(more * 100)


@pytest.mark.parametrize(
    "nonsense", [b"\x16\x03\x01 hello\r\n\r\n", b"GET /\x00 HTTP/1.1\r\nhost: x\r\n\r\n", b"hello\r\n\r\n"]
)
def test_what_is_no_http_is_refused_with_the_headers_too(light: Running, nonsense: bytes) -> None:
    head, _, body = _answer(light, [nonsense])[0].decode().partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400 Bad Request")
    given = dict(line.split(": ", 1) for line in head.splitlines()[1:])
    assert HEADERS.items() <= given.items()
    assert int(given["content-length"]) == len(body)
    assert "hello" not in body


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (HEAD, b"x-name: value\r\n"),
        (HEAD + b"x-name: ", b"value"),
        (HEAD, b"x-name"),
        (b"GET /", b"path"),
        (PIECES + b"0\r\n", b"x-name: value\r\n"),
        (PIECES + b"0\r\nx-name: ", b"value"),
        (CHUNKED + b"1;name=", b"value"),
    ],
    ids=["lines", "value", "name", "path", "trailers", "trailer", "extension"],
)
def test_a_request_without_end_is_cut_off(light: Running, start: bytes, more: bytes) -> None:
    _, sent = _answer(light, _endless(start, more))
    assert sent < A_LOT
    assert light.score({"text": "somebody else"}).status_code == 200


def test_a_body_in_the_smallest_pieces_is_taken(light: Running) -> None:
    text = "word " * 390
    body = json.dumps({"text": text}).encode()
    pieces = [HEAD + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n"]
    pieces += [b"1\r\n%c\r\n" % byte for byte in body]
    found, _ = _answer(light, [*pieces, b"0\r\n\r\n"])
    assert found.startswith(b"HTTP/1.1 200")
    assert json.loads(found.partition(b"\r\n\r\n")[2])["results"] == light.score({"text": text}).json()["results"]


def test_requests_in_a_row_on_one_connection_are_all_answered(light: Running) -> None:
    one = HEAD + b"content-length: %d\r\n\r\n" % len(BODY) + BODY
    last = one.replace(b"host: x", b"host: x\r\nconnection: close")
    found, _ = _answer(light, [one * 400 + last])
    assert found.count(b"HTTP/1.1 200") == 401
