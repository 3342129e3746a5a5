"""The application: all routes, behind the guard."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response

from celadon import __version__
from celadon.serve.guard import Guard
from celadon.serve.openapi import document
from celadon.serve.page import PageRoutes
from celadon.serve.refusals import ClientGoneError, RefusedError
from celadon.serve.refusals import failed as crashed
from celadon.serve.routes import ApiRoutes, json_refusal
from celadon.serve.service import Service

_ABOUT = "How well texts read. Scores are those of `celadon score`, whoever else's texts they are made together with."


def make_app(service: Service) -> Guard:
    """The application as it is served.

    Parameters
    ----------
    service
        What scores.
    """
    app = FastAPI(
        title="celadon",
        description=_ABOUT,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=service.running,
    )
    api = ApiRoutes(service)
    page = PageRoutes(service, api)
    app.include_router(api.router)
    app.include_router(page.router)

    def refused(path: str, refusal: RefusedError) -> Response:
        service.meters.rejected(refusal.code)
        return page.refusal(refusal) if path == "/" else json_refusal(refusal)

    def failed(request: Request, error: Exception) -> Response:
        if isinstance(error, ClientGoneError):
            raise error
        if isinstance(error, HTTPException):
            headers = {**(error.headers or {})}
            error = RefusedError(error.status_code, "no_such_thing", HTTPStatus(error.status_code).phrase, "", headers)
        if not isinstance(error, RefusedError):
            error = crashed()
        return refused(request.url.path, error)

    for kind in (RefusedError, ClientGoneError, HTTPException, Exception):
        app.add_exception_handler(kind, failed)
    describe = cache(lambda: document(FastAPI.openapi(app), service))
    app.openapi = describe  # type: ignore[method-assign]
    routes = (*api.router.routes, *page.router.routes)
    paths = frozenset(route.path for route in routes if isinstance(route, APIRoute))
    return Guard(app, service, paths, refused, {"/v1/score": api.score})
