"""Requests made from the OpenAPI document, right and wrong ones: the document is true, and nothing ends in a 500."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.conftest import missing_part
from tests.serve.conftest import Running, started

OPERATIONS = ["POST /v1/score", "POST /v1/explain", "GET /v1/metrics", "GET /healthz", "GET /metrics"]


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    """No metric needs more than a text, so that whatever the document allows must be scored."""
    with started(metrics=("gruen.redundancy", "slor"), max_text_chars=300, max_texts=20) as service:
        yield service


@pytest.fixture(scope="module")
def document(running: Running) -> Any:
    if find_spec("schemathesis") is None:
        missing_part("schemathesis", "so the OpenAPI document is not tried: ./celadon install test")
    import schemathesis

    return schemathesis.openapi.from_url(f"{running.address}/openapi.json")


def test_the_document_tells_of_every_operation(document: Any) -> None:
    assert [operation.ok().label for operation in document.get_all_operations()] == OPERATIONS


@pytest.mark.parametrize(
    ("label", "mode"),
    [(label, "positive") for label in OPERATIONS] + [(label, "negative") for label in OPERATIONS[:2]],
)
def test_nothing_breaks_and_the_document_is_true(document: Any, running: Running, label: str, mode: str) -> None:
    from schemathesis import GenerationMode

    method, path = label.split()
    operation = document[path][method]
    examples = int(os.environ.get("CELADON_FUZZ", "30")) if method == "POST" else 3

    @settings(
        max_examples=examples,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
        derandomize=True,
    )
    @given(case=operation.as_strategy(generation_mode=GenerationMode(mode)))
    def attempt(case: Any) -> None:
        response = case.call_and_validate()
        assert response.status_code < 500

    attempt()
    assert running.client.get("/healthz").status_code == 200
