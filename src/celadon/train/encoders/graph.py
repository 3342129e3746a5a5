"""The trained encoder as an ONNX graph that the core install runs (needs onnx to be made, nothing to be read).

In int8 the weights are stored as bytes with a scale per output and turned into float32 when the graph is loaded; all
products are in float32. Rounding activations to bytes as well would be faster where the processor multiplies bytes, but
then the last bit of a sum, which differs between processors and runtimes, decides which level a number is rounded to,
and scores differ in the second decimal. In float32 they agree to five digits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from celadon.core import InputError, UsageError
from celadon.models.encoders.encoder import CHECK, FINDINGS, FORMAT
from celadon.models.encoders.word_findings import FINDING_KINDS
from celadon.models.networks.quantization import quantise_blocks, quantise_rows
from celadon.models.networks.self_check import write_reference_check
from celadon.train.encoders.network import EncoderNetwork
from celadon.train.model_folder import new_folder
from celadon.train.onnx_graph import FLOAT, INT32, INT64, MICROSOFT, Graph

if TYPE_CHECKING:
    from celadon.train.encoders.network import EncoderShape

Weights = Mapping[str, npt.NDArray[np.float32]]
Precision = Literal["int8", "fp32"]

_OPSET, _IR = 20, 10
# torch divides by no smaller length
_SHORTEST = 1e-12
# the numbers of a head's matrix from which on it is stored as bytes
_LARGE = 1 << 16


def encoder_graph(weights: Weights, shape: EncoderShape, window: int, precision: Precision = "int8") -> bytes:
    """Return the graph with its weights, named as in torch: ``ids`` and ``lengths`` in, the network's heads out.

    Rows may be padded, and have at most ``window`` tokens. Weights are stored in 8 bits, or exactly.
    """
    return _Encoder(weights, shape, precision).build(window)


class _Encoder(Graph):
    def __init__(self, weights: Weights, shape: EncoderShape, precision: Precision) -> None:
        super().__init__()
        self.of, self.shape, self.int8 = weights, shape, precision == "int8"

    def build(self, window: int) -> bytes:
        hidden, value = self.shape.hidden, self.helper.make_tensor_value_info
        size = self.add("Shape", ["ids"], "size")
        self.add("Concat", [size, self.integers(hidden)], "apart", axis=0)
        self.add("Cast", ["lengths"], "tokens_in_row", to=INT32)
        states = early = self._embedded(window)
        for layer in range(self.shape.layers):
            states = self._layer(states, f"layers.{layer}")
            if layer + 1 == self.shape.early:
                early = states
        self._heads(states, early)
        meaning = self.shape.meaning or hidden
        widths = {"meaning": meaning, "before": self.shape.projection, "after": self.shape.projection}
        inputs = [value("ids", INT64, ["rows", "length"]), value("lengths", INT64, ["rows"])]
        outputs = [value("acceptability", FLOAT, ["rows"])]
        outputs += [value(name, FLOAT, ["rows", width]) for name, width in widths.items()]
        if self.shape.findings:
            self._findings(states)
            outputs.append(value(FINDINGS, FLOAT, ["rows", "length", self.shape.findings]))
        return self.serialised(self.made("celadon_encoder", inputs, outputs), _OPSET, _IR)

    def _weight(self, name: str) -> str:
        return self.constant(name, self.of[name])

    def _embedded(self, window: int) -> str:
        """The first states, [tokens of all rows, hidden]."""
        if self.int8:
            levels, scales = quantise_blocks(self.of["tokens.weight"], self.shape.hidden)
            rows = self.add("Gather", [self.constant("tokens", levels), "ids"], "token_levels")
            steps = self.add("Gather", [self.constant("token_scales", scales), "ids"], "token_steps")
            tokens = self.add("Mul", [self.add("Cast", [rows], "token_numbers", to=FLOAT), steps], "embedded_tokens")
        else:
            tokens = self.add("Gather", [self._weight("tokens.weight"), "ids"], "embedded_tokens")
        places = self.constant("places", self.of["places.weight"][:window])
        length = self.add("Slice", ["size", self.integers(1), self.integers(2)], "length")
        used = self.add("Slice", [places, self.integers(0), length], "embedded_places")
        total = self.add("Add", [tokens, used], "embedded")
        flat = self.add("Reshape", [total, self.integers(-1, self.shape.hidden)], "embedded_flat")
        norm = [flat, self._weight("embedded_norm.weight"), self._weight("embedded_norm.bias")]
        return self.add("LayerNormalization", norm, "embedded_normal", axis=-1, epsilon=self.shape.epsilon)

    def _layer(self, states: str, name: str) -> str:
        packed = self._product(states, f"{name}.attention")
        mixed = self._product(self._attended(packed, name), f"{name}.attended")
        states = self._sum(states, mixed, f"{name}.attended")
        inner = self._product(states, f"{name}.inner")
        bent = self.add("BiasGelu", [inner, self._weight(f"{name}.inner.bias")], f"{name}.bent", domain=MICROSOFT)
        return self._sum(states, self._product(bent, f"{name}.outer"), f"{name}.outer")

    def _sum(self, states: str, change: str, name: str) -> str:
        """States with a change and its bias added, normalised."""
        norm = [self._weight(f"{name}_norm.weight"), self._weight(f"{name}_norm.bias")]
        # SkipLayerNormalization would do all of this, in four times the time
        change = self.add("Add", [change, self._weight(f"{name}.bias")], f"{name}.biased")
        total = self.add("Add", [states, change], f"{name}.total")
        return self.add("LayerNormalization", [total, *norm], f"{name}.normal", axis=-1, epsilon=self.shape.epsilon)

    def _attended(self, packed: str, name: str) -> str:
        hidden = self.shape.hidden
        parts = [f"{name}.queries", f"{name}.keys", f"{name}.values"]
        split = self.several("Split", [packed, self.integers(hidden, hidden, hidden)], parts, axis=1)
        rows = [self.add("Reshape", [part, "apart"], f"{part}.rows") for part in split]
        inputs = [*rows, self._weight(f"{name}.attention.bias"), "tokens_in_row"]
        mixed = self.add("MultiHeadAttention", inputs, f"{name}.mixed", domain=MICROSOFT, num_heads=self.shape.heads)
        return self.add("Reshape", [mixed, self.integers(-1, hidden)], f"{name}.mixed.flat")

    def _product(self, rows: str, name: str) -> str:
        """Rows times a matrix, without its bias."""
        return self.add("MatMul", [rows, self._matrix(name)], f"{name}.product")

    def _matrix(self, name: str) -> str:
        """A matrix, inputs by outputs; bytes are turned into numbers once, when the graph is loaded."""
        matrix = self.of[f"{name}.weight"]
        if not self.int8:
            return self.constant(f"{name}.weight", matrix.T)
        levels, scales = quantise_rows(matrix)
        numbers = self.add("Cast", [self.constant(f"{name}.levels", levels.T)], f"{name}.numbers", to=FLOAT)
        return self.add("Mul", [numbers, self.constant(f"{name}.scales", scales)], f"{name}.weight")

    def _heads(self, states: str, early: str) -> None:
        last = self.add("Reshape", [states, "apart"], "last")
        first = self.add("Gather", [last, self._scalar(0)], "first", axis=1)
        shares = self._shares()
        mean = self._mean(last, shares, "mean")
        early_mean = self._mean(self.add("Reshape", [early, "apart"], "early"), shares, "early_mean")
        topic = self.add("Concat", [early_mean, mean], "topic", axis=1) if self.shape.meaning else mean
        meant = self._linear(topic, "meaning", "meant") if self.shape.meaning else mean
        length = self.add("ReduceL2", [meant, self.integers(-1)], "mean_length", keepdims=1)
        self.add("Div", [meant, self.add("Max", [length, self.number(_SHORTEST)], "mean_divisor")], "meaning")
        both = self.add("Concat", [first, mean], "both", axis=1)
        bent = self.add("Tanh", [self._linear(both, "classifier", "classified")], "classified_bent")
        self.add("Squeeze", [self._linear(bent, "acceptability", "logit"), self.integers(1)], "acceptability")
        ordered = self.add("Concat", [both, early_mean], "ordered", axis=1)
        self._linear(ordered, "before", "before")
        self._linear(ordered, "after", "after")

    def _findings(self, states: str) -> None:
        """Add a logit per token and class."""
        logits = self._linear(states, "findings", "flat_findings")
        size = self.add("Concat", ["size", self.integers(self.shape.findings)], "findings_size", axis=0)
        self.add("Reshape", [logits, size], FINDINGS)

    def _shares(self) -> str:
        """What each token counts in the mean of its row, [rows, length, 1]: nothing behind the row's end."""
        length = self.add("Gather", ["size", self._scalar(1)], "columns")
        places = self.add("Range", [self._scalar(0), length, self._scalar(1)], "range")
        column = self.add("Unsqueeze", ["lengths", self.integers(1)], "ends")
        there = self.add("Cast", [self.add("Less", [places, column], "there")], "there_numbers", to=FLOAT)
        shares = self.add("Div", [there, self.add("Cast", [column], "divisors", to=FLOAT)], "shares")
        return self.add("Unsqueeze", [shares, self.integers(2)], "shares_apart")

    def _scalar(self, value: int) -> str:
        return self.constant(f"scalar {value}", np.array(value, dtype=np.int64))

    def _mean(self, states: str, shares: str, name: str) -> str:
        weighted = self.add("Mul", [states, shares], f"{name}.weighted")
        return self.add("ReduceSum", [weighted, self.integers(1)], name, keepdims=0)

    def _linear(self, rows: str, name: str, result: str) -> str:
        if self.int8 and self.of[f"{name}.weight"].size >= _LARGE:
            return self.add("Add", [self._product(rows, name), self._weight(f"{name}.bias")], result)
        inputs = [rows, self._weight(f"{name}.weight"), self._weight(f"{name}.bias")]
        return self.add("Gemm", inputs, result, transB=1)


