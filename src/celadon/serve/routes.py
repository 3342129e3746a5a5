"""The routes for programs."""

from __future__ import annotations

import asyncio
import inspect
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from celadon.core import Metric, Sample, UsageError
from celadon.serve import wire
from celadon.serve.refusals import refusal_for
from celadon.serve.scorer import Explained, Kind, Task, TextRequest, TextScores
from celadon.serve.service import ScoreTicket, Service, State
from celadon.web.guard import ClientGoneError, RefusedError

NDJSON = "application/x-ndjson"
_PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


class ApiRoutes:
    """What programs ask for."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.router = APIRouter()
        self._add("/v1/score", "POST", self.score, wire.ScoresOut, wire.SCORE_REQUEST, "Score texts.")
        self._add("/v1/explain", "POST", self.explain, wire.ExplanationOut, wire.EXPLAIN_REQUEST, "Say why.")
        self._add("/v1/metrics", "GET", self.metrics, wire.MetricsOut, None, "What is served.")
        health: dict[int | str, dict[str, Any]] = {
            503: {"model": wire.HealthOut, "description": "The models are being loaded, or the end is near."}
        }
        self.router.add_api_route(
            "/healthz", self.health, response_model=wire.HealthOut, responses=health, summary="Whether it is ready."
        )
        counts: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
        self.router.add_api_route(
            "/metrics", self.counts, response_class=Response, responses=counts, summary="Counts for Prometheus."
        )

    def _add(
        self,
        path: str,
        method: str,
        route: Callable[..., Awaitable[Response]],
        answer: type[Any],
        request: Any,
        summary: str,
    ) -> None:
        # bodies are read and written by hand: through the framework that takes longer than scoring a short text
        responses: dict[int | str, dict[str, Any]] = {200: {"model": answer}}
        responses |= {code: {"model": wire.Refusal, "description": why} for code, why in _refusals(request is not None)}
        extra = None if request is None else {"requestBody": _body_of(request)}
        self.router.add_api_route(
            path, route, methods=[method], response_class=Response, responses=responses, summary=summary,
            openapi_extra=extra, description=inspect.getdoc(route) or "",
        )  # fmt: skip

    async def score(self, request: Request) -> Response:
        """With `Accept: application/x-ndjson` each text's scores come as a line of their own, as soon as they are made.

        A stream that cannot be finished ends with a line that has `error` in it.
        """
        body = wire.read(await _json_body(request), wire.SCORE_REQUEST)
        samples = wire.samples_of(body, self._service.settings)
        specs = self._specs(body.metrics, samples, many=not isinstance(body, wire.OneText))
        ticket = self._service.submit(Kind(Task.SCORE, specs), [TextRequest(sample) for sample in samples])
        if NDJSON in request.headers.get("accept", ""):
            return await self._stream(request, ticket, specs)
        scored = await self.all_of(request, ticket)
        results = [
            wire.text_out(at, sample, scores) for at, (sample, scores) in enumerate(zip(samples, scored, strict=True))
        ]
        return _json({"results": results, "signatures": self._signatures(specs)})

    async def explain(self, request: Request) -> Response:
        """The scores of one text, and the stretches of it that made them so."""
        body = wire.read(await _json_body(request), wire.EXPLAIN_REQUEST)
        samples = wire.samples_of(body, self._service.settings)
        specs = self._specs(body.metrics, samples, many=False)
        ticket = self._service.submit(Kind(Task.EXPLAIN, specs), [TextRequest(samples[0])])
        (result,) = await self.all_of(request, ticket)
        assert isinstance(result, Explained)
        return _json(wire.explanation_out(samples[0], result, self._signatures(specs)))

    async def metrics(self) -> Response:
        """The metrics that are served, what each means and needs, and how its scores are made."""
        return _json({"metrics": [self._metric(spec, metric) for spec, metric in self._service.scorer.metrics.items()]})

    async def health(self) -> Response:
        """Ready, loading or draining."""
        state = self._service.state
        return _json({"status": str(state)}, 200 if state is State.READY else 503)

    async def counts(self) -> Response:
        """Requests, texts, the queue, batches, seconds, refusals."""
        return Response(self._service.meters.text(), headers={"content-type": _PROMETHEUS})

    def _specs(self, names: list[str] | None, samples: list[Sample], *, many: bool) -> tuple[str, ...]:
        """The metrics of a request; each of its samples has what they need."""
        try:
            specs = self._service.scorer.chosen(names, samples)
        except UsageError as error:
            raise RefusedError(422, "no_such_metric", str(error), "metrics") from None
        for row, message in self._service.scorer.lacking(specs, samples).items():
            raise RefusedError(422, "lacking", message.replace("row", "text"), f"samples[{row}]" if many else "")
        return specs

    def _signatures(self, specs: tuple[str, ...]) -> dict[str, str]:
        return {spec: self._service.scorer.signature(spec) for spec in specs}

    async def all_of(self, request: Request, ticket: ScoreTicket) -> list[Any]:
        """All answers of a ticket, unless the client goes away."""
        watch = asyncio.create_task(_watch(request, ticket))
        try:
            return [answer async for answer in self._service.answers(ticket)]
        except Exception as error:  # noqa: BLE001 - it was noted where it happened
            raise refusal_for(error) from None
        finally:
            watch.cancel()

    async def _stream(self, request: Request, ticket: ScoreTicket, specs: tuple[str, ...]) -> Response:
        """A line for each text; the first is awaited, so that what fails at once has its own status."""
        signatures = self._signatures(specs)
        samples = [item.sample for item in ticket.items]
        answers = self._service.answers(ticket)
        watch = asyncio.create_task(_watch(request, ticket))
        try:
            first = await anext(answers)
        except Exception as error:  # noqa: BLE001 - it was noted where it happened
            raise refusal_for(error) from None
        finally:
            watch.cancel()

        def line(at: int, result: Any) -> bytes:
            assert isinstance(result, TextScores)
            return _bytes({**wire.text_out(at, samples[at], result), "signatures": signatures}) + b"\n"

        async def lines() -> AsyncIterator[bytes]:
            at = 0
            try:
                yield line(0, first)
                async for result in answers:
                    at += 1
                    yield line(at, result)
            except Exception as error:  # noqa: BLE001 - the status is sent already, so that a line must tell
                refusal = refusal_for(error)
                if isinstance(refusal, RefusedError):
                    yield _bytes(refusal.as_dict()) + b"\n"
            finally:
                await answers.aclose()

        return StreamingResponse(lines(), media_type=NDJSON)

    def _metric(self, spec: str, metric: Metric) -> dict[str, Any]:
        info = metric.info
        return {
            "metric": spec,
            "meaning": info.meaning,
            "reading": info.reading,
            "needs": sorted(info.needs),
            "direction": str(info.direction),
            "low": info.low if math.isfinite(info.low) else None,
            "high": info.high if math.isfinite(info.high) else None,
            "parts": list(info.parts),
            "signature": self._service.scorer.signature(spec),
        }


async def _watch(request: Request, ticket: ScoreTicket) -> None:
    """Give a ticket up when its client goes away."""
    while (await request.receive())["type"] != "http.disconnect":
        continue
    ticket.abandon(ClientGoneError())


async def _json_body(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise RefusedError(415, "no_json", "send JSON with the header Content-Type: application/json")
    return await request.body()


def _bytes(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _json(value: Any, status: int = 200) -> Response:
    return Response(_bytes(value), status, media_type="application/json")


def json_refusal(refusal: RefusedError) -> Response:
    """The response to a refused request."""
    response = _json(refusal.as_dict(), refusal.status)
    response.headers.update(refusal.headers)
    return response


def _refusals(with_body: bool) -> list[tuple[int, str]]:
    always = [(401, "The key is missing or wrong; only where keys are asked for."), (503, "Not ready, or stopping.")]
    if not with_body:
        return always
    return [
        (400, "The body is not JSON."),
        (408, "The body did not come in time."),
        (413, "The body is too large."),
        (415, "The body is not said to be JSON."),
        (422, "Something in it cannot be understood or scored; `where` says what."),
        (429, "The queue is full; `Retry-After` says when to try again."),
        (500, "Something went wrong here."),
        (504, "The texts were not scored in time."),
        *always,
    ]


def _body_of(kind: Any) -> dict[str, Any]:
    schema = kind.json_schema(ref_template="#/components/schemas/{model}")
    return {"required": True, "content": {"application/json": {"schema": schema}}}
