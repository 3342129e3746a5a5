"""Requests and responses as they go over the wire; the OpenAPI document is made of these."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError

from celadon.core import Evidence, Sample, Span
from celadon.io.written_in import LANGUAGE_PATTERN, language_named
from celadon.serve.scorer import Explained, TextScores
from celadon.serve.settings import ServeSettings
from celadon.web.guard import RefusedError

MOST_REFERENCES = 64
"""Of one text."""
_FORMS = ("text", "texts", "samples")
_ONE_OF = "give one of text, texts and samples"

Metrics = Annotated[
    list[str] | None,
    Field(description="Of those that are served, as GET /v1/metrics names them; else all whose needs are met."),
]
Markup = Annotated[
    Literal["auto", "markdown", "rst", "html", "plain"],
    Field(description="What the text is written in; auto where that is to be found out."),
]
Language = Annotated[
    str,
    Field(
        max_length=100,
        pattern=LANGUAGE_PATTERN,
        description="An ISO 639 code or an English name; empty where it is to be identified.",
    ),
    AfterValidator(language_named),
]


class SampleIn(BaseModel):
    """A text with what belongs to it."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(description="What is scored.")
    references: list[str] = Field(default=[], description="Texts that people wrote for the same input.")
    source: str | None = Field(default=None, description="What the text was made from.")
    id: str | None = Field(default=None, description="Comes back with the scores.")
    markup: Markup = "auto"
    language: Language = ""


class OneText(SampleIn):
    """One text."""

    metrics: Metrics = None


class ManyTexts(BaseModel):
    """Texts alone."""

    model_config = ConfigDict(extra="forbid")

    texts: list[str] = Field(min_length=1)
    markup: Markup = "auto"
    language: Language = ""
    metrics: Metrics = None


class ManySamples(BaseModel):
    """Texts with what belongs to them."""

    model_config = ConfigDict(extra="forbid")

    samples: list[SampleIn] = Field(min_length=1)
    metrics: Metrics = None


def _form(body: Any) -> str | None:
    """Which of the forms a request has."""
    if isinstance(body, dict):
        names = [name for name in _FORMS if name in body]
        return names[0] if len(names) == 1 else None
    return next((tag for kind, tag in zip(_KINDS, _FORMS, strict=True) if type(body) is kind), None)


_KINDS = (OneText, ManyTexts, ManySamples)
ScoreRequest = Annotated[
    Annotated[OneText, Tag("text")] | Annotated[ManyTexts, Tag("texts")] | Annotated[ManySamples, Tag("samples")],
    Discriminator(_form, custom_error_type="form", custom_error_message=_ONE_OF),
]
SCORE_REQUEST: TypeAdapter[OneText | ManyTexts | ManySamples] = TypeAdapter(ScoreRequest)
EXPLAIN_REQUEST: TypeAdapter[OneText] = TypeAdapter(OneText)


class ErrorOut(BaseModel):
    """What went wrong."""

    code: str = Field(description="For programs.")
    message: str = Field(description="For people.")
    where: str | None = Field(description="Which part of the request: samples[3].text.")


class Refusal(BaseModel):
    """A request that got no scores."""

    error: ErrorOut


class TextOut(BaseModel):
    """The scores of one text."""

    index: int = Field(description="Its place in the request, from 0.")
    id: str | None = Field(description="As it was given.")
    scores: dict[str, float | None] = Field(description="Null where there is no score.")
    parts: dict[str, dict[str, float | None]] = Field(description="What a score is made of.")
    reasons: dict[str, str] = Field(description="For each score that is null, why.")


class LineOut(TextOut):
    """A line of a stream."""

    signatures: dict[str, str] = Field(description="How each score was made.")


class ScoresOut(BaseModel):
    """The scores of all texts of a request."""

    results: list[TextOut]
    signatures: dict[str, str] = Field(description="How each score was made.")


class SpanOut(BaseModel):
    """A stretch of text and what a metric made of it; offsets count Unicode characters (code points)."""

    start: int
    end: int
    label: str
    note: str
    value: float | None = Field(description="Where the metric gives it one: a sentence's value, a token's bits.")


class SectionOut(BaseModel):
    """One part of the evidence; the kind says what its spans are."""

    kind: str = Field(
        description="alignment, sentences, tokens, marks, list, passage, pair, transition, table, tree ..."
    )
    title: str
    spans: list[SpanOut]
    lines: list[str]
    values: dict[str, Any]
    reference: int | None = Field(description="The reference that reference_spans belong to, from 0.")
    reference_spans: list[SpanOut]


class EvidenceOut(BaseModel):
    """Why a text got a score."""

    metric: str
    summary: str
    text_spans: list[SpanOut]
    reference: int | None = Field(description="The reference that reference_spans belong to, from 0.")
    reference_spans: list[SpanOut]
    sections: list[SectionOut] = Field(description="The details: what was counted, compared or found, kind by kind.")
    aspects: list[EvidenceOut] = Field(description="The evidence of each aspect of a metric that has several.")


