"""A piece of the input becomes a shard of the run: scores, the state of their summary, and what is known of both."""

from __future__ import annotations

import hashlib
import json
import sys
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from celadon.core import CeladonError
from celadon.io import BadRow, Chunk, Rejects
from celadon.io.atomic import write_atomically
from celadon.io.parquet_writer import ParquetWriter
from celadon.io.pieces import Piece, read_piece
from celadon.runs.bad_rows import BadRows
from celadon.runs.folder import REJECTS, SHARDS, RunFolder, part_name
from celadon.runs.manifest import RunConfig
from celadon.scoring.scorer import Scorer
from celadon.scoring.scores import flat_columns, merged_reasons, score_columns
from celadon.scoring.summary import Summarizer

JSON_TYPE = "json"


@dataclass(frozen=True)
class ShardRecord:
    """What came of a piece; plain values."""

    index: int
    # rows_scored, rows_rejected: together the rows of the piece
    rows_scored: int = 0
    rows_rejected: int = 0
    seconds: float = 0.0
    peak_memory_bytes: int = 0  # the most memory that its worker has held up to then
    # cache_hits, cache_misses: scores that were in the cache and that were not; each of one text under one metric
    cache_hits: int = 0
    cache_misses: int = 0
    sha256: str = ""  # of the Parquet file; empty where no row could be scored, and there is no file
    # the size and the hash of every file of the shard
    files: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    # the type of every column of the Parquet file; ``json`` for one of mixed types, which are JSON strings
    columns: Mapping[str, str] = field(default_factory=dict)
    # the columns and the Parquet file, as it was first written, of a shard whose columns got the types that those of
    # the whole run have
    recast_from: Mapping[str, Any] = field(default_factory=dict)
    # input columns that had the name of a score column, with the names they got
    renamed: Mapping[str, str] = field(default_factory=dict)
    finished: str = ""  # when, in UTC
    # the first malformed rows as ``file:line: what is wrong``, where these keep the shard from being made
    bad: tuple[str, ...] = ()
    # error, exit_code: why else it was not made, and what the command is to return
    error: str = ""
    exit_code: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether the shard was made."""
        return not self.bad and not self.error

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def stage(self, folder: RunFolder) -> str:
        """Write the note of the shard into the folder's staging; return its name."""
        name = f"{SHARDS}/{part_name(self.index)}.json"
        folder.stage_text(name, json.dumps(self.as_dict(), indent=1))
        return name

    def before_recast(self) -> Self:
        """Return what was known before the columns got other types."""
        facts = {name: self.recast_from[name] for name in ("bytes", "sha256")}
        files = {**self.files, f"{part_name(self.index)}.parquet": facts}
        columns = self.recast_from["columns"]
        return replace(self, sha256=facts["sha256"], files=files, columns=columns, recast_from={})

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the record that :meth:`as_dict` wrote down."""
        return cls(**{**values, "bad": tuple(values.get("bad", ()))})


OnDone = Callable[[ShardRecord], None]
"""Told of each piece that is done; what it raises ends the run."""

RowsOf = Callable[[Callable[[BadRow], None]], Iterable[Chunk]]
"""Gives the rows of a piece, and the malformed ones to whom it is given."""


def recorded(index: int, where: str, make: Callable[[], ShardRecord]) -> ShardRecord:
    """Make a shard, or a part of it; whatever goes wrong is put into the record.

    ``where``: the piece as messages name it.
    """
    try:
        return make()
    except CeladonError as error:
        return ShardRecord(index, error=str(error), exit_code=error.exit_code)
    except MemoryError:
        return ShardRecord(index, error=f"{where}: not enough memory; take fewer --workers", exit_code=1)
    except Exception:  # noqa: BLE001  a fault of ours, or of a stranger's metric: it is to be seen, not tried again
        return ShardRecord(index, error=traceback.format_exc(), exit_code=1)


class ShardScorer:
    """Scores pieces one after another; metrics and their models are loaded with the first and stay."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self._scorer: Scorer | None = None

    def __call__(self, piece: Piece) -> ShardRecord:
        """Read a piece and write its shard into the run's folder; what the user can mend is told in the record."""

        def make() -> ShardRecord:
            folder = RunFolder(self.config.output)
            return published(folder, self.score(piece, partial(rows_of, piece, self.config), folder.staging))

        return recorded(piece.index, place_of(piece), make)

    def score(self, piece: Piece, rows: RowsOf, staging: Path, seconds: float = 0.0) -> ShardRecord:
        """Write the files of a piece's shard into a folder, under the names that they have in that of the run.

        ``seconds``: what it took to read the rows, where they are read already.
        """
        started = time.perf_counter() - seconds
        if self._scorer is None:
            self._scorer = Scorer.from_dict(self.config.scorer)
        config, scorer, name = self.config, self._scorer, part_name(piece.index)
        before = scorer.cache_counts
        with ExitStack() as stack:
            rejected = f"{REJECTS}/{name}.jsonl"
            rejects = stack.enter_context(Rejects(str(staging / rejected))) if config.skip_bad else None
            bad = BadRows(rejects)
            writer = ParquetWriter(str(staging / f"{name}.parquet"), score_columns(scorer.metrics))
            # nothing is in its place unless it is put there below
            stack.callback(writer.abort)
            summarizer = Summarizer(scorer.metrics, config.resamples, config.seed, piece.first_row)
            usable = (scorer.usable(chunk, bad.add) for chunk in rows(bad.add))
            count = 0
            # after a fatal fault the rest is read only to count what else is wrong
            for chunk, scores, _ in scorer.stream(chunk for chunk in usable if len(chunk) and not bad.fatal):
                writer.write(chunk, flat_columns(scores), merged_reasons(scores, len(chunk)))
                summarizer.add(chunk.samples, scores)
                count += len(chunk)
            if bad.fatal:
                return ShardRecord(piece.index, 0, bad.count, bad=tuple(map(str, bad.first)))
            written = []
            if count:
                writer.commit()
                written.append(f"{name}.parquet")
            arrays: Mapping[str, Any] = summarizer.state()  # none is called allow_pickle
            save_file(staging / SHARDS / f"{name}.npz", lambda file: np.savez_compressed(file, **arrays))
            written.append(f"{SHARDS}/{name}.npz")
            if rejects is not None:
                rejects.commit()
            if bad.count:
                written.append(rejected)
        after = scorer.cache_counts
        files = {each: file_facts(staging / each) for each in written}
        return ShardRecord(
            index=piece.index,
            rows_scored=count,
            rows_rejected=bad.count,
            seconds=round(time.perf_counter() - started, 4),
            peak_memory_bytes=_peak_memory_bytes(),
            cache_hits=after[0] - before[0],
            cache_misses=after[1] - before[1],
            sha256=files[f"{name}.parquet"]["sha256"] if count else "",
            files=files,
            columns=_columns(staging / f"{name}.parquet", writer.json_columns) if count else {},
            renamed=writer.renamed,
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def rows_of(piece: Piece, config: RunConfig, on_bad: Callable[[BadRow], None]) -> Iterator[Chunk]:
    """Read the rows of a piece."""
    rows, longest = config.scorer["batch_rows"], config.scorer["max_text_chars"]
    return read_piece(piece, config.fields, chunk_rows=rows, max_text_chars=longest, on_bad=on_bad)


def place_of(piece: Piece) -> str:
    """Return a piece as messages name it."""
    return f"{piece.name} from line {piece.first_line:,} on"


def published(folder: RunFolder, record: ShardRecord) -> ShardRecord:
    """Put the files of a shard that was made from the folder's staging in their place, with its note."""
    if record.is_whole:
        # the note last, because a shard without it is none
        folder.publish(*record.files, record.stage(folder))
    return record


def save_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file that appears whole or not at all."""
    with write_atomically(str(path)) as file:
        write(file)


def file_facts(path: Path) -> dict[str, Any]:
    """Return the size and the hash of a file."""
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _columns(path: Path, json_columns: Collection[str]) -> dict[str, str]:
    import pyarrow.parquet as pq

    return {
        column.name: JSON_TYPE if column.name in json_columns else str(column.type) for column in pq.read_schema(path)
    }


def _peak_memory_bytes() -> int:
    """The most memory that this process has held; 0 where the system does not tell."""
    # not getrusage, which on Linux begins with what the parent held when it started this process
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
