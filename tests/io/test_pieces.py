"""Pieces of an input, put together, are the input as the reader gives it."""

import gzip
import hashlib
import lzma
import os
import tempfile
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import InputError, UsageError
from celadon.io import Fields, Reader, lines
from celadon.io.pieces import Piece, plan_pieces, read_piece

TEXT_KINDS = ("jsonl", "txt", "csv", "tsv")
COMPRESSED = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


def flat(chunks):
    """Every row with all that a chunk says of it."""
    return [
        (chunk.samples[i], chunk.format, chunk.files[i], chunk.lines[i], chunk.raw(i), chunk.samples[i].origin)
        for chunk in chunks
        for i in range(len(chunk))
    ]


def whole(paths, **options):
    """What the reader gives: its rows and its bad rows, or the error that ends it."""
    bad = []
    try:
        return flat(Reader([str(path) for path in paths], Fields(), on_bad=bad.append, **options)), bad
    except InputError as error:
        return str(error)


def in_pieces(paths, rows, work_folder, chunk_rows=3, **options):
    """The same from pieces that went through their stored form; of the plan what must hold is checked."""
    bad = []
    found = []
    try:
        plan = plan_pieces([str(path) for path in paths], None, rows, work_folder=Path(work_folder))
        for piece in plan.pieces:
            back = msgspec.convert(msgspec.to_builtins(piece.without_secrets()), Piece)
            before = len(found) + len(bad)
            found += flat(
                read_piece(back, Fields(), chunk_rows=chunk_rows, max_text_chars=1_000, on_bad=bad.append, **options)
            )
            assert piece.first_row == before
            assert piece.rows == len(found) + len(bad) - before
    except InputError as error:
        return str(error)
    assert [piece.index for piece in plan.pieces] == list(range(len(plan.pieces)))
    assert len(plan.pieces) == sum(-(-file.rows // rows) for file in plan.files)
    assert [file.sha256 for file in plan.files] == [hashlib.sha256(Path(p).read_bytes()).hexdigest() for p in paths]
    assert [file.size for file in plan.files] == [Path(path).stat().st_size for path in paths]
    return found, bad


# What files are made of, good, bad and vicious.
SCRAPS = [
    *(b"\n", b"\r\n", b"\r", b"\n\n", b" ", b"\t", b",", b'"', b'""', b'"a\nb"', b"a", b"caf\xc3\xa9", b"\xe4\xba\xba"),
    *(b"\xff", b"\xc3", b"\0", b"\xef\xbb\xbf", b"\x1f\x8b", b"{", b"[", b"[1]\n", b"text", b"\xe2\x80\xa8", b"\x85"),
    *(b'{"text": "a"}\n', b'{"text": "\xc3\xa9"}\r\n', b'{"text": 1}\n', b"x,text\n", b'1,"two\nlines"\n', b"1,a\n"),
    b"text\tx\n",
]
BEGINNINGS = {"jsonl": b'{"text": "first"}\n', "txt": b"", "csv": b'"x\n1",text\n', "tsv": b"text\tx\n"}


@settings(max_examples=250)
@given(
    kind=st.sampled_from(TEXT_KINDS),
    begun=st.booleans(),
    scraps=st.lists(st.sampled_from(SCRAPS), min_size=1, max_size=30),
    rows=st.integers(1, 9),
    ending=st.sampled_from(["", "", "", ".gz"]),
)
def test_any_text_file_in_pieces_of_any_size(kind, begun, scraps, rows, ending):
    data = (BEGINNINGS[kind] if begun else b"") + b"".join(scraps)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{kind}{ending}"
        path.write_bytes(COMPRESSED[ending](data))
        assert in_pieces([path], rows, f"{folder}/work") == whole([path], max_text_chars=1_000)


@settings(max_examples=60)
@given(
    texts=st.lists(st.one_of(st.none(), st.text(max_size=5)), min_size=1, max_size=60),
    group=st.integers(1, 25),
    rows=st.integers(1, 70),
    chunk_rows=st.integers(1, 20),
)
def test_rows_of_parquet_across_row_groups(texts, group, rows, chunk_rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.parquet"
        table = pa.table({"text": pa.array(texts, pa.string()), "n": range(len(texts))})
        pq.write_table(table, path, row_group_size=group)
        assert in_pieces([path], rows, folder, chunk_rows) == whole([path])


def test_parquet_keeps_its_types(tmp_path):
    table = pa.table({"text": ["a", "b", "c"], "n": pa.array([1, 2, 3], pa.uint8())})
    pq.write_table(table, tmp_path / "a.parquet")
    pieces = plan_pieces([str(tmp_path / "a.parquet")], None, 2, work_folder=tmp_path).pieces
    batches = [
        chunk.batch
        for piece in pieces
        for chunk in read_piece(piece, Fields(), chunk_rows=9, max_text_chars=9, on_bad=pytest.fail)
    ]
    assert pa.Table.from_batches(batches) == table


@pytest.mark.parametrize("ending", COMPRESSED)
@pytest.mark.parametrize("kind", TEXT_KINDS)
def test_every_compression_and_the_byte_order_mark(write_bytes, tmp_path, kind, ending):
    body = {"jsonl": b'{"text": "r%d"}\n', "txt": b"r%d\n", "csv": b'%d,"r\n"\n', "tsv": b"r\t%d\n"}[kind]
    data = b"\xef\xbb\xbf" + BEGINNINGS[kind] + b"".join(body % i for i in range(10))
    path = write_bytes(f"a.{kind}{ending}", COMPRESSED[ending](data))
    rows, bad = whole([path])
    assert len(rows) >= 10
    assert in_pieces([path], 3, tmp_path / "work") == (rows, bad)


def test_a_file_compressed_twice_is_what_the_reader_says_it_is(write_bytes, tmp_path):
    path = write_bytes("a.txt.gz", gzip.compress(gzip.compress(b"a\nb\n")))
    assert in_pieces([path], 1, tmp_path / "work") == whole([path])


def test_files_follow_each_other_and_no_piece_has_rows_of_two(write_bytes, tmp_path):
    paths = [
        write_bytes("a.txt", b"1\n2\n3"),
        write_bytes("b.jsonl", b'{"text": "4"}\n\n{"text": "5"}'),
        write_bytes("c.csv", b"text\n6\n7\n8\n9\n"),
    ]
    assert in_pieces(paths, 2, tmp_path) == whole(paths)
    plan = plan_pieces([str(tmp_path / "*.*")], None, 2, work_folder=tmp_path)
    assert [(piece.first_row, piece.rows) for piece in plan.pieces] == [(0, 2), (2, 1), (3, 2), (5, 2), (7, 2)]
    assert [file.rows for file in plan.files] == [3, 2, 4]


def test_lines_beyond_the_bound(write_bytes, tmp_path, monkeypatch):
    for module in (lines, __import__("celadon.io.delimited", fromlist=["delimited"])):
        monkeypatch.setattr(module, "MAX_LINE_BYTES", 100)
    long = b"x" * 250
    texts = write_bytes("a.txt", b"a\n" + long + b"\nb\n" + b"y" * 100 + b"\nc\n" + long)
    cells = write_bytes("a.csv", b'text\na\n"' + b"q\n" * 80 + b'"\n' + long + b"\nb\n")
    for path in (texts, cells):
        _, bad = expected = whole([path], max_text_chars=1_000)
        assert any(row.cut for row in bad)
        for rows in (1, 2, 3, 50):
            assert in_pieces([path], rows, tmp_path) == expected


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"\xff\xfea\0", "is UTF-16"),
        ("a.txt", b"\x1f\x8bxx", "is gzip-compressed"),
        ("a.txt.gz", gzip.compress(b"abc" * 99, mtime=0)[:-9], "truncated or corrupt"),
        ("a.txt", b"", "is empty"),
        ("a.jsonl", b"\n \n", "is empty"),
        ("a.csv", b"text,x\n\n", "has a header but no rows"),
        ("a.jsonl", b'[{"text": "a"}]\n', "here is one JSON array"),
        ("a.parquet", b"PAR1 not", "not a Parquet file"),
    ],
)
def test_files_that_are_refused_are_refused_in_the_same_words(write_bytes, tmp_path, name, data, message):
    path = write_bytes(name, data)
    error = in_pieces([path], 2, tmp_path / "work")
    assert error == whole([path])
    assert message in error
    assert not list((tmp_path / "work").glob("*"))


