"""One at a time: whoever changes a place of the store holds its lock.

The lock is the kernel's (flock) and goes away with the process that holds it, however that ends; the file stays.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from celadon.io.atomic import output_error
from celadon.models.store.notices import Say
from celadon.models.store.places import Place
from celadon.models.store.space import make_folder


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
