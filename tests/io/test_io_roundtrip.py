"""Any rows survive."""

import csv
import io
import json
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from celadon.io import open_writer

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
ANY_TEXT = st.text(max_size=20)
NAMES = st.sampled_from(["a", "b", "id", "m", "reason", "input.m", "é", ""])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=5
)
CHUNKS = st.integers(1, 5)

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def rows_of(text, values):
    return st.lists(
        st.builds(lambda t, more: {**more, "text": t}, text, st.dictionaries(NAMES, values, max_size=4)),
        min_size=1,
        max_size=8,
    )


def through(read, folder, rows, name, chunk_rows, scores=("s",)):
    path = Path(folder) / "in.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    outcome = read(path, chunk_rows=chunk_rows)
    assert outcome.bad == []
    out = Path(folder) / name
    with open_writer(str(out), scores) as writer:
        for chunk in outcome.chunks:
            writer.write(chunk, {key: [0.5] * len(chunk) for key in scores}, None)
    return out, writer


@quick
@given(rows=rows_of(ANY_TEXT, VALUES), chunk_rows=CHUNKS, name=st.sampled_from(["o.jsonl", "o.jsonl.gz"]))
def test_jsonl_to_jsonl(read, rows, chunk_rows, name):
    with tempfile.TemporaryDirectory() as folder:
        out, _ = through(read, folder, rows, name, chunk_rows, scores=("s",))
        back = [dict(sample.extra) for sample in read(out).samples]
    expected = []
    for row in rows:
        kept = {("input.reason" if key == "reason" else key): value for key, value in row.items()}
        expected.append({**kept, "s": 0.5})
    assert back == expected
    assert [list(row) for row in back] == [list(row) for row in expected]


@quick
@given(rows=rows_of(TEXT, SCALARS), chunk_rows=CHUNKS)
def test_jsonl_to_parquet(read, rows, chunk_rows):
    with tempfile.TemporaryDirectory() as folder:
        out, writer = through(read, folder, rows, "o.parquet", chunk_rows)
        table = pq.read_table(out)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    renamed = {key: writer.renamed.get(key, key) for key in columns}
    assert table.schema.names == [*renamed.values(), "s", "reason"]
    for row, back in zip(rows, table.to_pylist(), strict=True):
        for key in columns:
            cell = back[renamed[key]]
            value = json.loads(cell) if renamed[key] in writer.json_columns and cell is not None else cell
            assert value == row.get(key)


@quick
@given(rows=rows_of(TEXT, VALUES), chunk_rows=CHUNKS)
def test_nested_values_never_stop_a_table(read, rows, chunk_rows):
    with tempfile.TemporaryDirectory() as folder:
        out, _ = through(read, folder, rows, "o.parquet", chunk_rows)
        assert pq.read_table(out)["text"].to_pylist() == [row["text"] for row in rows]


@quick
@given(rows=rows_of(TEXT.map(lambda text: text.replace("\0", "")), SCALARS), chunk_rows=CHUNKS)
def test_jsonl_to_csv(read, rows, chunk_rows):
    with tempfile.TemporaryDirectory() as folder:
        out, writer = through(read, folder, rows, "o.csv", chunk_rows)
        back = list(csv.DictReader(io.StringIO(out.read_bytes().decode("utf-8"), newline="")))
    columns = list(dict.fromkeys(key for row in rows for key in row))
    assert list(back[0]) == [*(writer.renamed.get(key, key) for key in columns), "s", "reason"]
    for row, cells in zip(rows, back, strict=True):
        for key, value in row.items():
            cell = cells[writer.renamed.get(key, key)]
            if value is None:
                assert cell == ""
            else:
                assert cell == value if isinstance(value, str) else json.loads(cell) == value


@quick
@given(cells=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=8), ending=st.sampled_from(["\n", "\r\n"]))
def test_csv_is_read_as_the_csv_module_reads_it(read, cells, ending):
    cells = [tuple(cell.replace("\0", "") for cell in row) for row in cells]
    sink = io.StringIO(newline="")
    csv.writer(sink, lineterminator=ending, quoting=csv.QUOTE_ALL).writerows([("text", "x"), *cells])
    data = sink.getvalue().encode("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(data)
        outcome = read(path)
    assert [tuple(sample.extra.values()) for sample in outcome.samples] == cells
    # The records' bytes and the header make up the file, and a record is on the line it claims.
    chunk = outcome.chunks[0]
    assert b"".join(chunk.raws) == data.split(ending.encode(), 1)[1]
    lines = data.split(b"\n")
    for i, line in enumerate(chunk.lines):
        assert lines[line - 1].startswith(chunk.raw(i).split(b"\n")[0].rstrip(b"\r"))


@quick
@given(data=st.binary(max_size=200), kind=st.sampled_from(["jsonl", "csv", "tsv", "txt"]))
def test_no_bytes_crash_the_reader(read, data, kind):
    from celadon.core import InputError

    starts = {"jsonl": b'{"text": "a"}\n', "csv": b"text\na\n", "tsv": b"text\na\n", "txt": b"a\n"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a.{kind}"
        path.write_bytes(starts[kind] + data)
        try:
            outcome = read(path)
        except InputError as error:
            raise AssertionError(str(error)) from error
    assert outcome.texts[0] == "a"


@quick
@given(rows=st.lists(st.sampled_from([b'{"text": "a"}', b"{", b"", b" ", b"\xff", b"[]", b'{"text": 1}']), min_size=1))
def test_rows_read_are_good_and_bad(read, rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_bytes(b"\n".join([b'{"text": "first"}', *rows]))
        outcome = read(path, chunk_rows=2)
    assert outcome.reader.rows_read == 1 + sum(1 for row in rows if row.strip())
    assert len(outcome.samples) == 1 + rows.count(b'{"text": "a"}')
    assert [bad.line for bad in outcome.bad] == [
        number for number, row in enumerate(rows, 2) if row.strip() and row != b'{"text": "a"}'
    ]
