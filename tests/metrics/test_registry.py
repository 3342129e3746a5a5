"""Names of metrics and of their parts."""

from __future__ import annotations

import pytest

from celadon.metrics.registry import NamedPart, named_part


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("slor", NamedPart("slor", None)),
        ("slor.worst", NamedPart("slor", "worst")),
        ("slor[context=document].worst", NamedPart("slor[context=document]", "worst")),
        ("formula[file=a.b.json]", NamedPart("formula[file=a.b.json]", None)),
        ("gruen.redundancy", NamedPart("gruen.redundancy", None)),
        ("gruen.redundancy.pairs", NamedPart("gruen.redundancy", "pairs")),
        ("nobody.knows.this", NamedPart("nobody", "knows.this")),
        ("rougeL.", None),
        (".rougeL", None),
        ("", None),
        ("slor[context=document]worst", None),
        ("slor[context=document].", None),
    ],
)
def test_a_metric_is_told_from_its_parts(name: str, found: NamedPart | None) -> None:
    assert named_part(name) == found
