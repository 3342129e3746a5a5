"""Samples from what Python users hold: lists, pandas and polars frames, datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from celadon.core import InputError, Sample, UsageError
from celadon.io.fields import Fields, Resolver, RowError
from celadon.io.frames import frame_rows
from celadon.io.written_in import language_named, markup_named


def samples_from_table(table: Any, fields: Fields) -> tuple[Sample, ...]:
    """Turn the rows of a frame or dataset into samples.

    Parameters
    ----------
    table
        Anything with named columns: a pandas or polars frame, a ``datasets.Dataset``.
    fields
        Which column is what.
    """
    resolver = Resolver(fields)
    samples = []
    for number, row in enumerate(frame_rows(table)):
        plan = resolver.plan(tuple(row), cells=False)
        lacking = resolver.missing(plan, row)
        if lacking is not None:
            raise InputError(f"row {number}: {lacking}")
        try:
            values, written_in = plan.read(row), plan.written_in(row)
        except RowError as error:
            raise InputError(f"row {number}: {error}") from None
        samples.append(Sample(*values, row, f"row {number}", (), *written_in))
    return tuple(samples)


def is_table(data: Any) -> bool:
    """Whether the data have named columns."""
    return any(hasattr(data, name) for name in ("columns", "column_names"))


def samples_from_lists(
    texts: Iterable[Any],
    references: Sequence[Any] | None,
    sources: Sequence[Any] | None,
    systems: Sequence[Any] | str | None,
    ids: Sequence[Any] | None,
    markup: Sequence[Any] | str | None = None,
    languages: Sequence[Any] | str | None = None,
) -> tuple[Sample, ...]:
    """Turn lists of equal length into samples; elements of ``texts`` may be samples already."""
    if isinstance(texts, str | bytes | Mapping):
        raise UsageError(f"texts must be a list or a table, not a single {type(texts).__name__}; write [text]")
    listed = list(texts)
    if all(isinstance(item, Sample) for item in listed) and listed:
        if any(column is not None for column in (references, sources, systems, ids, markup, languages)):
            raise UsageError(
                "samples carry their own references, sources, systems, ids, markup and languages: give one or the other"
            )
        return tuple(_checked(sample, f"row {number}") for number, sample in enumerate(listed))
    if isinstance(references, str | bytes):
        raise UsageError("references must be a list with an entry for each text")
    columns = {"references": references, "sources": sources, "ids": ids}
    for name, given in (("systems", systems), ("markup", markup), ("languages", languages)):
        columns[name] = [given] * len(listed) if isinstance(given, str) else given
    for name, column in columns.items():
        if column is not None and len(column) != len(listed):
            raise UsageError(f"there are {len(listed)} texts but {len(column)} {name}")
    nothing = [None] * len(listed)
    names = ("references", "sources", "ids", "systems", "markup", "languages")
    rows = zip(listed, *(columns[name] or nothing for name in names), strict=True)
    return tuple(_sample(f"row {number}", row, references is not None) for number, row in enumerate(rows))


def _sample(where: str, row: tuple[Any, ...], has_references: bool) -> Sample:
    text, references, source, item, system, markup, language = row
    extra: dict[str, Any] = {"text": _string(text, "text", where)}
    several = _references(references, where)
    if source is not None:
        extra["source"] = _string(source, "source", where)
    if item is not None:
        extra["id"] = item = str(item)
    if system is not None:
        extra["system"] = _string(system, "system", where)
    if has_references:
        extra["references"] = list(several)
    sample = Sample(text, several, source, item, system, extra, where)
    if markup is None and language is None:
        return sample
    return _checked(replace(sample, markup=markup or "auto", language=language or ""), where)


def _checked(sample: Sample, where: str) -> Sample:
    """Return a sample that says where it is from, with its markup and language as they are called here."""
    if not sample.origin:
        sample = replace(sample, origin=where)
    if sample.markup == "auto" and not sample.language:
        return sample
    try:
        return replace(
            sample,
            markup=markup_named(_string(sample.markup, "markup", where)),
            language=language_named(_string(sample.language, "language", where)),
        )
    except ValueError as error:
        raise InputError(f"{where}: {error}") from None


def _references(value: Any, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, bytes | Mapping) or not isinstance(value, Iterable):
        raise InputError(f"{where}: references must be a string or a list of strings, not {type(value).__name__}")
    return tuple(_string(item, "reference", where) for item in value)


def _string(value: Any, what: str, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}: {what} must be a string, not {type(value).__name__}")
    return value
