"""What is written, read back by others."""

import csv
import datetime as dt
import decimal
import gzip
import io
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from celadon.io import open_writer

SCORES = ("m", "m.part")


@pytest.fixture
def write(read, write_bytes, tmp_path):
    """Write rows of JSON Lines, or a file, through reader and writer, in chunks of the given size."""

    def run(name, rows=None, *, path=None, chunk_rows=2, scores=SCORES, value=0.1, reason=None):
        if path is None:
            path = write_bytes("in.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in rows))
        outcome = read(path, chunk_rows=chunk_rows)
        assert outcome.bad == []
        out = tmp_path / name
        with open_writer(str(out), list(scores)) as writer:
            for chunk in outcome.chunks:
                writer.write(chunk, {key: [value] * len(chunk) for key in scores}, [reason] * len(chunk))
        return out, writer

    return run


def read_jsonl(path):
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    assert data.endswith(b"\n")
    return [json.loads(line, parse_constant=pytest.fail) for line in data.decode().splitlines(keepends=False) if line]


def read_csv(path, delimiter=","):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=delimiter))


@pytest.mark.parametrize("name", ["o.jsonl", "o.jsonl.gz"])
def test_jsonl_rows_get_scores_at_their_end(write, name):
    out, writer = write(name, [{"text": "é", "n": 1}, {"n": None, "text": "b", "deep": {"a": [1.5]}}], value=1 / 3)
    rows = read_jsonl(out)
    assert [list(row.items()) for row in rows] == [
        [("text", "é"), ("n", 1), ("m", 1 / 3), ("m.part", 1 / 3)],
        [("n", None), ("text", "b"), ("deep", {"a": [1.5]}), ("m", 1 / 3), ("m.part", 1 / 3)],
    ]
    assert writer.renamed == {}


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, np.float64("nan")])
def test_no_score_is_null_with_its_reason(write, value):
    rows = [{"text": "a"}]
    out, _ = write("o.jsonl", rows, value=value, reason="no words: é")
    assert read_jsonl(out) == [{"text": "a", "m": None, "m.part": None, "reason": "no words: é"}]
    out, _ = write("o.csv", rows, value=value, reason="no words: é")
    assert read_csv(out) == [["text", "m", "m.part", "reason"], ["a", "", "", "no words: é"]]
    out, _ = write("o.parquet", rows, value=value, reason="no words: é")
    assert pq.read_table(out).to_pylist() == [{"text": "a", "m": None, "m.part": None, "reason": "no words: é"}]


def test_reasons_are_a_column_of_tables_always(write):
    out, _ = write("o.csv", [{"text": "a"}])
    assert read_csv(out) == [["text", "m", "m.part", "reason"], ["a", "0.1", "0.1", ""]]
    out, _ = write("o.parquet", [{"text": "a"}])
    schema = pq.read_schema(out)
    assert schema.names == ["text", "m", "m.part", "reason"]
    assert schema.field("reason").type == pa.string()
    assert schema.field("m").type == pa.float64()


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-300, 5e-324, 1.7976931348623157e308, -0.0, np.float64(2) / 3])
def test_scores_keep_full_precision(write, value):
    out, _ = write("o.jsonl", [{"text": "a"}], value=value)
    assert read_jsonl(out)[0]["m"] == value
    out, _ = write("o.csv", [{"text": "a"}], value=value)
    assert float(read_csv(out)[1][1]) == value
    out, _ = write("o.parquet", [{"text": "a"}], value=value)
    assert pq.read_table(out)["m"].to_pylist() == [value]


def test_scores_may_be_arrays(read, write_bytes, tmp_path):
    chunk = read(write_bytes("a.txt", b"a\nb\n")).chunks[0]
    with open_writer(str(tmp_path / "o.jsonl"), ["m"]) as writer:
        writer.write(chunk, {"m": np.array([0.25, np.nan])}, [None, "why"])
    assert read_jsonl(tmp_path / "o.jsonl") == [{"text": "a", "m": 0.25}, {"text": "b", "m": None, "reason": "why"}]


