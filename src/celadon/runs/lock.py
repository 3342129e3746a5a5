"""One driver at a time for each run.

The lock is the kernel's (flock): it goes away with the process that holds it, however that ends. That of a run behind
an address is on the driver's machine, because an object store has no lock that dies with its holder: two machines at
the same run are not kept apart. They score shards twice, to the same bytes; a file that is not what a driver knows of
ends its run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from celadon.core import UsageError
from celadon.io.atomic import output_errors
from celadon.runs.folder import RunFolder


@contextmanager
def locked_run(folder: RunFolder) -> Iterator[None]:
    """Hold the lock of a run.

    Raises
    ------
    UsageError
        Another process holds it.
    """
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
