"""The application: all routes, behind a guard with limits of size and of rate."""

from __future__ import annotations

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
from celadon.web.guard import Guard, Policy, RefusedError
from celadon.web.security import RateLimit, Scope

_STATIC_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


class ExperimentPolicy(Policy):
    """What the experiment admits: a request body of a limited size, and so many requests a minute of one person, or of
    one address that is not known to be a person's.
    """

    def __init__(self, site: Site) -> None:
        limits = site.experiment.config.limits
        self.max_body_bytes = limits.request_kilobytes * 1024
        self._site = site
        self._people = RateLimit(limits.requests_per_minute)
        # many people may sit behind one address, and come one after another
        self._addresses = RateLimit(4 * limits.requests_per_minute)

    def admit(self, scope: Scope) -> None:
        """Refuse whoever sends too many requests."""
        if scope["path"].startswith("/static/"):
            return
        link = self._link(scope)
        client = scope.get("client") or ("unknown", 0)
        if not (self._people.allows(link) if link else self._addresses.allows(client[0])):
            raise RefusedError(429, "too_many", "too many requests", headers={"retry-after": "30"})

    def response(self, path: str, refusal: RefusedError) -> Response:
        """Return the page for a status."""
        response = self._site.error(refusal.status)
        response.headers.update(refusal.headers)
        return response

    def _link(self, scope: Scope) -> str:
        """The link of a known person; empty for anybody else, who could otherwise be a new person each time."""
        header = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin-1")
        try:
            cookies = SimpleCookie(header)
        except CookieError:
            return ""
        link = next((cookies[name].value for name in cookie_names(LINK_COOKIE) if name in cookies), "")
        return link if link and self._site.is_known(link) else ""


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
    return Guard(make_routes(site), ExperimentPolicy(site))