def test_scores_must_fit_the_chunk(read, write_bytes, tmp_path):
    chunk = read(write_bytes("a.txt", b"a\nb\n")).chunks[0]
    with open_writer(str(tmp_path / "o.jsonl"), ["m"]) as writer:
        for scores in ({"m": [1.0]}, {"m": [1.0, 1.0], "x": [1.0, 1.0]}):
            with pytest.raises(ValueError, match="one value per row"):
                writer.write(chunk, scores, None)


COLLIDING = [{"text": "a", "m": "mine", "reason": 1}, {"m": 2, "input.m": 3, "text": "b"}]


def test_names_that_collide(write):
    out, writer = write("o.jsonl", COLLIDING, reason="r")
    first, second = read_jsonl(out)
    assert list(first.items()) == [
        ("text", "a"), ("input.m", "mine"), ("input.reason", 1), ("m", 0.1), ("m.part", 0.1), ("reason", "r"),
    ]  # fmt: skip
    assert second == {"input.input.m": 2, "input.m": 3, "text": "b", "m": 0.1, "m.part": 0.1, "reason": "r"}
    assert set(writer.renamed) == {"m", "reason"}


@pytest.mark.parametrize("name", ["o.csv", "o.parquet"])
def test_names_that_collide_in_tables(write, name):
    out, writer = write(name, COLLIDING[1:])
    names = read_csv(out)[0] if name.endswith("csv") else pq.read_schema(out).names
    assert names == ["input.input.m", "input.m", "text", "m", "m.part", "reason"]
    assert writer.renamed == {"m": "input.input.m"}


def test_names_that_collide_from_parquet(write, tmp_path):
    pq.write_table(pa.table({"m": pa.array([1], pa.int8()), "text": ["a"]}), tmp_path / "a.parquet")
    out, writer = write("o.parquet", path=tmp_path / "a.parquet")
    assert pq.read_table(out).to_pylist() == [
        {"input.m": 1, "text": "a", "m": 0.1, "m.part": 0.1, "reason": None},
    ]
    assert pq.read_schema(out).field("input.m").type == pa.int8()
    assert writer.renamed == {"m": "input.m"}


@pytest.mark.parametrize("chunk_rows", [1, 2, 100])
@pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.tsv", "o.tsv.zst", "o.csv.xz"])
def test_csv_columns_may_turn_up_late(read, write, name, chunk_rows):
    rows = [
        {"text": "a\nb", "n": 1},
        {"text": 'q"q', "late": "x,y", "n": None},
        {"later": [1, {"k": "é"}], "text": "c\rd"},
        {"text": "\t", "n": True, "late": 0.5},
    ]
    out, _ = write(name, rows, chunk_rows=chunk_rows)
    back = read(out)
    assert back.bad == []
    assert list(back.samples[0].extra) == ["text", "n", "late", "later", "m", "m.part", "reason"]
    assert [list(sample.extra.values())[:4] for sample in back.samples] == [
        ["a\nb", "1", "", ""],
        ['q"q', "", "x,y", ""],
        ["c\rd", "", "", '[1, {"k": "é"}]'],
        ["\t", "true", "0.5", ""],
    ]
    if name == "o.csv":
        frame = pd.read_csv(out, dtype=str, keep_default_na=False)
        assert frame.to_dict("records") == [dict(sample.extra) for sample in back.samples]
        frame = pl.read_csv(out, infer_schema=False).fill_null("")
        assert frame.to_dicts() == [dict(sample.extra) for sample in back.samples]


