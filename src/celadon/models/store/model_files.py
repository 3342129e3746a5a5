"""The files of a model: opened, checked and hashed; what is bad is told in one line."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from celadon.core import InputError, UsageError
from celadon.models.networks.onnx_graph import graph_without_tables
from celadon.models.store.manifest import DamagedError, read_manifest, sha256_of

if TYPE_CHECKING:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

# where ONNX Runtime looks for the tables of a graph that it is not given as a file
_TABLES = "session.model_external_initializers_file_folder_path"


@contextmanager
def loading(path: Path) -> Iterator[None]:
    """Turn whatever a library says of a file into one line for the user."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    # tokenizers raises a bare Exception, ONNX Runtime several kinds of its own
    except Exception as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{path}: cannot be loaded; fetch or train the model again ({reason})") from error


def load_json(path: Path) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: is not JSON: {error}") from error


def load_tokenizer(path: Path) -> Tokenizer:
    """Read a tokenizer that neither cuts, nor pads, nor takes what stands in a text for a mark of its own."""
    from tokenizers import Tokenizer

    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # noqa: BLE001 - tokenizers raises nothing more exact
        raise InputError(f"{path}: cannot be read as a tokenizer: {error}") from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    # "<|endoftext|>" in a text is what a reader sees there, not the end of it
    tokenizer.encode_special_tokens = True
    return tokenizer


def load_table(path: Path) -> npt.NDArray[Any]:
    """Read an array of numbers."""
    with loading(path):
        table: npt.NDArray[Any] = np.load(path, allow_pickle=False)
    return table


def load_session(
    path: Path, threads: int | None, inputs: set[str], outputs: set[str], what: str, graph: bytes | None = None
) -> InferenceSession:
    """Load a graph; its large tables are mapped into memory.

    ``threads``: how many threads run it; None takes as many as ``CELADON_THREADS`` says, else one per core.
    ``inputs``, ``outputs``: the names it must have.
    ``what``: what it is to be, for the message if it is not: ``language model``.
    ``graph``: what to load in place of what is in the file.
    """
    import onnxruntime

    if threads is not None and threads < 1:
        raise UsageError(f"{threads} threads are too few; take 1 or more")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or _threads_told()
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    options.log_severity_level = 3
    with loading(path):
        real = path.resolve()
        options.add_session_config_entry(_TABLES, str(real.parent))
        loaded = graph or graph_without_tables(real)
        session = onnxruntime.InferenceSession(loaded, options, providers=["CPUExecutionProvider"])
        for side, found, wanted in (
            ("inputs", session.get_inputs(), inputs),
            ("outputs", session.get_outputs(), outputs),
        ):
            if {item.name for item in found} != wanted:
                raise InputError(f"{path}: its {side} are not {' and '.join(sorted(wanted))}; it is no {what} of ours")
    return session


def _threads_told() -> int:
    """What a driver tells the workers that share a machine; 0 leaves it to the library."""
    told = os.environ.get("CELADON_THREADS", "")
    return int(told) if told.isdecimal() else 0


def files_digest(folder: Path, patterns: Iterable[str]) -> str:
    """Return the sha256 over the sorted lines ``name:sha256`` of all files that scores depend on.

    The hashes are taken from ``manifest.json`` where the folder has one, which the store keeps true.
    """
    names = {path.name for pattern in patterns for path in folder.glob(pattern)}
    try:
        known = read_manifest(folder).files
    except DamagedError:
        known = {}
    with loading(folder):
        lines = [
            f"{name}:{known[name].sha256 if name in known else sha256_of(folder / name)}" for name in sorted(names)
        ]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