class ExplanationOut(BaseModel):
    """The scores of one text, and why."""

    result: TextOut
    evidence: dict[str, EvidenceOut] = Field(description="By metric; one with nothing to show is not there.")
    explained_characters: int = Field(description="How much of the text the evidence is of, from its beginning.")
    signatures: dict[str, str] = Field(description="How each score was made.")


class MetricOut(BaseModel):
    """A metric that is served."""

    metric: str = Field(description="In the notation that requests use.")
    meaning: str
    reading: str
    needs: list[str]
    direction: str
    low: float | None = Field(description="Null where there is no bound.")
    high: float | None = Field(description="Null where there is no bound.")
    parts: list[str]
    signature: str


class MetricsOut(BaseModel):
    """The metrics that are served."""

    metrics: list[MetricOut]


class HealthOut(BaseModel):
    """How the service is."""

    status: str = Field(description="ready, loading or draining")


def read(body: bytes, kind: TypeAdapter[Any]) -> Any:
    """Read the body of a request."""
    try:
        return kind.validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        if first["type"] == "json_invalid":
            raise RefusedError(400, "no_json", f"the body is not JSON: {first['msg']}") from None
        more = f" (and {error.error_count() - 1:,} more such faults)" if error.error_count() > 1 else ""
        raise RefusedError(422, "not_understood", f"{first['msg']}{more}", _place(first["loc"])) from None


def _place(path: Sequence[int | str]) -> str:
    """Where something is, as a person writes it; the form of the request, which comes first, is left out."""
    steps = path[1:] if len(path) > 1 and path[0] in _FORMS else () if path and path[0] in _FORMS else path
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)[:200].removeprefix(".")


def samples_of(request: OneText | ManyTexts | ManySamples, settings: ServeSettings) -> list[Sample]:
    """The samples of a request, none too long and not too many."""
    if isinstance(request, OneText):
        samples, places = [_sample(request)], [""]
    elif isinstance(request, ManyTexts):
        samples = [Sample(text, markup=request.markup, language=request.language) for text in request.texts]
        places = [f"texts[{at}]" for at in range(len(samples))]
    else:
        samples = [_sample(each) for each in request.samples]
        places = [f"samples[{at}]" for at in range(len(samples))]
    if len(samples) > settings.max_texts:
        message = f"{len(samples):,} texts are too many; {settings.max_texts:,} are taken at a time"
        raise RefusedError(422, "too_many_texts", message, places[0].partition("[")[0])
    for sample, place in zip(samples, places, strict=True):
        _check(sample, place, settings.max_text_chars)
    return samples


def _sample(body: SampleIn) -> Sample:
    return Sample(body.text, tuple(body.references), body.source, body.id, markup=body.markup, language=body.language)


def _check(sample: Sample, place: str, most: int) -> None:
    if len(sample.references) > MOST_REFERENCES:
        message = f"{len(sample.references):,} references are too many; {MOST_REFERENCES} are taken"
        raise RefusedError(422, "too_many_references", message, f"{place}.references".removeprefix("."))
    inside = "" if place.startswith("texts") else ".text"
    parts = [(sample.text, inside), (sample.source or "", ".source")]
    parts += [(text, f".references[{at}]") for at, text in enumerate(sample.references)]
    for text, part in parts:
        if len(text) > most:
            message = f"{len(text):,} characters are too many; {most:,} are taken"
            raise RefusedError(422, "too_long", message, f"{place}{part}".removeprefix("."))


def text_out(index: int, sample: Sample, scores: TextScores) -> dict[str, Any]:
    """The scores of one text."""
    return {"index": index, "id": sample.id, **scores._asdict()}


def explanation_out(sample: Sample, explained: Explained, signatures: Mapping[str, str]) -> dict[str, Any]:
    """The scores of one text, and why."""
    return {
        "result": text_out(0, sample, explained.scores),
        "evidence": {spec: _evidence_out(each) for spec, each in explained.evidence.items()},
        "explained_characters": explained.characters,
        "signatures": dict(signatures),
    }


def _evidence_out(evidence: Evidence) -> dict[str, Any]:
    return {
        "metric": evidence.metric,
        "summary": evidence.summary,
        "text_spans": _spans_out(evidence.text_spans),
        "reference": evidence.reference,
        "reference_spans": _spans_out(evidence.reference_spans),
        "sections": [
            {
                **vars(section),
                "spans": _spans_out(section.spans),
                "values": _finite(section.values),
                "reference_spans": _spans_out(section.reference_spans),
            }
            for section in evidence.sections
        ],
        "aspects": [_evidence_out(aspect) for aspect in evidence.aspects],
    }


def _spans_out(spans: Sequence[Span]) -> list[dict[str, Any]]:
    return [{**span._asdict(), "value": _finite(span.value)} for span in spans]


def _finite(value: Any) -> Any:
    """A value that JSON can hold: numbers that are not finite are null."""
    if isinstance(value, Mapping):
        return {str(name): _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
