"""Every kind of malformed row: reported with its place, while the rows around it are read."""

import base64
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from celadon.core import InputError
from celadon.io import Rejects

GOOD = b'{"text": "good"}'

JSONL = [
    (b'{"text": "a"', "not valid JSON: expecting ',' delimiter at column 13"),
    (b'{"text": "a",}', "not valid JSON: "),
    (b"{text: 1}", "not valid JSON: expecting property name enclosed in double quotes at column 2"),
    (b'  {"text" 1}', "not valid JSON: expecting ':' delimiter at column 11"),
    (b'{"text": "a"} {"text": "b"}', "not valid JSON: something follows the value, at column 15"),
    (b'{"text": "a\tb"}', "not valid JSON: invalid control character at column 12"),
    (b"nonsense", "not valid JSON: expecting value at column 1"),
    (b"[1, 2]", "not a JSON object: [1, 2]"),
    (b'"text"', 'not a JSON object: "text"'),
    (b"17", "not a JSON object: 17"),
    (b"null", "not a JSON object: null"),
    (b"{}", "no text: looked for text, output, prediction; there are no fields"),
    (b'{"id": 1, "txt": "a"}', "no text: looked for text, output, prediction; there are id, txt"),
    (b'{"text": null}', "text is null"),
    (b'{"text": 3}', "text is a number, not a string"),
    (b'{"output": ["a"]}', "output is a list, not a string"),
    (b'{"text": true}', "text is a boolean, not a string"),
    (b'{"text": {}}', "text is an object, not a string"),
    (b'{"text": "a", "references": 1}', "references is a number, neither a string nor a list of strings"),
    (b'{"text": "a", "references": {}}', "references is an object, neither a string nor a list of strings"),
    (b'{"text": "a", "reference": ["x", null]}', "reference: item 2 is null, not a string"),
    (b'{"text": "a", "references": ["x", 2]}', "references: item 2 is a number, not a string"),
    (b'{"text": "a", "references": [["x"]]}', "references: item 1 is a list, not a string"),
    (b'{"text": "a", "ref0": "x", "ref1": 5}', "ref1 is a number, not a string"),
    (b'{"text": "\xff"}', "not valid UTF-8: byte 0xff at position 11"),
    (b'{"text": "\xed\xa0\x80"}', "not valid UTF-8: byte 0xed at position 11"),
    (b'{"text": "a\0b"}', "has a NUL byte"),
    (b'{"text": "' + b"x" * 41 + b'"}', "text has 41 characters, more than --max-text-chars 40"),
    (b'{"text": "a", "deep": ' + b"[" * 101 + b"]" * 101 + b"}", "nested more than 100 levels deep"),
    (b"[" * 100_000, "nested more than 100 levels deep"),
    (b'{"text": "a", "n": ' + b"1" * 5000 + b"}", "not usable JSON: Exceeds the limit"),
]


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize(("row", "message"), JSONL)
def test_jsonl(read, write_bytes, row, message, ending):
    path = write_bytes("a.jsonl", ending.join([GOOD, b"", row, GOOD]))
    outcome = read(path, max_text_chars=40)
    assert outcome.texts == ["good", "good"]
    assert [sample.origin for sample in outcome.samples] == [f"{path}:1", f"{path}:4"]
    assert outcome.reader.rows_read == 3
    assert len(outcome.bad) == 1
    bad = outcome.bad[0]
    assert str(bad).startswith(f"{path}:3: {message}")
    assert (bad.file, bad.line, bad.raw, bad.cut) == (str(path), 3, row, False)


