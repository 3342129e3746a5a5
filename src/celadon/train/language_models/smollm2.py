"""Builds the graphs of SmolLM2 that the package ships: all but the weights, which the conversion fills in.

``python -m celadon.train.language_models.smollm2`` writes them again; a test holds that they are what is shipped. With
``--checks`` it writes what the fetched models compute, with ``--smoothing GGUF CORPUS`` the factors that the int8 form
is smoothed by (see :mod:`celadon.models.language.smollm2.layout`).

A graph has the inputs ``ids`` and ``where`` and the output ``logprobs`` (see :mod:`celadon.models.language.onnx_lm`);
its weights are in ``weights.bin`` where :func:`~celadon.models.language.smollm2.layout.plan_weights` puts them.

In int8 every row of activations (a token) has a scale of its own, so that no token's score depends on the others of the
batch; products are summed in integers, which is exact. What rounding to 8 bits took is rounded to 8 bits and multiplied
as well: with 8 bits alone the last bit of a sum, in which processors and runtimes differ, moves scores visibly.
Activations are unsigned with 128 for zero, for which processors have the fastest instructions.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from celadon.core import FloatArray, MissingExtraError, UsageError
from celadon.models.language.smollm2 import convert
from celadon.models.language.smollm2.conversion import layer_matrices
from celadon.models.language.smollm2.gguf import Gguf, read_gguf
from celadon.models.language.smollm2.layout import (
    EMBEDDING_BLOCK,
    HEAD_PARTS,
    SMOLLM2,
    LlamaShape,
    Precision,
    Smoothing,
    Weight,
    no_smoothing,
    pack_smoothing,
    plan_weights,
)

_OPSET, _IR = 20, 10
_FAR = 1 << 60
_LEVELS = 127.0
# A row of zeros has no largest number to divide by.
_TINY = 1e-20
_MICROSOFT = "com.microsoft"
# tokens of a row that a graph is checked on
_CHECK_TOKENS = 12
_CHECK_TEXT = """
The ferry to the island leaves at nine every morning, unless the wind is too strong. Last Tuesday it did not leave at
all, and the people who had waited since eight walked back through the rain to the small hotel above the harbor. The
owner made coffee for everyone and lit a fire. By noon the clouds had gone, the sea was calm again, and the captain
came in to say that he would try after lunch. Nobody was in a hurry any more: two of the children had found a chess
board, and an old man was telling them how he had once won a game against the mayor. When the boat finally left, half
of the seats were empty, and those who stayed behind stood on the pier and waved until it was out of sight.
"""


def build_graph(shape: LlamaShape, precision: Precision) -> bytes:
    """Return the graph of a Llama model with tied embeddings, as ONNX.

    The vocabulary must be a multiple of 8 and, for int8, the width one of 32.
    """
    return _Builder(shape, precision).build()


class _Rounded(NamedTuple):
    """Rows as bytes: their levels, what is lost by these in finer levels, and what a level of each row is worth."""

    coarse: str
    fine: str
    scale: str


class _Builder:
    """Adds one node after another; every method returns the names of what its nodes make."""

    def __init__(self, shape: LlamaShape, precision: Precision) -> None:
        try:
            import onnx
        except ImportError:
            raise MissingExtraError("onnx", "train") from None
        self._onnx = onnx
        self.shape, self.int8 = shape, precision is Precision.INT8
        self.weights = plan_weights(shape, precision)
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.made = 0

    def add(self, kind: str, inputs: Sequence[str], outputs: int = 1, domain: str = "", **attributes: Any) -> list[str]:
        names = [f"v{self.made + at}" for at in range(outputs)]
        self.made += outputs
        self.nodes.append(self._onnx.helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names

    def one(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        return self.add(kind, inputs, domain=domain, **attributes)[0]

    def constant(self, value: Any, kind: Any = np.int64, name: str = "") -> str:
        array = np.asarray(value, dtype=kind)
        name = name or f"{array.dtype.name}:{array.tolist()}"
        self.constants[name] = self._onnx.numpy_helper.from_array(array, name)
        return name

    def weight(self, name: str) -> str:
        return self.outside(name, self.weights[name])

    def outside(self, name: str, weight: Weight) -> str:
        """An array in the weight file."""
        proto = self._onnx.TensorProto
        tensor = proto(name=name, dims=weight.shape, data_location=proto.EXTERNAL)
        tensor.data_type = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(weight.kind))
        for key, value in (("location", "weights.bin"), ("offset", weight.offset), ("length", weight.size)):
            tensor.external_data.add(key=key, value=str(value))
        self.constants[name] = tensor
        return name

    def build(self) -> bytes:
        helper, proto = self._onnx.helper, self._onnx.TensorProto
        minus, zero, one = self.constant([-1]), self.constant([0]), self.constant([1])
        context = self.one("Slice", "ids", zero, minus, one)
        after = self.one("Reshape", self.one("Slice", "ids", one, self.constant([_FAR]), one), minus)
        targets = self.one("Gather", after, "where")
        hidden = self._layers(context)
        flat = self.one("Reshape", hidden, self.constant([-1, self.shape.width]))
        final = self._norm(self.one("Gather", flat, "where"), "last_norm")
        self._head(final, targets)
        graph = helper.make_graph(
            self.nodes,
            "smollm2",
            [
                helper.make_tensor_value_info("ids", proto.INT64, ["rows", "length_and_one"]),
                helper.make_tensor_value_info("where", proto.INT64, ["wanted"]),
            ],
            [helper.make_tensor_value_info("logprobs", proto.FLOAT, ["wanted"])],
            list(self.constants.values()),
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR, producer_name="celadon")
        return bytes(model.SerializeToString(deterministic=True))

    def _norm(self, hidden: str, weight: str) -> str:
        epsilon = self.shape.epsilon
        return self.one("SimplifiedLayerNormalization", hidden, self.weight(weight), epsilon=epsilon, axis=-1)

    def _add_and_norm(self, hidden: str, change: str, weight: str) -> tuple[str, str]:
        """The sum of two, normalised and as it is."""
        inputs = [hidden, change, self.weight(weight)]
        kind, epsilon = "SkipSimplifiedLayerNormalization", self.shape.epsilon
        normalised, _, _, total = self.add(kind, inputs, 4, _MICROSOFT, epsilon=epsilon)
        return normalised, total

    def _layers(self, context: str) -> str:
        lengths = self._lengths(context)
        hidden, change = self._embed(context), ""
        for layer in range(self.shape.layers):
            name = f"attention_norm.{layer}"
            if change:
                normalised, hidden = self._add_and_norm(hidden, change, name)
            else:
                normalised = self._norm(hidden, name)
            mixed = self._linear(self._attend(self._linear(normalised, f"qkv.{layer}"), lengths), f"out.{layer}")
            normalised, hidden = self._add_and_norm(hidden, mixed, f"mlp_norm.{layer}")
            gate, up = self.add("Split", [self._linear(normalised, f"gate_up.{layer}")], 2, axis=-1, num_outputs=2)
            gated = self.one("Mul", self.one("QuickGelu", gate, domain=_MICROSOFT, alpha=1.0), up)
            change = self._linear(gated, f"down.{layer}")
        return self.one("Add", hidden, change)

    def _lengths(self, context: str) -> tuple[str, str]:
        """The index of each row's last position, and the number of positions; padding is at the end, unseen."""
        int32 = self._onnx.TensorProto.INT32
        size = self.one("Shape", context)
        rows, columns = (self.one("Gather", size, self.constant([at])) for at in (0, 1))
        length = self.one("Cast", self.one("Squeeze", columns), to=int32)
        return self.one("Expand", self.one("Sub", length, self.constant(1, np.int32)), rows), length

    def _attend(self, packed: str, lengths: tuple[str, str]) -> str:
        # past keys and values are empty; the rest of the names are queries, keys and values in one
        inputs = [packed, "", "", "", "", *lengths, self.weight("cosines"), self.weight("sines")]
        return self.add(
            "GroupQueryAttention",
            inputs,
            3,
            _MICROSOFT,
            num_heads=self.shape.heads,
            kv_num_heads=self.shape.key_heads,
            do_rotary=1,
        )[0]

    def _embed(self, context: str) -> str:
        rows = self.one("Gather", self.weight("embedding"), context)
        if not self.int8:
            return rows
        numbers = self.one("Cast", rows, to=self._onnx.TensorProto.FLOAT)
        blocks = self.shape.width // EMBEDDING_BLOCK
        apart = self.one("Reshape", numbers, self.constant([0, 0, blocks, EMBEDDING_BLOCK]))
        scales = self.one("Gather", self.weight("embedding_scales"), context)
        scaled = self.one("Mul", apart, self.one("Unsqueeze", scales, self.constant([-1])))
        return self.one("Reshape", scaled, self.constant([0, 0, self.shape.width]))

    def _linear(self, rows: str, name: str) -> str:
        if not self.int8:
            return self.one("MatMul", rows, self.weight(name))
        kind, _, layer = name.partition(".")
        rounded = self._rounded(rows)
        return self._multiply(rounded, self.weight(name), self.weight(f"{kind}_scales.{layer}"))

    def _multiply(self, rounded: _Rounded, matrix: str, scales: str) -> str:
        unit, zero = self._unit_and_zero()
        levels = self.one("Concat", rounded.coarse, rounded.fine, axis=0)
        both = self.one("MatMulIntegerToFloat", levels, matrix, unit, scales, zero, domain=_MICROSOFT)
        coarse, fine = self.add("Split", [both], 2, axis=0, num_outputs=2)
        return self.one("Mul", self.one("Add", coarse, self._of_coarse(fine)), rounded.scale)

    def _of_coarse(self, fine: str) -> str:
        """What a number of fine steps is in coarse ones."""
        return self.one("Mul", fine, self.constant(0.5 / _LEVELS, np.float32))

    def _unit_and_zero(self) -> tuple[str, str]:
        return self.constant(1.0, np.float32), self.constant(128, np.uint8)

    def _round(self, steps: str) -> str:
        return self.one("QuantizeLinear", steps, *self._unit_and_zero())

    def _rounded(self, rows: str) -> _Rounded:
        """Each row between -127 and 127 as bytes, what rounding took as bytes too, and what a step is worth."""
        largest = self.one("ReduceMax", self.one("Abs", rows), self.constant([-1]), keepdims=1)
        largest = self.one("Max", largest, self.constant(_TINY, np.float32))
        steps = self.one("Mul", rows, self.one("Div", self.constant(_LEVELS, np.float32), largest))
        coarse = self._round(steps)
        lost = self.one("Sub", steps, self._numbers(coarse))
        fine = self._round(self.one("Mul", lost, self.constant(2 * _LEVELS, np.float32)))
        return _Rounded(coarse, fine, self.one("Mul", largest, self.constant(1 / _LEVELS, np.float32)))

    def _numbers(self, levels: str) -> str:
        return self.one("DequantizeLinear", levels, *self._unit_and_zero())

    def _head(self, rows: str, targets: str) -> None:
        """The target's logit less the logarithm of the sum over the vocabulary."""
        if self.int8:
            rounded = self._rounded(rows)
            chosen = self._chosen_int8(rounded, targets)
            parts = [self._multiply(rounded, *self._head_part(at)) for at in range(HEAD_PARTS)]
        else:
            wanted = self.one("Mul", rows, self.one("Gather", self.weight("embedding"), targets))
            chosen = self.one("ReduceSum", wanted, self.constant([-1]), keepdims=0)
            parts = [self.one("Gemm", rows, self._head_part(at)[0], transB=1) for at in range(HEAD_PARTS)]
        sums = self.one("Concat", *(self._log_sum(part) for part in parts), axis=1)
        total = self.one("ReduceLogSumExp", sums, self.constant([-1]), keepdims=0)
        self.one("Sub", chosen, total)
        self.nodes[-1].output[0] = "logprobs"

    def _head_part(self, at: int) -> tuple[str, str]:
        shape = self.shape
        if not self.int8:
            part = self.weights["embedding"].part(at, (shape.head_part, shape.width))
            return self.outside(f"embedding.part{at}", part), ""
        matrix = self.weights["head"].part(at, (shape.width, shape.head_part))
        scales = self.weights["head_scales"].part(at, (shape.head_part,))
        return self.outside(f"head.part{at}", matrix), self.outside(f"head_scales.part{at}", scales)

    def _log_sum(self, logits: str) -> str:
        """log sum exp of each row; LogSoftmax is the fastest way to it here: any entry less its log-softmax."""
        zero = self.constant([0])
        least = self.one("Gather", self.one("LogSoftmax", logits, axis=-1), zero, axis=1)
        return self.one("Sub", self.one("Gather", logits, zero, axis=1), least)

    def _chosen_int8(self, rounded: _Rounded, targets: str) -> str:
        """The logit of each target, by the same levels as all logits."""
        shape, to = self.shape, self._onnx.TensorProto.FLOAT
        part, size = self.constant(shape.head_part), self.constant(shape.head_part * shape.width)
        begin = self.one("Add", self.one("Mul", self.one("Div", targets, part), size), self.one("Mod", targets, part))
        down = self.constant(np.arange(shape.width) * shape.head_part, name="down a column")
        places = self.one("Add", self.one("Unsqueeze", begin, self.constant([-1])), down)
        flat = self.outside("head.flat", self.weights["head"].part(0, (shape.vocabulary * shape.width,)))
        column = self.one("Cast", self.one("Gather", flat, places), to=to)
        fine = self._of_coarse(self._numbers(rounded.fine))
        steps = self.one("Add", self._numbers(rounded.coarse), fine)
        product = self.one("ReduceSum", self.one("Mul", steps, column), self.constant([-1]), keepdims=0)
        scaled = self.one("Mul", product, self.one("Gather", self.weight("head_scales"), targets))
        return self.one("Mul", scaled, self.one("Squeeze", rounded.scale, self.constant([-1])))


