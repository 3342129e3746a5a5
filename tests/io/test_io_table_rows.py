"""Rows of any table, as they are."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path

import polars
import pytest

from celadon.core import InputError
from celadon.io import read_table_rows, write_json_rows

ROWS = [{"id": "a", "overall": 1, "rougeL": 0.5}, {"id": "b", "overall": None, "rougeL": 0.25}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)


@pytest.mark.parametrize(("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_json_lines(tmp_path: Path, ending: str, pack: type[bytes]) -> None:
    path = tmp_path / f"t.jsonl{ending}"
    path.write_bytes(pack(LINES.encode()))
    found = list(read_table_rows(str(path)))
    assert found == ROWS
    assert [row.origin for row in found] == [f"{path}:1", f"{path}:2"]
    assert found[0].file == str(path)


def test_zstd_and_back(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.zst"
    assert write_json_rows(str(path), ROWS) == 2
    assert list(read_table_rows(str(path))) == ROWS


def test_csv_tsv_and_parquet(tmp_path: Path) -> None:
    frame = polars.DataFrame(ROWS)
    frame.write_csv(tmp_path / "t.csv")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    frame.write_parquet(tmp_path / "t.parquet")
    cells = [{"id": "a", "overall": "1", "rougeL": "0.5"}, {"id": "b", "overall": "", "rougeL": "0.25"}]
    assert list(read_table_rows(str(tmp_path / "t.csv"))) == cells
    assert list(read_table_rows(str(tmp_path / "t.tsv"))) == cells
    found = list(read_table_rows(str(tmp_path / "t.parquet")))
    assert found == ROWS
    assert found[1].origin == f"{tmp_path / 't.parquet'}:row 2"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.jsonl", '{"a": 1}\n[1]\n', ":2: not a JSON object"),
        ("t.csv", "a,b\n1,2\n1,2,3\n", ":3: too many cells: 3, the header has 2"),
        ("t.csv", "a,a\n1,2\n", ":1: the header has the column 'a' more than once"),
        ("t.csv", "a,b\n", "has a header but no rows"),
        ("t.jsonl", "\n\n", "is empty"),
        ("t.txt", "text\n", "a plain text has no columns"),
        ("t.parquet", "no\n", "not a Parquet file"),
    ],
)
def test_a_malformed_table_is_refused_with_its_place(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        list(read_table_rows(str(path)))
    assert str(error.value).startswith(str(path))
    assert said in str(error.value)


def test_writing_leaves_nothing_when_reading_fails(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"a": 1}\nno\n', encoding="utf-8")
    with pytest.raises(InputError):
        write_json_rows(str(tmp_path / "out.jsonl"), read_table_rows(str(path)))
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.jsonl"]
