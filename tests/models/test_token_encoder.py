"""Vectors of tokens against the networks themselves: ours in torch, and those of transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from celadon.core import InputError, UsageError
from celadon.models.onnx_outputs import with_outputs
from celadon.models.token_encoder import forget_token_encoders, token_encoder
from tests.models.tiny_checkpoints import CORPUS, make_checkpoints, torch, transformers
from tests.tiny_encoder import CLS, SEP, make_encoder, tiny_network


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_encoder(tmp_path_factory.mktemp("encoder") / "tiny", window=16, precision="fp32")


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_checkpoints(tmp_path_factory.mktemp("checkpoints"))


def unit(states: np.ndarray) -> np.ndarray:
    return np.asarray(states / np.linalg.norm(states, axis=-1, keepdims=True))


class TestOurs:
    def layers(self, ids: list[int]) -> list[np.ndarray]:
        """What the network makes of a row, layer by layer, the embeddings first."""
        network, found = tiny_network(0), []
        hooks = [
            layer.register_forward_hook(lambda _, inputs, made: found.append((inputs[0], made)))
            for layer in network.layers
        ]
        with torch.inference_mode():
            network(torch.tensor([ids]), torch.tensor([len(ids)]))
        for hook in hooks:
            hook.remove()
        states = [found[0][0], *(made for _, made in found)]
        return [each.reshape(len(ids), -1).double().numpy() for each in states]

    def test_every_layer(self, ours: Path) -> None:
        encoder = token_encoder(str(ours))
        tokens = encoder.tokens(["The cat sat on unhappy mats.", "it ran"])
        assert encoder.layers == 2
        assert (tokens[0][0], tokens[0][-1]) == (CLS, SEP)
        for layer in (0, 1, 2):
            for row, states in zip(tokens, encoder.states(tokens, (layer,)), strict=True):
                np.testing.assert_allclose(states, unit(self.layers(row.tolist())[layer]), atol=1e-5)

    def test_power_means(self, ours: Path) -> None:
        encoder = token_encoder(str(ours))
        (tokens,) = encoder.tokens(["the cat sat"])
        both = np.stack([unit(states) for states in self.layers(tokens.tolist())[1:]])
        expected = np.concatenate([both.min(axis=0), both.mean(axis=0), both.max(axis=0)], axis=1)
        np.testing.assert_allclose(encoder.states([tokens], (1, 2))[0], expected, atol=1e-5)

    def test_long_texts_are_read_in_windows(self, ours: Path) -> None:
        """Each token has the state of the window that reads it first: 14 tokens, then 7 more at a time."""
        encoder = token_encoder(str(ours))
        (tokens,) = encoder.tokens(["the cat sat on a mat it ran home " * 3])
        inner = tokens[1:-1].tolist()
        assert len(inner) == 27
        (found,) = encoder.states([tokens], (2,))
        rows = [(0, 0, 14), (7, 14, 21), (13, 21, 27)]
        expected = []
        for start, first, end in rows:
            states = self.layers([CLS, *inner[start:end], SEP])[2]
            expected.append(states[0 if first == 0 else 1 + first - start : None if end == 27 else -1])
        np.testing.assert_allclose(found, unit(np.concatenate(expected)), atol=1e-5)

    def test_what_is_encoded_along_changes_nothing(self, ours: Path) -> None:
        encoder = token_encoder(str(ours))
        texts = encoder.tokens(["the cat", "a dog ran", "the cat", "it sat on a mat " * 9])
        whole = encoder.states(texts, (1,))
        for tokens, states in zip(texts, whole, strict=True):
            np.testing.assert_array_equal(encoder.states([tokens], (1,))[0], states)

    def test_places_and_marks(self, ours: Path) -> None:
        encoder = token_encoder(str(ours))
        text = "  The unhappy cat!"
        (tokens,) = encoder.tokens([text])
        cut = [text[start:end] for start, end in encoder.places(text).tolist()]
        assert cut == ["", "The", "un", "happy", "cat", "!", ""]
        assert encoder.is_mark(tokens).tolist() == [True, False, False, False, False, False, True]
        assert [encoder.pieces[token] for token in tokens[encoder.continues[tokens]]] == ["##happy"]

    def test_no_such_layer(self, ours: Path) -> None:
        encoder = token_encoder(str(ours))
        with pytest.raises(UsageError, match="0, its embeddings, to 2; 3 is none"):
            encoder.states(encoder.tokens(["the cat"]), (3,))


class TestOutputs:
    def test_the_library_reads_the_same(self, ours: Path) -> None:
        import onnx

        before = (ours / "model.onnx").read_bytes()
        names = ["layers.0.outer.normal", "embedded_normal"]
        expected = onnx.load_from_string(before)
        del expected.graph.output[:]
        expected.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
        assert onnx.load_from_string(with_outputs(before, names)) == expected

    @pytest.mark.parametrize("wrong", [b"\x3a\xff", b"\x3a", b"\x0b\x00", b"\x3a\x7fgraph"])
    def test_what_is_no_graph(self, wrong: bytes) -> None:
        with pytest.raises(ValueError, match=r"it ends|no field"):
            with_outputs(wrong, ["any"])

    def test_a_graph_that_names_no_layers(self, ours: Path, tmp_path: Path) -> None:
        folder = make_encoder(tmp_path / "other", window=16, precision="fp32")
        content = (folder / "model.onnx").read_bytes()
        (folder / "model.onnx").write_bytes(content.replace(b".outer.normal", b".outer.strange"[:13]))
        (folder / "manifest.json").unlink()
        with pytest.raises(InputError, match="have no names"):
            token_encoder(str(folder))


class TestTransformers:
    @pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2"])
    def test_every_layer(self, checkpoints: dict[str, Path], kind: str) -> None:
        forget_token_encoders()
        encoder = token_encoder(f"hf:{checkpoints[kind]}")
        model = transformers.AutoModel.from_pretrained(str(checkpoints[kind])).eval()
        tokens = encoder.tokens([text[:40] for text in CORPUS])
        for layer in (2, 1):
            for row, states in zip(tokens, encoder.states(tokens, (layer,)), strict=True):
                with torch.no_grad():
                    made = model(torch.from_numpy(row)[None], output_hidden_states=True).hidden_states[layer][0]
                    # a network that ends there ends with its last normalisation, as in the package bert_score
                    expected = model.ln_f(made) if kind == "gpt2" and layer < 2 else made
                np.testing.assert_allclose(states, unit(expected.double().numpy()), atol=1e-4)

    def test_the_first_word_is_like_any_other(self, checkpoints: dict[str, Path]) -> None:
        encoder = token_encoder(f"hf:{checkpoints['roberta']}")
        (first,), (later,) = encoder.tokens(["the bridge"]), encoder.tokens(["new the bridge"])
        assert later[-len(first) + 1 :].tolist() == first[1:].tolist()
        text = " the bridge"
        assert "".join(text[start:end].strip() for start, end in encoder.places(text).tolist()) == "thebridge"

    def test_folders_without_the_prefix(self, checkpoints: dict[str, Path]) -> None:
        named, plain = token_encoder(f"hf:{checkpoints['bert']}"), token_encoder(str(checkpoints["bert"]))
        assert named.digest == plain.digest
        assert named.best_layer() == 2

    def test_names_of_the_hub_have_their_best_layers(self, checkpoints: dict[str, Path]) -> None:
        encoder = token_encoder(f"hf:{checkpoints['bert']}")
        kept = encoder.name, encoder.layers
        try:
            for name, layers, best in (
                ("FacebookAI/roberta-large", 24, 17),
                ("bert-base-uncased", 12, 9),
                ("x", 12, 9),
            ):
                encoder.name, encoder.layers = f"hf:{name}", layers
                assert encoder.best_layer() == best
        finally:
            encoder.name, encoder.layers = kept
