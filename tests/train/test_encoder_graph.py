"""The encoder in torch against transformers, its graph against torch, and the folder that is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celadon.core import InputError, UsageError
from celadon.models.encoders.word_findings import FINDING_KINDS
from celadon.models.store import verify
from tests.conftest import missing_part
from tests.tiny_encoder import CLS, SEP, VOCABULARY, tiny_network, tiny_tokenizer

try:
    import onnx  # noqa: F401
    import torch
except ImportError:
    missing_part("torch or onnx", "run: pip install 'celadon-text[train]'")

HEADS = ("acceptability", "meaning", "before", "after", "findings")


def rows_of(lengths: list[int], pad: int = 0, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    ids = np.full((len(lengths), max(lengths)), pad, dtype=np.int64)
    for at, length in enumerate(lengths):
        ids[at, :length] = [CLS, *draw.integers(4, len(VOCABULARY), length - 2), SEP]
    return ids, np.array(lengths, dtype=np.int64)


def torch_heads(network: Any, ids: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    with torch.no_grad():
        heads = [part.numpy() for part in network(torch.from_numpy(ids), torch.from_numpy(lengths))]
    # what is said of padding says nothing
    there = np.arange(ids.shape[1]) < lengths[:, None]
    return [*heads[:-1], np.where(there[:, :, None], heads[-1], 0.0)]


def session_of(graph: bytes, threads: int = 1) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def graph_heads(session: Any, ids: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    if isinstance(session, bytes):
        session = session_of(session)
    heads = session.run(list(HEADS), {"ids": ids, "lengths": lengths})
    there = np.arange(ids.shape[1]) < lengths[:, None]
    return [*heads[:-1], np.where(there[:, :, None], heads[-1], np.float32(0))]


def graph_of(network: Any, precision: str) -> bytes:
    from celadon.train.encoders.graph import encoder_graph

    weights = {name: weight.detach().numpy() for name, weight in network.named_parameters()}
    return encoder_graph(weights, network.shape, 64, precision)


@pytest.fixture(scope="module")
def network() -> Any:
    return tiny_network(findings=len(FINDING_KINDS), meaning=24)


def test_the_body_is_that_of_transformers(tmp_path: Path) -> None:
    try:
        from transformers import BertConfig, BertModel
    except ImportError:
        missing_part("transformers", "run: pip install 'celadon-text[hf]'")
    from celadon.train.encoders.bases import base_network

    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=40,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        intermediate_size=48,
        max_position_embeddings=20,
    )
    theirs = BertModel(config).eval()
    with torch.no_grad():
        for weight in theirs.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
    theirs.save_pretrained(tmp_path)
    ours = base_network(tmp_path).eval()
    ids, lengths = rows_of([11, 3, 7])
    mask = (np.arange(11) < lengths[:, None]).astype(np.int64)
    with torch.no_grad():
        states = theirs(torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).last_hidden_state.numpy()
    mean = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
    expected = mean / np.linalg.norm(mean, axis=1, keepdims=True)
    np.testing.assert_allclose(torch_heads(ours, ids, lengths)[1], expected, atol=1e-5)


def test_padding_is_not_looked_at(network: Any) -> None:
    lengths = [9, 2, 5]
    one = torch_heads(network, *rows_of(lengths))
    other = torch_heads(network, *rows_of(lengths, pad=7))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    ids, _ = rows_of(lengths)
    for at, length in enumerate(lengths):
        alone = torch_heads(network, ids[at : at + 1, :length], np.array([length]))
        for a, b in zip(one, alone, strict=True):
            of_row = a[at][:length] if a.ndim == 3 else a[at]
            np.testing.assert_allclose(of_row, b[0], atol=1e-5)


@pytest.mark.usefixtures("bfloat16")
def test_every_weight_is_learned_also_in_16_bits() -> None:
    network = tiny_network(findings=3, meaning=24).train()
    ids, lengths = (torch.from_numpy(part) for part in rows_of([9, 2, 5, 9]))
    with torch.autocast("cpu", torch.bfloat16):
        heads = network(ids, lengths)
        order = network.order_logits(type(heads)(*(h[:2] for h in heads)), type(heads)(*(h[2:] for h in heads)))
    assert {part.dtype for part in (*heads, order)} == {torch.float32}
    (heads.acceptability.sum() + heads.meaning[:, 0].sum() + order.sum() + heads.findings.sum()).backward()
    for name, weight in network.named_parameters():
        assert weight.grad is not None, name
        assert torch.isfinite(weight.grad).all(), name
        # all queries see a bias of the keys alike, so that nothing depends on it
        assert name.endswith("attention.bias") or weight.grad.abs().sum() > 0, name


def test_the_exact_graph_is_the_network(network: Any) -> None:
    rows = rows_of([13, 4, 2, 9, 9])
    for ours, expected in zip(graph_heads(graph_of(network, "fp32"), *rows), torch_heads(network, *rows), strict=True):
        assert ours.shape == expected.shape
        np.testing.assert_allclose(ours, expected, atol=1e-4)


def test_the_graph_in_bytes_is_near_the_network(network: Any) -> None:
    rows = rows_of([13, 4, 2, 9, 9, 30])
    ours, expected = graph_heads(graph_of(network, "int8"), *rows), torch_heads(network, *rows)
    assert ((ours[1] * expected[1]).sum(axis=1) > 0.998).all()
    for one, two in zip(ours, expected, strict=True):
        assert np.abs(one - two).mean() < 0.03 * max(1.0, float(two.std()))


@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_the_reference_kernels_compute_the_same(tmp_path: Path, network: Any, precision: str) -> None:
    from celadon.models.networks.reference_session import ReferenceSession

    graph, rows = graph_of(network, precision), rows_of([13, 4, 2, 9, 9, 30])
    reference = graph_heads(ReferenceSession(graph, tmp_path), *rows)
    for one, two in zip(graph_heads(graph, *rows), reference, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-4)


@pytest.mark.parametrize(("threads", "size"), [(1, 1), (1, 64), (2, 7), (2, 64)])
def test_scores_do_not_depend_on_neighbors_and_threads(network: Any, threads: int, size: int) -> None:
    graph = graph_of(network, "int8")
    ids, lengths = rows_of([11] * 64)
    together = graph_heads(graph, ids, lengths)
    session = session_of(graph, threads)
    for at in range(0, 64, size):
        part = graph_heads(session, ids[at : at + size], lengths[at : at + size])
        for a, b in zip(part, together, strict=True):
            np.testing.assert_allclose(a, b[at : at + size], rtol=0, atol=2e-6)


def test_a_network_without_findings_has_a_graph_without_them() -> None:
    network = tiny_network()
    session, rows = session_of(graph_of(network, "fp32")), rows_of([9, 4])
    assert [output.name for output in session.get_outputs()] == list(HEADS[:-1])
    ids, lengths = rows
    heads = session.run(list(HEADS[:-1]), {"ids": ids, "lengths": lengths})
    for ours, expected in zip(heads, torch_heads(network, *rows)[:-1], strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-4)


def test_the_graph_is_the_same_bytes_each_time(network: Any) -> None:
    assert graph_of(network, "int8") == graph_of(network, "int8")


def test_a_folder_is_written_whole(tmp_path: Path, network: Any) -> None:
    from celadon.train.encoders.graph import write_encoder

    write_encoder(network, tiny_tokenizer(), tmp_path / "mine", card="# mine\n", facts={"base": "none"})
    found = set(verify(tmp_path / "mine", full=True).files)
    assert found == {"model.onnx", "check.json", "model.json", "order.npy", "tokenizer.json", "card.md"}
    described = json.loads((tmp_path / "mine" / "model.json").read_text())
    assert described == {
        "format": "celadon-encoder/1",
        "name": "mine",
        "window": 256,
        "scripts": ["Latin"],
        "cls_id": CLS,
        "sep_id": SEP,
        "pad_id": 0,
        "findings": list(FINDING_KINDS),
        "base": "none",
    }
    with pytest.raises(UsageError, match="is there already"):
        write_encoder(network, tiny_tokenizer(), tmp_path / "mine")


def test_a_tokenizer_without_marks_is_refused(tmp_path: Path, network: Any) -> None:
    from tokenizers import Tokenizer, models

    from celadon.train.encoders.graph import write_encoder

    bare = Tokenizer(models.WordLevel({"a": 0}, unk_token="a")).to_str()
    with pytest.raises(InputError, match=r"no \[CLS\]"):
        write_encoder(network, bare, tmp_path / "mine")
    assert not list(tmp_path.iterdir())


CONFIG = {
    "vocab_size": 9,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 8,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
}


@pytest.mark.parametrize(
    ("config", "weights", "told"),
    [
        (None, None, r"config\.json: cannot be read"),
        ("[", None, r"config\.json: is not JSON"),
        ("[]", None, r"config\.json: is not a JSON object"),
        (json.dumps(CONFIG), None, r"model\.safetensors: cannot be read"),
        (json.dumps(CONFIG), b"weights", r"model\.safetensors: is not a safetensors file"),
        (json.dumps(CONFIG), {}, "is not a BERT"),
        (json.dumps(CONFIG | {"hidden_act": "relu"}), {}, "only exact GELU"),
    ],
)
def test_a_folder_that_is_no_bert_is_told_in_one_line(tmp_path: Path, config: Any, weights: Any, told: str) -> None:
    from safetensors.torch import save_file

    from celadon.train.encoders.bases import base_network

    if config is not None:
        (tmp_path / "config.json").write_text(config)
    if isinstance(weights, bytes):
        (tmp_path / "model.safetensors").write_bytes(weights)
    elif weights is not None:
        save_file({"x": torch.zeros(1)}, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=told) as raised:
        base_network(tmp_path)
    assert "\n" not in str(raised.value)
