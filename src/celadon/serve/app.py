"""The application: all routes behind the guard, and the OpenAPI document with the limits of the service."""

from __future__ import annotations

from functools import cache
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response

from celadon import __version__
from celadon.serve.page import PageRoutes
from celadon.serve.policy import ServicePolicy
from celadon.serve.routes import NDJSON, ApiRoutes, json_refusal
from celadon.serve.service import Service
from celadon.serve.wire import MOST_REFERENCES, LineOut
from celadon.web.guard import ClientGoneError, Guard, RefusedError
from celadon.web.guard import failed as crashed

_PLACE = "#/components/schemas/"
_SCORING = ("/v1/score", "/v1/explain")


def document(openapi: dict[str, Any], service: Service) -> dict[str, Any]:
    """Complete the document that the framework makes of the routes.

    ``openapi``: that document; it is changed.
    """
    schemas, paths = openapi["components"]["schemas"], openapi["paths"]
    bodies = [paths[path]["post"]["requestBody"]["content"]["application/json"] for path in _SCORING]
    for body in bodies:
        schemas |= body["schema"].pop("$defs", {})
    bodies[1]["schema"] = {"$ref": f"{_PLACE}OneText"}
    _limit(schemas, service)
    schemas["LineOut"] = LineOut.model_json_schema()
    paths["/v1/score"]["post"]["responses"]["200"]["content"][NDJSON] = {"schema": {"$ref": f"{_PLACE}LineOut"}}
    seconds = {"description": "In so many seconds there may be room.", "schema": {"type": "integer"}}
    for path in _SCORING:
        paths[path]["post"]["responses"]["429"]["headers"] = {"Retry-After": seconds}
    if service.keys is not None:
        openapi["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, operations in paths.items():
            for operation in operations.values() if path.startswith("/v1/") else ():
                operation["security"] = [{"key": []}]
    return openapi


def _limit(schemas: dict[str, Any], service: Service) -> None:
    """Tell how long texts may be and how many, and which metrics there are."""
    settings = service.settings
    characters, many = {"maxLength": settings.max_text_chars}, {"maxItems": settings.max_texts}
    for name in ("OneText", "SampleIn"):
        fields = schemas[name]["properties"]
        fields["text"] |= characters
        fields["references"] |= {"maxItems": MOST_REFERENCES}
        fields["references"]["items"] |= characters
        fields["source"]["anyOf"][0] |= characters
    schemas["ManySamples"]["properties"]["samples"] |= many
    schemas["ManyTexts"]["properties"]["texts"] |= many
    schemas["ManyTexts"]["properties"]["texts"]["items"] |= characters
    for name in ("OneText", "ManyTexts", "ManySamples"):
        schemas[name]["properties"]["metrics"]["anyOf"][0]["items"]["enum"] = list(service.scorer.metrics)


_ABOUT = "How well texts read. Scores are those of `celadon score`, whoever else's texts they are made together with."


def make_app(service: Service) -> Guard:
    """The application as it is served."""
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
    return Guard(app, ServicePolicy(service, paths, refused, {"/v1/score": api.score}))
