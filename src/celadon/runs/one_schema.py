"""All shards of a run under one schema, so that they are one table to whoever reads the folder.

Rows of JSON Lines have no types of their own, and a worker sees one piece only: a column can be of integers in one
shard and of floats in the next. When all shards are there, those that differ are written once more. The types are those
that one file would have: one that holds all values, or where there is none JSON strings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from celadon.core import InputError
from celadon.io.arrow import JSON, castable, merge_types, recast
from celadon.io.atomic import Draft, output_errors
from celadon.io.writers import REASON
from celadon.runs.folder import RunFolder, part_name
from celadon.runs.shards import JSON_TYPE, ShardRecord, file_facts

# Arrow types by column, in the order of the columns; JSON for columns of mixed types.
_Types = dict[str, Any]


def differing(records: Sequence[ShardRecord]) -> bool:
    """Tell whether some shards have other columns, other types or another order of them than others."""
    return len({_key(record) for record in records if record.columns}) > 1


def under_one_schema(
    folder: RunFolder,
    records: Sequence[ShardRecord],
    score_columns: Sequence[str],
    progress: Callable[[int, int], None],
) -> list[ShardRecord]:
    """Give the columns of all shards the same types.

    Killed at any moment it can be done again: the note of a shard tells of the file before and after, and one of the
    two is there.

    ``folder``, ``records``: the run and all its shards, in their order.
    ``score_columns``: the columns that are not of the input; ``reason`` is one as well.
    ``progress``: told how many rows are done, and of how many.
    Returns what is known of the shards now.
    Raises InputError if a file is not what its note tells.
    """
    last = (*score_columns, REASON)
    known: dict[_Key, _Types] = {}
    for record in records:
        if record.columns and _key(record) not in known:
            known[_key(record)] = _types(folder, record, last)
    types = _settled(folder, records, known, _merged(known.values()))
    current: list[ShardRecord] = []
    done, total = 0, sum(record.rows_scored for record in records)
    for record in records:
        fits = not record.columns or list(known[_key(record)].items()) == list(types.items())
        current.append(record if fits else _rewritten(folder, record, known[_key(record)], types, last))
        done += record.rows_scored
        progress(done, total)
    return current


_Key = tuple[tuple[str, str], ...]


def _key(record: ShardRecord) -> _Key:
    return tuple(record.columns.items())


def _file(record: ShardRecord) -> str:
    return f"{part_name(record.index)}.parquet"


def _copy(folder: RunFolder, record: ShardRecord) -> Path:
    """The Parquet file of a shard on this machine, which must be the one that its note tells of."""
    name = _file(record)
    path = folder.local_copy(name)
    if file_facts(path) != record.files[name]:
        folder.forget_copy(name)
        raise InputError(
            f"{folder.name}{name}: is not the file that was written, as when another machine is at the same run; "
            "start the run again when nobody else is, and it goes on"
        )
    return path


def _types(folder: RunFolder, record: ShardRecord, last: Sequence[str]) -> _Types:
    """The types of the input's columns in a shard."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(_copy(folder, record))
    folder.forget_copy(_file(record))
    return {
        column.name: JSON if record.columns.get(column.name) == JSON_TYPE else column.type
        for column in schema
        if column.name not in last
    }


def _merged(every: Any) -> _Types:
    merged: _Types = {}
    for types in every:
        for name, kind in types.items():
            merged[name] = merge_types(merged[name], kind) if name in merged else kind
    return merged


def _settled(folder: RunFolder, records: Sequence[ShardRecord], known: Mapping[_Key, _Types], types: _Types) -> _Types:
    """The types, but JSON where a value would not survive the cast."""
    import pyarrow as pa

    settled, null = dict(types), pa.null()
    for record in records:
        own = known[_key(record)] if record.columns else {}
        changed = [name for name, kind in own.items() if kind not in (settled[name], null)]
        doubtful = [name for name in changed if settled[name] is not JSON]
        if doubtful:
            file = _opened(_copy(folder, record))
            for group in range(file.num_row_groups):
                table = file.read_row_group(group, columns=doubtful)
                for name in doubtful:
                    if settled[name] is not JSON and not castable(table.column(name), settled[name]):
                        settled[name] = JSON
            file.close()
            folder.forget_copy(_file(record))
    return settled


def _opened(path: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path)


def _rewritten(folder: RunFolder, record: ShardRecord, own: _Types, types: _Types, last: Sequence[str]) -> ShardRecord:
    name = _file(record)
    path = _copy(folder, record)
    draft = Draft(str(path))
    try:
        temporary = _recast_file(path, draft, own, types, last)
        facts = file_facts(temporary)
        columns = {each: JSON_TYPE if kind is JSON else str(kind) for each, kind in types.items()}
        changed = replace(
            record,
            sha256=facts["sha256"],
            files={**record.files, name: facts},
            columns={**columns, **{each: record.columns[each] for each in last}},
            # of a shard that was written anew before, the file that is there
            recast_from={"columns": dict(record.columns), **record.files[name]},
        )
        # first, because it tells of both files
        note = changed.stage(folder)
        draft.commit(temporary)
    finally:
        draft.abort()
    folder.publish(note, name)
    return changed


def _recast_file(path: Path, draft: Draft, own: _Types, types: _Types, last: Sequence[str]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    temporary, sink = draft.open()
    file = _opened(path)
    inputs = [(name, pa.string() if kind is JSON else kind) for name, kind in types.items()]
    schema = pa.schema([*inputs, *((name, file.schema_arrow.field(name).type) for name in last)])
    with output_errors(str(path)):
        with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                columns = [*recast(table, own, types), *(table.column(name) for name in last)]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema), row_group_size=table.num_rows)
        sink.flush()
    file.close()
    return temporary