def test_what_can_be_read_only_once_is_refused(tmp_path):
    with pytest.raises(UsageError, match="standard input"):
        plan_pieces(["-"], None, 2, work_folder=tmp_path)
    os.mkfifo(tmp_path / "pipe.txt")
    with pytest.raises(InputError, match="not a regular file"):
        plan_pieces([str(tmp_path / "pipe.txt")], None, 2, work_folder=tmp_path)


def test_a_file_changed_behind_the_plan_is_noticed(write_bytes, tmp_path):
    path = write_bytes("a.txt", b"1\n2\n3\n")
    piece = plan_pieces([str(path)], None, 9, work_folder=tmp_path).pieces[0]
    path.write_bytes(b"1\n2\n")
    with pytest.raises(InputError, match=r"a\.txt: was changed"):
        list(read_piece(piece, Fields(), chunk_rows=9, max_text_chars=9, on_bad=pytest.fail))


def test_progress_ends_at_all_bytes(write_bytes, tmp_path):
    paths = [write_bytes("a.txt", b"1\n" * 999), write_bytes("b.txt.gz", gzip.compress(b"2\n"))]
    told = []
    plan_pieces([str(path) for path in paths], None, 9, work_folder=tmp_path, progress=lambda *now: told.append(now))
    total = sum(path.stat().st_size for path in paths)
    assert told[-1] == (total, total)
    assert told == sorted(told)


def test_workers_find_files_given_by_relative_paths(write_bytes, tmp_path, monkeypatch):
    write_bytes("a.txt", b"1\n")
    monkeypatch.chdir(tmp_path)
    piece = plan_pieces(["a.txt"], None, 9, work_folder=tmp_path).pieces[0]
    monkeypatch.chdir("/")
    (chunk,) = read_piece(piece, Fields(), chunk_rows=9, max_text_chars=9, on_bad=pytest.fail)
    assert (chunk.files, chunk.samples[0].origin) == (("a.txt",), "a.txt:1")
