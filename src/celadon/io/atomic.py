"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from celadon.core import InputError, OutputError, UsageError
from celadon.io.remote import check_takes_files, is_url, local_path, put_file, remove_url, shown_name
from celadon.io.sources import STDIN, expand_paths


def output_error(path: str, error: OSError) -> OutputError:
    """The failure in one line: which path, what is wrong, what to do."""
    path = shown_name(path)
    folder = Path(path).parent
    advice = {
        errno.ENOSPC: "no space left on the device; free some or choose another place",
        errno.EDQUOT: "the disk quota is used up; free some space or choose another place",
        errno.EFBIG: "the file is too large for this file system; choose another place",
        errno.EACCES: f"no permission to write in {folder}; choose another place",
        errno.EPERM: f"no permission to write in {folder}; choose another place",
        errno.EROFS: f"{folder} is on a read-only file system; choose another place",
        errno.ENOENT: f"the folder {folder} does not exist; create it first",
        errno.ENOTDIR: f"{folder} is not a folder; choose another place",
        errno.EISDIR: "is a directory; give the name of a file",
        errno.ENAMETOOLONG: "the name is too long; choose a shorter --output",
    }
    what = advice.get(error.errno or 0, f"cannot be written: {error.strerror or error}")
    return OutputError(f"{path}: {what}")


@contextmanager
def output_errors(path: str) -> Iterator[None]:
    """Turns an OSError inside the block into an OutputError about ``path``."""
    try:
        yield
    except OSError as error:
        raise output_error(path, error) from error


# Temporary files of this process, noted before they are made.
_LIVE: set[Path] = set()


def _remove(temporary: Path) -> None:
    with suppress(OSError):
        temporary.unlink()
    _LIVE.discard(temporary)


def remove_leftovers() -> None:
    """Remove temporary files that an interrupt kept from being cleaned up.

    A signal may come between the making of a file and the moment when somebody is responsible for it.
    """
    for temporary in tuple(_LIVE):
        _remove(temporary)


class Draft:
    """The temporary files of one output, in its folder, until the output takes its place.

    An output with an address has them in the system's folder of temporary files.

    ``path``: the output. An older file of that name stays as it is until :meth:`commit`.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._files: dict[Path, BinaryIO] = {}
        self._remote = is_url(path)
        if self._remote:
            check_takes_files(path)
            self._target = Path(tempfile.gettempdir()) / "output"
            return
        # A symbolic link is followed, so that the file it points to is replaced and not the link.
        self._target = Path(os.path.realpath(local_path(path)))
        with output_errors(path):
            if self._target.exists() and not self._target.is_file():
                raise OSError(errno.EISDIR if self._target.is_dir() else errno.EINVAL, "it is not a regular file")

    def open(self) -> tuple[Path, BinaryIO]:
        """A new temporary file, open for writing."""
        temporary = self._target.with_name(f".celadon-{secrets.token_hex(8)}.tmp")
        _LIVE.add(temporary)
        with output_errors(self.path):
            # O_EXCL and the plain mode: no other file is touched, and the user's umask holds as for any file.
            descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0), 0o666)
            file = os.fdopen(descriptor, "wb")
        self._files[temporary] = file
        return temporary, file

    def commit(self, temporary: Path) -> None:
        """Put this temporary file in the output's place and remove the others."""
        with output_errors(self.path):
            file = self._files[temporary]
            file.flush()
            os.fsync(file.fileno())
            file.close()
            if self._remote:
                put_file(temporary, self.path)
            else:
                self._put(temporary)
        self.abort()

    def _put(self, temporary: Path) -> None:
        if self._target.exists():
            shutil.copymode(self._target, temporary)
        temporary.replace(self._target)
        del self._files[temporary]
        _LIVE.discard(temporary)
        _sync_folder(self._target.parent)

    def abort(self) -> None:
        """Remove every temporary file."""
        while self._files:
            temporary, file = self._files.popitem()
            # A full disk makes closing fail as well; the file goes all the same.
            with suppress(OSError, ValueError):
                file.close()
            _remove(temporary)

    def discard(self, temporary: Path) -> None:
        """Remove one temporary file."""
        file = self._files.pop(temporary)
        with suppress(OSError):
            file.close()
        _remove(temporary)

    def remove_target(self) -> None:
        """Remove the output of an earlier run, if there is one."""
        if self._remote:
            remove_url(self.path)
            return
        with output_errors(self.path):
            self._target.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a crash, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Committing(ABC):
    """An output that appears when a ``with`` block ends well, and of which nothing stays when it does not."""

    @abstractmethod
    def commit(self) -> None:
        """Put the output in its place; a second call does nothing."""

    @abstractmethod
    def abort(self) -> None:
        """Give up: no temporary file stays, an older output is as it was."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.abort()


class StagedText:
    """A text file that is written but not yet in its place, so that several outputs can appear together.

    ``path``: the file; an older one is replaced only by :meth:`commit`.
    ``text``: its content; lone surrogates, which UTF-8 has not, become U+FFFD.
    """

    def __init__(self, path: str, text: str) -> None:
        from celadon.io.values import mend_surrogates

        self._draft = Draft(path)
        try:
            self._temporary, file = self._draft.open()
            with output_errors(path):
                file.write(mend_surrogates(text).encode("utf-8"))
                file.flush()
        except BaseException:
            self._draft.abort()
            raise

    def commit(self) -> None:
        """Put the file in its place."""
        self._draft.commit(self._temporary)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """Remove what was not committed."""
        self._draft.abort()


@contextmanager
def write_atomically(path: str, mode: int | None = None) -> Iterator[BinaryIO]:
    """Give a file that takes the place of an output when the block ends well; an OSError becomes an OutputError."""
    draft = Draft(path)
    try:
        temporary, file = draft.open()
        with output_errors(path):
            if mode is not None:
                temporary.chmod(mode)
            yield file
        draft.commit(temporary)
    finally:
        draft.abort()


def atomic_write_text(path: str, text: str) -> None:
    """Write a text file that appears whole or not at all."""
    with StagedText(path, text) as staged:
        staged.commit()


def check_distinct(output: str, inputs: Sequence[str]) -> None:
    """Refuse an output that is one of the inputs, whatever names they go by.

    ``inputs``: files and patterns as the user gave them; ``-`` is passed over.
    """
    remote = is_url(output)
    target = output if remote else os.path.realpath(local_path(output))
    for name in inputs:
        if name == STDIN or is_url(name) != remote:
            continue
        # A missing input is the reader's to report.
        with suppress(InputError):
            if any(_same_file(path, target) for path in expand_paths([name])):
                raise UsageError(f"{shown_name(output)}: is also an input; choose another place")


def _same_file(path: str, target: str) -> bool:
    if is_url(path):
        return path == target
    try:
        # The second question is for hard links.
        return os.path.realpath(path) == target or Path(path).samefile(target)
    except OSError:
        return False