WINDOW = 256
_MARKS = {"cls_id": "[CLS]", "sep_id": "[SEP]", "pad_id": "[PAD]"}


def write_encoder(
    network: EncoderNetwork,
    tokenizer_json: str,
    folder: Path,
    *,
    card: str = "",
    facts: Mapping[str, Any] = MappingProxyType({}),
    window: int = WINDOW,
    scripts: Sequence[str] = ("Latin",),
    precision: Precision = "int8",
) -> None:
    """Write an encoder to a new folder, which appears whole or not at all, with its manifest.

    ``window`` is the most tokens that are read at once, the two marks included; ``facts`` are added to ``model.json``,
    and nobody reads them to encode.
    """
    weights = {name: weight.detach().float().cpu().numpy() for name, weight in network.named_parameters()}
    marks = _marks(tokenizer_json)
    described = {"format": FORMAT, "name": folder.name, "window": window, "scripts": list(scripts)}
    if network.shape.findings:
        if network.shape.findings != len(FINDING_KINDS):
            raise UsageError(f"an encoder has {len(FINDING_KINDS)} classes of findings, not {network.shape.findings}")
        described[FINDINGS] = list(FINDING_KINDS)
    described |= marks | dict(facts)
    graph = encoder_graph(weights, network.shape, window, precision)
    with new_folder(folder) as draft:
        (draft / "model.onnx").write_bytes(graph)
        write_reference_check(draft, graph, network.shape.vocabulary, window, CHECK)
        (draft / "tokenizer.json").write_text(tokenizer_json, encoding="utf-8")
        np.save(draft / "order.npy", np.stack([weights["order_weight"], weights["order_offset"]]))
        text = json.dumps(described, ensure_ascii=False, indent=2)
        (draft / "model.json").write_text(text + "\n", encoding="utf-8")
        if card:
            (draft / "card.md").write_text(card, encoding="utf-8")


def _marks(tokenizer_json: str) -> dict[str, int]:
    """The numbers of the marks."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(tokenizer_json)
    found = {}
    for name, mark in _MARKS.items():
        number = tokenizer.token_to_id(mark)
        if number is None:
            raise InputError(f"the tokenizer has no {mark}; take the one of a BERT")
        found[name] = number
    return found