@pytest.mark.parametrize("chunk_rows", [1, 2, 3, 100])
def test_parquet_types_may_change(write, chunk_rows):
    rows = [
        {"text": "a", "n": 1, "null": None, "mixed": 1, "list": [], "wide": 2**60, "deep": {"x": 1}},
        {
            "text": "b",
            "n": 2.5,
            "null": "now",
            "mixed": "one",
            "list": ["x"],
            "wide": 0.5,
            "deep": {"x": 2.5, "y": "z"},
        },
        {"text": "c", "late": [1, 2], "mixed": {"k": None}, "empty": {}},
        {"text": "d", "n": None, "mixed": None, "late": None, "big": 10**30},
    ]
    out, writer = write("o.parquet", rows, chunk_rows=chunk_rows)
    table = pq.read_table(out)
    assert table.schema.names == [
        "text", "n", "null", "mixed", "list", "wide", "deep", "late", "empty", "big", "m", "m.part", "reason",
    ]  # fmt: skip
    assert table["n"].to_pylist() == [1.0, 2.5, None, None]
    assert table["null"].to_pylist() == [None, "now", None, None]
    assert table["list"].to_pylist() == [[], ["x"], None, None]
    assert table["late"].to_pylist() == [None, None, [1, 2], None]
    assert table["deep"].to_pylist() == [{"x": 1.0, "y": None}, {"x": 2.5, "y": "z"}, None, None]
    decoded = [None if cell is None else json.loads(cell) for cell in table["mixed"].to_pylist()]
    assert decoded == [1, "one", {"k": None}, None]
    assert [json.loads(cell) for cell in table["wide"].to_pylist()[:2]] == [2**60, 0.5]
    assert json.loads(table["empty"].to_pylist()[2]) == {}
    assert json.loads(table["big"].to_pylist()[3]) == 10**30
    assert set(writer.json_columns) == {"mixed", "wide", "empty", "big"}
    assert pl.read_parquet(out)["text"].to_list() == ["a", "b", "c", "d"]
    assert pd.read_parquet(out)["m"].tolist() == [0.1] * 4


def test_parquet_types_survive(write, tmp_path):
    table = pa.table(
        {
            "text": pa.array(["a", "b", None], pa.large_string()).dictionary_encode(),
            "day": pa.array([dt.date(2020, 1, 2), None, None]),
            "time": pa.array([1, 2, 3], pa.timestamp("ns", "UTC")),
            "price": pa.array([decimal.Decimal("1.10"), None, None]),
            "small": pa.array([1, 2, 3], pa.int8()),
            "bytes": pa.array([b"\xff", b"", None]),
            "refs": pa.array([["x"], [], None]),
            "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int32())),
        }
    ).slice(0, 2)
    pq.write_table(table, tmp_path / "a.parquet")
    out, _ = write("o.parquet", path=tmp_path / "a.parquet", chunk_rows=1)
    back = pq.read_table(out)
    before = pq.read_table(tmp_path / "a.parquet")
    for name in before.schema.names:
        assert back[name].combine_chunks().equals(before[name].combine_chunks()), name
    out, _ = write("o.jsonl", path=tmp_path / "a.parquet")
    row = read_jsonl(out)[0]
    assert (row["day"], row["price"], row["map"], row["small"]) == ("2020-01-02", "1.10", [["k", 1]], 1)
    out, _ = write("o.csv", path=tmp_path / "a.parquet")
    assert read_csv(out)[1][:2] == ["a", "2020-01-02"]


def test_parquet_out_of_files_that_disagree(read, write_bytes, tmp_path):
    pq.write_table(
        pa.table({"text": ["a"], "day": [dt.date(2020, 1, 2)], "n": pa.array([1], pa.int8())}), tmp_path / "a.parquet"
    )
    lines = write_bytes("b.jsonl", b'{"text": "b", "day": "later", "n": 2000000000}\n')
    out = tmp_path / "o.parquet"
    with open_writer(str(out), []) as writer:
        for chunk in read(tmp_path / "a.parquet", lines).chunks:
            writer.write(chunk, {}, None)
    table = pq.read_table(out)
    assert table["day"].to_pylist() == ['"2020-01-02"', '"later"']
    assert table["n"].to_pylist() == [1, 2_000_000_000]
    assert table["n"].type == pa.int64()


