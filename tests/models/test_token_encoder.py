"""Vectors of tokens against the networks themselves: ours in torch, and those of transformers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from celadon.core import InputError, UsageError
from celadon.models.encoders.token_encoder import WordPieces, cuts_at_spaces, forget_token_encoders, token_encoder
from celadon.models.encoders.transformers_tokens import PackedLayers, Padded
from celadon.models.networks.onnx_graph import with_outputs
from celadon.models.store.model_files import load_tokenizer
from tests.models.tiny_checkpoints import CORPUS, make_checkpoints, torch, transformers
from tests.tiny_encoder import CLS, SEP, make_encoder, tiny_network

WORDS = ["the", "The", "cat", "sat", "unhappy", "mats", "##s", "[CLS]", "[UNK]", "zebra", "x" * 101]
SIGNS = [" ", "  ", ".", ",", "?", "[", "'", "\t", "\x1c", "\u00a0", "\u2028", "\u0301", "\u0130", "\u4e2d", "\u200b"]


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
        assert encoder.is_mark(np.array([len(tokens)])).tolist() == [True, False, False, False, False, False, True]
        assert [encoder.pieces[token] for token in tokens[encoder.continues[tokens]]] == ["##happy"]

    def test_no_such_layer(self, ours: Path) -> None:
        encoder = token_encoder(str(ours))
        with pytest.raises(UsageError, match="0, its embeddings, to 2; 3 is none"):
            encoder.states(encoder.tokens(["the cat"]), (3,))


class TestWords:
    """Words are cut one by one, and each once; the tokens are those of the whole text."""

    @pytest.fixture
    def tokenizer(self, ours: Path) -> Tokenizer:
        return load_tokenizer(ours / "tokenizer.json")

    @settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(texts=st.lists(st.lists(st.sampled_from([*WORDS, *SIGNS]) | st.characters(), max_size=12).map("".join)))
    def test_any_text(self, tokenizer: Tokenizer, texts: list[str]) -> None:
        texts = [text.encode(errors="replace").decode() for text in texts]
        pieces = WordPieces(tokenizer)
        assert cuts_at_spaces(tokenizer)
        for _ in range(2):
            tokens, lengths = pieces.of(texts)
            whole = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
            assert lengths.tolist() == list(map(len, whole))
            assert tokens.tolist() == [number for ids in whole for number in ids]

    def test_words_are_forgotten_in_time(self, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("celadon.models.encoders.token_encoder._MOST_CHARACTERS", 5)
        pieces = WordPieces(tokenizer)
        assert [pieces.of([text])[0].tolist() for text in ("the cat", "a cat", "the cat")] == [
            tokenizer.encode(text, add_special_tokens=False).ids for text in ("the cat", "a cat", "the cat")
        ]

    def test_other_tokenizers_see_the_whole_text(self, tokenizer: Tokenizer, checkpoints: dict[str, Path]) -> None:
        assert not cuts_at_spaces(Tokenizer.from_file(str(checkpoints["roberta"] / "tokenizer.json")))
        tokenizer.add_tokens(["the cat"])
        assert not cuts_at_spaces(tokenizer)
        tokens, _ = WordPieces(tokenizer).of(["on the cat"])
        assert tokens.tolist() == tokenizer.encode("on the cat", add_special_tokens=False).ids


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

    @pytest.mark.parametrize("kind", ["bert", "roberta"])
    def test_without_padding(self, checkpoints: dict[str, Path], kind: str) -> None:
        """The states of rows of several lengths, run together, are those of each row by itself."""
        model = transformers.AutoModel.from_pretrained(str(checkpoints[kind])).eval()
        packed = PackedLayers.of(model)
        assert packed is not None
        rows = [np.arange(5, 5 + length) for length in (9, 9, 4, 1)]
        with torch.inference_mode():
            found = packed.states(Padded(rows, 1), (0, 2, 1))
            alone = [model(torch.from_numpy(row)[None], output_hidden_states=True).hidden_states for row in rows]
        for layer, states in zip((0, 2, 1), found, strict=True):
            np.testing.assert_allclose(states, np.concatenate([each[layer][0] for each in alone]), atol=1e-5)

    def test_networks_of_another_kind_are_run_as_they_are(self, checkpoints: dict[str, Path]) -> None:
        assert PackedLayers.of(transformers.AutoModel.from_pretrained(str(checkpoints["gpt2"])).eval()) is None
        strange = transformers.AutoModel.from_pretrained(str(checkpoints["bert"])).eval()
        # a layer that does more than its parts
        scaled = strange.encoder.layer[1]
        scaled.forward = lambda *given, **named: type(scaled).forward(scaled, *given, **named) * 2
        assert PackedLayers.of(strange) is None

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
