"""Writers: the input's columns, then the scores, then the reasons, in a file that appears whole or not at all."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from celadon.io.atomic import Committing, Draft, output_errors
from celadon.io.columns import Names
from celadon.io.compress import compressed
from celadon.io.rows import Chunk
from celadon.io.values import number_text, to_json

ScoreValues = Sequence[float | None]


class Writer(Committing):
    """Writes scored chunks.

    Used in a ``with`` block: leaving it commits, an exception removes every temporary file and leaves an older output
    as it was.

    Parameters
    ----------
    path
        The output.
    score_columns
        The names of the score columns in their final order.

    Attributes
    ----------
    renamed
        Input columns that had the name of a score column, with the names they got.
    """

    # Whether the format can write any string; JSON has escapes, tables do not.
    _any_string = False

    def __init__(self, path: str, score_columns: Sequence[str]) -> None:
        self.path = path
        self.score_columns = tuple(score_columns)
        self._names = Names(score_columns, mend=not self._any_string)
        self._draft = Draft(path)
        self._finished = False

    @property
    def renamed(self) -> dict[str, str]:
        """Input columns that got another name because a score has theirs."""
        return dict(self._names.renamed)

    def write(
        self, chunk: Chunk, scores: Mapping[str, ScoreValues], reasons: Sequence[str | None] | None = None
    ) -> None:
        """Write the chunk's rows with their scores.

        Parameters
        ----------
        chunk
            The rows.
        scores
            For each score column one value per row; None or NaN where there is none.
        reasons
            For each row why a score is missing, or None.
        """
        columns = [_listed(scores[name]) for name in self.score_columns]
        notes: list[str | None] = [None] * len(chunk) if reasons is None else list(reasons)
        if len(scores) != len(columns) or {len(notes), *map(len, columns)} - {len(chunk)}:
            raise ValueError("scores and reasons must have the writer's columns and one value per row of the chunk")
        if chunk.samples:
            with output_errors(self.path):
                self._write(chunk, columns, notes)

    def commit(self) -> None:
        """Finish the file and put it in its place."""
        if self._finished:
            return
        try:
            with output_errors(self.path):
                self._draft.commit(self._finish())
        except BaseException:
            self.abort()
            raise
        self._finished = True

    def abort(self) -> None:
        """Give up: no temporary file stays, an older output is as it was."""
        if not self._finished:
            self._finished = True
            self._release()
            self._draft.abort()

    @abstractmethod
    def _write(self, chunk: Chunk, columns: list[list[float | None]], reasons: list[str | None]) -> None: ...

    @abstractmethod
    def _finish(self) -> Path:
        """Complete the output and tell in which temporary file it is."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of whatever still holds a temporary file; must not raise."""


def _listed(values: ScoreValues) -> list[float | None]:
    """A plain list; an array's own conversion is much faster than going through its elements."""
    convert = getattr(values, "tolist", None)
    return convert() if convert is not None else list(values)


class JsonlWriter(Writer):
    """JSON Lines; ``reason`` only in rows that have one."""

    _any_string = True

    def __init__(self, path: str, score_columns: Sequence[str], compression: str | None) -> None:
        super().__init__(path, score_columns)
        self._labels = [f", {to_json(name).decode('utf-8')}: " for name in self.score_columns]
        self._temporary, file = self._draft.open()
        self._file = compressed(file, compression)

    def _write(self, chunk: Chunk, columns: list[list[float | None]], reasons: list[str | None]) -> None:
        parts = [
            [label + number_text(value, "null") for value in values]
            for label, values in zip(self._labels, columns, strict=True)
        ]
        tails: list[str] = list(map("".join, zip(*parts, strict=True))) if parts else [""] * len(chunk)
        out: list[bytes] = []
        for i, sample in enumerate(chunk.samples):
            tail = tails[i].encode("utf-8")
            reason = reasons[i]
            if reason is not None:
                tail += b', "reason": ' + to_json(reason)
            out.append(self._head(chunk, i, sample.extra))
            out.append(tail if len(sample.extra) else tail[2:])
            out.append(b"}\n")
        self._file.write(b"".join(out))

    def _head(self, chunk: Chunk, i: int, extra: Mapping[str, Any]) -> bytes:
        """The row's object without its closing brace."""
        if self._names.collide(extra):
            return to_json(dict(zip(self._names.of(extra), extra.values(), strict=True)))[:-1]
        if chunk.format == "jsonl":
            raw = chunk.raws[i].strip()
            # What is already valid JSON in UTF-8 goes out as it came in: faster, and numbers keep all their digits.
            if b"\\u" not in raw and b"NaN" not in raw and b"Infinity" not in raw:
                return raw[:-1]
        return to_json(extra)[:-1]

    def _finish(self) -> Path:
        self._file.close()
        return self._temporary

    def _release(self) -> None:
        with suppress(OSError, ValueError):
            self._file.close()
