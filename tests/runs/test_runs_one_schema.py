"""The shards of a run are one table, although rows of JSON Lines have no types and no worker sees all of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from celadon.core import InputError
from celadon.io.atomic import Draft
from celadon.runs import local, one_schema, run
from celadon.runs.folder import RunFolder
from celadon.runs.local import Job
from celadon.runs.shards import ShardRecord
from celadon.runs.state import FINISHED, state_of, whole_shards, wrong_files
from tests.runs.run_parts import METRICS, hashes, make_rows, run_of, write_rows

BIG = 2**53 + 1
# Of each shard of 40 rows the values of its first rows; the others have none.
COLUMNS: dict[str, list[list[Any]]] = {
    "count": [[1, 2], [1.5, None], [3]],
    "label": [[1, 2], ["a", "1"], [None]],
    "late": [[None], [None], ["seen"]],
    "large": [[BIG], [0.5], [1]],
    "list": [[[]], [["x"]], [[]]],
    "object": [[{"a": 1}], [{"a": 2.5}], [{"a": None}]],
    "mixed": [[1, "x"], ["plain"], [[1]]],
    "flag": [[True], [1], [False]],
}
JSON_COLUMNS = {"label", "large", "mixed", "flag"}


def _rows() -> list[dict[str, Any]]:
    rows = make_rows(110)
    for name, shards in COLUMNS.items():
        for shard, values in enumerate(shards):
            for number, value in enumerate(values):
                rows[40 * shard + number][name] = value
    # a column that a whole shard lacks
    rows[81]["only here"] = 1
    return rows


ROWS = _rows()


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the input and a run of it that was stopped when its three shards had just been scored."""
    folder = tmp_path_factory.mktemp("scored")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CELADON_HOME", str(folder / "home"))
        patch.setattr(run, "under_one_schema", _stop)
        with pytest.raises(Killed):
            run_of(write_rows(folder / "in.jsonl", ROWS), folder / "out", workers=2)
    return folder


@pytest.fixture
def source(scored: Path) -> Path:
    return scored / "in.jsonl"


@pytest.fixture
def out(scored: Path, tmp_path: Path) -> Path:
    """That run, to be gone on with."""
    return Path(shutil.copytree(scored / "out", tmp_path / "out"))


class Killed(BaseException):
    """What a kill does to the driver."""


def _stop(*given: Any) -> Any:
    raise Killed


def _table(out: Path) -> pa.Table:
    """The folder as anybody reads it."""
    return pyarrow.dataset.dataset(sorted(map(str, out.glob("part-*.parquet")))).to_table()


def _check(out: Path) -> None:
    schemas = [pq.read_schema(path) for path in sorted(out.glob("part-*.parquet"))]
    assert len(schemas) == 3
    assert all(schema.equals(schemas[0], check_metadata=True) for schema in schemas)
    table = _table(out)
    for name in [*COLUMNS, "only here"]:
        values = [row.get(name) for row in ROWS]
        read = table.column(name).to_pylist()
        if name in JSON_COLUMNS:
            read = [None if value is None else json.loads(value) for value in read]
        assert read == values, name
    assert polars.read_parquet(out / "part-*.parquet").height == len(ROWS)
    state = state_of(str(out))
    assert (state.state, wrong_files(state)) == (FINISHED, [])


def test_all_shards_have_one_schema_and_no_value_changes(source: Path, out: Path, tmp_path: Path) -> None:
    assert len({str(pq.read_schema(path)) for path in out.glob("part-*.parquet")}) == 3
    assert run_of(source, out).rows_now == 0
    _check(out)
    # two workers made those shards
    run_of(source, tmp_path / "one", workers=1)
    assert hashes(tmp_path / "one") == hashes(out)
    # the types are those of a single file
    single = tmp_path / "single.parquet"
    local.run(Job([str(source)], metrics=METRICS, output=str(single), resamples=20, batch_rows=40))
    kinds = {field.name: field.type for field in pq.read_schema(single)}
    assert {field.name: field.type for field in _table(out).schema} == kinds
    assert _table(out).column("rouge1").to_pylist() == pq.read_table(single).column("rouge1").to_pylist()


def test_shards_that_are_lost_later_are_made_the_same(source: Path, out: Path) -> None:
    run_of(source, out)
    before = hashes(out)
    (out / "part-00000.parquet").unlink()
    (out / "part-00001.parquet").write_bytes(b"half")
    assert run_of(source, out).shards_before == 1
    assert hashes(out) == before
    _check(out)
    written = [path.stat().st_mtime_ns for path in sorted(out.rglob("part-*"))]
    assert run_of(source, out).rows_now == 0
    assert [path.stat().st_mtime_ns for path in sorted(out.rglob("part-*"))] == written


def test_a_file_that_somebody_else_has_changed_is_left_alone(source: Path, out: Path) -> None:
    """As by a driver on another machine, of which no lock tells: what is JSON already must not become it again."""
    before = [shard for _, shard in sorted(whole_shards(RunFolder(str(out)), 3).items())]
    run_of(source, out)
    after = hashes(out)
    with pytest.raises(InputError, match="is not the file that was written, as when another machine is at"):
        one_schema.under_one_schema(RunFolder(str(out)), before, METRICS, lambda done, total: None)
    assert hashes(out) == after
    _check(out)


@pytest.mark.parametrize("moment", range(6))
def test_a_kill_between_any_two_files_does_no_harm(
    source: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    """Each of the three shards gets a note and then a file; none is scored again, whenever it stopped."""
    in_peace = Path(shutil.copytree(out, tmp_path / "in peace"))
    run_of(source, in_peace)
    left = [moment]

    def until_then(real: Any) -> Any:
        def call(*given: Any) -> Any:
            if not left[0]:
                raise Killed
            left[0] -= 1
            return real(*given)

        return call

    class MortalDraft(Draft):
        commit = until_then(Draft.commit)

    with monkeypatch.context() as patch:
        patch.setattr(ShardRecord, "stage", until_then(ShardRecord.stage))
        patch.setattr(one_schema, "Draft", MortalDraft)
        with pytest.raises(Killed):
            run_of(source, out)
    assert not left[0]
    again = run_of(source, out)
    assert (again.shards_before, again.rows_now) == (3, 0)
    assert hashes(out) == hashes(in_peace)
    _check(out)


def test_parquet_files_of_other_types(tmp_path: Path) -> None:
    rows = make_rows(4)
    narrow = pa.Table.from_pylist(rows).append_column("n", pa.array([1, 2, 3, 4], pa.int32()))
    wide = pa.Table.from_pylist(rows).append_column("n", pa.array([2**40, 0, 1, None], pa.int64()))
    for name, table in (("a", narrow), ("b", wide)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    run_of([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path / "out")
    table = _table(tmp_path / "out")
    assert table.schema.field("n").type == pa.int64()
    assert table.column("n").to_pylist() == [1, 2, 3, 4, 2**40, 0, 1, None]
