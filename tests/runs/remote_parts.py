"""What tests of runs behind addresses share: the content of inputs, and the command of a run."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pyarrow.parquet as pq

from tests.runs.run_parts import METRICS


def lines_of(rows: Sequence[dict[str, Any]]) -> bytes:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def parquet_of(rows: Sequence[dict[str, Any]]) -> bytes:
    """Rows as Parquet, in several row groups."""
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=30)
    return file.getvalue()


def run_line(source: str, output: str, *more: str) -> list[str]:
    """The command of a run as :func:`tests.runs.run_parts.run_of` makes it."""
    base = ["score", source, "-m", ",".join(METRICS), "-o", output, "--resamples", "20", "--workers", "1"]
    return [*base, "--shard-rows", "40", *more]


def shards_of(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The Parquet files and the states of their summaries, by name."""
    return {Path(name).name: data for name, data in files.items() if name.endswith((".parquet", ".npz"))}


def local_shards(output: Path) -> dict[str, bytes]:
    """The same of a run on this machine."""
    return {path.name: path.read_bytes() for path in [*output.glob("part-*"), *output.glob("shards/*.npz")]}


def table_of(files: Mapping[str, bytes]) -> polars.DataFrame:
    """All rows of a run."""
    parts = sorted(name for name in files if name.endswith(".parquet"))
    return polars.concat([polars.read_parquet(files[name]) for name in parts])
