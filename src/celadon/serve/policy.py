"""Who may use the service: keys, its state, the size of requests; and what is counted of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from starlette.responses import Response

from celadon.serve.refusals import no_key, no_room, not_now
from celadon.serve.service import Service, State
from celadon.web.guard import Policy, RefusedError, Route
from celadon.web.security import HEADERS, Scope

CONTENT_POLICY = HEADERS["content-security-policy"] + "; connect-src 'self'"
"""The page may send requests to this service, and to nothing else."""
_UNCOUNTED = frozenset({"/healthz", "/metrics", "/openapi.json"})


class ServicePolicy(Policy):
    """What the service admits.

    ``paths``: the paths that there are; counts are kept by these.
    ``response``: renders a refusal, from the path and the refusal.
    ``direct``: routes, by their path, whose POST goes past the framework.
    """

    def __init__(
        self,
        service: Service,
        paths: frozenset[str],
        response: Callable[[str, RefusedError], Response],
        direct: Mapping[str, Route],
    ) -> None:
        self.max_body_bytes = service.settings.max_body_bytes
        self.timeout = service.settings.timeout
        self._service = service
        self._paths = paths
        self._response = response
        self._direct = direct

    def response(self, path: str, refusal: RefusedError) -> Response:
        """Render a refusal."""
        return self._response(path, refusal)

    def admit(self, scope: Scope) -> None:
        """Refuse scoring without a key, and while the service starts or stops."""
        service = self._service
        if scope["path"].startswith("/v1/"):
            if service.keys is not None and not service.keys.accepts(bearer(dict(scope["headers"]))):
                raise no_key()
            if service.state is not State.READY:
                raise not_now(service.state is State.DRAINING)

    def headers(self) -> Mapping[str, str]:
        """Return the headers of every response."""
        draining = self._service.state is State.DRAINING
        return {**HEADERS, "content-security-policy": CONTENT_POLICY, **({"connection": "close"} if draining else {})}

    def busy(self) -> RefusedError:
        """Return the refusal where the bodies of other requests take all the room."""
        return no_room(self._service.batcher.retry_after())

    def route(self, scope: Scope) -> Route | None:
        """Return the route that a request takes past the framework."""
        return self._direct.get(scope["path"]) if scope["method"] == "POST" else None

    def begin(self, path: str) -> None:
        """Count a request that is being answered."""
        self._service.active += path not in _UNCOUNTED

    def end(self, path: str, status: int, seconds: float) -> None:
        """Count a request by its path and status."""
        self._service.active -= path not in _UNCOUNTED
        self._service.meters.answered(path if path in self._paths else "other", status, seconds)

    def client_gone(self) -> None:
        """Count a request whose client left."""
        self._service.meters.rejected("client_gone")


def bearer(headers: Mapping[bytes, bytes]) -> str:
    """Return the key that a request carries; empty where there is none."""
    scheme, _, key = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if scheme.lower() == "bearer":
        return key.strip()
    return headers.get(b"x-api-key", b"").decode("latin-1").strip()
