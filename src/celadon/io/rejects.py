"""The rows that could not be scored, kept as they were."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, BinaryIO

from celadon.io.atomic import Committing, Draft, output_errors
from celadon.io.rows import BadRow


def rejects_path(output: str) -> str:
    """Where the rejected rows of an output go."""
    return f"{output}.rejects.jsonl"


class Rejects(Committing):
    """Writes bad rows, one JSON object per line: ``file``, ``line``, ``error``, ``row``.

    A row that is not UTF-8 is in ``row_base64`` instead, a row of which only the beginning is kept has ``cut``. Used
    in a ``with`` block it commits or aborts as a writer does. Without bad rows there is no file, and one of an earlier
    run is removed.

    Parameters
    ----------
    path
        The file to write.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.count = 0
        self._draft = Draft(path)
        self._open: tuple[Path, BinaryIO] | None = None
        self._finished = False

    def add(self, bad: BadRow) -> None:
        """Write one row."""
        with output_errors(self.path):
            if self._open is None:
                self._open = self._draft.open()
            self._open[1].write(_line(bad))
        self.count += 1

    def commit(self) -> None:
        """Put the file in its place."""
        if self._finished:
            return
        try:
            if self._open is None:
                self._draft.remove_target()
            else:
                self._draft.commit(self._open[0])
        except BaseException:
            self.abort()
            raise
        self._finished = True

    def abort(self) -> None:
        """Give up; the file of an earlier run stays."""
        if not self._finished:
            self._finished = True
            self._draft.abort()


def _line(bad: BadRow) -> bytes:
    row: dict[str, Any] = {"file": bad.file, "line": bad.line, "error": bad.message}
    try:
        row["row"] = bad.raw.decode("utf-8")
    except UnicodeDecodeError:
        row["row_base64"] = base64.b64encode(bad.raw).decode("ascii")
    if bad.cut:
        row["cut"] = True
    text = json.dumps(row, ensure_ascii=False)
    try:
        return text.encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        # A file name, or a field named in the message, may have no UTF-8 form.
        return json.dumps(row).encode("ascii") + b"\n"
