"""Whether this machine computes a graph as it should: a few rows against stored values, when the graph is loaded.

A model's folder may hold ``check.json``: rows of token ids and a number for each, computed in numpy. ONNX Runtime must
reproduce the numbers, alone and in a batch. Differences up to 0.001 count as equal. Up to 0.01 the runtime becomes part
of the signature, so that caches and runs do not mix. Beyond that the numbers are wrong: a runtime that was never tested
is refused; where a tested one is wrong the processor is the cause, and the reference kernels take over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from celadon.core import CeladonError, FloatArray, InputError, IntArray
from celadon.models.store.model_files import load_json
from celadon.models.store.places import say_on_stderr

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

CHECK_FILE = "check.json"
# the versions of ONNX Runtime on which all metrics were compared (docs/results.md): from the first to before the second
TESTED = ((1, 25), (1, 32))
EQUAL, WRONG = 1e-3, 1e-2
_FORMAT = "celadon-check/1"
_ROWS, _ALONE, _TOKENS = 16, 4, 12

Feed = Callable[[IntArray], Mapping[str, Any]]


@dataclass(frozen=True)
class RowCheck:
    """How a kind of graph is checked: its inputs for rows of ids of one length, and the output that is averaged."""

    feed: Feed
    output: str

    def values(self, session: Any, ids: IntArray) -> FloatArray:
        """Return a number for each row of ids."""
        (values,) = session.run([self.output], self.feed(ids))
        means: FloatArray = np.asarray(values, dtype=np.float64).reshape(len(ids), -1).mean(axis=1)
        return means


@dataclass(frozen=True)
class CheckedSession:
    """A session whose numbers may be used, and what a signature must say of the runtime (nothing where scores are
    equal).
    """

    session: InferenceSession
    runtime: str = ""


class SignedModel(Protocol):
    """A model that a signature names."""

    @property
    def name(self) -> str:
        """The name it is asked for by."""

    @property
    def digest(self) -> str:
        """The sha256 over what scores depend on."""


def signed_name(model: SignedModel) -> str:
    """Return what a signature says of a model: its name, its digest and, where scores depend on it, the runtime."""
    runtime = getattr(model, "runtime", "")
    return f"{model.name}@{model.digest[:8]}" + (f"~{runtime}" if runtime else "")


def write_check(path: Path, ids: IntArray, values: FloatArray) -> None:
    """Write rows of token ids and what a graph computes of each."""
    content = {"format": _FORMAT, "ids": ids.tolist(), "expected": [round(value, 6) for value in values.tolist()]}
    path.write_text(json.dumps(content) + "\n", encoding="utf-8")


def write_reference_check(folder: Path, graph: bytes, vocabulary: int, window: int, check: RowCheck) -> None:
    """Write ``check.json`` for a graph: random rows, and what the reference kernels compute of them."""
    from celadon.models.networks.reference_session import ReferenceSession

    ids = np.random.default_rng(0).integers(vocabulary, size=(_ROWS, min(_TOKENS, window)))
    write_check(folder / CHECK_FILE, ids, check.values(ReferenceSession(graph, folder), ids))


def check_session(path: Path, session: InferenceSession, check: RowCheck) -> CheckedSession:
    """Return a session whose numbers are right: the one given, or the reference kernels; ``check.json`` lies beside
    ``path``.

    Raises
    ------
    CeladonError
        This version of ONNX Runtime was never tested and computes wrong numbers.
    InputError
        ``check.json`` cannot be read, or belongs to another graph.
    """
    stored = path.parent / CHECK_FILE
    if not stored.is_file():
        return CheckedSession(session)
    ids, expected = _read(stored)
    values, difference = _compare(session, ids, expected, check)
    if difference <= EQUAL:
        return CheckedSession(session)
    import onnxruntime

    version = str(onnxruntime.__version__)
    if difference <= WRONG:
        identity = hashlib.sha256(np.round(values, 3).tobytes()).hexdigest()[:4]
        return CheckedSession(session, f"onnxruntime-{version}-{identity}")
    if not _is_tested(version):
        low, high = (".".join(map(str, bound)) for bound in TESTED)
        raise CeladonError(
            f"onnxruntime {version} computes {path.parent.name} wrongly here (off by {difference:.2g}); "
            f"install a version that was tested: pip install 'onnxruntime>={low},<{high}'"
        )
    return CheckedSession(_reference(path, ids, expected, check, f"onnxruntime {version}"))


def _reference(path: Path, ids: IntArray, expected: FloatArray, check: RowCheck, runtime: str) -> Any:
    from celadon.models.networks.reference_session import ReferenceSession

    try:
        session = ReferenceSession(path.read_bytes(), path.parent)
        difference = _compare(session, ids, expected, check)[1]
    except ValueError as error:
        raise CeladonError(f"{runtime} computes {path.parent.name} wrongly on this processor, and {error}") from error
    if difference > EQUAL:
        raise InputError(f"{path.parent / CHECK_FILE}: belongs to another graph; fetch or train the model again")
    say_on_stderr(f"{runtime} computes {path.parent.name} wrongly on this processor; using numpy, which is slower")
    return session


def _compare(session: Any, ids: IntArray, expected: FloatArray, check: RowCheck) -> tuple[FloatArray, float]:
    """Return the batch's values, and by how much a row alone or in the batch is off at most."""
    together = check.values(session, ids)
    alone = np.concatenate([check.values(session, ids[at : at + 1]) for at in range(_ALONE)])
    off = np.concatenate([np.abs(together - expected), np.abs(alone - expected[:_ALONE])])
    # what is no number is wrong
    return together, float(np.nan_to_num(off, nan=np.inf).max())


def _read(path: Path) -> tuple[IntArray, FloatArray]:
    raw = load_json(path)
    try:
        if raw["format"] != _FORMAT:
            raise InputError(f"{path}: is {raw['format']}; {_FORMAT} is expected")
        ids, expected = np.array(raw["ids"], dtype=np.int64), np.array(raw["expected"], dtype=np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: does not hold rows and their values: {error}") from error
    if ids.ndim != 2 or len(ids) < _ALONE or expected.shape != (len(ids),):
        raise InputError(f"{path}: does not hold {_ALONE} or more rows with a value each")
    return ids, expected


def _is_tested(version: str) -> bool:
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    return TESTED[0] <= numbers < TESTED[1]
