"""The folder of a run, on this machine or behind an address; its lock, and which runs this user has started."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from celadon.core import InputError, OutputError, UsageError
from celadon.io import atomic_write_text
from celadon.io.atomic import output_errors
from celadon.io.remote import (
    check_takes_files,
    expand_url,
    fetch,
    is_url,
    local_path,
    open_url,
    put_files,
    remove_urls,
    shown_name,
    sizes_below,
)
from celadon.models.store.places import home

MANIFEST = "run.json"
SUMMARY = "summary.json"
LOCK = "run.lock"
SHARDS = "shards"
REJECTS = "rejects"
_WORK = ".work"
_TEMPORARY = ".celadon-*.tmp"


def part_name(index: int) -> str:
    """Return the name of a shard's files, without their endings."""
    return f"part-{index:05d}"


class RunFolder:
    """The files of a run by their names; what is written appears whole or not at all.

    ``output``: a path or an address.
    ``name``: the folder as messages show it, without secrets.
    ``digest``: a hash of where it is.
    ``staging``: the folder of this machine where files are made: the run's own, or one in the user's celadon folder.
    """

    def __init__(self, output: str) -> None:
        self.url = output.rstrip("/") + "/" if is_url(output) else None
        place = self.url or os.path.realpath(local_path(output))
        self.name = shown_name(self.url) if self.url else os.path.join(local_path(output), "")  # noqa: PTH118
        self.place = place
        self.digest = hashlib.sha256(shown_name(place).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.staging = home() / "work" / "runs" / self.digest if self.url else Path(place)

    @property
    def work(self) -> Path:
        """Where unpacked inputs are while the run goes on."""
        return self.staging / _WORK

    @property
    def lock(self) -> Path:
        """The file that the driver of the run holds."""
        return home() / "locks" / f"run-{self.digest}.lock" if self.url else self.staging / LOCK

    def make(self) -> None:
        """Make the folder and what is in it, where it is not there; of a remote one see that it can be written to."""
        if self.url:
            check_takes_files(self.url)
        with output_errors(self.name):
            for folder in (self.staging, self.staging / SHARDS, self.staging / REJECTS, self.lock.parent):
                folder.mkdir(parents=True, exist_ok=True)

    def stage_text(self, name: str, text: str) -> None:
        """Write a file of the staging folder."""
        atomic_write_text(str(self.staging / name), text)

    def publish(self, *names: str) -> None:
        """Put finished files of the staging folder in their place: one by one, or at once where there are commits."""
        if self.url:
            put_files([(self.staging / name, self.url + name) for name in names])
            for name in names:
                (self.staging / name).unlink()

    def write_text(self, name: str, text: str) -> None:
        """Write a file."""
        self.stage_text(name, text)
        self.publish(name)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a file; None where there is none."""
        if self.url:
            return self._read_url(self.url + name)
        try:
            return (self.staging / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise InputError(f"{self.staging / name}: cannot be read: {error.strerror or error}") from error

    def local_copy(self, name: str) -> Path:
        """Return a file as one of this machine; a copy of a remote one is the caller's to remove."""
        if self.url:
            fetch(self.url + name, self.staging / name)
        return self.staging / name

    def forget_copy(self, name: str) -> None:
        """Remove a copy of a remote file."""
        if self.url:
            (self.staging / name).unlink(missing_ok=True)

    def names(self, pattern: str) -> list[str]:
        """Return the files that match a pattern, in order."""
        if not self.url:
            return sorted(path.relative_to(self.staging).as_posix() for path in self.staging.glob(pattern))
        try:
            urls = expand_url(self.url + pattern)
        except InputError as error:
            if _says_not_there(error):
                return []
            raise
        folder = Path(pattern).parent
        return [(folder / each.rpartition("/")[2]).as_posix() for each in urls]

    @staticmethod
    def _read_url(url: str) -> bytes | None:
        try:
            with open_url(url) as remote:
                return remote.read()
        except InputError as error:
            if _says_not_there(error):
                return None
            raise

    def sizes(self) -> dict[str, int]:
        """Return the bytes of every file of a shard, by its name."""
        if self.url:
            return sizes_below(self.url)
        sizes = {}
        for pattern in ("part-*", f"{SHARDS}/part-*", f"{REJECTS}/part-*"):
            for path in self.staging.glob(pattern):
                with suppress(OSError):
                    sizes[path.relative_to(self.staging).as_posix()] = path.stat().st_size
        return sizes

    def remove(self, *names: str) -> None:
        """Remove files, those that are there: one by one, or at once where there are commits."""
        if self.url:
            remove_urls([self.url + name for name in names])
        else:
            with output_errors(self.name):
                for name in names:
                    (self.staging / name).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what an earlier, dead driver and its workers left half done; the lock must be held."""
        shutil.rmtree(self.work, ignore_errors=True)
        for folder in (self.staging, self.staging / SHARDS, self.staging / REJECTS):
            for temporary in folder.glob(_TEMPORARY):
                with suppress(OSError):
                    temporary.unlink()

    def clean_up(self) -> None:
        """Remove what is not needed between starts: half done files, empty folders, the staging of a remote run."""
        self.sweep()
        if self.url:
            shutil.rmtree(self.staging, ignore_errors=True)
        else:
            with suppress(OSError):
                (self.staging / REJECTS).rmdir()


def _says_not_there(error: InputError) -> bool:
    """Whether a file is missing; a server that cannot be asked is another matter."""
    return str(error).endswith(("no such file", "no file matches this pattern"))


# The lock is the kernel's (flock): it goes away with the process that holds it, however that ends. That of a run behind
# an address is on the driver's machine, because an object store has no lock that dies with its holder: two machines at
# the same run are not kept apart. They score shards twice, to the same bytes; a file that is not what a driver knows of
# ends its run.


@contextmanager
def locked_run(folder: RunFolder) -> Iterator[None]:
    """Hold the lock of a run. Raises UsageError if another process holds it."""
    with output_errors(folder.name):
        descriptor = os.open(folder.lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
    try:
        if not _taken(descriptor, patience=0.3):
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
            who = f" (process {holder})" if holder.isdecimal() else ""
            # elsewhere there may be more of them, and nobody can tell
            here = " of this machine" if folder.url else ""
            raise UsageError(
                f"{folder.name}: another process{here} is working on this run{who}; wait for it or stop it"
            )
        os.truncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode("ascii"))
        yield
    finally:
        os.close(descriptor)


def is_running(folder: RunFolder) -> bool:
    """Tell whether a process of this machine holds the lock of a run."""
    try:
        descriptor = os.open(folder.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _taken(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _taken(descriptor: int, *, shared: bool = False, patience: float = 0.0) -> bool:
    try:
        import fcntl
    except ImportError:  # a system without flock: one driver at a time is then up to the user
        return True
    # somebody who asks whether a run is going on holds the lock for a moment
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)
        else:
            return True


def remember_run(folder: RunFolder) -> None:
    """Keep in mind where a run is; a home one cannot write in does not stop the run."""
    note = {"folder": shown_name(folder.place), "started": datetime.now(UTC).isoformat(timespec="seconds")}
    path = _room() / f"{folder.digest}.json"
    with suppress(OSError, OutputError):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_text(str(path), json.dumps(note))


def known_runs() -> list[str]:
    """Return where runs were started, the last one first; runs that are gone are forgotten."""
    runs: list[tuple[str, str]] = []
    for path in _room().glob("*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(path.read_bytes())
            place = str(note["folder"])
            if "://" in place or Path(place).is_dir():
                runs.append((str(note["started"]), place))
            else:
                path.unlink()
    return [place for _, place in sorted(runs, reverse=True)]


def runs_named(name: str) -> list[str]:
    """Return where the known runs are whose path ends in a name."""
    return [place for place in known_runs() if place.rstrip("/").rpartition("/")[2] == name.rstrip("/")]


def _room() -> Path:
    return home() / "runs"
