"""Tiny language models whose every number is known: a table of bigrams as an ONNX graph, in a folder of our format."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

UNKNOWN, BEGIN, END = "[UNK]", "[BOS]", "[EOS]"
WORDS = (
    "the",
    "The",
    "cat",
    "cats",
    "sat",
    "on",
    "a",
    "mat",
    "dog",
    "ran",
    "home",
    "He",
    "left",
    "it",
    "un",
    "##happy",
)
MARKS = (".", ",", "!")
VOCABULARY = (UNKNOWN, BEGIN, END, *WORDS, *MARKS)


@dataclass(frozen=True)
class Bigrams:
    """The numbers behind a tiny model: ``table[before, after]`` and ``unigrams[piece]``, natural logarithms."""

    folder: Path
    table: np.ndarray
    unigrams: np.ndarray
    counts_end: bool

    def logprob(self, pieces: Sequence[str]) -> float:
        """ln p_M of a sentence, by hand."""
        path = [BEGIN, *pieces, *([END] if self.counts_end else [])]
        return math.fsum(self.table[number(a), number(b)] for a, b in pairwise(path))

    def unigram(self, pieces: Sequence[str]) -> float:
        """ln p_u of a sentence, by hand."""
        return math.fsum(self.unigrams[number(piece)] for piece in self._counted(pieces))

    def length(self, pieces: Sequence[str]) -> int:
        """|S| of a sentence."""
        return len(self._counted(pieces))

    def _counted(self, pieces: Sequence[str]) -> list[str]:
        return [*pieces, END] if self.counts_end else list(pieces)


def number(piece: str) -> int:
    """The id of a piece."""
    return VOCABULARY.index(piece) if piece in VOCABULARY else 0


def make_bigrams(
    folder: Path, *, counts_end: bool = True, scripts: Sequence[str] = ("Latin",), seed: int = 4
) -> Bigrams:
    """Write a model of random bigrams in the format ``celadon-lm/1``."""
    folder.mkdir(parents=True, exist_ok=True)
    size = len(VOCABULARY)
    generator = np.random.default_rng(seed)
    table = np.log(generator.dirichlet(np.full(size, 0.7), size) * 0.99 + 0.01 / size).astype(np.float32)
    unigrams = np.log(generator.dirichlet(np.full(size, 1.0)) * 0.99 + 0.01 / size).astype(np.float32)
    described = {
        "format": "celadon-lm/1",
        "kind": "onnx",
        "name": folder.name,
        "unit": "wordpiece",
        "begin": BEGIN,
        "begin_id": number(BEGIN),
        "end": END if counts_end else None,
        "end_id": number(END) if counts_end else None,
        "unknown_id": number(UNKNOWN),
        "window": 64,
        "scripts": list(scripts),
    }
    (folder / "model.json").write_text(json.dumps(described), encoding="utf-8")
    (folder / "card.md").write_text("# a table of random bigrams\n", encoding="utf-8")
    np.save(folder / "unigrams.npy", unigrams)
    _tokenizer().save(str(folder / "tokenizer.json"))
    _save_graph(table, folder / "model.onnx")
    return Bigrams(folder, table.astype(np.float64), unigrams.astype(np.float64), counts_end)


def _tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers

    pieces = {piece: at for at, piece in enumerate(VOCABULARY)}
    made = Tokenizer(models.WordPiece(pieces, unk_token=UNKNOWN))
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


def _save_graph(table: np.ndarray, path: Path) -> None:
    """Look up table[ids[r, t], ids[r, t + 1]] at the wanted positions."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    size = len(table)
    constants = {
        "table": table.reshape(-1),
        "size": np.array([size], dtype=np.int64),
        "one": np.array([1], dtype=np.int64),
        "zero": np.array([0], dtype=np.int64),
        "minus": np.array([-1], dtype=np.int64),
        "far": np.array([1 << 40], dtype=np.int64),
    }
    nodes = [
        helper.make_node("Slice", ["ids", "zero", "minus", "one"], ["before"]),
        helper.make_node("Slice", ["ids", "one", "far", "one"], ["after"]),
        helper.make_node("Mul", ["before", "size"], ["rows"]),
        helper.make_node("Add", ["rows", "after"], ["pairs"]),
        helper.make_node("Reshape", ["pairs", "minus"], ["flat"]),
        helper.make_node("Gather", ["flat", "where"], ["wanted"]),
        helper.make_node("Gather", ["table", "wanted"], ["logprobs"]),
    ]
    # columns, not rows, are cut: the axis is the constant "one"
    graph = helper.make_graph(
        nodes,
        "bigrams",
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
