"""The bases of encoders against transformers: a tagger whose weights are bytes, and its lower layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celadon.core import InputError
from tests.conftest import missing_part

try:
    import onnx
    import torch
    from transformers import DistilBertConfig, DistilBertModel
except ImportError:
    missing_part("torch, onnx or transformers", "run: pip install 'celadon-text[train,hf]'")

HIDDEN, INNER, LAYERS, WORDS, PLACES = 64, 96, 3, 40, 24
MATRICES = ("attention.q_lin", "attention.k_lin", "attention.v_lin", "attention.out_lin", "ffn.lin1", "ffn.lin2")


def in_bytes(name: str, matrix: Any) -> tuple[dict[str, Any], Any]:
    """A matrix as bytes with their scale and zero, and as the numbers that these stand for."""
    scale = np.float32(np.abs(matrix).max() / 100)
    zero = np.uint8(120)
    levels = np.clip(np.rint(matrix / scale) + zero, 0, 255).astype(np.uint8)
    stored = {f"{name}_quantized": levels, f"{name}_scale": np.array(scale), f"{name}_zero_point": np.array(zero)}
    return stored, (levels.astype(np.float32) - np.float32(zero)) * scale


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """A folder with a tagger, and the model of transformers that it was made of."""
    torch.manual_seed(1)
    config = DistilBertConfig(
        vocab_size=WORDS, dim=HIDDEN, hidden_dim=INNER, n_layers=LAYERS, n_heads=1, max_position_embeddings=PLACES
    )
    model = DistilBertModel(config).eval()
    stored: dict[str, Any] = {}
    state = {name: weight.numpy() + 0.05 * np.random.default_rng(2).normal(size=weight.shape).astype(np.float32)
             for name, weight in model.state_dict().items()}  # fmt: skip
    # the order of names as text is not that of their numbers
    number = 97
    for layer in range(LAYERS):
        for matrix in MATRICES:
            name = f"transformer.layer.{layer}.{matrix}.weight"
            parts, numbers = in_bytes(f"onnx::MatMul_{number}", state[name].T)
            stored |= parts
            state[name] = numbers.T.copy()
            number += 1
    stored |= in_bytes(f"onnx::MatMul_{number}", np.ones((HIDDEN, 5), dtype=np.float32))[0]
    for part in ("word", "position"):
        name = f"embeddings.{part}_embeddings.weight"
        parts, state[name] = in_bytes(f"distilbert.{name}", state[name])
        stored |= parts
    stored |= {f"distilbert.{name}": each for name, each in state.items() if each.ndim == 1}
    model.load_state_dict({name: torch.from_numpy(each) for name, each in state.items()})
    folder = tmp_path_factory.mktemp("tagger")
    tables = [onnx.numpy_helper.from_array(each, name) for name, each in stored.items()]
    graph = onnx.helper.make_graph([], "tagger", [], [], tables)
    onnx.save(onnx.helper.make_model(graph), folder / "tagger.onnx")
    return folder, model


@pytest.mark.parametrize("layers", [0, 3, 2, 1])
def test_the_tagger_is_that_of_transformers(tagger: tuple[Path, Any], layers: int) -> None:
    from celadon.train.encoders.bases import base_network

    folder, model = tagger
    network = base_network(folder, layers=layers, findings=12, meaning=7).eval()
    assert network.shape.layers == (layers or LAYERS)
    ids = torch.from_numpy(np.random.default_rng(3).integers(WORDS, size=(3, 11)))
    lengths = torch.tensor([11, 4, 8])
    mask = torch.arange(11) < lengths[:, None]
    with torch.no_grad():
        states, _, _ = network._states(ids, lengths)
        theirs = model(ids, attention_mask=mask.long(), output_hidden_states=True).hidden_states[layers or LAYERS]
        heads = network(ids, lengths)
    np.testing.assert_allclose(states[mask].numpy(), theirs[mask].numpy(), atol=1e-5)
    assert heads.findings.shape == (3, 11, 12)
    assert heads.meaning.shape == (3, 7)


@pytest.mark.parametrize("layers", [-1, 4])
def test_too_many_layers_are_refused(tagger: tuple[Path, Any], layers: int) -> None:
    from celadon.train.encoders.bases import base_network

    with pytest.raises(InputError, match=f"it has 3 layers, not {layers}"):
        base_network(tagger[0], layers=layers)


def test_what_is_no_tagger_is_refused_in_one_line(tmp_path: Path) -> None:
    from celadon.train.encoders.bases import base_network

    (tmp_path / "tagger.onnx").write_bytes(b"weights")
    with pytest.raises(InputError, match=r"tagger\.onnx: cannot be read as an ONNX graph") as raised:
        base_network(tmp_path)
    assert "\n" not in str(raised.value)
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "other", [], [])), tmp_path / "tagger.onnx")
    with pytest.raises(InputError, match="is not a BERT that can be continued"):
        base_network(tmp_path)


def test_an_encoder_is_trained_from_a_tagger(
    tagger: tuple[Path, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What sentences mean is told by another encoder, of another width."""
    import shutil

    from celadon.models.encoders.encoder import open_sentence_encoder
    from celadon.train.encoders import acceptability
    from celadon.train.encoders.network import load_network
    from celadon.train.encoders.recipes import AcceptabilityRecipe
    from tests.tiny_encoder import tiny_tokenizer

    base = tmp_path / "base"
    shutil.copytree(tagger[0], base)
    (base / "tokenizer.json").write_text(tiny_tokenizer(), encoding="utf-8")
    sentences = ("The cat sat on a mat at home.", "Then he ran home on the mat.", "It ran and the dog sat on a mat.")
    (tmp_path / "corpus.txt").write_text("\n\n".join([" ".join(sentences * 2)] * 40) + "\n", encoding="utf-8")

    def meanings(texts: Any) -> Any:
        vectors = np.stack([[text.count("a"), text.count("e"), 1.0] for text in texts]).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    monkeypatch.setattr(acceptability, "minilm_meanings", lambda: meanings)
    recipe = AcceptabilityRecipe(pairs=40, held_out=4, batch_tokens=256, layers=2, frozen=1, head_rate=8.0)
    network = tmp_path / "network.safetensors"
    acceptability.train_acceptability(
        [tmp_path / "corpus.txt"], tmp_path / "encoder", recipe, base=str(base), network=network
    )
    encoded = open_sentence_encoder(str(tmp_path / "encoder")).encode(list(sentences))
    assert encoded.meaning.shape == (3, 3)
    assert (encoded.meaning * meanings(sentences)).sum(axis=1).min() > 0.9
    assert encoded.words is not None
    assert load_network(network).network.shape.layers == 2


