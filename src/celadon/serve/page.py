"""The page: paste a text and see how it reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from celadon.core import Direction, Metric, Need, Sample
from celadon.report.columns import Column
from celadon.report.explained import has_aspects
from celadon.report.html import asset, markup, render, style
from celadon.report.texts import SCALES
from celadon.serve.policy import bearer
from celadon.serve.refusals import no_key
from celadon.serve.routes import ApiRoutes
from celadon.serve.scorer import Kind, RenderedText, Task, TextRequest, TextScores
from celadon.serve.service import Service
from celadon.web.guard import RefusedError

_FORM = "application/x-www-form-urlencoded"
_MOST_FIELDS = 20
_DECIMALS = 3
_STATIC = {
    "style.css": (style("colors", "report", "service"), "text/css; charset=utf-8"),
    "service.js": (asset("service.js"), "text/javascript; charset=utf-8"),
    "icon.svg": (asset("icon.svg"), "image/svg+xml"),
}


class Cell(NamedTuple):
    """A value: how it is written, and how much of the range it fills, in percent, where there is a range."""

    number: str
    filled: float | None


class Row(NamedTuple):
    """A line of the table of scores: a metric, or one of its parts."""

    column: Column
    name: str
    meaning: str
    whole: bool
    cells: tuple[Cell, ...]
    difference: str
    better: str


class PageRoutes:
    """The page and what it is made of.

    ``api``: the routes for programs.
    """

    def __init__(self, service: Service, api: ApiRoutes) -> None:
        self._service = service
        self._api = api
        self.router = APIRouter(include_in_schema=False)
        self.router.add_api_route("/", self.show, methods=["GET"], response_class=HTMLResponse)
        self.router.add_api_route("/", self.score, methods=["POST"], response_class=HTMLResponse)
        self.router.add_api_route("/static/{name}", self.static, methods=["GET"], response_class=Response)

    async def show(self) -> Response:
        """An empty page."""
        return self._page({}, "")

    async def static(self, name: str) -> Response:
        """The styles, the script and the icon."""
        if name not in _STATIC:
            raise RefusedError(404, "no_such_thing", "There is no such file.")
        content, kind = _STATIC[name]
        return Response(content, media_type=kind, headers={"cache-control": "public, max-age=3600"})

    async def score(self, request: Request) -> Response:
        """The page with the scores of what was sent; to the script, the scores alone."""
        form = await _form(request)
        fragment = "x-fragment" in request.headers
        try:
            results = await self._results(request, form)
            status, headers = 200, {}
        except RefusedError as refusal:
            self._service.meters.rejected(refusal.code)
            results = self._failure(refusal)
            status, headers = refusal.status, refusal.headers
        response = HTMLResponse(results, status) if fragment else self._page(form, results, status)
        response.headers.update(headers)
        return response

    def refusal(self, refusal: RefusedError) -> Response:
        """The page that tells of a failure."""
        response = self._page({}, self._failure(refusal), refusal.status)
        response.headers.update(refusal.headers)
        return response

    def _failure(self, refusal: RefusedError) -> str:
        message = "This needs a key of the service." if refusal.status == 401 else refusal.message
        return render("failure.html", message=message)

    def _page(self, form: Mapping[str, str], results: str, status: int = 200) -> Response:
        needs = {need for metric in self._service.scorer.metrics.values() for need in metric.info.needs}
        page = render(
            "service.html",
            form={name: form.get(name, "") for name in ("text", "other", "reference", "source")},
            results=markup(results),
            metrics=list(self._service.scorer.metrics),
            wants_reference=Need.REFERENCES in needs,
            wants_source=Need.SOURCE in needs,
            wants_key=self._service.keys is not None,
            kept=self._service.settings.cache is not None,
        )
        return HTMLResponse(page, status)

    async def _results(self, request: Request, form: Mapping[str, str]) -> str:
        keys = self._service.keys
        key = form.get("key", "").strip() or bearer(dict(request.scope["headers"]))
        if keys is not None and not keys.accepts(key):
            raise no_key()
        texts = [form[name] for name in ("text", "other") if form.get(name, "").strip()]
        if not texts:
            return ""
        self._check(form)
        references = (form["reference"],) if form.get("reference", "").strip() else ()
        samples = [Sample(text, references, form.get("source") or None) for text in texts]
        scorer = self._service.scorer
        specs = tuple(spec for spec in scorer.metrics if not scorer.lacking([spec], samples))
        if not specs:
            raise RefusedError(422, "lacking", "The metrics that are served here need a reference or a source.")
        requests = [TextRequest(sample, texts[0] if at else None) for at, sample in enumerate(samples)]
        ticket = self._service.submit(Kind(Task.SHOW, specs), requests)
        results: list[RenderedText] = await self._api.all_of(request, ticket)
        metrics = [scorer.metrics[spec] for spec in specs]
        return render(
            "results.html",
            rows=_rows(metrics, [each.scores for each in results]),
            rendered=[each.rendered for each in results],
            legend=results[0].rendered.legend | results[-1].rendered.legend,
            scales=SCALES,
            changes=results[-1].rendered.changes,
            signatures={spec: scorer.signature(spec) for spec in specs},
        )

    def _check(self, form: Mapping[str, str]) -> None:
        most = self._service.settings.max_text_chars
        for name in ("text", "other", "reference", "source"):
            if len(form.get(name, "")) > most:
                raise RefusedError(422, "too_long", f"A text has more than the {most:,} characters that are taken.")


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form, with line ends as they were typed."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise RefusedError(415, "no_form", "This is no form that can be read here.")
    body = (await request.body()).decode("ascii", "replace")
    try:
        fields = parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise RefusedError(400, "no_form", "This form cannot be read.") from None
    return {name: value.replace("\r\n", "\n") for name, value in fields}


def _rows(metrics: Sequence[Metric], scores: Sequence[TextScores]) -> list[Row]:
    """Each metric, and below it its parts; those of a metric of several aspects have its range."""
    rows = []
    for metric in metrics:
        column = Column(metric.spec, metric.info, _DECIMALS, ())
        values = [each.scores[metric.spec] for each in scores]
        rows.append(_row(column, metric.spec, metric.info.meaning, values, whole=True))
        for name in metric.info.parts:
            parts = [each.parts[metric.spec].get(name) for each in scores]
            label = name.replace("_", " ")
            rows.append(_row(column, label, "", parts, whole=False, bounded=has_aspects(metric)))
    return rows


def _row(
    column: Column,
    name: str,
    meaning: str,
    values: Sequence[float | None],
    *,
    whole: bool,
    bounded: bool = True,
) -> Row:
    info = column.info
    ranged = bounded and math.isfinite(info.low) and math.isfinite(info.high)

    # what only counts something is written without decimals
    counts = not whole and not ranged and all(value is None or value.is_integer() for value in values)

    def written(value: float | None) -> str:
        return f"{value:.0f}" if counts and value is not None else column.number(value)

    def cell(value: float | None) -> Cell:
        if value is None or not ranged:
            return Cell(written(value), None)
        share = (value - info.low) / (info.high - info.low)
        return Cell(written(value), round(100 * min(max(share, 0.0), 1.0), 1))

    difference = better = ""
    if len(values) == 2 and values[0] is not None and values[1] is not None:
        change = values[1] - values[0]
        difference = written(change)
        if (whole or ranged) and float(difference):
            better = "second" if (change > 0) is (info.direction is Direction.HIGHER) else "first"
        difference = f"+{difference}" if float(difference) > 0 else difference.replace("-", "−")
    return Row(column, name, meaning, whole, tuple(map(cell, values)), difference, better)
