"""A run in Ray Data's own terms: a source whose blocks are pieces, a scorer of such blocks, and a sink of shards.

A piece is one row of a dataset and a block of its own, so that Ray Data can neither split nor merge pieces.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd
import pyarrow as pa
import ray
from ray.data import Datasink, Datasource
from ray.data.block import BlockAccessor, BlockMetadata
from ray.data.datasource import ReadTask

from celadon.core import CeladonError
from celadon.io import BadRow, Chunk
from celadon.io.atomic import output_errors
from celadon.io.pieces import Piece
from celadon.runs.folder import REJECTS, SHARDS, RunFolder, part_name
from celadon.runs.manifest import RunConfig
from celadon.runs.shards import ShardRecord, ShardScorer, place_of, published, recorded, rows_of, save_file

_FILES = pa.list_(pa.struct([("name", pa.string()), ("data", pa.large_binary())]))
_SHARD = pa.schema([("record", pa.string()), ("files", _FILES)])
# What a row takes in memory beside its bytes in the file: the text, its references and the objects around them.
_BYTES_A_ROW = 1000


@dataclass(frozen=True)
class PieceRows:
    """A piece that was read."""

    piece: Piece
    # good rows in chunks and malformed ones, in the order in which the reader told of them; an error ends them
    rows: tuple[Chunk | BadRow | Exception, ...]
    seconds: float  # how long it took to read them

    def chunks(self, on_bad: Callable[[BadRow], None]) -> Iterator[Chunk]:
        """Go through the rows as if they were being read."""
        for each in self.rows:
            if isinstance(each, Exception):
                raise each
            if isinstance(each, BadRow):
                on_bad(each)
            else:
                yield each

    def __sizeof__(self) -> int:
        """Bytes that this keeps in memory, about; Ray Data asks, and holds back readers that are ahead."""
        return sum(
            len(each) * _BYTES_A_ROW + 2 * sum(map(len, each.raws)) + (each.batch.nbytes if each.batch else 0)
            for each in self.rows
            if isinstance(each, Chunk)
        )


class PiecesDatasource(Datasource):
    """The pieces of a run, each read by a task of its own into a block of its own."""

    def __init__(self, config: RunConfig, pieces: Sequence[Piece]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._config = config
        self._pieces = pieces

    def estimate_inmemory_data_size(self) -> int | None:
        """Tell Ray Data nothing, so that it does not think of other blocks."""
        return None

    def get_read_tasks(
        self, parallelism: int, per_task_row_limit: int | None = None, data_context: Any = None
    ) -> list[ReadTask]:
        """Return a task a piece, whatever Ray Data would like."""
        about = BlockMetadata(num_rows=1, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(_reader_of(piece, self._config), about) for piece in self._pieces]


def _reader_of(piece: Piece, config: RunConfig) -> Callable[[], Iterable[pd.DataFrame]]:
    def read() -> Iterable[pd.DataFrame]:
        return [pd.DataFrame({"piece": [piece.index], "rows": [read_whole(piece, config)]})]

    return read


def read_whole(piece: Piece, config: RunConfig) -> PieceRows:
    """Read all rows of a piece; what goes wrong is found by whoever goes through them."""
    started = time.perf_counter()
    rows: list[Chunk | BadRow | Exception] = []
    try:
        for chunk in rows_of(piece, config, rows.append):
            rows.append(chunk)
    except Exception as error:  # noqa: BLE001  raised anew where it is told in the record
        rows.append(error)
    return PieceRows(piece, tuple(rows), time.perf_counter() - started)


class PieceScorer:
    """What an actor of Ray Data holds: a scorer of pieces, with its models.

    ``reports``: a Ray queue; it gets the name of the actor, as JSON, each time that the actor begins.
    """

    def __init__(self, config: RunConfig, reports: Any = None) -> None:
        self._scorer = ShardScorer(config)
        if reports is not None:
            reports.put(json.dumps(ray.get_runtime_context().get_actor_id()))

    def __call__(self, batch: pd.DataFrame) -> pa.Table:
        """Score a piece: what came of it, and the files of its shard."""
        if len(batch) != 1:
            raise RuntimeError(f"Ray Data gave {len(batch)} pieces in one batch, and a batch must be one whole piece")
        read: PieceRows = batch["rows"].iloc[0]
        files: dict[str, bytes] = {}
        record = recorded(read.piece.index, place_of(read.piece), partial(self._record, read, files))
        listed = [{"name": name, "data": data} for name, data in files.items()]
        return pa.Table.from_pylist([{"record": json.dumps(record.as_dict()), "files": listed}], schema=_SHARD)

    def _record(self, read: PieceRows, files: dict[str, bytes]) -> ShardRecord:
        # there, because what a killed worker leaves is swept by the next driver
        work = RunFolder(self._scorer.config.output).work
        with output_errors(str(work)):
            work.mkdir(parents=True, exist_ok=True)
            scratch = tempfile.TemporaryDirectory(dir=work, ignore_cleanup_errors=True)
        with scratch as name:
            for folder in (SHARDS, REJECTS):
                Path(name, folder).mkdir()
            record = self._scorer.score(read.piece, read.chunks, Path(name), read.seconds)
            files.update({each: Path(name, each).read_bytes() for each in record.files})
        return record


class ShardsDatasink(Datasink[None]):
    """The folder of a run, which takes whole shards.

    ``reports``: a Ray queue; it gets the record of each piece, as JSON, when the shard is in its place.
    """

    def __init__(self, output: str, reports: Any) -> None:
        self._output = output
        self._reports = reports

    def write(self, blocks: Iterable[Any], ctx: Any) -> None:
        """Write shards and their notes; the first that could not be made ends the job."""
        for block in blocks:
            for row in BlockAccessor.for_block(block).to_arrow().to_pylist():
                record = ShardRecord.from_dict(json.loads(row["record"]))
                if record.is_whole:
                    make = partial(self._written, record, {each["name"]: each["data"] for each in row["files"]})
                    record = recorded(record.index, part_name(record.index), make)
                self._reports.put(json.dumps(record.as_dict()))
                if not record.is_whole:
                    raise CeladonError(f"{part_name(record.index)}: {record.error or record.bad[0]}")

    def _written(self, record: ShardRecord, files: Mapping[str, bytes]) -> ShardRecord:
        if files.keys() != record.files.keys():
            raise RuntimeError(f"Ray Data gave the files {sorted(files)} of a shard that has {sorted(record.files)}")
        folder = RunFolder(self._output)
        for name, data in files.items():
            path = folder.staging / name
            with output_errors(str(path)):
                path.parent.mkdir(parents=True, exist_ok=True)
            save_file(path, partial(_write, data))
        return published(folder, record)


def _write(data: bytes, file: BinaryIO) -> None:
    file.write(data)
