"""What stands between the network and the service: headers on every response, keys, limits, counts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from celadon.serve.refusals import ClientGoneError, RefusedError, failed, no_key, no_room, not_now
from celadon.serve.service import Service, State
from celadon.web.security import HEADERS, Answer, App, Receive, Scope, Send, replayed

Route: TypeAlias = Callable[[Request], Awaitable[Response]]
POLICY = HEADERS["content-security-policy"] + "; connect-src 'self'"
"""The page may ask this service, and nothing else."""
# All bodies that are held at a time, in bodies of the greatest size.
_BODIES = 16
# How long, in seconds and in bodies of the greatest size, a body that is too large is read before it is refused.
_PATIENCE = 4
_OPEN = frozenset({"/healthz", "/metrics", "/openapi.json"})


class Guard:
    """Wraps the whole application, so that no response, not even of a crash, goes without its headers.

    ``paths``: the paths that there are; counts are kept by these.
    ``refused``: makes the response to a request that is refused here, from its path.
    ``direct``: routes, by their path, whose POST goes past the framework, whose layers are a good part of what a
        request costs.
    """

    def __init__(
        self,
        app: App,
        service: Service,
        paths: frozenset[str],
        refused: Callable[[str, RefusedError], Response],
        direct: Mapping[str, Route],
    ) -> None:
        self._app = app
        self._direct = direct
        self._service = service
        self._paths = paths
        self._refused = refused
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, service = time.monotonic(), self._service
        answer = Answer(send, scope, self._headers)
        if answer.head:
            scope = {**scope, "method": "GET"}
        path = str(scope["path"])
        counted = path not in _OPEN
        service.active += counted
        try:
            await self._guarded(scope, receive, answer)
        except RefusedError as refusal:
            await self._refused(path, refusal)(scope, receive, answer)
        except ClientGoneError:
            service.meters.rejected("client_gone")
        except Exception:
            if not answer.status:
                await self._refused(path, failed())(scope, receive, answer)
            raise
        finally:
            service.active -= counted
            service.meters.answered(path if path in self._paths else "other", answer.status, time.monotonic() - begun)

    def _headers(self) -> Mapping[str, str]:
        draining = self._service.state is State.DRAINING
        return {**HEADERS, "content-security-policy": POLICY, **({"connection": "close"} if draining else {})}

    async def _guarded(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        service, path = self._service, scope["path"]
        if path.startswith("/v1/"):
            if service.keys is not None and not service.keys.accepts(bearer(headers)):
                raise no_key()
            if service.state is not State.READY:
                raise not_now(service.state is State.DRAINING)
        body = bytearray()
        try:
            async with asyncio.timeout(service.settings.timeout):
                await self._read(headers, receive, body)
        except TimeoutError:
            message = "the request did not come whole in time"
            raise RefusedError(408, "too_slow", message, headers={"connection": "close"}) from None
        else:
            await self._answer(scope, replayed(bytes(body), receive), answer)
        finally:
            self._held -= len(body)

    async def _answer(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        route = self._direct.get(scope["path"]) if scope["method"] == "POST" else None
        if route is None:
            await self._app(scope, receive, answer)
        else:
            await (await route(Request(scope, receive)))(scope, receive, answer)

    async def _read(self, headers: Mapping[bytes, bytes], receive: Receive, body: bytearray) -> None:
        """Read the body, and not more of it than is taken."""
        most = self._service.settings.max_body_bytes
        told = headers.get(b"content-length", b"0")
        if told.isdigit() and int(told[:20]) > most:
            await _discard(receive, _PATIENCE * most)
            raise _too_large(most)
        while True:
            message = await receive()
            if message["type"] != "http.request":
                # half of a request is none
                raise ClientGoneError
            piece = message.get("body", b"")
            body += piece
            self._held += len(piece)
            if len(body) > most:
                if message.get("more_body"):
                    await _discard(receive, _PATIENCE * most)
                raise _too_large(most)
            if self._held > _BODIES * most:
                raise no_room(self._service.batcher.retry_after())
            if not message.get("more_body"):
                return


async def _discard(receive: Receive, most: int) -> None:
    """Read on, for a while: who is still sending when the connection is closed never sees why."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE):
            while most > 0:
                message = await receive()
                most -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return


def _too_large(most: int) -> RefusedError:
    message = f"the request is larger than the {most:,} bytes that are taken at a time"
    return RefusedError(413, "too_large", message, headers={"connection": "close"})


def bearer(headers: Mapping[bytes, bytes]) -> str:
    """The key that a request shows; empty where there is none."""
    scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if scheme.lower() == "bearer":
        return key.strip()
    return headers.get(b"x-api-key", b"").decode("latin-1").strip()
