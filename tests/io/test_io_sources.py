"""Files, patterns, the standard input, compression, and what can be wrong with a whole file."""

import gzip
import json
import lzma
import os
import pickle
import random
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from celadon.core import InputError, UsageError
from celadon.io import Fields, Reader, check_distinct
from tests import processes

ROWS = [{"text": f"text {i} é\u2028x", "n": str(i)} for i in range(50)]


def encoded(kind):
    if kind == "jsonl":
        return b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
    if kind == "txt":
        return "".join(row["text"] + "\n" for row in ROWS).encode()
    delimiter = {"csv": ",", "tsv": "\t"}[kind]
    return "".join(delimiter.join(cells) + "\n" for cells in [list(ROWS[0]), *(row.values() for row in ROWS)]).encode()


def zstd(data):
    return pa.Codec("zstd").compress(data, asbytes=True)


NOISE = random.Random(1).randbytes(10_000)
COMPRESSED = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd}


@pytest.mark.parametrize("chunk_rows", [1, 7, 2048])
@pytest.mark.parametrize("compression", COMPRESSED)
@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "txt"])
def test_every_format_and_compression(read, write_bytes, kind, compression, chunk_rows):
    path = write_bytes(f"a.{kind}{compression}", COMPRESSED[compression](encoded(kind)))
    outcome = read(path, chunk_rows=chunk_rows)
    assert outcome.texts == [row["text"] for row in ROWS]
    assert outcome.bad == []
    if kind != "txt":
        assert [dict(sample.extra) for sample in outcome.samples] == ROWS
    assert max(map(len, outcome.chunks)) == min(chunk_rows, len(ROWS))
    assert outcome.reader.bytes_read == outcome.reader.bytes_total == path.stat().st_size
    assert {chunk.format for chunk in outcome.chunks} == {kind}


@pytest.mark.parametrize("ending", ["ndjson", "json", "JSONL"])
def test_other_endings_of_json_lines(read, write_bytes, ending):
    assert len(read(write_bytes(f"a.{ending}", encoded("jsonl"))).samples) == len(ROWS)


def test_parquet(read, tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(ROWS), path, row_group_size=20)
    outcome = read(path, chunk_rows=8)
    assert [dict(sample.extra) for sample in outcome.samples] == ROWS
    assert pa.Table.from_batches([chunk.batch for chunk in outcome.chunks]).to_pylist() == ROWS
    assert outcome.reader.bytes_read == outcome.reader.bytes_total


def test_long_rows_fill_a_chunk_early(read, write_bytes, tmp_path):
    rows = [{"text": "x" * 900_000} for _ in range(20)]
    path = write_bytes("a.jsonl", b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    table = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_pylist(rows), table)
    for outcome in (read(path), read(table)):
        assert len(outcome.samples) == 20
        assert max(sum(len(sample.text) for sample in chunk.samples) for chunk in outcome.chunks) <= 8_000_000


def test_files_follow_each_other_and_share_chunks(read, write_bytes):
    names = [write_bytes(f"{name}.txt", f"{name}1\n{name}2".encode()) for name in "ba"]
    outcome = read(*names, chunk_rows=3)
    assert outcome.texts == ["b1", "b2", "a1", "a2"]
    assert [len(chunk) for chunk in outcome.chunks] == [3, 1]
    assert [sample.origin.rpartition("/")[2] for sample in outcome.samples] == [
        "b.txt:1",
        "b.txt:2",
        "a.txt:1",
        "a.txt:2",
    ]


def test_formats_may_be_mixed(read, write_bytes, tmp_path):
    pq.write_table(pa.table({"text": ["p"]}), tmp_path / "c.parquet")
    a = write_bytes("a.txt", b"t\n")
    b = write_bytes("b.csv", b"text\nc\n")
    outcome = read(a, b, tmp_path / "c.parquet", a)
    assert outcome.texts == ["t", "c", "p", "t"]
    assert [chunk.format for chunk in outcome.chunks] == ["txt", "csv", "parquet", "txt"]


def test_patterns_are_sorted_and_go_deep(read, write_bytes, tmp_path):
    for name in ["b.txt", "a.txt", "deep/er/c.txt", "deep/d.txt", "other.jsonl"]:
        write_bytes(name, name.encode())
    assert read(tmp_path / "*.txt").texts == ["a.txt", "b.txt"]
    assert read(tmp_path / "**" / "*.txt").texts == ["a.txt", "b.txt", "deep/d.txt", "deep/er/c.txt"]
    assert read(tmp_path / "deep" / "**", format="txt").texts == ["deep/d.txt", "deep/er/c.txt"]
    assert read(tmp_path / "b*", tmp_path / "a.txt").texts == ["b.txt", "a.txt"]


