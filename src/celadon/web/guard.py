"""What stands between the network and an application: the same guard for the experiment and the scoring service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from celadon.web.security import HEADERS, Answer, App, Receive, Scope, Send, replayed

Route: TypeAlias = Callable[[Request], Awaitable[Response]]
# All bodies that are held at a time, in bodies of the greatest size.
_BODIES = 16
# How long, in seconds and in bodies of the greatest size, a body that is too large is read before it is refused.
_PATIENCE = 4


class RefusedError(Exception):
    """A request is refused.

    ``code``: a word for programs.
    ``message``: a sentence for people.
    ``where``: which part of the request: ``samples[3].text``; empty where it is the whole.
    """

    def __init__(
        self, status: int, code: str, message: str, where: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.where = where
        self.headers = dict(headers or {})

    def as_dict(self) -> dict[str, dict[str, str | None]]:
        """Return the body of a response in JSON."""
        return {"error": {"code": self.code, "message": self.message, "where": self.where or None}}


class ClientGoneError(Exception):
    """The client has closed the connection."""


def failed() -> RefusedError:
    """Return the refusal after a crash; the cause is for the log only."""
    return RefusedError(500, "failed", "something went wrong here; it was noted")


class Policy:
    """What an application admits, and how it answers the rest."""

    max_body_bytes: int = 1 << 20
    timeout: float | None = None  # seconds in which a request must have arrived

    def response(self, path: str, refusal: RefusedError) -> Response:
        """Render a refusal."""
        return PlainTextResponse(refusal.message, refusal.status, refusal.headers)

    def admit(self, scope: Scope) -> None:
        """Raise RefusedError for a request that is refused before its body is read."""

    def headers(self) -> Mapping[str, str]:
        """Return the headers of every response."""
        return HEADERS

    def busy(self) -> RefusedError:
        """Return the refusal where the bodies of other requests take all the room."""
        return RefusedError(503, "busy", "too many requests at a time; try again", headers={"retry-after": "5"})

    def route(self, scope: Scope) -> Route | None:
        """Return the route that a request takes past the framework, whose layers cost time; None for most."""
        return None

    def begin(self, path: str) -> None:
        """Note that a request has arrived."""

    def end(self, path: str, status: int, seconds: float) -> None:
        """Note that a request is done; the status is 0 where no response was begun."""

    def client_gone(self) -> None:
        """Note that the client closed the connection first."""


class Guard:
    """Wraps the whole application, so that no response, not even of a crash, goes without its headers."""

    def __init__(self, app: App, policy: Policy) -> None:
        self._app = app
        self._policy = policy
        self._held_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, policy = time.monotonic(), self._policy
        answer = Answer(send, scope, policy.headers)
        if answer.head:
            scope = {**scope, "method": "GET"}
        path = str(scope["path"])
        policy.begin(path)
        try:
            await self._guarded(scope, receive, answer)
        except RefusedError as refusal:
            await policy.response(path, refusal)(scope, receive, answer)
        except ClientGoneError:
            policy.client_gone()
        except Exception:
            if not answer.status:
                await policy.response(path, failed())(scope, receive, answer)
            raise
        finally:
            policy.end(path, answer.status, time.monotonic() - begun)

    async def _guarded(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        self._policy.admit(scope)
        body = bytearray()
        try:
            async with asyncio.timeout(self._policy.timeout):
                await self._read(dict(scope["headers"]), receive, body)
        except TimeoutError:
            message = "the request did not come whole in time"
            raise RefusedError(408, "too_slow", message, headers={"connection": "close"}) from None
        else:
            await self._answer(scope, replayed(bytes(body), receive), answer)
        finally:
            self._held_bytes -= len(body)

    async def _answer(self, scope: Scope, receive: Receive, answer: Answer) -> None:
        route = self._policy.route(scope)
        if route is None:
            await self._app(scope, receive, answer)
        else:
            await (await route(Request(scope, receive)))(scope, receive, answer)

    async def _read(self, headers: Mapping[bytes, bytes], receive: Receive, body: bytearray) -> None:
        """Read the body up to the allowed size."""
        most = self._policy.max_body_bytes
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:20]) > most:
            await _discard(receive, _PATIENCE * most)
            raise _too_large(most)
        while True:
            message = await receive()
            if message["type"] != "http.request":
                # half of a request is none: nothing of it may be taken for an answer
                raise ClientGoneError
            piece = message.get("body", b"")
            body += piece
            self._held_bytes += len(piece)
            if len(body) > most:
                if message.get("more_body"):
                    await _discard(receive, _PATIENCE * most)
                raise _too_large(most)
            if self._held_bytes > _BODIES * most:
                raise self._policy.busy()
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