def write_checks() -> None:
    """Write what the fetched models compute of a few rows, for the check of graphs on other machines."""
    from celadon.models.language import smollm2
    from celadon.models.language.onnx_lm import CHECK
    from celadon.models.networks.self_check import CHECK_FILE, write_check
    from celadon.models.store import folder_of
    from celadon.models.store.model_files import load_session, load_tokenizer

    for name, precision in (("smollm2", Precision.FP32), ("smollm2-int8", Precision.INT8)):
        folder = folder_of(name)
        ids = load_tokenizer(folder / "tokenizer.json").encode(_CHECK_TEXT, add_special_tokens=False).ids
        rows = np.array(ids[: len(ids) // _CHECK_TOKENS * _CHECK_TOKENS]).reshape(-1, _CHECK_TOKENS)
        session = load_session(folder / "model.onnx", 1, {"ids", "where"}, {"logprobs"}, "language model")
        path = Path(smollm2.__file__).with_name(f"{precision}.{CHECK_FILE}")
        write_check(path, rows, CHECK.values(session, rows))


_ACTIVATIONS, _WEIGHTS = 0.7, 0.3
_PARAGRAPHS, _EVERY, _CHARACTERS = 64, 997, 400
_HEAD = "embedding.part0"
_LEAST = 1e-9


def activation_sizes(folder: Path, texts: Iterable[str]) -> dict[str, FloatArray]:
    """Return the fourth moments of what goes into each matrix, by the matrix's name.

    The begin token is left out: it is always the same, and some of its numbers are enormous.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    session, outputs = _watched(folder)
    sums: dict[str, FloatArray] = {}
    for text in texts:
        ids = np.array([[0, *tokenizer.encode(text, add_special_tokens=False).ids]], dtype=np.int64)
        feed = {"ids": ids, "where": np.arange(ids.shape[1] - 1)}
        for name, rows in zip(outputs, session.run(list(outputs.values()), feed), strict=True):
            numbers = rows.reshape(-1, rows.shape[-1])[1:].astype(np.float64)
            sums[name] = sums.get(name, 0.0) + (numbers**4).sum(axis=0)
    return {name: total**0.25 for name, total in sums.items()}


def _watched(folder: Path) -> tuple[Any, dict[str, str]]:
    """The fp32 model with what goes into its matrices among the outputs."""
    import onnxruntime

    try:
        import onnx
    except ImportError:
        raise MissingExtraError("onnx", "train") from None
    model = onnx.load(str(folder / "model.onnx"), load_external_data=False)
    named = {node.input[1]: node.input[0] for node in model.graph.node if node.op_type in ("MatMul", "Gemm")}
    outputs = {name: rows for name, rows in named.items() if "part" not in name or name == _HEAD}
    for rows in sorted(set(outputs.values())):
        model.graph.output.append(onnx.helper.make_tensor_value_info(rows, onnx.TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"]), outputs


def find_smoothing(file: Gguf, shape: LlamaShape, sizes: dict[str, FloatArray]) -> Smoothing:
    """Return the factors of a model whose activations have these sizes."""
    found: dict[str, list[FloatArray]] = {"qkv": [], "gate_up": [], "down": []}
    for layer in range(shape.layers):
        for name, matrix in layer_matrices(file, shape, layer, no_smoothing(shape)):
            if name in found:
                found[name].append(_factors(sizes[f"{name}.{layer}"], matrix))
    attention, mlp, inner = (np.array(found[name], dtype=np.float32) for name in ("qkv", "gate_up", "down"))
    head = _factors(sizes[_HEAD], file.tensor("token_embd.weight"))
    return Smoothing(attention, mlp, inner, head.astype(np.float32))


def _factors(sizes: FloatArray, matrix: Any) -> FloatArray:
    weights = np.abs(matrix).max(axis=0).astype(np.float64)
    logarithms = _ACTIVATIONS * np.log(sizes + _LEAST) - _WEIGHTS * np.log(weights + _LEAST)
    # all factors of a matrix times the same number change nothing
    return np.asarray(np.exp(logarithms - logarithms.mean()), dtype=np.float64)


def paragraphs_of(corpus: str) -> Iterator[str]:
    """Yield the beginnings of some paragraphs."""
    from celadon.io.sources import find_sources, open_stream

    with open_stream(find_sources([corpus], "txt")[0]) as stream:
        lines = (line.decode("utf-8", errors="replace").strip() for line in islice(stream.buffer, 0, None, _EVERY))
        yield from islice((line[:_CHARACTERS] for line in lines if len(line) > _CHARACTERS), _PARAGRAPHS)


def write_smoothing(arguments: list[str]) -> None:
    """Write the factors of SmolLM2 into the package.

    The GGUF file is converted to fp32 in a temporary folder and run over some paragraphs of the corpus, spread evenly
    over its beginning. For an activation of size *a* that meets weights up to *w*, the factor is a**0.7 / w**0.3, which
    halves the error of the products or better (tried: exponents from 0.5 to 0.85; *a* as the maximum, the fourth
    moment, relative to each token).
    """
    from celadon.models.language import smollm2

    if len(arguments) != 2:
        raise UsageError("give the GGUF file and a corpus")
    path = Path(arguments[0])
    with tempfile.TemporaryDirectory() as folder:
        convert(path, Path(folder), Precision.FP32)
        sizes = activation_sizes(Path(folder), paragraphs_of(arguments[1]))
    packed = pack_smoothing(find_smoothing(read_gguf(path), SMOLLM2, sizes))
    np.save(Path(smollm2.__file__).with_name("smoothing.npy"), packed)


def main(arguments: list[str]) -> None:
    """Write the graphs of SmolLM2 into the package, or what an option names."""
    from celadon.models.language import smollm2

    match arguments:
        case ["--checks"]:
            write_checks()
        case ["--smoothing", *files]:
            write_smoothing(files)
        case _:
            for precision in Precision:
                Path(smollm2.__file__).with_name(f"{precision}.onnx").write_bytes(build_graph(SMOLLM2, precision))


if __name__ == "__main__":
    main(sys.argv[1:])
