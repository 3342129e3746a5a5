"""Opening the files of data sets: lines, records, objects, whole JSON; each with the place it was found at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from celadon.core import InputError
from celadon.io import delimited, jsonl
from celadon.io.judgements.rows import Fields
from celadon.io.lines import Report, decode, numbered_lines
from celadon.io.rows import origin
from celadon.io.sources import STDIN, Source, expand_paths, find_sources, open_stream

MAX_JSON_BYTES = 256 * 1024 * 1024


def data_files(path: str, pattern: str) -> list[str]:
    """The files meant by a path: itself, those it is a pattern of, or those of a folder that match the data set's."""
    if path == STDIN:
        raise InputError("a data set cannot be read from the standard input; give its file or folder")
    if not Path(path).is_dir():
        return expand_paths([path])
    for some in pattern.split():
        found = sorted(str(file) for file in Path(path).glob(some) if file.is_file())
        if found:
            return found
    raise InputError(f"{path}: the folder has no file {' or '.join(pattern.split())}")


def stem(path: str) -> str:
    """The file's name without its endings."""
    return Path(path).name.partition(".")[0]


def _source(path: str, kind: str) -> Source:
    return find_sources([path], kind)[0]


def _refuse(path: str) -> Report:
    """A data set is read whole or not at all: the first bad row is an error."""

    def report(line: int, problem: str, _raw: bytes, _cut: bool) -> None:
        raise InputError(f"{origin(path, line, by_row=False)}: {problem}")

    return report


def json_lines(path: str) -> Iterator[Fields]:
    """Every object of a file of JSON lines."""
    with open_stream(_source(path, "jsonl")) as stream:
        for line, _, row in jsonl.records(stream, _refuse(path)):
            yield Fields(origin(path, line, by_row=False), row)


def table(path: str, *needed: str) -> Iterator[Fields]:
    """Every record of a CSV or TSV file with a header, which must have the needed columns."""
    kind = "tsv" if ".tsv" in Path(path).name.lower() else "csv"
    first = True
    with open_stream(_source(path, kind)) as stream:
        for line, _, row in delimited.records(stream, _refuse(path), "\t" if kind == "tsv" else ","):
            lacking = [name for name in needed if name not in row] if first else []
            if lacking:
                raise InputError(f"{path}: has no column {', '.join(lacking)}; its columns are {', '.join(row)}")
            first = False
            yield Fields(origin(path, line, by_row=False), row)


def text_lines(path: str) -> Iterator[tuple[str, str]]:
    """Every line that is not blank, without its ending, with its place."""
    report = _refuse(path)
    with open_stream(_source(path, "txt")) as stream:
        for number, raw, cut in numbered_lines(stream.buffer):
            text = decode(number, raw, cut, report)
            if text is not None and text.strip():
                yield origin(path, number, by_row=False), text.rstrip("\r\n")


def whole_json(path: str) -> Any:
    """A file that is one JSON value."""
    with open_stream(_source(path, "jsonl")) as stream:
        data = stream.buffer.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        raise InputError(f"{path}: is larger than {MAX_JSON_BYTES >> 20} MiB")
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not valid UTF-8") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not usable JSON") from None