def test_an_encoder_of_ours_goes_on_with_its_heads(tmp_path: Path) -> None:
    """What ONNX Runtime computes of the folder, the network that is read from it computes too."""
    from celadon.models.encoders.encoder import OnnxEncoder
    from celadon.train.encoders.bases import base_network, encoder_tokenizer
    from celadon.train.encoders.graph import write_encoder
    from tests.tiny_encoder import tiny_network, tiny_tokenizer

    folder = tmp_path / "encoder"
    write_encoder(tiny_network(early=2), tiny_tokenizer(), folder, window=32)
    network = base_network(folder, findings=12).eval()
    assert network.shape.findings == 12
    texts = ["The cat sat on a mat.", "He ran home!"]
    encoded = OnnxEncoder.open(folder, "tiny", 1).encode(texts)
    tokenizer = encoder_tokenizer(folder)
    tokenizer.no_padding()
    for row, text in enumerate(texts):
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.no_grad():
            heads = network(ids, torch.tensor([ids.shape[1]]))
        assert float(heads.acceptability[0]) == pytest.approx(encoded.acceptability[row], abs=1e-4)
        np.testing.assert_allclose(heads.meaning[0], encoded.meaning[row], atol=1e-4)
        np.testing.assert_allclose(heads.before[0], encoded.before[row], atol=1e-4)
    np.testing.assert_allclose(network.order_weight.detach(), encoded.order[0], atol=1e-6)