def test_all_bad_rows_come_in_order(read, write_bytes):
    path = write_bytes("a.jsonl", b"\n".join([GOOD, *(row for row, _ in JSONL)]))
    outcome = read(path, max_text_chars=40)
    assert [bad.line for bad in outcome.bad] == list(range(2, len(JSONL) + 2))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (b"a,b,c", "too many cells: 3, the header has 2"),
        (b"a", "too few cells: 1, the header has 2"),
        (b"\xc3(,b", "not valid UTF-8: byte 0xc3 at position 1"),
        (b'"a\n\n\xff",b', "not valid UTF-8: byte 0xff at position 5"),
        (b"a\0,b", "has a NUL byte"),
        (b'"a"b,c', "a quoted cell goes on after its closing quote"),
        (b"a\rb,c", "a bare carriage return outside of quotes"),
        (b"x" * 41 + b",b", "text has 41 characters, more than --max-text-chars 40"),
    ],
)
def test_csv(read, write_bytes, row, message):
    path = write_bytes("a.csv", b'text,n\n"two\nlines",1\n' + row + b"\nlast,2\n")
    outcome = read(path, max_text_chars=40)
    assert outcome.texts == ["two\nlines", "last"]
    assert len(outcome.bad) == 1
    assert str(outcome.bad[0]).startswith(f"{path}:4: {message}")
    assert outcome.bad[0].raw == row
    assert outcome.samples[0].origin == f"{path}:2"


def test_csv_unclosed_quote(read, write_bytes):
    path = write_bytes("a.csv", b'text,n\na,1\n"b,2\nc,3\n')
    outcome = read(path)
    assert outcome.texts == ["a"]
    assert outcome.complaints == [f"{path}:3: unclosed quote: the file ends inside a quoted cell"]
    assert outcome.bad[0].raw == b'"b,2\nc,3'


def test_plain_text(read, write_bytes):
    path = write_bytes("a.txt", b"one\nt\xffo\n\nno\0\n" + b"x" * 41)
    outcome = read(path, max_text_chars=40)
    assert outcome.texts == ["one", ""]
    assert outcome.complaints == [
        f"{path}:2: not valid UTF-8: byte 0xff at position 2",
        f"{path}:4: has a NUL byte",
        f"{path}:5: text has 41 characters, more than --max-text-chars 40",
    ]


def test_parquet(read, tmp_path):
    broken = pa.StringArray.from_buffers(
        4, pa.array([0, 1, 1, 2, 3], pa.int32()).buffers()[1], pa.py_buffer(b"a\xffb"), None
    )
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": broken, "references": pa.array([["x"], ["y", None], ["z"], None])}), path)
    outcome = read(path)
    assert outcome.texts == ["a", "b"]
    assert outcome.complaints == [
        f"{path}:row 2: references: item 2 is null, not a string",
        f"{path}:row 3: text: not valid UTF-8: byte 0xff at position 1",
    ]
    assert json.loads(outcome.bad[0].raw) == {"text": "", "references": ["y", None]}
    assert outcome.chunks[0].batch.column("text").to_pylist() == ["a", "b"]
    assert [sample.origin for sample in outcome.samples] == [f"{path}:row 1", f"{path}:row 4"]


