"""What may come into the store from a user's folder, and how it is told from what may not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from celadon.core import InputError
from celadon.models.store.catalog import WEIGHT_ENDINGS
from celadon.models.store.manifest import MANIFEST

LM_FORMAT = "celadon-lm/1"
# .bin: the raw numbers of an ONNX graph; .md: the model's card; .arpa, .gz: n-gram counts
_FOLDER_ENDINGS = (*WEIGHT_ENDINGS, ".bin", ".data", ".md", ".arpa", ".gz")
_ZIP = b"PK\x03\x04"


def check_model_folder(folder: Path, names: list[str]) -> dict[str, Any]:
    """Check a celadon-lm folder and return its ``model.json``.

    Raises
    ------
    InputError
        Something is missing or is not what it should be; the message names the file.
    """
    for name in names:
        check_weight_file(folder / name, _FOLDER_ENDINGS)
    facts = _model_json(folder / "model.json")
    wanted = ["tokenizer.json", "unigrams.npy", "model.onnx"] if facts["kind"] == "onnx" else []
    for name in wanted:
        if name not in names:
            raise InputError(f"{folder / name}: is missing; a model of kind {facts['kind']} needs it")
    if "unigrams.npy" in names:
        check_unigrams(folder / "unigrams.npy")
    return facts


def _model_json(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InputError(f"{path}: is missing; a folder to import is what celadon train writes ({LM_FORMAT})")
    try:
        facts = json.loads(path.read_bytes())
        if facts["format"] != LM_FORMAT:
            raise InputError(f"{path}: its format is {facts['format']!r}; {LM_FORMAT} is expected")
        if facts["kind"] not in ("onnx", "ngram"):
            raise InputError(f"{path}: its kind is {facts['kind']!r}; onnx and ngram are known")
    except KeyError as error:
        raise InputError(f"{path}: has no {error}") from error
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: is not a JSON object: {error}") from error
    return dict(facts)


def check_unigrams(path: Path) -> None:
    """Refuse a unigram table that is not one finite number per token."""
    table = load_array(path)
    if table.ndim != 1 or table.dtype != np.float32 or not np.isfinite(table).all():
        raise InputError(f"{path}: must be finite float32 numbers, one per token")


def load_array(path: Path) -> Any:
    """Map an array from a file; one of Python objects, which is a pickle, is refused."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{path}: is not an array of numbers: {error}") from error


def check_weight_file(path: Path, endings: tuple[str, ...] = WEIGHT_ENDINGS) -> None:
    """Refuse what is not weights: other endings, and pickles and archives under any ending."""
    if not path.name.lower().endswith(endings) and path.name != MANIFEST:
        raise InputError(f"{path}: is not a weight file; these are taken: {', '.join(endings)}")
    try:
        with path.open("rb") as file:
            start = file.read(4)
            end = b""
            if file.seek(0, 2):
                file.seek(-1, 2)
                end = file.read(1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    pickled = len(start) > 1 and start[0] == 0x80 and 2 <= start[1] <= 5 and end == b"."
    if pickled or start == _ZIP:
        raise InputError(f"{path}: is a pickle or an archive, which may hold code; convert it to safetensors or npy")
    if path.name.lower().endswith(".npy"):
        load_array(path)
