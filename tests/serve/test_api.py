"""What programs ask for and get: the scores of celadon.score, batched, streamed, refused with what and where."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import celadon
from celadon.web.security import HEADERS
from tests.serve.conftest import LIGHT, WITH_MODEL, Running, refusal

TEXTS = [
    "The ferry runs every hour. It stops at the island.",
    "Cat the mat on sat sat sat.",
    "",
    "ประโยคนี้เป็นภาษาไทย",
    "emoji 🦜 and \u202ertl\u202c and \x00 nul",
    "The council agreed. The council agreed. The council agreed.",
    "Er kam, sah und siegte; das war alles.",
]
REFERENCE = "The ferry stops at the island every hour."


def expected(texts: list[str], metrics: tuple[str, ...], references: list[str] | None = None) -> list[dict[str, Any]]:
    """What celadon.score says, as the service should."""
    scores = celadon.score(texts, references, metrics=metrics)
    found = []
    for row in range(len(texts)):
        values = {spec: column.values[row] for spec, column in scores.columns.items()}
        parts = {
            spec: {name: part[row] for name, part in column.parts.items()} for spec, column in scores.columns.items()
        }
        reasons = {spec: column.reasons[row] for spec, column in scores.columns.items() if row in column.reasons}
        found.append({"scores": values, "parts": parts, "reasons": reasons})
    return found


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """The same scores; a model's may differ by the batch in the fourth digit (law 2)."""
    assert found["reasons"] == wanted["reasons"]
    for spec, value in wanted["scores"].items():
        assert (found["scores"][spec] is None) is (spec in wanted["reasons"])
        assert _number(found["scores"][spec]) == pytest.approx(value, abs=1e-4, nan_ok=True)
        assert {name: _number(part) for name, part in found["parts"][spec].items()} == pytest.approx(
            wanted["parts"][spec], abs=1e-4, nan_ok=True
        )


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def test_scores_are_those_of_celadon_score_whoever_else_asks(modelled: Running) -> None:
    metrics = ("slor", "gruen.redundancy")
    before = {name: modelled.count(f"celadon_batch_texts_{name}") for name in ("sum", "count")}
    with ThreadPoolExecutor(8) as clients:
        asked = [[TEXTS[(at + k) % len(TEXTS)] for k in range(1 + at % 3)] for at in range(24)]
        answers = list(clients.map(lambda texts: modelled.score({"texts": texts, "metrics": metrics}), asked))
    wanted = dict(zip(TEXTS, expected(TEXTS, metrics), strict=True))
    for texts, answer in zip(asked, answers, strict=True):
        assert answer.status_code == 200
        results = answer.json()["results"]
        assert [result["index"] for result in results] == list(range(len(texts)))
        for text, result in zip(texts, results, strict=True):
            same(result, wanted[text])
    signatures = {spec: celadon.load(spec).signature for spec in metrics}
    assert answers[0].json()["signatures"] == signatures
    # and they were really scored together
    after = {name: modelled.count(f"celadon_batch_texts_{name}") for name in ("sum", "count")}
    assert after["sum"] - before["sum"] == sum(map(len, asked))
    assert after["count"] - before["count"] < len(asked) / 2


def test_samples_have_references_and_ids(modelled: Running) -> None:
    texts = TEXTS[:2]
    samples = [{"text": text, "references": [REFERENCE], "id": f"é{at}"} for at, text in enumerate(texts)]
    answer = modelled.score({"samples": samples}).json()
    assert [result["id"] for result in answer["results"]] == ["é0", "é1"]
    assert tuple(answer["signatures"]) == WITH_MODEL
    for result, wanted in zip(answer["results"], expected(texts, WITH_MODEL, [REFERENCE] * 2), strict=True):
        same(result, wanted)
    one = modelled.score({**samples[0], "metrics": ["rougeL"]}).json()["results"]
    assert one[0]["scores"] == {"rougeL": answer["results"][0]["scores"]["rougeL"]}


def test_metrics_whose_needs_are_not_met_are_left_out_unless_asked_for(light: Running) -> None:
    assert list(light.score({"text": "Hello there."}).json()["signatures"]) == ["gruen.redundancy"]
    asked = {"samples": [{"text": "a", "references": ["b"]}, {"text": "c"}], "metrics": ["rougeL"]}
    assert refusal(light.score(asked)) == (422, "lacking", "samples[1]")
    assert "references" in light.score(asked).json()["error"]["message"]


