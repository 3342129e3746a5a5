"""What stands between the network and the pages: headers on every response, limits of size and of rate."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, NamedTuple, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


def _unreadable() -> bytes:
    body = b"This is not a request that can be read."
    told = {**HEADERS, "content-type": "text/plain; charset=utf-8", "content-length": str(len(body))}
    lines = ["HTTP/1.1 400 Bad Request", *(f"{name}: {value}" for name, value in told.items()), "connection: close"]
    return "\r\n".join((*lines, "", "")).encode("ascii") + body


UNREADABLE = _unreadable()
"""The whole answer to what is no HTTP."""
_HTTPS = {"strict-transport-security": "max-age=31536000"}
_CALLERS_REMEMBERED = 20_000


class Bucket(NamedTuple):
    """How many requests somebody may still make, and when that was counted."""

    left: float
    at: float


class RateLimit:
    """Lets each caller make so many requests a minute, evenly or in one go.

    Callers are kept in memory only, as salted hashes, and forgotten when there are too many.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(per_minute)
        self._clock = clock
        self._salt = secrets.token_bytes(16)
        self._buckets: OrderedDict[bytes, Bucket] = OrderedDict()

    def allows(self, caller: str) -> bool:
        """Whether this caller may make another request now; counts it if so."""
        key = hashlib.blake2b(caller.encode("utf-8", "replace"), key=self._salt, digest_size=16).digest()
        now = self._clock()
        left, at = self._buckets.pop(key, Bucket(self._most, now))
        left = min(self._most, left + (now - at) * self._most / 60.0)
        allowed = left >= 1.0
        self._buckets[key] = Bucket(left - allowed, now)
        if len(self._buckets) > _CALLERS_REMEMBERED:
            self._buckets.popitem(last=False)
        return allowed


class Guard:
    """Wraps the whole application, so that no response, not even of a crash, goes without its headers.

    Parameters
    ----------
    app
        The application.
    error_page
        Makes the page for a status that is answered here: 413, 429, 500.
    requests_per_minute
        Of one person, or of one address that is not known to be a person's.
    most_bytes
        Of a request's body.
    cookies
        The names of the cookie that holds a person's link.
    is_link
        Whether the value of that cookie is known to be somebody's link: only then does it count apart from its address.
    """

    def __init__(
        self,
        app: App,
        error_page: Callable[[int], bytes],
        *,
        requests_per_minute: int,
        most_bytes: int,
        cookies: tuple[str, ...],
        is_link: Callable[[str], bool],
    ) -> None:
        self._app = app
        self._error_page = error_page
        self._people = RateLimit(requests_per_minute)
        # many people may sit behind one address, and come one after another
        self._addresses = RateLimit(4 * requests_per_minute)
        self._most_bytes = most_bytes
        self._cookies = cookies
        self._is_link = is_link

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = Answer(send, scope)
        if answer.head:
            scope = {**scope, "method": "GET"}
        if not self._allowed(scope):
            await self._refuse(answer, 429, {"retry-after": "30"})
            return
        try:
            body = await _body(receive, self._most_bytes)
        except ConnectionError:
            # half of a form is none: nothing of it may be taken for an answer
            return
        if body is None:
            await self._refuse(answer, 413, {"connection": "close"})
            return
        try:
            await self._app(scope, replayed(body, receive), answer)
        except Exception:
            if not answer.status:
                await self._refuse(answer, 500, {})
            raise

    def _allowed(self, scope: Scope) -> bool:
        if scope["path"].startswith("/static/"):
            return True
        link = self._link(scope)
        if link:
            return self._people.allows(link)
        client = scope.get("client") or ("unknown", 0)
        return self._addresses.allows(client[0])

    def _link(self, scope: Scope) -> str:
        """The link of a known person; empty for anybody else, who could otherwise be a new person each time."""
        given = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin-1")
        try:
            cookies = SimpleCookie(given)
        except CookieError:
            return ""
        found = next((cookies[name].value for name in self._cookies if name in cookies), "")
        return found if found and self._is_link(found) else ""

    async def _refuse(self, answer: Answer, status: int, headers: dict[str, str]) -> None:
        page = self._error_page(status)
        told = {"content-type": "text/html; charset=utf-8", "content-length": str(len(page)), **headers}
        raw = [(name.encode(), value.encode()) for name, value in told.items()]
        await answer({"type": "http.response.start", "status": status, "headers": raw})
        await answer({"type": "http.response.body", "body": page})


class Answer:
    """Sends a response with the headers that all have; without its body where only the head was asked for.

    Parameters
    ----------
    send
        Takes the response.
    scope
        Of the request.
    headers
        Gives the headers when the response begins.
    """

    def __init__(self, send: Send, scope: Scope, headers: Callable[[], Mapping[str, str]] = lambda: HEADERS) -> None:
        self._send = send
        self._headers = headers
        self._https = scope["scheme"] == "https"
        self.head = scope["method"] == "HEAD"
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = [(name.lower(), value) for name, value in message.get("headers", ())]
            known = {name for name, _ in own}
            all_have = {**self._headers(), **(_HTTPS if self._https else {})}
            more = [(name.encode(), value.encode()) for name, value in all_have.items() if name.encode() not in known]
            message = {**message, "headers": [*own, *more]}
        elif self.head:
            message = {**message, "body": b""}
        await self._send(message)


async def _body(receive: Receive, most: int) -> bytes | None:
    """The whole body; None where it is too large."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionError("the client went away")
        body += bytes(message.get("body", b""))
        if len(body) > most:
            return None
        if not message.get("more_body"):
            return body


def replayed(body: bytes, receive: Receive) -> Receive:
    """A request's body that was read already, to be read again."""
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again
