"""The application: all routes, behind the guard."""

from __future__ import annotations

from http import HTTPStatus

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.responses import Response

from celadon.judge.experiment import Experiment
from celadon.judge.store import Store
from celadon.judge.web.admin import AdminPages
from celadon.judge.web.pages import ParticipantPages
from celadon.judge.web.security import Guard
from celadon.judge.web.site import LINK_COOKIE, Site, cookie_names

_STATIC_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}


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
    """The application as it is served.

    Parameters
    ----------
    experiment
        What is asked.
    store
        Where answers go.
    """
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
