"""Room on the disk: asked for before it is needed, and missed in words that help."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from celadon.core import OutputError
from celadon.io.atomic import output_error
from celadon.models.store.notices import size_text
from celadon.models.store.places import home

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