def test_parquet_with_nulls_and_numbers_for_text(read, tmp_path):
    pq.write_table(pa.table({"text": ["a", None, "c"]}), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet").complaints == [f"{tmp_path / 'a.parquet'}:row 2: text is null"]
    pq.write_table(pa.table({"text": [1, 2]}), tmp_path / "b.parquet")
    assert len(read(tmp_path / "b.parquet").bad) == 2


@pytest.mark.parametrize(
    ("name", "before", "start", "after"),
    [
        ("a.jsonl", b'{"text": "a"}\n', b'{"text": "', b'{"text": "b"}\n'),
        ("a.csv", b"text,n\na,1\n", b"x", b"b,2\n"),
        ("a.csv", b"text,n\na,1\n", b'"', b"b,2\n"),
        ("a.txt", b"a\n", b"x", b"b\n"),
    ],
)
def test_a_huge_line_is_cut_and_passed_over(read, tmp_path, name, before, start, after):
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(before + start)
        for _ in range(66):
            file.write(b"x" * 1024 * 1024)
        file.write(b"\n" + after)
    outcome = read(path)
    assert outcome.texts == ["a", "b"]
    assert len(outcome.bad) == 1
    assert "is longer than 64 MiB" in outcome.bad[0].message
    assert outcome.bad[0].cut
    assert len(outcome.bad[0].raw) == 64 * 1024
    assert outcome.bad[0].raw.startswith(start + b"x")


def test_a_quote_left_open_does_not_swallow_the_memory(read, tmp_path):
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        file.write(b'text,n\na,1\n"b,2\n')
        file.write(b"some text that goes on and on and on and on for the whole of the line,1\n" * 1_000_000)
    outcome = read(path)
    assert "is a quote not closed?" in outcome.bad[0].message
    assert outcome.bad[0].line == 3
    assert len(outcome.samples) > 50_000


def test_escaped_nul_and_lone_surrogates_are_legal(read, write_bytes):
    path = write_bytes("a.jsonl", b'{"text": "a\\u0000b"}\n{"text": "\\ud800"}\n')
    assert read(path).texts == ["a\0b", "\ud800"]


def test_the_limit_on_text_is_inclusive_and_counts_characters(read, write_bytes):
    assert read(write_bytes("a.txt", "ü".encode() * 10), max_text_chars=10).bad == []


def test_a_raising_callback_stops_the_reading(write_bytes):
    from celadon.io import Fields, Reader

    path = write_bytes("a.txt", b"a\n\xff\n")

    def refuse(bad):
        raise InputError(str(bad))

    with pytest.raises(InputError, match=r"a\.txt:2: not valid UTF-8"):
        list(Reader([str(path)], Fields(), on_bad=refuse))


def test_a_chunk_makes_bad_rows_of_its_rows(read, write_bytes, tmp_path):
    path = write_bytes("a.csv", b'text,n\r\n"two\r\nlines",1\r\nb,2\r\n')
    chunk = read(path).chunks[0]
    bad = chunk.bad(0, "I do not like it")
    assert str(bad) == f"{path}:2: I do not like it"
    assert bad.raw == b'"two\r\nlines",1'
    rest = chunk.without({0})
    assert [sample.text for sample in rest.samples] == ["b"]
    assert str(rest.bad(0, "x")) == f"{path}:4: x"
    assert rest.raw(0) == b"b,2"
    pq.write_table(pa.table({"text": ["a", "b"], "n": [1, 2]}), tmp_path / "a.parquet")
    rest = read(tmp_path / "a.parquet").chunks[0].without([0])
    assert json.loads(rest.raw(0)) == {"text": "b", "n": 2}
    assert str(rest.bad(0, "x")) == f"{tmp_path / 'a.parquet'}:row 2: x"
    assert rest.batch.to_pylist() == [{"text": "b", "n": 2}]


def test_rejects_hold_the_rows_as_they_were(read, write_bytes, tmp_path):
    path = write_bytes("a.jsonl", GOOD + b'\n{"text": "\xc3\xa9"\r\n\xff\xfe!\n')
    out = tmp_path / "out.jsonl.rejects.jsonl"
    with Rejects(str(out)) as rejects:
        for bad in read(path).bad:
            rejects.add(bad)
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [(row["file"], row["line"]) for row in rows] == [(str(path), 2), (str(path), 3)]
    assert rows[0]["row"] == '{"text": "é"'
    assert base64.b64decode(rows[1]["row_base64"]) == b"\xff\xfe!"
    assert rows[0]["error"].startswith("not valid JSON")
    assert list(tmp_path.glob(".celadon*")) == []


def test_without_bad_rows_there_is_no_file_and_a_stale_one_goes(tmp_path):
    out = tmp_path / "rejects.jsonl"
    out.write_text("old")
    with pytest.raises(KeyboardInterrupt), Rejects(str(out)):
        raise KeyboardInterrupt
    assert out.read_text() == "old"
    with Rejects(str(out)) as rejects:
        pass
    assert rejects.count == 0
    assert list(tmp_path.iterdir()) == []
