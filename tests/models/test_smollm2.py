"""The conversion of SmolLM2, on a small random model of the same make, against transformers and the gguf package."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celadon.core import InputError, UsageError
from celadon.models.language.onnx_lm import OnnxLanguageModel
from celadon.models.language.smollm2 import convert
from celadon.models.language.smollm2.conversion import build_tokenizer, shape_of
from celadon.models.language.smollm2.gguf import read_gguf
from celadon.models.language.smollm2.layout import (
    SMOLLM2,
    Precision,
    no_smoothing,
    pack_smoothing,
    smoothing_size,
    unpack_smoothing,
)
from celadon.models.networks.quantization import quantise_rows
from celadon.train.language_models.smollm2 import activation_sizes, build_graph, find_smoothing
from tests.models import tiny_llama
from tests.models.tiny_llama import CORPUS, SHAPE, converted

try:
    import gguf
    import onnx
    import torch
    import transformers
except ImportError as error:
    # a missing extra must fail where all parts must be there
    if os.environ.get("CI") == "true":
        raise
    pytest.skip(f"{error.name} is not installed; install the extras hf and train, and gguf", allow_module_level=True)

STORED = {"token_embd.weight": "Q8_0", "_q.weight": "Q4_1", "_k.weight": "Q4_1", "ffn_up.weight": "Q8_0"}
SHUFFLED = "debate long Tuesday the of bridge. approved council"
TEXTS = [*CORPUS, "the", "a b", SHUFFLED, CORPUS[0][:30]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, np.ndarray]]:
    """A GGUF file, and what its weights are."""
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    return path, tiny_llama.write_gguf(path, tiny_llama.random_weights(), STORED)


@pytest.fixture(scope="module")
def folders(made: tuple[Path, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[Precision, Path]:
    """The converted models."""
    into = tmp_path_factory.mktemp("converted")
    return {precision: converted(made[0], into / precision, precision, no_smoothing(SHAPE)) for precision in Precision}


@pytest.fixture(scope="module")
def reference(made: tuple[Path, dict[str, np.ndarray]]) -> Any:
    """The same weights in transformers."""
    network = transformers.LlamaForCausalLM(tiny_llama.their_config()).eval()
    state = {name: torch.tensor(weight) for name, weight in made[1].items()}
    missing, unexpected = network.load_state_dict(state, strict=False)
    assert not unexpected
    assert set(missing) <= {"lm_head.weight"}
    return network


def theirs(network: Any, ids: list[int]) -> np.ndarray:
    with torch.no_grad():
        logits = network(torch.tensor([[0, *ids]])).logits[0, :-1].double()
    return torch.log_softmax(logits, -1)[torch.arange(len(ids)), ids].numpy()


def ids_of(folder: Path, text: str) -> list[int]:
    from tokenizers import Tokenizer

    return list(Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text, add_special_tokens=False).ids)


def test_tensors_are_read_as_gguf_reads_them(made: tuple[Path, Any]) -> None:
    ours = read_gguf(made[0])
    kinds = set()
    for tensor in gguf.GGUFReader(str(made[0])).tensors:
        expected = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        np.testing.assert_array_equal(ours.tensor(tensor.name), expected)
        kinds.add(tensor.tensor_type.name)
    assert kinds == {"F32", "Q4_1", "Q8_0"}


def test_fp32_is_the_same_as_transformers(folders: dict[Precision, Path], reference: Any) -> None:
    model = OnnxLanguageModel.open(folders[Precision.FP32], "tiny", 1)
    for text, scores in zip(TEXTS, model.score(TEXTS), strict=True):
        ids = ids_of(folders[Precision.FP32], text)
        assert 0 < len(ids) <= SHAPE.positions
        np.testing.assert_allclose(scores.logprobs, theirs(reference, ids), atol=1e-4)


def rounded(rows: Any) -> Any:
    """Each row in 255 steps, its largest number 127 of them, and 254 parts of each step."""
    step = rows.abs().amax(dim=-1, keepdim=True) / 127
    return torch.round(rows / step * 254) / 254 * step


@pytest.fixture(scope="module")
def reference_int8(reference: Any) -> Any:
    """Transformers with rounded weights, which also rounds what goes into every matrix; the embedding stays whole."""
    network = copy.deepcopy(reference)
    network.lm_head.weight = torch.nn.Parameter(network.lm_head.weight.clone())
    for part in network.modules():
        if isinstance(part, torch.nn.Linear):
            levels, scales = quantise_rows(part.weight.detach().numpy())
            part.weight = torch.nn.Parameter(torch.tensor(levels * scales[:, None]))
            part.register_forward_pre_hook(lambda _, inputs: (rounded(inputs[0]),))
    return network


def test_int8_is_transformers_with_rounded_numbers(folders: dict[Precision, Path], reference_int8: Any) -> None:
    model = OnnxLanguageModel.open(folders[Precision.INT8], "tiny", 1)
    ours = np.concatenate([scores.logprobs for scores in model.score(TEXTS)])
    expected = np.concatenate([theirs(reference_int8, ids_of(folders[Precision.INT8], text)) for text in TEXTS])
    # a number just between two steps may be rounded up here and down there
    assert np.median(np.abs(ours - expected)) < 1e-4
    assert np.abs(ours - expected).max() < 0.05
    assert (ours < 0).all()


def test_int8_is_near_transformers(folders: dict[Precision, Path], reference: Any) -> None:
    model = OnnxLanguageModel.open(folders[Precision.INT8], "tiny", 1)
    ours = np.concatenate([scores.logprobs for scores in model.score(TEXTS)])
    expected = np.concatenate([theirs(reference, ids_of(folders[Precision.INT8], text)) for text in TEXTS])
    assert 0 < np.abs(ours - expected).mean() < 0.1
    assert np.corrcoef(ours, expected)[0, 1] > 0.995


def test_smoothing_changes_nothing_but_the_rounding(
    made: tuple[Path, Any], folders: dict[Precision, Path], tmp_path: Path
) -> None:
    draw = np.random.default_rng(3)
    smoothing = unpack_smoothing(draw.integers(-6, 7, smoothing_size(SHAPE)).astype(np.int8), SHAPE)
    for precision, allowed in ((Precision.FP32, 1e-4), (Precision.INT8, 1.5)):
        changed = converted(made[0], tmp_path / precision, precision, smoothing)
        assert (changed / "weights.bin").read_bytes() != (folders[precision] / "weights.bin").read_bytes()
        plain, smooth = (OnnxLanguageModel.open(each, "tiny", 1).score(TEXTS) for each in (folders[precision], changed))
        for one, other in zip(plain, smooth, strict=True):
            np.testing.assert_allclose(one.logprobs, other.logprobs, atol=allowed)


def test_smoothing_makes_large_activations_harmless(made: tuple[Path, Any], reference: Any, tmp_path: Path) -> None:
    weights = tiny_llama.random_weights()
    for name, weight in weights.items():
        # two numbers of every token are always large, and the weights that they meet small, as in a trained model
        if "layernorm" in name:
            weight[:2] *= 40
        elif name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight", "gate_proj.weight", "up_proj.weight")):
            weight[:, :2] /= 40
    path = tmp_path / "large.gguf"
    tiny_llama.write_gguf(path, weights, {})
    exact = converted(path, tmp_path / "fp32", Precision.FP32, no_smoothing(SHAPE))
    found = find_smoothing(read_gguf(path), SHAPE, activation_sizes(exact, CORPUS))
    packed = unpack_smoothing(pack_smoothing(found), SHAPE)
    plain = converted(path, tmp_path / "plain", Precision.INT8, no_smoothing(SHAPE))
    smooth = converted(path, tmp_path / "smooth", Precision.INT8, packed)
    scores = [
        np.concatenate([scores.logprobs for scores in OnnxLanguageModel.open(folder, "tiny", 1).score(TEXTS)])
        for folder in (exact, plain, smooth)
    ]
    assert np.abs(scores[2] - scores[0]).mean() < np.abs(scores[1] - scores[0]).mean() / 3


@pytest.mark.parametrize("precision", list(Precision))
def test_neighbours_and_threads_do_not_matter(folders: dict[Precision, Path], precision: Precision) -> None:
    one = OnnxLanguageModel.open(folders[precision], "tiny", 1)
    two = OnnxLanguageModel.open(folders[precision], "tiny", 2)
    together = one.score(TEXTS)
    # int8 sums integers: not one bit may differ
    allowed = 0.0 if precision is Precision.INT8 else 1e-5
    for other in ([one.score([text])[0] for text in TEXTS], two.score(TEXTS)):
        for mine, yours in zip(together, other, strict=True):
            np.testing.assert_allclose(mine.logprobs, yours.logprobs, atol=allowed, rtol=0)


def test_a_long_text_is_scored_in_windows(folders: dict[Precision, Path], reference: Any) -> None:
    text = " ".join(CORPUS)
    ids = ids_of(folders[Precision.FP32], text)
    half = SHAPE.positions // 2
    assert len(ids) > SHAPE.positions + half
    scores = OnnxLanguageModel.open(folders[Precision.FP32], "tiny", 1).score([text])[0]
    first = theirs(reference, ids[: SHAPE.positions])
    second = theirs(reference, ids[half : SHAPE.positions + half])[half:]
    np.testing.assert_allclose(scores.logprobs[: SHAPE.positions + half], [*first, *second], atol=1e-4)


def test_tokens_are_those_of_the_models_own_tokenizer(made: tuple[Path, Any]) -> None:
    from tokenizers import Tokenizer, models

    file = read_gguf(made[0])
    tokens, merges = file.metadata["tokenizer.ggml.tokens"], file.metadata["tokenizer.ggml.merges"]
    numbers = {token: at for at, token in enumerate(tokens)}
    other = Tokenizer(models.BPE(vocab=numbers, merges=[tuple(merge.split()) for merge in merges]))
    other.pre_tokenizer = tiny_llama.their_splitter()
    ours = build_tokenizer(file)
    for text in [*TEXTS, "x 1234.5 \u0e01\u0e32\u0e23 \U0001f600\n\n  tabs\t2nd 3\u00b2"]:
        encoded = ours.encode(text, add_special_tokens=False)
        assert encoded.ids == other.encode(text, add_special_tokens=False).ids
        assert ours.decode(encoded.ids) == text
    assert ours.encode("<|im_start|>", add_special_tokens=False).ids == [1]
    assert not any(len(token.strip("\u0120")) > 1 and token.strip("\u0120").isdecimal() for token in tokens)


def test_spans_show_words_without_the_space_before_them(folders: dict[Precision, Path]) -> None:
    text = "The council  of 19 caf\u00e9s"
    scores = OnnxLanguageModel.open(folders[Precision.FP32], "tiny", 1).score([text])[0]
    spans = list(zip(scores.starts.tolist(), scores.ends.tolist(), strict=True))
    shown = [text[start:end] for start, end in spans]
    assert shown[0] == "The"
    assert all(piece == piece.lstrip() or piece.isspace() for piece in shown)
    assert {at for start, end in spans for at in range(start, end)} >= {
        at for at, character in enumerate(text) if not character.isspace()
    }


def test_no_two_neighbouring_weights_can_overflow_sixteen_bits() -> None:
    draw = np.random.default_rng(0)
    matrix = np.concatenate(
        [draw.normal(size=(20, 64)), draw.standard_cauchy((20, 64)), np.ones((1, 64)), np.zeros((1, 64))]
    ).astype(np.float32)
    levels, scales = quantise_rows(matrix)
    pairs = levels.astype(int).reshape(len(matrix), -1, 2).sum(axis=2)
    assert 255 * np.abs(pairs).max() <= 32767
    assert np.abs(levels.astype(int)).max() <= 127
    np.testing.assert_allclose(levels * scales[:, None], matrix, atol=scales.max() / 2 * 1.001)


@pytest.mark.parametrize("precision", list(Precision))
def test_the_shipped_graph_is_what_the_builder_makes(precision: Precision) -> None:
    from celadon.models.language import smollm2

    shipped = Path(smollm2.__file__).with_name(f"{precision}.onnx").read_bytes()
    assert onnx.load_from_string(shipped) == onnx.load_from_string(build_graph(SMOLLM2, precision))


def test_the_shipped_unigrams_are_probabilities() -> None:
    from celadon.models.language import smollm2

    table = np.load(Path(smollm2.__file__).with_name("unigrams.npy"), allow_pickle=False)
    assert table.shape == (SMOLLM2.vocabulary,)
    assert table.dtype == np.float32
    assert abs(np.exp(table.astype(np.float64)).sum() - 1) < 1e-3
    assert np.isfinite(table).all()
    assert len(np.unique(table)) > 1000


def test_a_model_of_another_size_is_refused(made: tuple[Path, Any], tmp_path: Path) -> None:
    assert shape_of(read_gguf(made[0]), SHAPE.positions) == SHAPE
    with pytest.raises(InputError, match="is not SmolLM2-135M"):
        convert(made[0], tmp_path / "into", "fp32")
    assert not (tmp_path / "into").exists()


def test_an_unknown_precision_is_refused(made: tuple[Path, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fp16"):
        convert(made[0], tmp_path, "fp16")


@pytest.mark.parametrize("kept", [0, 3, 20, 200, 3000, -200])
def test_a_file_that_is_cut_short_is_told(made: tuple[Path, Any], tmp_path: Path, kept: int) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(made[0].read_bytes()[:kept])
    with pytest.raises(InputError, match=r"cut\.gguf") as raised:
        _read_all(path)
    assert "\n" not in str(raised.value)


def _read_all(path: Path) -> None:
    file = read_gguf(path)
    for name in (tiny_llama.gguf_name(name) for name in tiny_llama.random_weights()):
        file.tensor(name)


def test_other_files_are_told(tmp_path: Path) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(InputError, match="is not a GGUF file"):
        read_gguf(path)
    path.write_bytes(b"GGUF" + (99).to_bytes(4, "little") + bytes(100))
    with pytest.raises(InputError, match="version 99"):
        read_gguf(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_gguf(tmp_path / "none.gguf")


def test_another_storage_and_another_tokenizer_are_told(tmp_path: Path) -> None:
    path = tmp_path / "other.gguf"
    tiny_llama.write_gguf(path, tiny_llama.random_weights(), {"ffn_down.weight": "Q5_1"}, pre="llama-bpe")
    file = read_gguf(path)
    with pytest.raises(InputError, match="stored in the way"):
        file.tensor("blk.0.ffn_down.weight")
    with pytest.raises(InputError, match="has no tensor"):
        file.tensor("blk.9.ffn_down.weight")
    with pytest.raises(InputError, match="llama-bpe"):
        build_tokenizer(file)
    with pytest.raises(InputError, match="says nothing of"):
        file.get("general.colour")
