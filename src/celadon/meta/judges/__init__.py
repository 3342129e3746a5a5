"""Audit a judge: does it agree with people, does it repeat itself, what else does it look at, and is it worth it?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from celadon.core import FloatArray, UsageError
from celadon.io.frames import frame_rows
from celadon.meta.correlation import Kind, check_kind
from celadon.meta.gate_agreement import gate_agreement
from celadon.meta.judges.inputs import JudgeTable, check_rated, make_judge_table, with_answers
from celadon.meta.judges.labels import next_items, system_means
from celadon.meta.judges.measures import agreement_of, alternatives_of, biases_of, combination_of
from celadon.meta.judges.results import Audit, JudgeAudit, Verdict
from celadon.meta.judges.verdict import verdict_of
from celadon.meta.repeatability import averaging, flips, repeatability
from celadon.meta.study.people import agreement

__all__ = ["KINDS", "REPEATS", "Audit", "JudgeAudit", "JudgeTable", "audit", "audit_table", "best_judge", "next_items"]

KINDS = ("pearson", "spearman")
REPEATS = ("runs", "prompts")
DEFAULT_SEED = 20000601
DEFAULT_RESAMPLES = 1000
# reading the layout of a text takes up to a millisecond
_MOST_READ = 20_000


def audit(
    frame: Any,
    *,
    judge: str | Sequence[str] | Mapping[str, str | Sequence[str]],
    human: str | Sequence[str],
    gate: float | None = None,
    judge_gate: float | None = None,
    repeats: str = "runs",
    alternatives: Sequence[str] = (),
    covariates: Sequence[str] = (),
    lower_is_better: Collection[str] = (),
    text_field: str | None = None,
    system_field: str | None = None,
    item_field: str | None = None,
    time_field: str | None = None,
    position_field: str | None = None,
    family: Mapping[str, Sequence[str]] | None = None,
    answers: Iterable[Mapping[str, Any]] | None = None,
    question: str | None = None,
    width: float | None = None,
    correlation: str = "pearson",
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
) -> Audit:
    """Audit judges against people's ratings.

    Parameters
    ----------
    frame
        A pandas or polars frame, or rows as dicts: one row for each text.
    judge
        Columns of the judge, by name or pattern; several columns are repetitions of one judge. A list has a judge in
        each of its elements, a mapping names them.
    human
        Rating columns, by name or pattern; several are raters.
    gate, judge_gate
        From which rating on a text passes; ``judge_gate`` for a judge with a scale of its own.
    repeats
        What repetitions are: ``runs`` or ``prompts``.
    alternatives
        Columns of other scores, to be compared with the judge; with texts also their length and repetition.
    covariates
        Columns that a judge should not look at, beside length and layout of the texts.
    lower_is_better
        Columns of which less is better.
    text_field, system_field, item_field, time_field, position_field
        Columns of the text, who made it, what texts of several systems share, when it was scored, and where it stood.
    family
        By judge, names or patterns of the systems of its own family.
    answers, question
        Further ratings: what ``celadon judge export`` wrote of an experiment with the chosen items, and which question.
    width
        The wanted width of the 95% interval of a mean rating; by default half of the present one.
    correlation
        ``pearson`` or ``spearman``.
    resamples, seed
        Of the bootstrap; the same seed gives the same figures.

    Examples
    --------
    >>> import celadon.meta
    >>> rows = [
    ...     {"id": str(n), "judge": n % 5 + 1, "rater1": n % 5 + 1, "rater2": (n + n // 9) % 5 + 1} for n in range(40)
    ... ]
    >>> result = celadon.meta.audit(rows, judge="judge", human="rater*", gate=4)
    >>> round(result.judges[0].agreement[0].value, 2)
    0.74
    """
    table = make_judge_table(
        frame_rows(frame),
        judges=named_judges(judge),
        human=[human] if isinstance(human, str) else human,
        alternatives=alternatives,
        covariates=covariates,
        lower_is_better=lower_is_better,
        text_field=text_field,
        system_field=system_field,
        item_field=item_field,
        time_field=time_field,
        position_field=position_field,
        families=family,
    )
    if answers is not None:
        table = with_answers(table, answers, question)
        check_rated(table)
    return audit_table(
        table,
        gate=gate,
        judge_gate=judge_gate,
        repeats=repeats,
        width=width,
        kind=check_kind(correlation),
        resamples=resamples,
        seed=seed,
    )


def named_judges(judge: str | Sequence[str] | Mapping[str, str | Sequence[str]]) -> dict[str, list[str]]:
    """Return the patterns of each judge by its name; one without a name is called as its pattern begins."""
    if isinstance(judge, Mapping):
        return {name: [some] if isinstance(some, str) else list(some) for name, some in judge.items()}
    patterns = [judge] if isinstance(judge, str) else list(judge)
    return {pattern.rstrip("*?").rstrip("._-/ ") or pattern: [pattern] for pattern in patterns}


def audit_table(
    table: JudgeTable,
    *,
    gate: float | None = None,
    judge_gate: float | None = None,
    repeats: str = "runs",
    width: float | None = None,
    kind: Kind = "pearson",
    resamples: int = DEFAULT_RESAMPLES,
    seed: int = DEFAULT_SEED,
    tick: Callable[[int, int], None] | None = None,
) -> Audit:
    """Audit every judge of a table; ``tick`` is called with how many of how many judges are done."""
    if kind not in KINDS:
        raise UsageError(f"unknown correlation {kind!r}; known: {', '.join(KINDS)}")
    if repeats not in REPEATS:
        raise UsageError(f"repetitions are {' or '.join(REPEATS)}, not {repeats!r}")
    if width is not None and not width > 0:
        raise UsageError(f"the width of an interval is above 0, not {width:g}")
    surface, free = _read_texts(table, seed)
    raters = int(np.isfinite(table.ratings).sum(axis=1).max(initial=0))
    people = agreement(table.human, table.ratings, kind) if raters > 1 else None
    judges = []
    for done, name in enumerate(table.judges, 1):
        one = _judge(
            table, name, surface, {**free, **table.alternatives}, gate, judge_gate, width, kind, resamples, seed
        )
        judges.append(one._replace(verdict=verdict_of(one, people, repeats)))
        if tick is not None:
            tick(done, len(table.judges))
    notes = tuple(_notes(table, raters))
    return Audit(table, tuple(judges), kind, repeats, gate, judge_gate, people, raters, notes, seed, resamples)


def _judge(
    table: JudgeTable,
    name: str,
    surface: Mapping[str, FloatArray],
    others: Mapping[str, FloatArray],
    gate: float | None,
    judge_gate: float | None,
    width: float | None,
    kind: Kind,
    resamples: int,
    seed: int,
) -> JudgeAudit:
    scores, matrix = table.score(name), table.judges[name]
    scored = np.isfinite(scores)
    rated = scored & np.isfinite(table.rating)
    own_gate = gate if judge_gate is None else judge_gate
    several = bool((np.isfinite(matrix).sum(axis=1) > 1).sum() > 1)
    clusters = table.item_numbers
    means, differences, widths = system_means(table, name, width)
    return JudgeAudit(
        judge=name,
        columns=table.columns[name],
        scored=int(scored.sum()),
        rated=int(rated.sum()),
        verdict=Verdict("", (), (), ()),
        agreement=agreement_of(table, name, kind, resamples=resamples, seed=seed),
        gate=None
        if gate is None
        else gate_agreement(scores, table.ratings, gate=gate, judge_gate=judge_gate, clusters=clusters),
        repeatability=repeatability(matrix) if several else None,
        flips=flips(matrix, own_gate, clusters=clusters) if several and own_gate is not None else None,
        averaging=averaging(matrix, own_gate) if several else (),
        biases=biases_of(table, name, surface),
        alternatives=alternatives_of(table, name, others, kind),
        combination=combination_of(table, name, others, kind, seed),
        means=means,
        differences=differences,
        widths=widths,
    )


def best_judge(result: Audit) -> str:
    """Return the judge that agrees best with people over texts."""
    known = [one for one in result.judges if np.isfinite(one.agreement[0].value)]
    return max(known or result.judges, key=lambda one: one.agreement[0].value).judge


def _read_texts(table: JudgeTable, seed: int) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Read length, layout and repetition off the rated texts, of very many off some of them.

    Returns what a judge should not look at (length in doublings, layout in tenths of the text), and free scores.
    """
    if table.texts is None:
        return {}, {}
    from celadon.text.surface_features import surface_features

    rows = np.flatnonzero(np.isfinite(table.rating))
    if len(rows) > _MOST_READ:
        rows = np.random.default_rng(seed).choice(rows, _MOST_READ, replace=False)
    features = np.full((table.rows, 5), np.nan)
    for row in rows.tolist():
        if table.texts[row].strip():
            features[row] = surface_features(table.texts[row])
    words, lists, code, headings, repetition = features.T
    length = np.log2(np.maximum(words, 1))
    surface = {"length": length, "lists": 10 * lists, "code": 10 * code, "headings": 10 * headings}
    return surface, {"length": length, "no repetition": -repetition}


def _notes(table: JudgeTable, raters: int) -> list[str]:
    notes = []
    unrated = int((~np.isfinite(table.rating)).sum())
    if unrated:
        notes.append(f"{unrated:,} of {table.rows:,} texts have no rating; they count only where mean ratings are told")
    for name in table.judges:
        missing = int((~np.isfinite(table.score(name))).sum())
        if missing:
            notes.append(f"{missing:,} of {table.rows:,} texts have no score of {name} and are left out")
    if raters < 2:
        notes.append(
            "no text has two ratings: there is no human ceiling, and the error of ratings is not taken out of biases"
        )
    return notes
