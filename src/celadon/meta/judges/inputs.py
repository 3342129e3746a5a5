"""The table of an audit: scores of judges, ratings of people, and what else is known of each text."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np

from celadon.core import FloatArray, InputError, IntArray, UsageError
from celadon.meta.correlation import codes
from celadon.meta.raters import means
from celadon.meta.table import Columns, as_number, human_ratings, less_is_better

FEWEST_RATED = 5
_TEXTS = ("text", "output", "prediction")
_CONTEXTS = ("context", "source")


@dataclass(frozen=True)
class JudgeTable:
    """Scores and ratings of the same texts, one row for each text.

    ``judges`` are rows x repetitions by name, NaN for a gap; ``ratings`` rows x ratings, packed to the left. ``items``
    are what texts of several systems share; a row without an item is one of its own. ``names`` name every row once.
    ``covariates`` are further columns that a judge should not look at, ``alternatives`` scores that might replace it.
    """

    judges: Mapping[str, FloatArray]
    columns: Mapping[str, tuple[str, ...]]
    human: str
    ratings: FloatArray
    items: tuple[str, ...]
    names: tuple[str, ...]
    origins: tuple[str, ...]
    systems: tuple[str, ...] | None = None
    texts: tuple[str, ...] | None = None
    contexts: tuple[str, ...] | None = None
    times: FloatArray | None = None
    positions: FloatArray | None = None
    covariates: Mapping[str, FloatArray] = field(default_factory=dict)
    alternatives: Mapping[str, FloatArray] = field(default_factory=dict)
    families: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of texts."""
        return len(self.names)

    @cached_property
    def rating(self) -> FloatArray:
        """The mean rating of each text; NaN where nobody rated it."""
        return means(self.ratings)

    @cached_property
    def item_numbers(self) -> IntArray:
        """The items as numbers, which are quicker to group by."""
        return codes(self.items, self.rows)

    @cached_property
    def system_numbers(self) -> IntArray | None:
        """The systems as numbers; None where nobody says who made a text."""
        return None if self.systems is None else codes(self.systems, self.rows)

    def score(self, judge: str) -> FloatArray:
        """The mean of the repetitions of a judge."""
        return means(self.judges[judge])


def make_judge_table(
    rows: Iterable[Mapping[str, Any]],
    *,
    judges: Mapping[str, Sequence[str]],
    human: Sequence[str],
    alternatives: Sequence[str] = (),
    covariates: Sequence[str] = (),
    lower_is_better: Collection[str] = (),
    text_field: str | None = None,
    system_field: str | None = None,
    item_field: str | None = None,
    time_field: str | None = None,
    position_field: str | None = None,
    families: Mapping[str, Sequence[str]] | None = None,
) -> JudgeTable:
    """Make the table of an audit out of rows: what ``celadon.io.read_table_rows`` reads, or plain dicts.

    ``judges`` and ``human`` name columns, also by patterns as ``rater*.coherence``; ``families`` are, by judge,
    patterns of the systems that are of its own family.

    Raises
    ------
    InputError
        A column is missing or holds text, or too few rows have both a score and a rating.
    UsageError
        A column is named both as a judge and as a rating, or no judge was named.
    """
    table = Columns(rows)
    if not len(table):
        raise table.wrong("there are no rows")
    if not judges:
        raise UsageError("no judge was named; name its columns with --judge, for example --judge 'gpt.coherence.*'")
    columns = {name: matching(table, patterns, "judge's column") for name, patterns in judges.items()}
    raters = matching(table, human, "rating column", scores=True)
    for name, own in columns.items():
        if both := next((column for column in own if column in raters), None):
            raise UsageError(f"the column {both!r} is named both as a rating and as a score of the judge {name}")
    turned = {name for name in table.names if name in lower_is_better or less_is_better(name)}

    def numbers(name: str, what: str) -> FloatArray:
        if name not in table:
            raise table.missing(name, what)
        return -table.numbers(name, what) if name in turned else table.numbers(name, what)

    systems = _labels(table, system_field, "system")
    items = _labels(table, item_field, "id") or tuple(table.origins)
    items = tuple(item or origin for item, origin in zip(items, table.origins, strict=True))
    made = JudgeTable(
        judges={
            name: np.column_stack([numbers(column, "judge's column") for column in own])
            for name, own in columns.items()
        },
        columns=columns,
        human=raters[0] if len(raters) == 1 else ", ".join(human),
        ratings=_ratings(table, raters),
        items=items,
        names=_names(items, systems, table.origins),
        origins=tuple(table.origins),
        systems=systems,
        texts=_texts(table, text_field, _TEXTS),
        contexts=_texts(table, None, _CONTEXTS),
        times=_ordered(table, time_field, "time column"),
        positions=_ordered(table, position_field, "position column"),
        covariates={name: numbers(name, "covariate") for name in covariates},
        alternatives={name: numbers(name, "alternative") for name in alternatives},
        families=_families(judges, systems, families or {}),
    )
    check_rated(made, table.file)
    return made


def check_rated(table: JudgeTable, file: str = "") -> None:
    """Raise InputError where a judge has too few rated texts to be audited."""
    rated = np.isfinite(table.rating)
    for name in table.judges:
        both = int((rated & np.isfinite(table.score(name))).sum())
        if both < FEWEST_RATED:
            where = f"{file}: " if file else ""
            raise InputError(
                f"{where}{both or 'no'} row{'s' if both != 1 else ''} of {table.rows:,} "
                f"{'has' if both == 1 else 'have'} both a score of {name} and a rating {table.human!r}; "
                f"at least {FEWEST_RATED} are needed: ask people to rate some texts first"
            )


