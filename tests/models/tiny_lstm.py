"""A random LSTM over a few words: as a folder of our format, and computed by hand in numpy."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
WORDS = ("the", "cat", "sat", "on", "a", "mat", "dog", "ran", ".")
VOCABULARY = (BEGIN, END, UNKNOWN, *WORDS)
HIDDEN = 6


@dataclass(frozen=True)
class TinyLstm:
    """The numbers of the model; gates in ONNX's order: input, output, forget, cell."""

    folder: Path
    embedding: np.ndarray
    inputs: np.ndarray
    recurrent: np.ndarray
    unigrams: np.ndarray

    def logprob(self, context: Sequence[int], target: int) -> float:
        """Return ln p(target | context), by hand."""
        hidden, cell = np.zeros(HIDDEN), np.zeros(HIDDEN)
        for token in context:
            gates = self.inputs @ self.embedding[token] + self.recurrent @ hidden
            into, out, forget = (1 / (1 + np.exp(-gates[at * HIDDEN : (at + 1) * HIDDEN])) for at in range(3))
            cell = forget * cell + into * np.tanh(gates[3 * HIDDEN :])
            hidden = out * np.tanh(cell)
        logits = self.embedding @ hidden
        return float(logits[target] - np.log(np.exp(logits).sum()))


def make_lstm(folder: Path, **changes: Any) -> TinyLstm:
    """Write the model; ``changes`` go into its description."""
    folder.mkdir(parents=True, exist_ok=True)
    size, draw = len(VOCABULARY), np.random.default_rng(11)
    # large numbers, so that what is far back matters
    arrays = [draw.normal(0, 1.5, shape).astype(np.float32) for shape in ((size, HIDDEN), (24, HIDDEN), (24, HIDDEN))]
    unigrams = np.log(draw.dirichlet(np.ones(size))).astype(np.float32)
    described = {
        "format": "celadon-lm/1",
        "kind": "onnx",
        "name": "tiny",
        "unit": "word",
        "begin": BEGIN,
        "begin_id": 0,
        "end": END,
        "end_id": 1,
        "unknown_id": 2,
        "window": 64,
        "scripts": ["Latin"],
    } | changes
    (folder / "model.json").write_text(json.dumps(described), encoding="utf-8")
    np.save(folder / "unigrams.npy", unigrams)
    _save_tokenizer(folder / "tokenizer.json")
    _save_graph(folder / "model.onnx", *arrays)
    return TinyLstm(folder, *(array.astype(np.float64) for array in (*arrays, unigrams)))


def _save_tokenizer(path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({word: at for at, word in enumerate(VOCABULARY)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    tokenizer.add_special_tokens([BEGIN, END, UNKNOWN])
    tokenizer.enable_truncation(4)
    tokenizer.save(str(path))


def _save_graph(path: Path, embedding: np.ndarray, inputs: np.ndarray, recurrent: np.ndarray) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    node = helper.make_node
    nodes = [
        node("Slice", ["ids", "zero", "minus", "one"], ["before"]),
        node("Slice", ["ids", "one", "far", "one"], ["after"]),
        node("Transpose", ["before"], ["columns"], perm=[1, 0]),
        node("Gather", ["embedding", "columns"], ["vectors"]),
        node("LSTM", ["vectors", "inputs", "recurrent"], ["states"], hidden_size=HIDDEN),
        node("Squeeze", ["states", "one"], ["by_column"]),
        node("Transpose", ["by_column"], ["by_row"], perm=[1, 0, 2]),
        node("Reshape", ["by_row", "flat"], ["rows"]),
        node("Gather", ["rows", "where"], ["wanted"]),
        node("Gemm", ["wanted", "embedding"], ["logits"], transB=1),
        node("LogSoftmax", ["logits"], ["all"], axis=-1),
        node("Reshape", ["after", "minus"], ["flat_after"]),
        node("Gather", ["flat_after", "where"], ["targets"]),
        node("Unsqueeze", ["targets", "one"], ["target_columns"]),
        node("GatherElements", ["all", "target_columns"], ["chosen"], axis=1),
        node("Squeeze", ["chosen", "one"], ["logprobs"]),
    ]
    numbers = {"zero": [0], "one": [1], "minus": [-1], "far": [1 << 40], "flat": [-1, HIDDEN]}
    constants = {name: np.array(value, dtype=np.int64) for name, value in numbers.items()}
    constants |= {"embedding": embedding, "inputs": inputs[None], "recurrent": recurrent[None]}
    graph = helper.make_graph(
        nodes,
        "lstm",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["rows", "length"]),
            helper.make_tensor_value_info("where", TensorProto.INT64, ["n"]),
        ],
        [helper.make_tensor_value_info("logprobs", TensorProto.FLOAT, ["n"])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
