"""Makes a folder that ONNX Runtime can run (``celadon-lm/1``) of SmolLM2's GGUF file: no torch, no onnx."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from celadon.core import InputError, UsageError
from celadon.io.atomic import atomic_write_text, output_errors
from celadon.models.language.smollm2.filling import shape_of, weights_of
from celadon.models.language.smollm2.gguf import Gguf, read_gguf
from celadon.models.language.smollm2.layout import SMOLLM2, LlamaShape, Precision, plan_weights
from celadon.models.language.smollm2.smoothing import Smoothing, no_smoothing, read_smoothing
from celadon.models.language.smollm2.vocabulary import BEGIN, build_tokenizer
from celadon.models.networks.self_check import CHECK_FILE
from celadon.models.store.places import byte_bar

# Measured on two cores: less leaves them idle between the layers, more leaves the caches.
_BATCH_POSITIONS = 256

_CARD = """# {name}

SmolLM2-135M-Instruct by Hugging Face (Apache-2.0), from weights of four bits (GGUF, Q4_1), for ONNX Runtime.

- computed in: {computed}
- read after: `{begin}`; the end of a text is left out of its probability and its length
- window: {window:,} tokens; longer texts are read in windows of which half was read before (the model was trained on up
  to {context:,} tokens, mostly on 2,048)
- unigrams: counted over English Wikipedia (the sentences of `enwiki`, split as for scoring), one added to every count;
  the model's own training texts are not at hand
"""
_COMPUTED = {
    Precision.FP32: "float32; the same log-probabilities as transformers",
    Precision.INT8: "int8: weights scaled per output, activations per token in two bytes each, and in each token the "
    "numbers that are always large made smaller where the weights can make up for it; sums are in integers, so no "
    "score depends on the batch",
}


def convert(
    gguf_path: Path, into: Path, precision: str = Precision.FP32, progress: Callable[[str], None] | None = None
) -> None:
    """Convert SmolLM2-135M.

    Parameters
    ----------
    gguf_path
        Its GGUF file, with tensors in F32, F16, Q4_1 or Q8_0.
    into
        The folder to write; ``model.json`` comes last.
    precision
        ``fp32`` or ``int8``.
    progress
        Told in a line what is done.
    """
    if precision not in tuple(Precision):
        raise UsageError(f"there is no precision {precision!r}; take fp32 or int8")
    chosen, file = Precision(precision), read_gguf(gguf_path)
    shape = shape_of(file, SMOLLM2.positions)
    if shape != SMOLLM2:
        raise InputError(f"{gguf_path}: is not SmolLM2-135M but {shape}")
    if progress is not None:
        progress(f"writing the weights in {precision}")
    package = files("celadon.models.language.smollm2")
    graph, unigrams = package.joinpath(f"{chosen}.onnx").read_bytes(), package.joinpath("unigrams.npy").read_bytes()
    name = "smollm2" if chosen is Precision.FP32 else "smollm2-int8"
    smoothing = read_smoothing(shape) if chosen is Precision.INT8 else no_smoothing(shape)
    write_folder(file, into, name, chosen, shape, graph, unigrams, smoothing)
    check = package.joinpath(f"{chosen}.{CHECK_FILE}")
    # there is none while celadon.train.language_models.smollm2 makes it
    if check.is_file():
        (into / CHECK_FILE).write_bytes(check.read_bytes())


def write_folder(
    file: Gguf,
    into: Path,
    name: str,
    precision: Precision,
    shape: LlamaShape,
    graph: bytes,
    unigrams: bytes,
    smoothing: Smoothing,
) -> None:
    """Write a model of any size.

    Parameters
    ----------
    file, into
        From where to where.
    name
        The model's name.
    precision, shape
        What ``graph`` was built for.
    graph
        The ONNX graph without weights.
    unigrams
        The unigram table, as an npy file.
    smoothing
        What to divide activations by.
    """
    with output_errors(str(into)):
        into.mkdir(parents=True, exist_ok=True)
        _write_weights(file, into / "weights.bin", shape, precision, smoothing)
        (into / "model.onnx").write_bytes(graph)
        (into / "unigrams.npy").write_bytes(unigrams)
        (into / "tokenizer.json").write_text(build_tokenizer(file).to_str(), encoding="utf-8")
        computed, context = _COMPUTED[precision], file.get("llama.context_length")
        card = _CARD.format(name=name, computed=computed, begin=BEGIN, window=shape.positions, context=context)
        (into / "card.md").write_text(card, encoding="utf-8")
    described = json.dumps(_description(file, name, shape), ensure_ascii=False, indent=2)
    atomic_write_text(str(into / "model.json"), described + "\n")


def _write_weights(file: Gguf, path: Path, shape: LlamaShape, precision: Precision, smoothing: Smoothing) -> None:
    plan = plan_weights(shape, precision)
    total = max(weight.offset + weight.size for weight in plan.values())
    written = set()
    with path.open("wb") as out, byte_bar("converting", total) as bar:
        out.truncate(total)
        for name, array in weights_of(file, shape, precision, smoothing):
            if array.shape != plan[name].shape or array.dtype.name != plan[name].kind:
                raise InputError(f"{file.path}: {name} is {array.shape} where {plan[name].shape} is expected")
            out.seek(plan[name].offset)
            out.write(np.ascontiguousarray(array).astype(np.dtype(plan[name].kind).newbyteorder("<"), copy=False).data)
            bar.update(plan[name].size)
            written.add(name)
    if missing := plan.keys() - written:
        raise AssertionError(f"not filled: {sorted(missing)}")


def _description(file: Gguf, name: str, shape: LlamaShape) -> dict[str, Any]:
    return {
        "format": "celadon-lm/1",
        "kind": "onnx",
        "name": name,
        "unit": "bpe",
        "begin": BEGIN,
        "begin_id": file.get("tokenizer.ggml.tokens").index(BEGIN),
        "end": None,
        "end_id": None,
        "unknown_id": None,
        "window": shape.positions,
        "batch_positions": _BATCH_POSITIONS,
        "scripts": ["Latin"],
    }