def test_a_stream_has_a_line_per_text_in_order(start: Callable[..., Running]) -> None:
    running = start(max_batch=3, batch_wait=0.0)
    texts = [f"Sentence {at} is here. So is number {at * at}." for at in range(25)]
    headers = {"accept": "application/x-ndjson"}
    with running.client.stream("POST", "/v1/score", json={"texts": texts}, headers=headers) as answer:
        assert answer.headers["content-type"] == "application/x-ndjson"
        lines = [json.loads(line) for line in answer.iter_lines()]
    assert [line["index"] for line in lines] == list(range(25))
    whole = running.score({"texts": texts}).json()
    assert [{k: v for k, v in line.items() if k != "signatures"} for line in lines] == whole["results"]
    assert all(line["signatures"] == whole["signatures"] for line in lines)


def test_a_stream_that_is_too_slow_ends_with_why(start: Callable[..., Running]) -> None:
    running = start(max_batch=1, timeout=0.5)
    headers = {"accept": "application/x-ndjson"}
    with running.client.stream("POST", "/v1/score", json={"texts": ["A b. A b."] * 900}, headers=headers) as answer:
        lines = answer.iter_lines()
        assert json.loads(next(lines))["index"] == 0
        with running.held():
            rest = [json.loads(line) for line in lines]
    assert [line["index"] for line in rest[:-1]] == list(range(1, len(rest)))
    assert rest[-1]["error"]["code"] == "timeout"
    assert running.service.batcher.waiting == 0


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"{", (400, "no_json", None)),
        (b"", (400, "no_json", None)),
        (b"\xff\xfe", (400, "no_json", None)),
        (b'{"text": "\\ud800"}', (400, "no_json", None)),
        (b"[" * 100_000, (400, "no_json", None)),
        (b"null", (422, "not_understood", None)),
        (b"{}", (422, "not_understood", None)),
        (b'{"text": "a", "texts": ["b"]}', (422, "not_understood", None)),
        (b'{"text": 5}', (422, "not_understood", "text")),
        (b'{"text": "a", "colour": 1}', (422, "not_understood", "colour")),
        (b'{"text": "a", "markup": "latex"}', (422, "not_understood", "markup")),
        (b'{"texts": ["a"], "language": "Klingonish"}', (422, "not_understood", "language")),
        (b'{"texts": []}', (422, "not_understood", "texts")),
        (b'{"texts": ["a", null]}', (422, "not_understood", "texts[1]")),
        (b'{"samples": [{"text": "a"}, {"id": "b"}]}', (422, "not_understood", "samples[1].text")),
        (b'{"samples": [{"text": "a", "references": "b"}]}', (422, "not_understood", "samples[0].references")),
        (json.dumps({"texts": ["a"] * 101}), (422, "too_many_texts", "texts")),
        (json.dumps({"texts": ["a", "b" * 2_001]}), (422, "too_long", "texts[1]")),
        (json.dumps({"text": "b" * 2_001}), (422, "too_long", "text")),
        (json.dumps({"samples": [{"text": "", "source": "b" * 2_001}]}), (422, "too_long", "samples[0].source")),
        (json.dumps({"text": "", "references": ["a"] * 65}), (422, "too_many_references", "references")),
        (json.dumps({"text": "", "references": ["a", "b" * 2_001]}), (422, "too_long", "references[1]")),
        (b'{"text": "a", "metrics": ["slor"]}', (422, "no_such_metric", "metrics")),
        (b'{"text": "a", "metrics": ["rouge_lm"]}', (422, "no_such_metric", "metrics")),
        (b'{"text": "a", "metrics": ["gruen.redundancy[model=/etc/passwd]"]}', (422, "no_such_metric", "metrics")),
        (b'{"text": "a", "metrics": ["rougeL"]}', (422, "lacking", None)),
        (b'{"text": "' + b"a" * 400_000 + b'"}', (413, "too_large", None)),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else str(value[:40]),
)  # fmt: skip
def test_what_cannot_be_scored_is_refused_with_what_and_where(light: Running, content: Any, wanted: Any) -> None:
    headers = {"content-type": "application/json"}
    for sent in (content, iter([content if isinstance(content, bytes) else content.encode()])):
        # the second time in chunks, without a word of how much will come
        answer = light.client.post("/v1/score", content=sent, headers=headers)
        assert refusal(answer) == wanted
        assert all(name in answer.headers for name in HEADERS)


