"""What metrics need of a cluster."""

from __future__ import annotations

import pytest

from celadon.core import UsageError
from celadon.runs.resources import Resources, resources_of_worker

METRICS = ("slor", "slor[context=document]", "rougeL")


@pytest.mark.parametrize(
    ("told", "needed"),
    [
        ((), Resources(1, 0)),
        (("slor=cpu:2",), Resources(2, 0)),
        (("slor=gpu:0.5",), Resources(1, 0.5)),
        (("slor=gpu:0.25", "slor[context=document]=cpu:3,gpu:2", "rougeL=cpu:4"), Resources(4, 2)),
        # the later word counts, and the notation may say what is so anyway
        (("slor=cpu:8", "slor[model=builtin] = cpu:2"), Resources(2, 0)),
    ],
)
def test_a_worker_needs_the_most_of_what_its_metrics_need(told: tuple[str, ...], needed: Resources) -> None:
    assert resources_of_worker(told, METRICS) == needed


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("cpu:2", "no metric is named; say METRIC=cpu:2,gpu:0.5"),
        ("=cpu:2", "no metric is named"),
        ("nce=cpu:2", "the run has no nce; its metrics are slor, "),
        ("nothing=cpu:2", "nothing"),
        ("slor=2", "'2' is not understood"),
        ("slor=cpu:2,cpu:3", "'cpu:3' is not understood"),
        ("slor=disk:2", "'disk:2' is not understood"),
        ("slor=cpu:many", "'many' is no number of cpus"),
        ("slor=gpu:-1", "'-1' is no number of gpus"),
        ("slor=gpu:inf", "'inf' is no number of gpus"),
        ("slor=cpu:0", "one core or more"),
        ("slor=cpu:1.5", "whole ones"),
        ("slor=gpu:1.5", "more than one GPU can only be whole ones"),
    ],
)
def test_what_cannot_be_understood_is_told(told: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resources_of_worker([told], METRICS)
