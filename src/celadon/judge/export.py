"""The answers as a table: one row for each answer of each person about each unit."""

from __future__ import annotations

import csv
import io
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from celadon.core import UsageError
from celadon.io.arrow import require_pyarrow
from celadon.io.atomic import write_atomically
from celadon.io.values import mend_surrogates, to_json
from celadon.judge.conduct import Collected
from celadon.judge.experiment import Experiment, pair_of
from celadon.judge.judged import HTER, repair
from celadon.judge.store import KeptPage, Rating

FORMATS = ("csv", "jsonl", "parquet")
_TEXT_COLUMNS = ("answer", "item", "other_item", "cell", "system")
# a cell that begins so is taken for a formula by spreadsheets
_FORMULA = re.compile(r"[=+\-@\t\r]")
# the columns in their order, with Arrow's names of their types
_COLUMNS = {
    "participant": "string",
    "place": "int64",
    "page": "int64",
    "on_page": "int64",
    "cell": "string",
    "item": "string",
    "other_item": "string",
    "system": "string",
    "question": "string",
    "value": "float64",
    "answer": "string",
    "z": "float64",
    "normalised": "float64",
    "edits": "float64",
    "seconds": "float64",
    "seconds_in_all": "float64",
    "given": "string",
    "revised": "int64",
    "flags": "string",
}


def export_rows(experiment: Experiment, collected: Collected) -> list[dict[str, Any]]:
    """Make the rows.

    Returns rows with ``participant``, ``place`` (in line), ``page`` (its number on the person's way), ``on_page`` (the
    number of the text on it), ``cell``, ``item``, ``other_item`` (of a pair), ``system``, ``question``, ``value`` (as
    given; of a pair 1 where ``item`` was chosen, 0 where the other was; of a repair its HTER), ``answer`` (the words,
    where there are any), ``z`` (per person), ``normalised`` (what is compared with metrics), ``edits``, ``seconds``
    (from when the page was last shown), ``seconds_in_all`` (from when it was first shown), ``given`` (when, UTC),
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
        cell = units[rating.unit], people[rating.participant]
        row = {
            "participant": rating.participant,
            "place": places[rating.participant],
            "page": rating.position,
            **_unit(experiment, rating, kept),
            "question": name,
            "value": float(matrix.ratings[cell]),
            "answer": rating.answer.text,
            "z": float(matrix.z[cell]),
            "normalised": float(matrix.normalised[cell]),
            "edits": _edits(experiment, rating),
            **_timing(rating, kept),
            "revised": rating.revised,
            "flags": flags.get(rating.participant, ""),
        }
        rows.append(row)
    return rows


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
    if kind not in FORMATS:
        raise UsageError(f"unknown format {kind!r}; known: {', '.join(FORMATS)}")
    plain = [{name: _plain(row[name]) for name in _COLUMNS} for row in rows]
    if kind == "parquet":
        return _parquet(plain)
    if kind == "csv":
        return _csv(plain)
    return b"".join(to_json(row) + b"\n" for row in plain)


def _csv(rows: list[dict[str, Any]]) -> bytes:
    lines: list[str] = []
    # Only with a carriage return in the terminator does the csv module quote cells that hold one.
    writer = csv.DictWriter(SimpleNamespace(write=lines.append), list(_COLUMNS), lineterminator="\r\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({**row, **{name: safe_for_spreadsheets(row[name]) for name in _TEXT_COLUMNS}})
    return mend_surrogates("".join(f"{line[:-2]}\n" for line in lines)).encode()


def safe_for_spreadsheets(text: str | None) -> str | None:
    """Put an apostrophe before a text that begins like a formula."""
    return f"'{text}" if text and _FORMULA.match(text) else text


def _parquet(rows: list[dict[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in _COLUMNS.items()])
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), file, compression="zstd")
    return file.getvalue()


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def write_export(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the rows in the format of the file's ending; it appears whole or not at all."""
    kind = path.suffix.lstrip(".").lower()
    if kind == "parquet":
        require_pyarrow(str(path))
    content = export_bytes(rows, kind)
    with write_atomically(str(path)) as file:
        file.write(content)
