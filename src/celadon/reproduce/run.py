"""One run: find the data, score it, make the tables, write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from celadon.core import InputError, UsageError
from celadon.reproduce import tables_gruen, tables_slor
from celadon.reproduce.blocks import Figure, PaperTable, section, write_section
from celadon.reproduce.scoring import Choice, ScoredSet, choose, score_set, steps
from celadon.reproduce.sets import PLANS, RatedSet, find_folder, load_sets
from celadon.reproduce.store import ScoreStore

Progress: TypeAlias = Callable[[int, str], None]
"""Told, once for each step, how many steps there are in all and what is being done."""


class _Maker(NamedTuple):
    make: Callable[[Mapping[str, ScoredSet]], PaperTable]
    sets: tuple[str, ...]


_DIALOGUE = ("bagel", "sfhotel", "sfrest")
TABLES = {
    "gruen2": _Maker(tables_gruen.table_2, ("cnndm",)),
    "gruen3": _Maker(tables_gruen.table_3, _DIALOGUE),
    "gruen4": _Maker(tables_gruen.table_4, ("sulem",)),
    "gruen8": _Maker(tables_gruen.table_8, ("cnndm", *_DIALOGUE, "toutanova")),
    "gruen9": _Maker(tables_gruen.table_9, ("cnndm",)),
    "slor3": _Maker(tables_slor.table_3, tuple(PLANS)),
    "slor7": _Maker(tables_slor.table_7, tuple(PLANS)),
}


@dataclass(frozen=True)
class Job:
    """What is asked for: an empty list of metrics or tables means all, and without ``data`` its folder is looked for.

    Scores are kept in ``work``; ``fresh`` makes every score again.
    """

    data: str | None
    work: str
    output: str
    metrics: Sequence[str] = ()
    without: Sequence[str] = ()
    only: Sequence[str] = ()
    fresh: bool = False

    @property
    def command(self) -> list[str]:
        """The command that makes the same tables again; folders, which differ from place to place, are left out."""
        given = (("--metric", self.metrics), ("--without", self.without), ("--only", self.only))
        return ["celadon", "meta", "reproduce", *(word for name, of in given if of for word in (name, ",".join(of)))]


@dataclass(frozen=True)
class Outcome:
    """What came of it: the tables, the data and the metrics they are made from, and the section that was written."""

    tables: tuple[PaperTable, ...]
    sets: Mapping[str, ScoredSet]
    choice: Choice
    section: str


def run(job: Job, progress: Progress = lambda _total, _what: None) -> Outcome:
    """Make the tables and write them."""
    unknown = [name for name in job.only if name not in TABLES]
    if unknown:
        raise UsageError(f"unknown table {unknown[0]!r}; known: {', '.join(TABLES)}")
    names = [name for name in TABLES if not job.only or name in job.only]
    wanted = [name for name in PLANS if any(name in TABLES[table].sets for table in names)]
    folder = find_folder(job.data)
    sets = load_sets(folder, wanted)
    if not sets:
        raise InputError(f"{folder}: has no judgements of {', '.join(PLANS[name].title for name in wanted)}")
    choice = choose(job.metrics, job.without)
    scored = _scored(sets, choice, ScoreStore(Path(job.work), fresh=job.fresh), progress)
    tables = tuple(
        TABLES[name].make({key: scored[key] for key in TABLES[name].sets if key in scored}) for name in names
    )
    made = section(job.command, sets, tables, choice, wanted)
    write_section(job.output, made)
    return Outcome(tables, scored, choice, made)


def _scored(
    sets: Mapping[str, RatedSet], choice: Choice, store: ScoreStore, progress: Progress
) -> dict[str, ScoredSet]:
    total = sum(steps(rated, choice) for rated in sets.values())
    return {name: score_set(rated, choice, store, lambda what: progress(total, what)) for name, rated in sets.items()}


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Every figure in full precision, and what each rests on."""
    return {
        "figures": [_figure(figure) for table in outcome.tables for figure in table.figures],
        "sets": {
            name: {"rows": len(scored.rated.samples), "not_run": dict(scored.not_run)}
            for name, scored in outcome.sets.items()
        },
        "no_data": [name for name in PLANS if name not in outcome.sets],
        "signatures": dict(outcome.choice.signatures),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in figure._asdict().items()
    }