def test_lone_surrogates(write):
    lone = chr(0xDFFF)
    rows = [{"text": "a\ud800é", lone: ["\ud800"], "\ufffd": 1, "d": {"\ud800": "\ud801"}}]
    out, _ = write("o.jsonl", rows)
    assert out.read_bytes().isascii()
    assert read_jsonl(out) == [{**rows[0], "m": 0.1, "m.part": 0.1}]
    out, _ = write("o.csv", rows)
    assert read_csv(out)[0][:4] == ["text", "input.\ufffd", "\ufffd", "d"]
    assert read_csv(out)[1][:3] == ["a\ufffdé", '["\ufffd"]', "1"]
    out, _ = write("o.parquet", rows)
    row = pq.read_table(out).to_pylist()[0]
    assert row["text"] == "a\ufffdé"
    assert row["d"] == {"\ufffd": "\ufffd"}


def test_json_is_readable_and_valid(read, write_bytes, write):
    path = write_bytes(
        "in.jsonl", b'{"text": "\\u00e9\xc3\xa9", "x": NaN, "y": [Infinity]}\n{"text": "NaN", "z": 1.10}\n'
    )
    out, _ = write("o.jsonl", path=path)
    assert "éé" in out.read_text(encoding="utf-8")
    rows = read_jsonl(out)
    assert (rows[0]["x"], rows[0]["y"], rows[1]["text"]) == (None, [None], "NaN")


def test_rows_go_out_as_they_came_in(write_bytes, write):
    path = write_bytes("in.jsonl", b' {"text":"a", "n": 1.10000000000000000001e2 } \r\n')
    out, _ = write("o.jsonl", path=path)
    assert out.read_bytes() == b'{"text":"a", "n": 1.10000000000000000001e2 , "m": 0.1, "m.part": 0.1}\n'


def test_other_formats_to_jsonl(write_bytes, write):
    out, _ = write("o.jsonl", path=write_bytes("a.csv", b"\xef\xbb\xbftext,n\r\na,007\r\n"))
    assert read_jsonl(out) == [{"text": "a", "n": "007", "m": 0.1, "m.part": 0.1}]
    out, _ = write("o.jsonl", path=write_bytes("a.txt", b"a\n\n"))
    assert [row["text"] for row in read_jsonl(out)] == ["a", ""]


def test_filtered_chunks_can_be_written(read, write_bytes, tmp_path):
    pq.write_table(pa.table({"text": ["a", "b", "c"]}), tmp_path / "a.parquet")
    for chunk in (
        read(write_bytes("a.jsonl", b'{"text":"a"}\n{"text":"b"}\n{"text":"c"}\n')).chunks[0],
        read(tmp_path / "a.parquet").chunks[0],
    ):
        for name in ("o.jsonl", "o.parquet"):
            with open_writer(str(tmp_path / name), ["m"]) as writer:
                writer.write(chunk.without([1]), {"m": [1.0, 3.0]}, None)
                writer.write(chunk.without([0, 1, 2]), {"m": []}, None)
            frame = pl.read_parquet(tmp_path / name) if "parquet" in name else pl.read_ndjson(tmp_path / name)
            assert frame.select("text", "m").rows() == [("a", 1.0), ("c", 3.0)]


@pytest.mark.parametrize("name", ["o.jsonl", "o.csv", "o.parquet"])
def test_no_rows_at_all(tmp_path, name):
    """All rows were rejected: still a valid file."""
    with open_writer(str(tmp_path / name), ["m"]):
        pass
    data = (tmp_path / name).read_bytes()
    assert data == {"o.jsonl": b"", "o.csv": b"m,reason\n"}.get(name, data)
    if name == "o.parquet":
        assert pq.read_table(io.BytesIO(data)).schema.names == ["m", "reason"]


@pytest.mark.parametrize("name", ["o.jsonl.gz", "o.csv.gz", "o.parquet", "o.jsonl.xz", "o.jsonl.zst"])
def test_the_same_rows_give_the_same_bytes(write, name):
    rows = [{"text": "a"}, {"text": "b", "x": 1}]
    first = write(name, rows)[0].read_bytes()
    assert write(name, rows)[0].read_bytes() == first


def test_many_chunks_make_few_row_groups(write):
    out, _ = write("o.parquet", [{"text": str(i)} for i in range(5000)], chunk_rows=100)
    assert pq.ParquetFile(out).metadata.num_row_groups == 1
