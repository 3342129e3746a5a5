"""Where networks of transformers run. No machine of ours has a GPU: tried is what can be without one."""

from __future__ import annotations

import pytest

from celadon.core import UsageError
from celadon.models.networks.transformers_network import VARIABLE, device_facts, device_name, moved
from tests.conftest import missing_part

try:
    import torch
except ImportError:
    missing_part("torch", "run: pip install 'celadon-text[hf]'")


def test_nothing_but_the_processor_is_used_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert device_name() == "cpu"
    assert device_facts() == {}
    model = torch.nn.Linear(2, 2)
    assert moved(model) is model


def test_a_signature_names_another_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "cuda:1")
    assert device_facts() == {"device": "cuda"}


def test_what_cannot_be_had_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "gpu")
    with pytest.raises(UsageError, match="'gpu' is no device; choose cpu, cuda"):
        device_name()
    if not torch.cuda.is_available():
        monkeypatch.setenv(VARIABLE, "cuda")
        with pytest.raises(UsageError, match=r"cuda cannot be used here .*; leave it out to use the processor"):
            moved(torch.nn.Linear(2, 2))


def test_what_is_given_goes_where_the_network_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Network(torch.nn.Module):
        device = torch.device("meta")

        def forward(self, ids: torch.Tensor, mask: torch.Tensor | None = None) -> tuple[str, str]:
            assert mask is not None
            return ids.device.type, mask.device.type

        def to(self, *_: object) -> Network:
            return self

    # the one device beside the processor that every torch has, which holds shapes alone
    monkeypatch.setenv(VARIABLE, "cuda")
    network = moved(Network())
    assert network(torch.zeros(2), mask=torch.zeros(2)) == ("meta", "meta")
