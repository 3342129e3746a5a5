"""``celadon compare``: which of two runs, or files of scores, reads better."""

from __future__ import annotations

import argparse
import json
import math
import sys
from typing import TYPE_CHECKING, Any

from celadon.cli.scoring_options import add_field_options, fields_of, positive

if TYPE_CHECKING:
    from celadon.report.compare import ChangedText, ComparedMetric, Comparison

_SHOWN_CHARS = 160
_EPILOG = """\
A and B are runs (their folders, or the last part of their paths where only one known run has it) or files that
celadon score --output wrote. Rows are paired by id and system, by id where each side has one system, else by order.

examples:
  celadon compare before/ after/ --report changes.html
  celadon compare v1.jsonl v2.jsonl --metric celadon,slor
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.description = "Say which of two runs reads better, pair by pair, and show the texts that changed most."
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.add_argument("first", metavar="A", help="a run or a file of scores")
    command.add_argument("second", metavar="B", help="another")
    command.add_argument(
        "-m", "--metric", action="append", default=[], metavar="A,B", help="metrics (default: all that both have)"
    )
    command.add_argument("--report", metavar="HTML", help="write a self-contained HTML report")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument("--show", type=positive, default=10, metavar="N", help="texts a list has (default: 10)")
    command.add_argument("--seed", type=int, default=None, metavar="N", help="of intervals and tests (default: fixed)")
    command.add_argument("--resamples", type=positive, default=None, metavar="N", help="of both (default: 1000)")
    command.add_argument("--anyway", action="store_true", help="compare scores that were made in different ways too")
    command.add_argument("--quiet", action="store_true", help="no notes")
    add_field_options(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare, then say what came of it."""
    from celadon.cli.progress import CountProgress, TallyProgress
    from celadon.compare.comparison import compare, open_side
    from celadon.core import UsageError
    from celadon.io import atomic_write_text, check_distinct
    from celadon.metrics.registry import split_specs
    from celadon.scoring.summary import DEFAULT_RESAMPLES, DEFAULT_SEED

    if arguments.seed is not None and arguments.seed < 0:
        raise UsageError("--seed must not be negative")
    first, second = (open_side(side, fields_of(arguments)) for side in (arguments.first, arguments.second))
    if arguments.report:
        check_distinct(arguments.report, (*first.paths, *second.paths))
    with TallyProgress("reading", enabled=not arguments.quiet) as read, CountProgress("pairs") as progress:
        comparison = compare(
            (first, second),
            [spec for side in arguments.metric for spec in split_specs(side)],
            seed=DEFAULT_SEED if arguments.seed is None else arguments.seed,
            resamples=DEFAULT_RESAMPLES if arguments.resamples is None else arguments.resamples,
            most_listed=arguments.show,
            anyway=arguments.anyway,
            read=read,
            progress=progress,
        )
    if arguments.report:
        from celadon.report.compare import compare_page

        atomic_write_text(arguments.report, compare_page(comparison, title="Which reads better?"))
    print(json.dumps(_as_json(comparison), indent=2, allow_nan=False) if arguments.json else _as_text(comparison))
    if not arguments.quiet:
        notes = [*comparison.notes, *([f"wrote {arguments.report}"] if arguments.report else [])]
        for note in notes:
            print(_line(note), file=sys.stderr)
    return 0


def _as_text(comparison: Comparison) -> str:
    from celadon.text.layout import table

    sides = [
        f"{letter}: {_line(name)}, {rows:,} rows{f', {alone:,} without a partner' if alone else ''}"
        for letter, name, rows, alone in zip("AB", comparison.names, comparison.rows, comparison.alone, strict=True)
    ]
    header = ["metric", "A", "B", "B - A", "95% interval", "B better", "equal", "A better", "p", "adjusted"]
    verdicts = [_line(metric.verdict) for metric in comparison.metrics]
    blocks = [
        "\n".join([*sides, f"{comparison.pairs:,} pairs by {comparison.paired_by}"]),
        "\n".join(verdicts),
        table(header, [_cells(metric) for metric in comparison.metrics]),
    ]
    for title, changes in (("gained", comparison.better), ("lost", comparison.worse)):
        if changes:
            listed = [line for change in changes for line in _change(change)]
            blocks.append("\n".join([f"texts that {title} most by {_line(comparison.metrics[0].name)}:", *listed]))
    return "\n\n".join(blocks)


def _cells(metric: ComparedMetric) -> list[str]:
    result = metric.result
    if not result.pairs:
        return [metric.name, *["-"] * 9]
    digits = 2 if max(abs(result.mean_a), abs(result.mean_b)) > 10 else 3
    means = [f"{value:.{digits}f}" for value in (result.mean_a, result.mean_b)]
    interval = f"{result.low:+.{digits}f} .. {result.high:+.{digits}f}" if result.has_interval else "-"
    counts = [f"{count:,}" for count in (metric.wins, result.ties, metric.losses)]
    chances = [f"{value:.3f}" for value in (result.pvalue, metric.adjusted)]
    return [_line(metric.name), *means, f"{result.difference:+.{digits}f}", interval, *counts, *chances]


def _change(change: ChangedText) -> list[str]:
    second = change.second
    who = ", ".join(part for part in (second.id, second.system) if part is not None) or second.where
    lines = [f"  {_line(who)}: {change.first.value:.4g} to {second.value:.4g}"]
    texts = (("A", change.first.text), ("B", second.text))
    return lines + [f"    {side}: {_line(text)[:_SHOWN_CHARS]}" for side, text in texts if text is not None]


def _line(text: str) -> str:
    from celadon.text.layout import printable

    return printable(" ".join(text.split()))


def _as_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "a": {"name": comparison.names[0], "rows": comparison.rows[0], "alone": comparison.alone[0]},
        "b": {"name": comparison.names[1], "rows": comparison.rows[1], "alone": comparison.alone[1]},
        "pairs": comparison.pairs,
        "paired_by": comparison.paired_by,
        "verdict": comparison.verdict,
        "notes": list(comparison.notes),
        "seed": comparison.seed,
        "resamples": comparison.resamples,
        "metrics": [_metric_json(metric) for metric in comparison.metrics],
        "gained": [_change_json(change) for change in comparison.better],
        "lost": [_change_json(change) for change in comparison.worse],
    }


def _metric_json(metric: ComparedMetric) -> dict[str, Any]:
    result = metric.result
    return {
        "metric": metric.name,
        "direction": str(metric.info.direction),
        "better": metric.better or None,
        "verdict": metric.verdict,
        "pairs": result.pairs,
        "nulls": result.nulls,
        "mean_a": _number(result.mean_a),
        "mean_b": _number(result.mean_b),
        "difference": _number(result.difference),
        "interval": [_number(result.low), _number(result.high)],
        "b_better": metric.wins,
        "equal": result.ties,
        "a_better": metric.losses,
        "p": _number(result.pvalue),
        "p_adjusted": _number(metric.adjusted),
    }


def _change_json(change: ChangedText) -> dict[str, Any]:
    return {
        "id": change.second.id,
        "system": change.second.system,
        "a": {"where": change.first.where, "value": _number(change.first.value), "text": change.first.text},
        "b": {"where": change.second.where, "value": _number(change.second.value), "text": change.second.text},
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
