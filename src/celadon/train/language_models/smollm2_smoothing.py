"""Finds the factors that SmolLM2's int8 form is smoothed by (see :mod:`celadon.models.language.smollm2.smoothing`).

``python -m celadon.train.language_models.smollm2_smoothing GGUF CORPUS`` converts the model to fp32 in a
temporary folder, runs it over some paragraphs of the corpus, spread evenly over its beginning, and writes
the factors into the package. For an activation of size *a* that meets weights up to *w*, the factor is
a**0.7 / w**0.3, which halves the error
of the products or better (tried: exponents from 0.5 to 0.85; *a* as the maximum, the fourth moment, relative to each
token).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from celadon.core import FloatArray, MissingExtraError, UsageError
from celadon.models.language.smollm2 import convert
from celadon.models.language.smollm2.filling import layer_matrices
from celadon.models.language.smollm2.gguf import Gguf, read_gguf
from celadon.models.language.smollm2.layout import SMOLLM2, LlamaShape, Precision
from celadon.models.language.smollm2.smoothing import Smoothing, no_smoothing, pack_smoothing

_ACTIVATIONS, _WEIGHTS = 0.7, 0.3
_PARAGRAPHS, _EVERY, _CHARACTERS = 64, 997, 400
_HEAD = "embedding.part0"
_TINY = 1e-9


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
    logarithms = _ACTIVATIONS * np.log(sizes + _TINY) - _WEIGHTS * np.log(weights + _TINY)
    # all factors of a matrix times the same number change nothing
    return np.asarray(np.exp(logarithms - logarithms.mean()), dtype=np.float64)


def paragraphs_of(corpus: str) -> Iterator[str]:
    """Yield the beginnings of some paragraphs."""
    from celadon.io.sources import find_sources, open_stream

    with open_stream(find_sources([corpus], "txt")[0]) as stream:
        lines = (line.decode("utf-8", errors="replace").strip() for line in islice(stream.buffer, 0, None, _EVERY))
        yield from islice((line[:_CHARACTERS] for line in lines if len(line) > _CHARACTERS), _PARAGRAPHS)


def main(arguments: list[str]) -> None:
    """Write the factors of SmolLM2 into the package."""
    from celadon.models.language import smollm2

    if len(arguments) != 2:
        raise UsageError("give the GGUF file and a corpus")
    path = Path(arguments[0])
    with tempfile.TemporaryDirectory() as folder:
        convert(path, Path(folder), Precision.FP32)
        sizes = activation_sizes(Path(folder), paragraphs_of(arguments[1]))
    packed = pack_smoothing(find_smoothing(read_gguf(path), SMOLLM2, sizes))
    np.save(Path(smollm2.__file__).with_name("smoothing.npy"), packed)


if __name__ == "__main__":
    main(sys.argv[1:])