def test_a_metric_relative_to_a_set_is_refused_with_a_sentence(light: Running) -> None:
    message = light.score({"text": "a", "metrics": ["rouge_lm"]}).json()["error"]["message"]
    assert "whole set" in message
    with pytest.raises(celadon.core.UsageError, match=r"whole set.*--standardize-on"):
        with_set(())


def with_set(more: tuple[str, ...], **settings: Any) -> Any:
    from celadon.serve.service import Service
    from celadon.serve.settings import ServeSettings

    return Service(ServeSettings(metrics=("rouge_lm", *more), **settings))


def test_constants_make_a_relative_metric_one_that_is_served(example: Path) -> None:
    scorer = with_set((), standardize_on=str(example)).scorer
    scorer.load()
    rows = [json.loads(line) for line in example.read_text(encoding="utf-8").splitlines()][:3]
    samples = [celadon.Sample(row["text"], tuple(row["references"])) for row in rows]
    from celadon.serve.scorer import Kind, Task, TextRequest

    found = scorer.work(Kind(Task.SCORE, ("rouge_lm",)), [TextRequest(sample) for sample in samples])
    wanted = celadon.score(samples, metrics="rouge_lm", standardize_on=str(example))
    assert [each.scores["rouge_lm"] for each in found] == pytest.approx(wanted["rouge_lm"].tolist(), abs=1e-4)


def test_every_response_has_the_headers_and_tells_nothing_of_the_machinery(light: Running) -> None:
    statuses = set()
    for method, path, options in (
        ("GET", "/", {}),
        ("HEAD", "/", {}),
        ("GET", "/healthz", {}),
        ("HEAD", "/v1/metrics", {}),
        ("HEAD", "/v1/score", {}),
        ("GET", "/metrics", {}),
        ("GET", "/openapi.json", {}),
        ("GET", "/docs", {}),
        ("GET", "/static/style.css", {}),
        ("GET", "/static/..%2fpage.py", {}),
        ("DELETE", "/v1/score", {}),
        ("POST", "/v1/score", {"content": b"x"}),
        ("POST", "/", {"content": b"x"}),
        ("POST", "/", {"content": b"x" * 500_000}),
        ("POST", "/", {"data": {f"f{number}": "x" for number in range(30)}}),
        ("POST", "/", {"data": {"text": "x" * 3_000}}),
    ):
        answer = light.client.request(method, path, **options)
        statuses.add(answer.status_code)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert all(name in answer.headers for name in HEADERS)
        assert "Traceback" not in answer.text
        assert method != "HEAD" or answer.content == b""
    assert statuses == {200, 400, 404, 405, 413, 415, 422}


def test_what_is_served_is_told(light: Running) -> None:
    told = light.client.get("/v1/metrics").json()["metrics"]
    assert [each["metric"] for each in told] == list(LIGHT)
    assert [each["needs"] for each in told] == [[], ["references"]]
    assert [each["signature"] for each in told] == [celadon.load(spec).signature for spec in LIGHT]


def test_an_explanation_has_the_spans_that_the_metric_shows(modelled: Running) -> None:
    text = "The council agreed to pay. The council agreed to pay for it all."
    answer = modelled.client.post("/v1/explain", json={"text": text, "references": [REFERENCE]}).json()
    same(answer["result"], expected([text], WITH_MODEL, [REFERENCE])[0])
    assert answer["explained_characters"] == len(text)
    sample = celadon.Sample(text, (REFERENCE,))
    for spec in WITH_MODEL:
        evidence = celadon.load(spec).evidence(sample)
        assert evidence is not None
        shown = answer["evidence"][spec]
        assert shown["summary"] == evidence.summary
        assert [tuple(span.values()) for span in shown["text_spans"]] == list(map(tuple, evidence.text_spans))
        assert [section["kind"] for section in shown["sections"]] == [section.kind for section in evidence.sections]
    sentences = answer["evidence"]["slor"]["sections"][-1]
    assert sentences["title"] == "Values of sentences"
    assert [span["label"] for span in sentences["spans"]].count("worst") == 1


def test_scores_are_kept_and_found_again(start: Callable[..., Running], tmp_path: Path) -> None:
    from celadon.scoring.cache.score_cache import CacheSettings

    running = start(cache=CacheSettings(str(tmp_path / "scores.sqlite")))
    first = running.score({"texts": TEXTS}).json()
    scorer = running.service.scorer._scorer
    assert scorer.cache_counts == (0, len(TEXTS))
    assert running.score({"texts": TEXTS}).json() == first
    assert scorer.cache_counts[0] == len(TEXTS)
