"""The application: all routes, behind a guard with limits of size and of rate."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.responses import Response

from celadon.judge.experiment import Experiment
from celadon.judge.store import Store
from celadon.judge.web.admin import AdminPages
from celadon.judge.web.pages import ParticipantPages
from celadon.judge.web.site import LINK_COOKIE, Site, cookie_names
from celadon.web.security import Answer, App, RateLimit, Receive, Scope, Send, replayed

_STATIC_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


class Guard:
    """Wraps the whole application, so that no response, not even of a crash, goes without its headers.

    ``error_page``: makes the page for a status that is answered here: 413, 429, 500.
    ``requests_per_minute``: of one person, or of one address that is not known to be a person's.
    ``most_bytes``: of a request's body.
    ``cookies``: the names of the cookie that holds a person's link.
    ``is_link``: whether the value of that cookie is known to be somebody's link: only then does it count apart from its
        address.
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


def make_routes(site: Site) -> FastAPI:
    """The application without its guard."""
    app = FastAPI(title="celadon judge", openapi_url=None, docs_url=None, redoc_url=None)
    app.include_router(ParticipantPages(site).router)
    app.include_router(AdminPages(site).router)

    def static(name: str) -> Response:
        """The style, the script and the icon."""
        if name not in site.static:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        headers = {"cache-control": "public, max-age=3600"}
        return Response(site.static[name], media_type=_STATIC_TYPES[name.rpartition(".")[2]], headers=headers)

    app.add_api_route("/static/{name}", static, methods=["GET"], response_model=None)

    def failed(request: Request, error: Exception) -> Response:
        if isinstance(error, AnyHTTPException):
            response = site.error(error.status_code)
            response.headers.update(error.headers or {})
            return response
        return site.error(HTTPStatus.UNPROCESSABLE_ENTITY)

    app.add_exception_handler(AnyHTTPException, failed)
    app.add_exception_handler(RequestValidationError, failed)
    return app


def make_app(experiment: Experiment, store: Store) -> Guard:
    """The application as it is served."""
    site = Site(experiment, store)
    limits = experiment.config.limits
    return Guard(
        make_routes(site),
        site.error_bytes,
        requests_per_minute=limits.requests_per_minute,
        most_bytes=limits.request_kilobytes * 1024,
        cookies=cookie_names(LINK_COOKIE),
        is_link=site.is_known,
    )
