"""The files of data sets, read with the place of every row, and the one form that their rows are read into."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from celadon.core import InputError
from celadon.io import delimited, jsonl
from celadon.io.lines import Report, decode, numbered_lines
from celadon.io.rows import origin
from celadon.io.sources import STDIN, Source, expand_paths, find_sources, open_stream

MAX_JSON_BYTES = 256 * 1024 * 1024


def data_files(path: str, pattern: str) -> list[str]:
    """Return the files meant by a path: itself, those it is a pattern of, or those of a folder that match it."""
    if path == STDIN:
        raise InputError("a data set cannot be read from the standard input; give its file or folder")
    if not Path(path).is_dir():
        return expand_paths([path])
    for some in pattern.split():
        files = sorted(str(file) for file in Path(path).glob(some) if file.is_file())
        if files:
            return files
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


# id, system, domain, text, references, source, then ``scores.DIM`` (one number) and ``ratings.DIM`` (a list)
Row: TypeAlias = dict[str, Any]
Number: TypeAlias = float | None


def judgement(
    *,
    id: str,  # noqa: A002
    text: str | None,
    scores: Mapping[str, Number],
    ratings: Mapping[str, Sequence[Number]] | None = None,
    system: str | None = None,
    domain: str | None = None,
    references: Sequence[str] = (),
    source: str | None = None,
    **more: Any,
) -> Row:
    """Return a row in the common form.

    ``id`` is the item, which rows of several systems share; ``text`` is None where the public file has only judgments;
    ``scores`` are published aggregates, ``ratings`` single ratings where they are known; ``references`` are people's
    texts for the same input. ``more`` are further columns.
    """
    row: Row = {
        "id": id,
        "system": system,
        "domain": domain,
        "text": text,
        "references": list(references),
        "source": source,
        **more,
    }
    row.update({f"scores.{dimension}": value for dimension, value in scores.items()})
    row.update({f"ratings.{dimension}": list(values) for dimension, values in (ratings or {}).items()})
    return row


class Fields:
    """The fields of one object or record, checked on the way out; errors begin with ``where``: ``file:line`` or the
    like.
    """

    def __init__(self, where: str, content: Any) -> None:
        self.where = where
        if not isinstance(content, Mapping):
            raise self.wrong("an object is expected")
        self.content = content

    def wrong(self, problem: str) -> InputError:
        """The complaint, with the place before it."""
        return InputError(f"{self.where}: {problem}")

    def has(self, name: str) -> bool:
        """Whether there is such a field with something in it."""
        return self.content.get(name) is not None

    def any(self, name: str) -> Any:
        """The field as it is."""
        if name not in self.content:
            raise self.wrong(f"has no {name!r}")
        return self.content[name]

    def text(self, *names: str) -> str:
        """The first of these fields that is there, as text; numbers are written out."""
        name = next((name for name in names if name in self.content), names[0])
        value = self.any(name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.wrong(f"{name!r} is no text")
        return str(value)

    def optional_text(self, *names: str) -> str | None:
        """As :meth:`text`, None where there is nothing."""
        name = next((name for name in names if self.content.get(name) is not None), None)
        return None if name is None else self.text(name)

    def texts(self, name: str) -> list[str]:
        """A list of texts; one text is a list of one, nothing is an empty one."""
        value = self.content.get(name)
        texts = [] if value is None else [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(item, str) for item in texts):
            raise self.wrong(f"{name!r} is no list of texts")
        return texts

    def number(self, name: str) -> float:
        """The field as a number."""
        return self.as_number(self.any(name), name)

    def as_number(self, value: Any, name: str) -> float:
        """A value as a number, under the name of the field that it is in."""
        try:
            number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self.wrong(f"{name!r} is not a number: {str(value)[:40]!r}")
        return number

    def numbers(self, name: str) -> list[float]:
        """A list of numbers, those that are null left out."""
        value = self.any(name)
        if not isinstance(value, list):
            raise self.wrong(f"{name!r} is no list of numbers")
        return [self.as_number(item, name) for item in value if item is not None]

    def inner(self, name: str) -> Fields:
        """An object inside this one."""
        return Fields(f"{self.where}: {name}", self.any(name))

    def objects(self, name: str) -> list[Fields]:
        """A list of objects inside this one."""
        value = self.any(name)
        if not isinstance(value, list):
            raise self.wrong(f"{name!r} is no list")
        return [Fields(f"{self.where}: {name} {number}", item) for number, item in enumerate(value, 1)]


def mean(values: Sequence[float]) -> Number:
    """The mean; None where there is nothing."""
    return math.fsum(values) / len(values) if values else None


def median(values: Sequence[float]) -> Number:
    """The median; None where there is nothing."""
    if not values:
        return None
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def is_plain(row: Fields) -> bool:
    """Return whether a row is in our own layout."""
    return row.has("output") and isinstance(row.content.get("scores"), dict)


def plain_row(row: Fields, domain: str | None = None, *, prefix: str = "", **more: Any) -> Row:
    """Return a row of our own layout: id, system, output, reference or references, source or mr, scores, ratings."""
    scores = row.inner("scores")
    means: dict[str, Number] = {
        name: scores.number(name) if scores.has(name) else None for name in map(str, scores.content)
    }
    # where some rows have ratings and others null, all get the column
    ratings: dict[str, list[float]] = {name: [] for name in means} if "ratings" in row.content else {}
    if row.has("ratings"):
        own = row.inner("ratings")
        ratings |= {name: own.numbers(name) for name in map(str, own.content)}
    return judgement(
        id=prefix + row.text("id"),
        system=row.optional_text("system"),
        domain=row.optional_text("domain") or domain,
        text=row.text("output"),
        references=row.texts("references") or row.texts("reference"),
        source=row.optional_text("source", "mr"),
        scores=means,
        ratings=ratings,
        **more,
    )


_SCORES, _RATINGS = "scores.", "ratings."
_NAMED = ("id", "system", "domain", "text", "references", "source")


def is_common(path: str) -> bool:
    """Return whether the first row of a file of JSON lines is in the form that ``celadon meta load`` writes."""
    if ".jsonl" not in path.lower():
        return False
    first = next(islice(json_lines(path), 1), None)
    return first is not None and "text" in first.content and any(str(key).startswith(_SCORES) for key in first.content)


def read_common(path: str) -> Iterator[Row]:
    """Return the rows as they were written; numbers are checked, further columns kept."""
    for row in json_lines(path):
        names = [str(name) for name in row.content]
        yield judgement(
            id=row.text("id"),
            system=row.optional_text("system"),
            domain=row.optional_text("domain"),
            text=row.optional_text("text"),
            references=row.texts("references"),
            source=row.optional_text("source"),
            scores={
                name.removeprefix(_SCORES): row.number(name) if row.has(name) else None
                for name in names
                if name.startswith(_SCORES)
            },
            ratings={name.removeprefix(_RATINGS): row.numbers(name) for name in names if name.startswith(_RATINGS)},
            **{
                name: row.content[name]
                for name in names
                if name not in _NAMED and not name.startswith((_SCORES, _RATINGS))
            },
        )
