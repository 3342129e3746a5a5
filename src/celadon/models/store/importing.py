"""Takes a user's own weights into the cache, and removes what is there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from celadon.core import InputError, UsageError
from celadon.models.store.catalog import Catalog, load_catalog
from celadon.models.store.contents import check_model_folder, check_weight_file
from celadon.models.store.locking import locked, put_in_place
from celadon.models.store.manifest import DamagedError, file_names, forget_stamps, write_manifest
from celadon.models.store.notices import Say, byte_bar, say_on_stderr
from celadon.models.store.places import (
    HF_PREFIX,
    check_name,
    download_place,
    model_place,
    partial_folder,
    unigram_path,
)
from celadon.models.store.resolving import own_folder
from celadon.models.store.space import check_space, full_disk_told

_CHUNK = 1 << 20


def import_model(path: Path, name: str | None = None, *, say: Say = say_on_stderr) -> str:
    """Copy a celadon-lm folder or a single weight file into the cache and return its name there.

    Parameters
    ----------
    path
        The folder or file; symbolic links, pickles and archives are refused.
    name
        The name it gets; by default one made from the path's.
    say
        Told of waiting for another process.
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

    Raises
    ------
    UsageError
        There is no such model, it comes with the package, or it is not in the cache.
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
