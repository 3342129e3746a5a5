"""The answers as a table: one row for each answer of each person about each unit."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.core import UsageError
from celadon.io.atomic import Draft, output_errors
from celadon.judge.conduct import Collected
from celadon.judge.experiment import Experiment, pair_of
from celadon.judge.judged import HTER, Judged, repair
from celadon.judge.store import KeptPage, Rating

if TYPE_CHECKING:
    import polars as pl

FORMATS = ("csv", "jsonl", "parquet")
_TEXT_COLUMNS = ("answer", "item", "other_item", "cell", "system")
# a cell that begins so is taken for a formula by spreadsheets
_FORMULA = r"^[=+\-@\t\r]"


def export_rows(experiment: Experiment, collected: Collected) -> list[dict[str, Any]]:
    """Make the rows.

    Returns
    -------
    list
        ``participant``, ``place`` (in line), ``page`` (its number on the person's way), ``on_page`` (the number of the
        text on it), ``cell``, ``item``, ``other_item`` (of a pair), ``system``, ``question``, ``value`` (as given; of a
        pair 1 where ``item`` was chosen, 0 where the other was; of a repair its HTER), ``answer`` (the words, where
        there are any), ``z`` (per person), ``normalised`` (what is compared with metrics), ``edits``, ``seconds`` (from
        when the page was last shown), ``seconds_in_all`` (from when it was first shown), ``given`` (when, UTC),
        ``revised`` (how often), ``flags``.
    """
    flags = {person.participant: "; ".join(person.flags) for person in collected.conduct}
    places = {person.id: person.place for person in collected.people}
    pages = {(person, kept.position): kept for person, way in collected.ways.items() for kept in way}
    at = {
        name: ({unit: row for row, unit in enumerate(m.units)}, {who: c for c, who in enumerate(m.people)})
        for name, m in collected.matrices.items()
    }
    rows = []
    for rating in collected.trials:
        kept = pages[rating.participant, rating.position]
        name = HTER if experiment.config.design == "postedit" else rating.question
        units, people = at[name]
        matrix = collected.matrices[name]
        values = _values(matrix, units[rating.unit], people[rating.participant])
        row = {
            "participant": rating.participant,
            "place": places[rating.participant],
            "page": rating.position,
            **_unit(experiment, rating, kept),
            "question": name,
            "value": values["value"],
            "answer": rating.answer.text,
            "z": values["z"],
            "normalised": values["normalised"],
            "edits": _edits(experiment, rating),
            **_timing(rating, kept),
            "revised": rating.revised,
            "flags": flags.get(rating.participant, ""),
        }
        rows.append(row)
    return rows


def _values(matrix: Judged, row: int, column: int) -> dict[str, float]:
    found = {"value": matrix.given, "z": matrix.z, "normalised": matrix.normalised}
    return {name: float(values[row, column]) for name, values in found.items()}


def _unit(experiment: Experiment, rating: Rating, kept: KeptPage) -> dict[str, Any]:
    key, other = pair_of(rating.unit) if experiment.config.design == "pairwise" else (rating.unit, None)
    return {
        "on_page": kept.page.items.index(key) + 1,
        "cell": kept.page.cell,
        "item": key,
        "other_item": other,
        "system": experiment.by_key[key].system,
    }


def _edits(experiment: Experiment, rating: Rating) -> float | None:
    if experiment.config.design != "postedit":
        return None
    return repair(experiment.by_key[rating.unit].text, rating.answer.text or "").edits


def _timing(rating: Rating, kept: KeptPage) -> dict[str, Any]:
    whole = None if kept.first_shown is None or kept.answered is None else kept.answered - kept.first_shown
    return {
        "seconds": kept.seconds,
        "seconds_in_all": whole,
        "given": datetime.fromtimestamp(rating.given, UTC).isoformat(timespec="milliseconds"),
    }


def export_bytes(rows: list[dict[str, Any]], kind: str) -> bytes:
    """The rows as a file's content: ``csv``, ``jsonl`` or ``parquet``.

    In CSV a text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    frame = _frame(rows)
    file = io.BytesIO()
    if kind == "csv":
        safe_for_spreadsheets(frame).write_csv(file)
    elif kind == "jsonl":
        frame.write_ndjson(file)
    elif kind == "parquet":
        frame.write_parquet(file)
    else:
        raise UsageError(f"unknown format {kind!r}; known: {', '.join(FORMATS)}")
    return file.getvalue()


def safe_for_spreadsheets(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before texts that begin like a formula."""
    import polars as pl

    return frame.with_columns(
        pl.when(pl.col(name).str.contains(_FORMULA))
        .then(pl.concat_str(pl.lit("'"), pl.col(name)))
        .otherwise(pl.col(name))
        .alias(name)
        for name in _TEXT_COLUMNS
    )


def _frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    import polars as pl

    schema: Mapping[str, Any] = {
        "participant": pl.String,
        "place": pl.Int64,
        "page": pl.Int64,
        "on_page": pl.Int64,
        "cell": pl.String,
        "item": pl.String,
        "other_item": pl.String,
        "system": pl.String,
        "question": pl.String,
        "value": pl.Float64,
        "answer": pl.String,
        "z": pl.Float64,
        "normalised": pl.Float64,
        "edits": pl.Float64,
        "seconds": pl.Float64,
        "seconds_in_all": pl.Float64,
        "given": pl.String,
        "revised": pl.Int64,
        "flags": pl.String,
    }
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    return pl.DataFrame(plain, schema=schema)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def write_export(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the rows in the format of the file's ending; it appears whole or not at all."""
    kind = path.suffix.lstrip(".").lower()
    content = export_bytes(rows, kind)
    draft = Draft(str(path))
    try:
        temporary, file = draft.open()
        with output_errors(str(path)):
            file.write(content)
        draft.commit(temporary)
    finally:
        draft.abort()
