"""The OpenAPI document, with the limits and the metrics of one service."""

from __future__ import annotations

from typing import Any

from celadon.serve.routes import NDJSON
from celadon.serve.service import Service
from celadon.serve.wire import MOST_REFERENCES, LineOut

_PLACE = "#/components/schemas/"
_SCORING = ("/v1/score", "/v1/explain")


def document(made: dict[str, Any], service: Service) -> dict[str, Any]:
    """Complete the document that the framework makes of the routes.

    Parameters
    ----------
    made
        That document; it is changed.
    service
        What it describes.
    """
    schemas, paths = made["components"]["schemas"], made["paths"]
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
        made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, operations in paths.items():
            for operation in operations.values() if path.startswith("/v1/") else ():
                operation["security"] = [{"key": []}]
    return made


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
