"""Where the store keeps things, what it says while it works, room on the disk, and locks.

Below the store's home: ``models/NAME`` finished models; ``downloads/NAME`` fetched files that models are converted
from; ``partial`` downloads to be resumed; ``unigrams`` tables for models that live elsewhere; ``work`` what is
being made; ``locks``; ``stamps`` of what was verified; ``probes`` of what this machine can do.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from celadon.core import OutputError, UsageError
from celadon.io.atomic import output_error

Say: TypeAlias = Callable[[str], None]

_PATIENCE = 2.0
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def say_on_stderr(message: str) -> None:
    """Show one line."""
    sys.stderr.write(f"celadon: {message}\n")
    sys.stderr.flush()


def size_text(size: float) -> str:
    """Return a number of bytes for a person: ``93 MB``."""
    for unit in _UNITS:
        if size < 999.5 or unit == _UNITS[-1]:
            break
        size /= 1000
    return f"{size:.1f} {unit}" if unit != "bytes" and size < 9.95 else f"{size:.0f} {unit}"


def byte_bar(what: str, total: int | None, done: int = 0) -> Any:
    """Return a tqdm bar that counts bytes, shown on a terminal once two seconds have passed."""
    from tqdm import tqdm

    return tqdm(
        desc=what,
        total=total,
        initial=done,
        unit="B",
        unit_scale=True,
        leave=False,
        delay=_PATIENCE,
        disable=not sys.stderr.isatty(),
    )


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
    """Return a name that can be a folder's name. Raises UsageError if it cannot."""
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

    ``name``: ``hf:NAME_OR_FOLDER``: a file below the store's home. A name of the catalog or a folder: the table inside.
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


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ADVICE = "free some space, or set CELADON_HOME to a folder on another disk"


def make_folder(folder: Path) -> Path:
    """Make a folder of the store."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in _FULL:
            raise disk_full(0, home()) from error
        reason = error.strerror or str(error)
        raise OutputError(f"{folder}: cannot be made ({reason}); set CELADON_HOME to a folder of yours") from error
    return folder


def check_space(what: str, needed: int) -> None:
    """Refuse to begin what the disk has no room for."""
    free = shutil.disk_usage(make_folder(home())).free
    if needed > free:
        raise OutputError(f"{home()}: {what} needs {size_text(needed)} and {size_text(free)} are free; {_ADVICE}")


def disk_full(needed: int, where: Path) -> OutputError:
    """The failure in one line: how much is needed, and where."""
    amount = f"{size_text(needed)} are needed there; " if needed else ""
    return OutputError(f"{where}: no space left on the device; {amount}{_ADVICE}")


@contextmanager
def full_disk_told(needed: int) -> Iterator[None]:
    """Turns an OSError of writing inside the block into an OutputError that says how much room is needed."""
    try:
        yield
    except OutputError as error:
        # a converter tells of its own file, which the user never asked for
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in _FULL:
            raise disk_full(needed, home()) from error
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise disk_full(needed, home()) from error
        raise output_error(str(error.filename or home()), error) from error


@contextmanager
def locked(place: Place, say: Say) -> Iterator[Path]:
    """Hold the lock of a place; gives its work folder, which is new and is removed at the end.

    What a killed process left in the work folder is removed here: nobody else can be using it.
    """
    make_folder(place.lock.parent)
    try:
        descriptor = os.open(place.lock, os.O_CREAT | os.O_RDWR, 0o666)
    except OSError as error:
        raise output_error(str(place.lock), error) from error
    try:
        _wait(descriptor, place, say)
        shutil.rmtree(place.work, ignore_errors=True)
        yield make_folder(place.work)
    finally:
        shutil.rmtree(place.work, ignore_errors=True)
        os.close(descriptor)


def _wait(descriptor: int, place: Place, say: Say) -> None:
    try:
        import fcntl
    except ImportError:  # a system without flock: one process at a time is then up to the user
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say(f"another process is working on {place.name}; waiting for it")
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def put_in_place(made: Path, place: Place) -> None:
    """Let a finished folder take its place; the lock must be held.

    A process that still reads the older files keeps them until it closes them.
    """
    make_folder(place.folder.parent)
    if place.folder.exists():
        place.folder.rename(place.work / "replaced")
    made.rename(place.folder)
    with suppress(OSError):
        shutil.rmtree(place.work / "replaced")