def matching(table: Columns, patterns: Sequence[str], what: str, *, scores: bool = False) -> tuple[str, ...]:
    """Return the columns that some patterns name, in their order in the table."""
    names: dict[str, None] = {}
    for pattern in patterns:
        if pattern in table or (scores and not any(mark in pattern for mark in "*?")):
            names[pattern] = None
            continue
        own = [name for name in table.names if fnmatchcase(name, pattern)]
        if not own:
            raise table.missing(pattern, what)
        names.update(dict.fromkeys(own))
    if not names:
        raise UsageError(f"no {what} was named")
    return tuple(names)


def with_answers(table: JudgeTable, rows: Iterable[Mapping[str, Any]], question: str | None = None) -> JudgeTable:
    """Return the table with the answers of an experiment added to its ratings: what ``celadon judge export`` wrote.

    Raises InputError where an answer is about an item that the table does not have, or where there are answers to
    several questions and none is named.
    """
    place = {name: row for row, name in enumerate(table.names)}
    answers: dict[int, list[float]] = {}
    questions: dict[str, None] = {}
    for number, answer in enumerate(rows):
        where = getattr(answer, "origin", f"answer {number + 1}")
        asked, item = str(answer.get("question") or ""), str(answer.get("item") or "")
        questions[asked] = None
        if question is not None and asked != question:
            continue
        if item not in place:
            raise InputError(
                f"{where}: the item {item!r} is not in the table; give the answers to the items that this audit chose"
            )
        value = as_number(answer.get("value"))
        if value is None:
            raise InputError(f"{where}: the value {answer.get('value')!r} is not a number")
        if math.isfinite(value):
            answers.setdefault(place[item], []).append(value)
    if question is not None and question not in questions:
        raise InputError(f"nobody answered the question {question!r}; the questions are {', '.join(questions)}")
    if question is None and len(questions) > 1:
        raise UsageError(f"there are answers to {', '.join(questions)}; choose one with --question")
    most = max(map(len, answers.values()), default=0)
    more = np.full((table.rows, most), np.nan)
    for row, values in answers.items():
        more[row, : len(values)] = values
    return replace(table, ratings=packed(np.hstack([table.ratings, more])))


def packed(ratings: FloatArray) -> FloatArray:
    """Move the ratings of each row to the left where there are gaps, and drop empty columns.

    Who gave a rating is lost, but a column of many people with few ratings each says nothing about any of them.
    """
    known = np.isfinite(ratings)
    if known.all():
        return ratings
    order = np.argsort(~known, axis=1, kind="stable")
    left = np.take_along_axis(ratings, order, axis=1)
    return left[:, : max(int(known.sum(axis=1).max(initial=0)), 1)]


def _ratings(table: Columns, raters: Sequence[str]) -> FloatArray:
    if len(raters) > 1:
        return packed(np.column_stack([table.numbers(name, "rating column") for name in raters]))
    mean, single = human_ratings(table, raters[0])
    return packed(single) if single is not None else mean[:, None]


def _labels(table: Columns, name: str | None, usual: str) -> tuple[str, ...] | None:
    if name is not None and name not in table:
        raise table.missing(name, f"{'item' if usual == 'id' else usual} column")
    place = name or usual
    labels = table.texts(place) if place in table else ()
    return labels if any(labels) else None


def _texts(table: Columns, name: str | None, usual: Sequence[str]) -> tuple[str, ...] | None:
    if name is not None and name not in table:
        raise table.missing(name, "text column")
    place = name or next((place for place in usual if place in table), None)
    return table.texts(place) if place else None


def _names(items: Sequence[str], systems: Sequence[str] | None, origins: Sequence[str]) -> tuple[str, ...]:
    """Name each row by its item, and system where items are shared; by its number where that is not enough."""
    names = list(items)
    if len(set(names)) < len(names) and systems is not None:
        names = [f"{item}/{system}" for item, system in zip(items, systems, strict=True)]
    if len(set(names)) < len(names):
        names = [f"row {row + 1}" for row in range(len(origins))]
    return tuple(names)


def _ordered(table: Columns, name: str | None, what: str) -> FloatArray | None:
    """Return a column of numbers, dates or two labels as numbers."""
    if name is None:
        return None
    if name not in table:
        raise table.missing(name, what)
    values = table.values(name)
    if table.is_numeric(name):
        return table.numbers(name, what)
    numbers = np.full(len(values), np.nan)
    labels = sorted({str(value) for value in values if value not in (None, "")})
    for row, value in enumerate(values):
        if value in (None, ""):
            continue
        if len(labels) == 2:
            numbers[row] = labels.index(str(value))
        else:
            numbers[row] = _seconds(value, table.origins[row], name, what)
    return numbers


def _seconds(value: Any, where: str, name: str, what: str) -> float:
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise InputError(
            f"{where}: the {what} {name!r} is {str(value)[:40]!r}; write numbers or dates as 2025-01-31T12:00"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _families(
    judges: Mapping[str, Sequence[str]], systems: Sequence[str] | None, families: Mapping[str, Sequence[str]]
) -> dict[str, frozenset[str]]:
    own: dict[str, frozenset[str]] = {}
    for judge, patterns in families.items():
        if judge not in judges:
            raise UsageError(f"--family: there is no judge {judge!r}; the judges are {', '.join(judges)}")
        names = sorted(set(systems or ()))
        members = frozenset(name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns))
        if not members:
            listed = f"the systems are {', '.join(names[:30])}" if names else "the table does not say who made a text"
            raise UsageError(f"--family: no system is {' or '.join(patterns)}; {listed}")
        own[judge] = members
    return own
