"""Changes the cache: takes a user's own weights in, adds files to a model, and removes what is there."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from celadon.core import InputError, MissingPartError, UsageError
from celadon.models.store.catalog import WEIGHT_ENDINGS, Catalog, load_catalog
from celadon.models.store.manifest import MANIFEST, DamagedError, file_names, forget_stamps, verify, write_manifest
from celadon.models.store.places import (
    HF_PREFIX,
    Say,
    byte_bar,
    check_name,
    check_space,
    download_place,
    full_disk_told,
    locked,
    model_place,
    partial_folder,
    put_in_place,
    say_on_stderr,
    unigram_path,
)
from celadon.models.store.resolving import own_folder

LM_FORMAT = "celadon-lm/1"
# .bin: the raw numbers of an ONNX graph; .md: the model's card; .arpa, .gz: n-gram counts
_FOLDER_ENDINGS = (*WEIGHT_ENDINGS, ".bin", ".data", ".md", ".arpa", ".gz")
_ZIP = b"PK\x03\x04"


def check_model_folder(folder: Path, names: list[str]) -> dict[str, Any]:
    """Check a celadon-lm folder and return its ``model.json``.

    Raises InputError if something is missing or is not what it should be; the message names the file.
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


_CHUNK = 1 << 20


def import_model(path: Path, name: str | None = None, *, say: Say = say_on_stderr) -> str:
    """Copy a celadon-lm folder or a single weight file into the cache and return its name there.

    ``path``: the folder or file; symbolic links, pickles and archives are refused.
    ``name``: the name it gets; by default one made from the path's.
    ``say``: told of waiting for another process.
    """
    name = check_name(_name_from(path) if name is None else name)
    if load_catalog().find(name) is not None:
        raise UsageError(f"{name} is a name of the catalog; choose another with --name")
    names = _contents(path)
    root = path if path.is_dir() else path.parent
    size = sum((root / file).stat().st_size for file in names)
    place = model_place(name)
    with locked(place, say) as work:
        if place.folder.exists():
            raise UsageError(f"{name} is already in the cache; choose another --name, or: celadon models remove {name}")
        check_space(f"importing {name}", size)
        made = work / "made"
        with full_disk_told(size), byte_bar(f"importing {name}", size) as bar:
            for file in names:
                (made / file).parent.mkdir(parents=True, exist_ok=True)
                _copy(root / file, made / file, bar)
            write_manifest(made, {"imported": path.name})
            put_in_place(made, place)
    return name


def _name_from(path: Path) -> str:
    stem = path.resolve().name if path.is_dir() else path.stem
    return re.sub(r"[^a-z0-9._-]+", "-", stem.lower()).strip("-._") or "model"


def _contents(path: Path) -> list[str]:
    """The files to be copied, each checked."""
    if path.is_symlink():
        raise InputError(f"{path}: is a symbolic link; give the file or folder itself")
    if path.is_dir():
        own_folder(path)
        try:
            names = file_names(path)
        except DamagedError as error:
            raise InputError(str(error)) from error
        check_model_folder(path, names)
        return names
    if not path.is_file():
        raise InputError(f"{path}: no such file or folder")
    check_weight_file(path)
    return [path.name]


def _copy(source: Path, target: Path, bar: object) -> None:
    with source.open("rb") as read, target.open("xb") as write:
        while chunk := read.read(_CHUNK):
            write.write(chunk)
            bar.update(len(chunk))  # type: ignore[attr-defined]


def remove_model(name: str, *, say: Say = say_on_stderr) -> list[Path]:
    """Remove a model from the cache, with fetched files that no other cached model uses; return what was removed.

    Raises UsageError if there is no such model, it comes with the package, or it is not in the cache.
    """
    if name.startswith(HF_PREFIX):
        return _remove_table(name)
    catalog = load_catalog()
    model = catalog.find(name)
    name = model.name if model is not None else check_name(name)
    if model is not None and model.builtin is not None:
        raise UsageError(f"{name} comes with the package and cannot be removed")
    place = model_place(name)
    if model is None and not place.folder.is_dir():
        raise UsageError(f"no model is called {name!r}; see: celadon models list")
    removed = []
    with locked(place, say) as work, full_disk_told(0):
        if place.folder.exists():
            forget_stamps(place.folder)
            # a rename first: a kill leaves no half-removed model
            place.folder.rename(work / "removed")
            removed.append(place.folder)
    if model is not None and model.download is not None:
        removed += _remove_download(model.download.name, model.name, catalog, say)
    if not removed:
        raise UsageError(f"{name} is not in the cache; there is nothing to remove")
    return removed


def _remove_download(download: str, name: str, catalog: Catalog, say: Say) -> list[Path]:
    others = [m.name for m in catalog.models.values() if m.download and m.download.name == download and m.name != name]
    if any(model_place(other).folder.exists() for other in others):
        return []
    place, removed = download_place(download), []
    with locked(place, say), full_disk_told(0):
        for folder in (place.folder, partial_folder(download)):
            if folder.exists():
                forget_stamps(folder)
                shutil.rmtree(folder)
                removed.append(folder)
    return removed


def _remove_table(name: str) -> list[Path]:
    table = unigram_path(name)
    if not table.is_file():
        raise UsageError(f"{name}: the store has no unigram table of it; there is nothing to remove")
    with full_disk_told(0):
        table.unlink()
    return [table]


def add_file(model: str, name: str, content: bytes, say: Say) -> None:
    """Put a file of the user's into a cached model's folder, in place of an older one.

    The folder is replaced as a whole, so that a reader sees it with its manifest before or after, never between; the
    other files are linked, not copied.
    """
    place = model_place(model)
    with locked(place, say) as work, full_disk_told(len(content)):
        try:
            older = verify(place.folder)
        except DamagedError as error:
            raise MissingPartError(f"{error}; remove it and get it again: celadon models remove {model}") from error
        made = work / "made"
        made.mkdir()
        for file in older.files:
            if file != name:
                (made / file).parent.mkdir(parents=True, exist_ok=True)
                try:
                    os.link(place.folder / file, made / file)
                except OSError:
                    shutil.copyfile(place.folder / file, made / file)
        with (made / name).open("wb") as output:
            output.write(content)
            output.flush()
            os.fsync(output.fileno())
        write_manifest(made, older.made, {*older.added, name})
        put_in_place(made, place)
