"""``--best-of``: the best of a family of metrics, as the papers' BLEU-best and ROUGE-best."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables
from celadon.cli.meta.tables import bounds, chance, figure
from celadon.cli.progress import CountProgress

if TYPE_CHECKING:
    from celadon.meta.best_of import BestRow
    from celadon.meta.study import CorrelationRow, Study


def add_best_of(command: argparse.ArgumentParser) -> None:
    """The option."""
    command.add_argument(
        "--best-of",
        action="append",
        default=[],
        metavar="NAME=A,B",
        help="also the best of these metrics, as the papers' ROUGE-best: rouge-best=rouge1,rouge2,rougeL, or "
        "'bleu-best=bleu*'; may be given again",
    )


def best_of(arguments: argparse.Namespace, study: Study) -> tuple[BestRow, ...]:
    """The best of each family that is asked for, at the levels of the study."""
    from celadon.core import UsageError
    from celadon.meta.best_of import best_rows, members_of

    families: dict[str, tuple[str, ...]] = {}
    for text in arguments.best_of:
        name, _, rest = text.partition("=")
        wanted = meta_tables.named([rest])
        if not name.strip() or not wanted:
            raise UsageError(f"--best-of is written NAME=METRIC,METRIC, as rouge-best=rouge1,rougeL; not {text!r}")
        families[name.strip()] = members_of(wanted, study.table.metrics)
    levels = tuple(dict.fromkeys(meta_tables.level_of(row.level.replace("_", "-")) for row in study.correlations))
    return best_rows(study.table, families, arguments.correlation, levels, seed=study.seed)


def print_best(rows: tuple[BestRow, ...]) -> None:
    """A table of them, and what to beware of."""
    from celadon.meta.best_of import FLATTERS
    from celadon.meta.study.notes import LEVEL_WORDS
    from celadon.text.layout import printable, table

    if not rows:
        return
    header = ["best of", "rating", "texts", "metric", rows[0].kind, "across halves", "chosen there", "of"]
    cells = [
        [
            *(printable(row.family), printable(row.human), LEVEL_WORDS[row.level], printable(row.reason or row.metric)),
            *(figure(row.value), figure(row.across)),
            *(printable(", ".join(dict.fromkeys(row.chosen)) or "-"), str(row.members)),
        ]
        for row in rows
    ]
    print(table(header, cells), end="\n\n")
    meta_tables.print_notes([FLATTERS])


_ACROSS = 6
_GROUPS = ("system", "domain", "reliable")


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "correlate",
        help="correlation of each metric with each rating, with intervals; by system, by domain, on reliable texts",
        description="Correlate metrics with ratings. Positive is agreement, whichever way a metric counts.",
    )
    meta_tables.add_table(command)
    meta_tables.add_metrics(command)
    meta_tables.add_correlation(command)
    add_best_of(command)
    command.add_argument(
        "--level",
        action="append",
        choices=meta_tables.LEVELS,
        help="over all texts, over systems, or within items; may be given again (default: all that the table allows)",
    )
    command.add_argument(
        "--by",
        action="append",
        choices=(*_GROUPS, "none"),
        help="break down by this; reliable: only texts on which all raters agree (default: all that are known)",
    )
    command.add_argument(
        "--unit",
        choices=("rows", "items", "systems", "both"),
        help="what the bootstrap draws (default: items where they are known, else rows; over systems both)",
    )
    meta_tables.add_drawing(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Correlate and print."""
    from celadon.meta.study import make_study

    table = meta_tables.table_of(arguments)
    with CountProgress("correlations") as progress:
        study = make_study(
            table,
            kind=arguments.correlation,
            levels=[meta_tables.level_of(level) for level in arguments.level] if arguments.level else None,
            resamples=arguments.resamples,
            seed=meta_tables.seed_of(arguments),
            parts=("correlations", "agreements"),
            groups=arguments.by or _GROUPS,
            unit=arguments.unit,
            tick=progress,
        )
    best = best_of(arguments, study)
    if arguments.json:
        meta_tables.print_json(_as_json(study) | {"best_of": best})
    else:
        _print(study)
        print_best(best)
    return 0


def _as_json(study: Study) -> dict[str, Any]:
    table = study.table
    return {
        "rows": table.rows,
        "seed": study.seed,
        "resamples": study.resamples,
        "lower_is_better": sorted(table.lower_is_better & {*table.metrics, *table.humans}),
        "correlations": study.correlations,
        "ceilings": {row.human: row.ceiling for row in study.agreements},
        "notes": study.notes,
    }


def _print(study: Study) -> None:
    from celadon.meta.study.notes import LEVEL_WORDS
    from celadon.text.layout import printable, table

    ceilings = {row.human: row.ceiling for row in study.agreements}
    whole = [row for row in study.correlations if not row.group]
    for human, level in dict.fromkeys((row.human, row.level) for row in whole):
        rows = [row for row in whole if (row.human, row.level) == (human, level)]
        ceiling = ceilings.get(human, float("nan"))
        people = f" (people reach {ceiling:.3f})" if level == "instance" and not math.isnan(ceiling) else ""
        print(printable(f"{human}, {LEVEL_WORDS[level]}{people}"))
        header = ["metric", rows[0].kind, "95% interval", "p", "error after fit", "rows", "nulls"]
        reasons = any(row.reason for row in rows)
        cells = [
            [printable(row.metric), figure(row.value), bounds(row.low, row.high), chance(row.pvalue)]
            + ["-" if math.isnan(row.error) else f"{row.error:.4g}", f"{row.used:,}", f"{row.nulls:,}"]
            + ([row.reason] if reasons else [])
            for row in rows
        ]
        print(table([*header, *(["why"] if reasons else [])], cells), end="\n\n")
    for human in dict.fromkeys(row.human for row in whole):
        _print_groups([row for row in study.correlations if row.human == human and row.group])
    meta_tables.print_notes(study.notes)


def _print_groups(rows: list[CorrelationRow]) -> None:
    """Metrics down, groups across, the number of texts under each group's name; a few groups at a time."""
    from celadon.text.layout import printable, table

    groups = list(dict.fromkeys(row.group for row in rows))
    values = {(row.metric, row.group): row.value for row in rows}
    texts = {group: max(row.used for row in rows if row.group == group) for group in groups}
    metrics = list(dict.fromkeys(row.metric for row in rows))
    for start in range(0, len(groups), _ACROSS):
        some = groups[start : start + _ACROSS]
        print(printable(f"{rows[0].human}, {rows[0].kind}, by group"))
        cells = [["texts", *(f"{texts[group]:,}" for group in some)]]
        cells += [[printable(metric), *(figure(values[metric, group]) for group in some)] for metric in metrics]
        print(table(["metric", *map(printable, some)], cells), end="\n\n")
