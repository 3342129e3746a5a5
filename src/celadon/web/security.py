"""What stands between the network and an application: headers of every response, tokens, API keys, limits of rate."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from celadon.core import InputError

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
    headers = {**HEADERS, "content-type": "text/plain; charset=utf-8", "content-length": str(len(body))}
    lines = ["HTTP/1.1 400 Bad Request", *(f"{name}: {value}" for name, value in headers.items()), "connection: close"]
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


def replayed(body: bytes, receive: Receive) -> Receive:
    """A request's body that was read already, to be read again."""
    waiting = [body]

    async def again() -> Message:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        return await receive()

    return again


_SHORTEST = 16


def new_token() -> str:
    """A word that cannot be guessed, for links and for the researcher."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> str:
    """What is stored in place of a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def same(one: str, other: str) -> bool:
    """Compare in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode("utf-8", "replace"))


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class ApiKeys:
    """The keys that are let in.

    Parameters
    ----------
    keys
        The keys themselves; only their hashes are kept.
    """

    def __init__(self, keys: list[str]) -> None:
        self._hashes = tuple(map(_hash, keys))

    def accepts(self, key: str) -> bool:
        """Tell whether this is one of the keys; all of them are always compared."""
        hashed = _hash(key)
        return sum(hmac.compare_digest(hashed, known) for known in self._hashes) > 0


def read_api_keys(path: str) -> ApiKeys:
    """Read a file with one key per line; empty lines and those that begin with # say nothing."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is no text in UTF-8") from None
    keys = []
    for number, line in enumerate(lines, start=1):
        key = line.strip()
        if not key or key.startswith("#"):
            continue
        if len(key) < _SHORTEST or not key.isascii() or not key.isprintable() or " " in key:
            # the key itself is not shown: this line may end up in a log
            raise InputError(
                f"{path}:{number}: a key must have {_SHORTEST} or more visible ASCII characters; "
                "make one with: openssl rand -hex 24"
            )
        keys.append(key)
    if not keys:
        raise InputError(f"{path}: there is no key in it")
    return ApiKeys(keys)
