"""Where the store keeps things, and whether it may use the network.

Below the store's home: ``models/NAME`` finished models; ``downloads/NAME`` fetched files that models are converted
from; ``partial`` downloads to be gone on with; ``unigrams`` tables for models that live elsewhere; ``work`` what is
being made; ``locks``; ``stamps`` of what was verified; ``probes`` of what this machine can do.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple

from celadon.core import UsageError

HF_PREFIX = "hf:"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
_NO = ("", "0", "false", "no", "off")


def home() -> Path:
    """Return the store's folder: ``CELADON_HOME``, or ``celadon`` in the user's cache."""
    if given := os.environ.get("CELADON_HOME"):
        return expanded(given).absolute()
    if cache := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache).absolute() / "celadon"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "celadon"
    return Path.home() / ".cache" / "celadon"


def is_offline() -> bool:
    """Tell whether ``CELADON_OFFLINE`` forbids the network."""
    return os.environ.get("CELADON_OFFLINE", "").strip().lower() not in _NO


class Place(NamedTuple):
    """One folder of the store, with its lock and its room for work."""

    room: str
    name: str

    @property
    def folder(self) -> Path:
        """Where the finished files are."""
        return home() / self.room / self.name

    @property
    def lock(self) -> Path:
        """The file that is locked by whoever changes this place."""
        return home() / "locks" / f"{self.room}-{self.name}.lock"

    @property
    def work(self) -> Path:
        """Where files are while they are not finished; emptied by the next one who holds the lock."""
        return home() / "work" / self.room / self.name


def model_place(name: str) -> Place:
    """Return the place of a model."""
    return Place("models", name)


def download_place(name: str) -> Place:
    """Return the place of fetched files that models are converted from."""
    return Place("downloads", name)


def partial_folder(download: str) -> Path:
    """Return where unfinished files of a download are, each named after the sha256 it is to have."""
    return home() / "partial" / download


def check_name(name: str) -> str:
    """Return a name that can be a folder's name.

    Raises
    ------
    UsageError
        It cannot.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be a model's name; use a-z, 0-9, dot, dash and underscore, as in my-model-1")
    return name


def is_path(spec: str) -> bool:
    """Tell whether a spec is written as a path, so that it cannot be a name of the catalog."""
    return "/" in spec or os.sep in spec or spec.startswith((".", "~"))


def expanded(path: str) -> Path:
    """Return a path with the user's home for ``~``; an unknown user's stays as it is."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - the other way fails for an unknown user


def is_folder(path: Path) -> bool:
    """Tell whether there is a folder; what cannot be a path is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def unigram_path(name: str) -> Path:
    """Return where the unigram table of a model is kept.

    Parameters
    ----------
    name
        ``hf:NAME_OR_FOLDER``: a file below the store's home. A name of the catalog or a folder: the table inside.
    """
    if name.startswith(HF_PREFIX):
        return home() / "unigrams" / f"{_slug(name.removeprefix(HF_PREFIX))}.npy"
    folder = expanded(name) if is_path(name) else model_place(check_name(name)).folder
    return folder / "unigrams.npy"


def _slug(name: str) -> str:
    """A file name that tells the model, and that no other model has; a folder has one however it is written."""
    folder = expanded(name)
    full = str(folder.resolve()) if is_folder(folder) else name
    readable = re.sub(r"[^A-Za-z0-9._-]+", "--", full).strip("-.")[-80:]
    return f"{readable}-{hashlib.sha256(full.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
