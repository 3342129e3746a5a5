"""Which column is what."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from celadon.cli import scoring_options
from celadon.core import InputError
from celadon.io import Fields
from celadon.io.written_in import MARKUPS, language_named
from celadon.text.language import MIXED, NAMES, OTHER, UNKNOWN
from celadon.text.structure import Markup


def lines(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"text": "a", "output": "b", "prediction": "c"}, "a"),
        ({"prediction": "c", "output": "b"}, "b"),
        ({"prediction": "c"}, "c"),
    ],
)
def test_text_is_found_in_the_order_of_the_usual_names(read, write_bytes, row, text):
    assert read(write_bytes("a.jsonl", lines(row))).texts == [text]


def test_jsonl_rows_may_differ_in_their_keys(read, write_bytes):
    path = write_bytes("a.jsonl", lines({"text": "a"}, {"output": "b", "reference": "r"}, {"prediction": "c"}))
    outcome = read(path)
    assert outcome.texts == ["a", "b", "c"]
    assert outcome.reader.resolved == Fields(text="text", references="reference")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"references": ["x", "y"]}, ("x", "y")),
        ({"references": "x"}, ("x",)),
        ({"reference": "x"}, ("x",)),
        ({"reference": ["x"]}, ("x",)),
        ({"references": []}, ()),
        ({"references": None}, ()),
        ({"references": ""}, ("",)),
        ({"references": "[1]"}, ("[1]",)),
        ({"references": "x", "ref0": "y"}, ("x",)),
        ({"ref0": "x", "ref1": "y"}, ("x", "y")),
        ({"ref10": "k", "ref9": "j", "ref0": "a"}, ("a", "j", "k")),
        ({"ref0": "", "ref1": "y", "ref2": None}, ("y",)),
        ({"ref0": "", "ref1": ""}, ("",)),
        ({"ref0": None, "ref1": None}, ()),
        ({"refs": "x"}, ()),
        ({}, ()),
    ],
)
def test_references(read, write_bytes, columns, expected):
    outcome = read(write_bytes("a.jsonl", lines({"text": "t", **columns})))
    assert outcome.samples[0].references == expected


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ('"[""x"", ""y""]"', ("x", "y")),
        ("[x]", ("[x]",)),
        ("[1]", ("[1]",)),
        ("[]", ()),
        ("plain", ("plain",)),
        ("", ("",)),
    ],
)
def test_a_csv_cell_may_hold_a_json_list(read, write_bytes, cell, expected):
    outcome = read(write_bytes("a.csv", f"text,references\nt,{cell}\n".encode()))
    assert outcome.samples[0].references == expected


def test_numbered_reference_columns_in_csv(read, write_bytes):
    path = write_bytes("a.csv", b"text,ref0,ref1\na,x,y\nb,,y\nc,,\n")
    assert [sample.references for sample in read(path).samples] == [("x", "y"), ("y",), ("",)]


def test_a_given_stem_finds_numbered_columns(read, write_bytes):
    path = write_bytes("a.csv", b"text,gold0,gold1\na,x,y\n")
    outcome = read(path, fields=Fields(references="gold"))
    assert outcome.samples[0].references == ("x", "y")
    assert outcome.reader.resolved.references == "gold0, gold1"


def test_given_names_win_and_the_others_are_kept(read, write_bytes):
    row = {"text": "no", "hyp": "t", "gold": ["r"], "src": "s", "model": "m", "key": 7, "more": {"a": [1]}}
    fields = Fields(text="hyp", references="gold", source="src", system="model", id="key")
    sample = read(write_bytes("a.jsonl", lines(row)), fields=fields).samples[0]
    assert (sample.text, sample.references, sample.source, sample.system, sample.id) == ("t", ("r",), "s", "m", "7")
    assert list(sample.extra.items()) == list(row.items())


def test_nested_names_try_the_literal_key_then_the_path(read, write_bytes):
    fields = Fields(text="out.0.text", id="meta.id", references="meta.refs")
    path = write_bytes(
        "a.jsonl",
        lines(
            {"out": [{"text": "deep"}], "meta": {"id": 3, "refs": ["r"]}},
            {"out.0.text": "flat", "out": [{"text": "deep"}], "meta.id": "four"},
            {"out": [], "meta": {}},
        ),
    )
    outcome = read(path, fields=fields)
    assert outcome.texts == ["deep", "flat"]
    assert [sample.id for sample in outcome.samples] == ["3", "four"]
    assert [sample.references for sample in outcome.samples] == [("r",), ()]
    assert outcome.complaints == [f"{path}:3: no text: looked for out.0.text; there are out, meta"]


def test_nested_names_reach_into_parquet_structs(read, tmp_path):
    pq.write_table(pa.table({"row": [{"text": "a", "refs": ["x"]}]}), tmp_path / "a.parquet")
    sample = read(tmp_path / "a.parquet", fields=Fields(text="row.text", references="row.refs")).samples[0]
    assert (sample.text, sample.references) == ("a", ("x",))


def test_usual_names_with_unusual_values_do_not_spoil_the_row(read, write_bytes):
    path = write_bytes("a.jsonl", lines({"text": "t", "source": {"url": "u"}, "id": [1], "system": None}))
    sample = read(path).samples[0]
    assert (sample.source, sample.id, sample.system) == (None, None, None)


def test_but_a_given_name_with_such_a_value_is_a_bad_row(read, write_bytes):
    path = write_bytes("a.jsonl", lines({"text": "t", "source": {"url": "u"}}))
    assert read(path, fields=Fields(source="source")).complaints == [f"{path}:1: source is an object, not a string"]


@pytest.mark.parametrize(
    ("name", "data", "fields", "message"),
    [
        ("a.csv", b"a,b\n1,2\n", Fields(), "no text: looked for text, output, prediction; there are a, b"),
        ("a.tsv", b"text\tb\n1\t2\n", Fields(source="s"), "no source: looked for s; there are text, b"),
        ("a.csv", b"text,b\n1,2\n", Fields(references="r"), "no references: looked for r; there are text, b"),
        ("a.csv", b"text,b\n1,2\n", Fields(text="out"), "no text: looked for out; there are text, b"),
    ],
)
def test_a_header_without_a_column_is_an_error_of_the_file(read, write_bytes, name, data, fields, message):
    path = write_bytes(name, data)
    with pytest.raises(InputError) as caught:
        read(path, fields=fields)
    assert str(caught.value) == f"{path}: {message}"


def test_ids_are_strings_and_repeated_ids_are_kept(read, write_bytes):
    path = write_bytes("a.jsonl", lines({"text": "a", "id": 1}, {"text": "b", "id": 1}, {"text": "c", "id": "1"}))
    assert [(sample.id, sample.text) for sample in read(path).samples] == [("1", "a"), ("1", "b"), ("1", "c")]


def test_an_empty_id_cell_is_no_id(read, write_bytes):
    path = write_bytes("a.csv", b"text,id,system\na,,\nb,007,m\n")
    assert [(sample.id, sample.system) for sample in read(path).samples] == [(None, None), ("007", "m")]


def test_nothing_found_is_known(read, write_bytes):
    assert read(write_bytes("a.txt", b"a\n")).reader.resolved == Fields(text="text")


ROWS = [("a", "Markdown", "en-US"), ("b", "", ""), ("c", "rst", "English"), ("d", "plain", "sw"), ("e", "html", "spa")]
WRITTEN_IN = [("markdown", "en"), ("html", ""), ("rst", "en"), ("plain", "mis"), ("html", "es")]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "tsv", "parquet"])
def test_rows_say_what_they_are_written_in(read, tmp_path, kind):
    path = tmp_path / f"a.{kind}"
    rows = [dict(zip(("text", "format", "lang"), row, strict=True)) for row in ROWS]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "jsonl":
        path.write_bytes(lines(*rows))
    else:
        mark = "," if kind == "csv" else "\t"
        path.write_text("".join(mark.join(row) + "\n" for row in [("text", "format", "lang"), *ROWS]), encoding="utf-8")
    outcome = read(path, fields=Fields(markup="format", language="lang", default_markup="html"))
    assert [(sample.markup, sample.language) for sample in outcome.samples] == WRITTEN_IN
    # no column is taken for it that was not named
    assert {(sample.markup, sample.language) for sample in read(path).samples} == {("auto", "")}


def test_what_lines_of_text_are_written_in(read, write_bytes):
    (sample,) = read(write_bytes("a.txt", b"a\n"), fields=Fields(default_markup="rst")).samples
    assert (sample.markup, sample.language) == ("rst", "")


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"m": "latex"}, "m: 'latex' is no markup that is known; there are auto, markdown, rst, html, plain"),
        ({"m": 3}, "m is a number, not a string"),
        ({"l": "Klingonish"}, "l: 'Klingonish' is no language that is known; write an ISO 639 code, as en or es"),
    ],
)
def test_a_row_written_in_something_unknown_is_bad(read, write_bytes, row, complaint):
    path = write_bytes("a.jsonl", lines({"text": "a"}, {"text": "b", **row}))
    outcome = read(path, fields=Fields(markup="m", language="l"))
    assert outcome.texts == ["a"]
    assert outcome.complaints == [f"{path}:2: {complaint}"]


def test_a_header_without_the_column_of_markup(read, write_bytes):
    with pytest.raises(InputError, match="no markup: looked for m; there are text"):
        read(write_bytes("a.csv", b"text\na\n"), fields=Fields(markup="m"))


def test_languages_are_those_that_texts_are_identified_as():
    for code, name in NAMES.items():
        if code not in (UNKNOWN, OTHER, MIXED):
            assert language_named(code) == language_named(name) == language_named(f" {code.upper()}-XX ") == code
    assert [language_named(name) for name in (UNKNOWN, OTHER, MIXED, "", "nb", "zh_Hant_TW")] == [
        "",
        OTHER,
        MIXED,
        "",
        "no",
        "zh",
    ]
    assert MARKUPS == tuple(Markup) == scoring_options.MARKUPS