def test_a_file_whose_name_is_a_pattern(read, write_bytes):
    assert read(write_bytes("a[1].txt", b"x")).texts == ["x"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.jsonl", b"", "is empty"),
        ("a.jsonl", b"\n \r\n", "is empty"),
        ("a.jsonl", b"\xef\xbb\xbf", "is empty"),
        ("a.jsonl.gz", gzip.compress(b"", mtime=0), "is empty"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"\n\n", "is empty"),
        ("a.csv", b"text,n\n", "has a header but no rows"),
        ("a.tsv", b"text\tn", "has a header but no rows"),
        ("a.jsonl", b'\xff\xfe{\0"\0', "is UTF-16"),
        ("a.txt", b"\xfe\xff\0a", "is UTF-16"),
        ("a.jsonl", gzip.compress(b"{}", mtime=0), "is gzip-compressed"),
        ("a.jsonl.gz", b"{}", "the gzip data are truncated or corrupt"),
        (
            "a.jsonl.gz",
            gzip.compress(NOISE, mtime=0)[:-20],
            "the gzip data are truncated or corrupt",
        ),
        ("a.txt.xz", lzma.compress(NOISE)[:-20], "the xz data are truncated or corrupt"),
        ("a.txt.xz", b"hello there", "the xz data are truncated or corrupt"),
        ("a.txt.zst", zstd(NOISE)[:-20], "the zstd data are truncated or corrupt"),
        ("a.txt.zst", b"hello there", "the zstd data are truncated or corrupt"),
        ("a.parquet", b"hello there", "not a Parquet file, or truncated or corrupt"),
        ("a.parquet", b"PAR1" + b"x" * 100 + b"PAR1", "not a Parquet file, or truncated or corrupt"),
        ("a.parquet.gz", b"x", "Parquet is compressed inside"),
        ("a.csv", b"text,n,text\na,1,b\n", "the header has the column 'text' more than once"),
        ("a.csv", b"text,n\xff\na,1\n", "the header cannot be read: not valid UTF-8: byte 0xff at position 7"),
        ("a.csv", b'text,"n\na,1\n', "the header cannot be read: unclosed quote"),
        ("a.json", b'[\n{"text": "a"}\n]', "JSON Lines is expected"),
        ("a.json", b'[{"text": "a"}]', "JSON Lines is expected"),
        ("a.json", b'{\n  "text": "a"\n}', "JSON Lines is expected"),
        (
            "a.docx",
            b"x",
            "cannot tell the format; known endings are .jsonl, .ndjson, .json, .csv, .tsv, .parquet, .txt",
        ),
        ("noending", b"x", "--format"),
    ],
)
def test_what_is_wrong_with_a_whole_file(read, write_bytes, name, data, message):
    path = write_bytes(name, data)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_truncated_parquet_file(read, tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"] * 1000}), path)
    whole = path.read_bytes()
    for data in (whole[:-5], whole[: len(whole) // 2], whole[4:]):
        path.write_bytes(data)
        with pytest.raises(InputError, match="truncated or corrupt"):
            read(path)


def test_a_parquet_file_without_rows(read, tmp_path):
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="has columns but no rows"):
        read(tmp_path / "a.parquet")


def test_one_empty_file_among_several(read, write_bytes):
    with pytest.raises(InputError, match=r"b\.jsonl: is empty"):
        read(write_bytes("a.txt", b"a"), write_bytes("b.jsonl", b"\n"))


def test_missing_files_and_patterns(read, tmp_path):
    with pytest.raises(InputError, match=r"a\.jsonl: no such file"):
        read(tmp_path / "a.jsonl")
    with pytest.raises(InputError, match="no file matches this pattern"):
        read(tmp_path / "*.jsonl")
    with pytest.raises(InputError, match="is a directory"):
        read(tmp_path)
    with pytest.raises(UsageError, match="no input given"):
        read()
    with pytest.raises(UsageError, match="only once"):
        read("-", "-")
    with pytest.raises(UsageError, match="unknown format 'xml'; the formats are jsonl, csv, tsv, parquet, txt"):
        read(tmp_path, format="xml")


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "txt"])
def test_byte_order_mark_and_crlf(read, write_bytes, kind):
    data = b"\xef\xbb\xbf" + encoded(kind).replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    outcome = read(write_bytes(f"a.{kind}", data))
    assert outcome.texts == [row["text"] for row in ROWS]


def test_blank_lines(read, write_bytes):
    plain = read(write_bytes("a.txt", b"a\n\n  \nb\n"))
    assert plain.texts == ["a", "", "  ", "b"]
    assert [dict(sample.extra) for sample in plain.samples][1] == {"text": ""}
    lines = read(write_bytes("a.jsonl", b'\n{"text": "a"}\n\n \t\r\n{"text": "b"}'))
    assert [sample.origin.rpartition(":")[2] for sample in lines.samples] == ["2", "5"]
    assert lines.reader.rows_read == 2
    assert read(write_bytes("a.csv", b"text,n\n\na,1\n\nb,2\n\n")).texts == ["a", "b"]


def test_a_carriage_return_inside_plain_text_stays(read, write_bytes):
    assert read(write_bytes("a.txt", b"a\rb\r\nc\r\r\n")).texts == ["a\rb", "c\r"]


def test_csv_cells_over_several_lines_and_of_any_size(read, write_bytes):
    big = "y" * 300_000
    data = f'text,n\n"one\n\ntwo ""quoted"", three",1\n{big},2\n"a\r\nb",3\n'.encode()
    outcome = read(write_bytes("a.csv", data))
    assert outcome.texts == ['one\n\ntwo "quoted", three', big, "a\r\nb"]
    assert list(outcome.chunks[0].lines) == [2, 5, 6]
    assert outcome.chunks[0].raw(0) == b'"one\n\ntwo ""quoted"", three",1'


