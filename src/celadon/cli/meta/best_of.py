"""``--best-of``: the best of a family of metrics, as the papers' BLEU-best and ROUGE-best."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from celadon.cli.meta import tables as meta_tables

if TYPE_CHECKING:
    from celadon.meta.best_of import BestRow
    from celadon.meta.study import Study


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
            printable(row.family),
            printable(row.human),
            LEVEL_WORDS[row.level],
            printable(row.reason or row.metric),
            meta_tables.figure(row.value),
            meta_tables.figure(row.across),
            printable(", ".join(dict.fromkeys(row.chosen)) or "-"),
            str(row.members),
        ]
        for row in rows
    ]
    print(table(header, cells), end="\n\n")
    meta_tables.print_notes([FLATTERS])