def test_csv_values_stay_strings(read, write_bytes):
    outcome = read(write_bytes("a.csv", b"text,n,x\na,007,1e5\n"))
    assert dict(outcome.samples[0].extra) == {"text": "a", "n": "007", "x": "1e5"}


def test_parquet_dates_beyond_python(read, tmp_path):
    times = pa.array([1, 2**62], pa.timestamp("ns"))
    pq.write_table(pa.table({"text": ["a", "b"], "t": times}), tmp_path / "a.parquet")
    outcome = read(tmp_path / "a.parquet")
    assert len(outcome.samples) == 2
    assert outcome.chunks[0].batch.column("t").equals(times)


def stdin_texts(data, *, format=None):  # noqa: A002
    """What a fresh process reads from its standard input."""
    program = (
        "import json, sys\n"
        "from celadon.io import Fields, Reader\n"
        "reader = Reader(['-'], Fields(), format=json.loads(sys.argv[1]), on_bad=print)\n"
        "rows = [(s.text, s.origin) for chunk in reader for s in chunk.samples]\n"
        "print(json.dumps([rows, reader.bytes_read, reader.bytes_total]))\n"
    )
    command = [sys.executable, "-c", program, json.dumps(format)]
    done = processes.run(command, input=data, capture_output=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr.decode()


@pytest.mark.parametrize(
    ("data", "format_", "texts"),
    [
        (b'\n  {"text": "a"}\n', None, ["a"]),
        (b'\xef\xbb\xbf{"text": "a"}\n', None, ["a"]),
        (b"a\n\nb", None, ["a", "", "b"]),
        (b"text,n\na,1\n", "csv", ["a"]),
        (b"{a\n", "txt", ["{a"]),
        (gzip.compress(b'{"text": "a"}\n', mtime=0), None, ["a"]),
    ],
)
def test_standard_input(data, format_, texts):
    rows, count, total = stdin_texts(data, format=format_)
    assert [text for text, _ in rows] == texts
    assert rows[0][1].startswith("<stdin>:")
    assert count == len(data)
    assert total is None


def test_standard_input_that_is_empty_or_parquet():
    assert "<stdin>: is empty" in stdin_texts(b"")
    assert "Parquet cannot be read from the standard input" in stdin_texts(b"", format="parquet")


def test_a_named_pipe(read, tmp_path):
    path = tmp_path / "a.txt"
    os.mkfifo(path)
    with subprocess.Popen(["/bin/sh", "-c", f"printf 'a\\nb\\n' > '{path}'"]):
        outcome = read(path)
    assert outcome.texts == ["a", "b"]
    assert outcome.reader.bytes_total is None


def test_a_reader_can_be_read_again(write_bytes):
    reader = Reader([str(write_bytes("a.txt", b"a\nb\n"))], Fields(), on_bad=print)
    assert reader.rows_read == 0
    assert [len(chunk) for chunk in reader] == [len(chunk) for chunk in reader] == [2]
    assert reader.rows_read == 2


def test_memory_is_bounded_by_the_chunk(tmp_path):
    path = tmp_path / "a.jsonl"
    line = json.dumps({"text": "x" * 1000}).encode() + b"\n"
    with path.open("wb") as file:
        for _ in range(100):
            file.write(line * 1000)
    program = (
        "import resource, sys\n"
        "from celadon.io import Fields, Reader\n"
        "start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "n = sum(len(chunk) for chunk in Reader([sys.argv[1]], Fields(), on_bad=print))\n"
        "print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start)\n"
    )
    done = processes.run([sys.executable, "-c", program, str(path)], capture_output=True, check=True, text=True)
    rows, grown = map(int, done.stdout.split())
    assert rows == 100_000
    assert grown < 40_000


def test_output_must_not_be_an_input(write_bytes, tmp_path):
    path = write_bytes("a.jsonl", b"x")
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    hard = tmp_path / "hard.jsonl"
    os.link(path, hard)
    for output in (path, link, hard, tmp_path / "sub" / ".." / "a.jsonl"):
        for given in (str(path), str(tmp_path / "a*.jsonl")):
            with pytest.raises(UsageError, match="is also an input"):
                check_distinct(str(output), ["-", given])
    check_distinct(str(tmp_path / "b.jsonl"), [str(path), "-", str(tmp_path / "missing.jsonl")])


def test_arrow_is_loaded_only_when_needed():
    program = "import sys, celadon.io; print('pyarrow' in sys.modules)"
    done = processes.run([sys.executable, "-c", program], capture_output=True, check=True, text=True)
    assert done.stdout.strip() == "False"


def test_chunks_can_go_to_another_process(read, write_bytes, tmp_path):
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.parquet")
    for chunk in read(write_bytes("a.jsonl", encoded("jsonl")), tmp_path / "a.parquet").chunks:
        assert pickle.loads(pickle.dumps(chunk)) == chunk
