"""``celadon meta audit``: is my LLM judge any good, and how many people do I still need?"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from celadon.cli.meta import tables as meta_tables
from celadon.cli.meta.tables import bounds, chance, figure
from celadon.cli.progress import CountProgress

if TYPE_CHECKING:
    from celadon.meta.jackknife import Estimate
    from celadon.meta.judges import Audit, JudgeAudit, JudgeTable

_EPILOG = """\
Several columns of one judge are repetitions of it; several human columns are raters. --judge may be given again for
another judge, and NAME=COLUMNS names one. A text without a rating still counts: the judge's score of it narrows the
interval of a system's mean rating, if the rated texts were drawn at random.

examples:
  celadon meta audit scored.jsonl --judge 'gpt.coherence.*' --human 'rater*.coherence' --gate 3.5 --report audit.html
  celadon meta audit scored.jsonl --judge gpt=gpt_run1,gpt_run2 --human overall --next-items next.jsonl --next 50
  celadon judge new study --items next.jsonl --config next.toml
  celadon judge export study --output answers.jsonl
  celadon meta audit scored.jsonl --judge gpt=gpt_run1,gpt_run2 --human overall --answers answers.jsonl
"""


def add_parser(commands: Any) -> None:
    """Add this question."""
    command = commands.add_parser(
        "audit",
        help="is an LLM judge any good: agreement, flips, biases, free alternatives, and how many people it saves",
        description="Audit judges against people's ratings. The verdict comes first.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    meta_tables.add_table(command, human="the rating columns, also by pattern ('rater*.coherence'); several are raters")
    command.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="[NAME=]A,B",
        help="the columns of a judge, by name or pattern ('gpt.coherence.*'); may be given again",
    )
    command.add_argument("--repeats", choices=("runs", "prompts"), default="runs", help="what repetitions are of")
    command.add_argument("--gate", type=float, metavar="X", help="a text passes with a rating of at least this")
    command.add_argument("--judge-gate", type=float, metavar="X", help="the judge's own gate, if its scale is another")
    command.add_argument(
        "--alternative", action="append", default=[], metavar="A,B", help="columns of free scores to compare with"
    )
    command.add_argument(
        "--covariate", action="append", default=[], metavar="A,B", help="columns that the judge should not look at"
    )
    command.add_argument(
        "--lower-is-better", action="append", default=[], metavar="A,B", help="columns of which less is better"
    )
    command.add_argument("--text-field", metavar="NAME", help="the text (default: text, output or prediction)")
    command.add_argument("--system-field", metavar="NAME", help="who made the text (default: system)")
    command.add_argument("--item-field", metavar="NAME", help="what texts of several systems share (default: id)")
    command.add_argument("--time-field", metavar="NAME", help="when the judge scored the text: numbers or dates")
    command.add_argument("--position-field", metavar="NAME", help="where the text stood in what the judge was shown")
    command.add_argument(
        "--family",
        action="append",
        default=[],
        metavar="[JUDGE=]A,B",
        help="systems of the judge's own family, by name or pattern",
    )
    command.add_argument("--correlation", choices=("pearson", "spearman"), default="pearson", help="default: pearson")
    command.add_argument("--width", type=float, metavar="W", help="wanted width of the interval of a mean rating")
    command.add_argument("--answers", metavar="FILE", help="more ratings: what celadon judge export wrote")
    command.add_argument("--question", metavar="NAME", help="which question of the answers is the rating")
    command.add_argument("--next-items", metavar="JSONL", help="write the texts that people should rate next")
    command.add_argument(
        "--next", type=meta_tables.positive, default=50, metavar="N", help="how many of these (default: 50)"
    )
    command.add_argument("--export", metavar="JSON", help="write the judge combined with the alternatives as a formula")
    command.add_argument("--report", metavar="HTML", help="write a self-contained HTML page")
    meta_tables.add_drawing(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Audit, print, write."""
    from celadon.meta.judges import audit_table

    for path in filter(None, (arguments.report, arguments.next_items, arguments.export)):
        meta_tables.check_writable(path, [arguments.table])
    table = _table(arguments)
    with CountProgress("judges") as progress:
        result = audit_table(
            table,
            gate=arguments.gate,
            judge_gate=arguments.judge_gate,
            repeats=arguments.repeats,
            width=arguments.width,
            kind=arguments.correlation,
            resamples=arguments.resamples,
            seed=meta_tables.seed_of(arguments),
            tick=progress,
        )
    written = _write(result, arguments)
    if arguments.json:
        meta_tables.print_json(result.to_dict())
    else:
        _print(result)
    for what in written:
        print(f"wrote {what}", file=sys.stderr)
    return 0


def _table(arguments: argparse.Namespace) -> JudgeTable:
    from celadon.core import UsageError
    from celadon.io import read_table_rows
    from celadon.meta.judges.inputs import check_rated, make_judge_table, with_answers

    judges: dict[str, list[str]] = {}
    for text in arguments.judge:
        name, patterns = _named(text)
        if not patterns:
            raise UsageError(f"--judge is written COLUMNS or NAME=COLUMNS, as gpt=gpt.run*; not {text!r}")
        if name in judges:
            raise UsageError(f"--judge: two judges are called {name!r}; name one with NAME=COLUMNS")
        judges[name] = patterns
    table = make_judge_table(
        read_table_rows(arguments.table, format=arguments.format),
        judges=judges,
        human=meta_tables.humans_of(arguments),
        alternatives=meta_tables.named(arguments.alternative),
        covariates=meta_tables.named(arguments.covariate),
        lower_is_better=meta_tables.named(arguments.lower_is_better),
        text_field=arguments.text_field,
        system_field=arguments.system_field,
        item_field=arguments.item_field,
        time_field=arguments.time_field,
        position_field=arguments.position_field,
        families=_families(arguments.family, judges),
    )
    if arguments.answers:
        table = with_answers(table, read_table_rows(arguments.answers), arguments.question)
    check_rated(table, arguments.table)
    return table


def _named(text: str) -> tuple[str, list[str]]:
    """The name of a judge and its patterns, out of ``NAME=A,B`` or ``A,B``."""
    from celadon.meta.judges import named_judges

    name, equals, rest = text.partition("=")
    if equals and "[" not in name:
        return name.strip(), meta_tables.named([rest])
    patterns = meta_tables.named([text])
    return (next(iter(named_judges(patterns[0]))) if patterns else ""), patterns


def _families(options: list[str], judges: dict[str, list[str]]) -> dict[str, list[str]]:
    families: dict[str, list[str]] = {}
    for text in options:
        name, equals, rest = text.partition("=")
        for judge in [name.strip()] if equals else list(judges):
            families.setdefault(judge, []).extend(meta_tables.named([rest if equals else text]))
    return families


def _write(result: Audit, arguments: argparse.Namespace) -> list[str]:
    from celadon.io import atomic_write_text
    from celadon.meta.judges import best_judge
    from celadon.meta.judges.combination import as_formula

    written = []
    name = "standard input" if arguments.table == "-" else Path(arguments.table).name
    if arguments.next_items:
        written += _write_next(result, arguments.next_items, arguments.next)
    if arguments.export:
        formula = as_formula(result, best_judge(result), name)
        atomic_write_text(arguments.export, json.dumps(formula, indent=2, ensure_ascii=False) + "\n")
        written.append(arguments.export)
    if arguments.report:
        from celadon.report.audit_report import audit_report
        from celadon.report.meta_report import missing_plots

        atomic_write_text(arguments.report, audit_report(result, source_name=name))
        why = missing_plots()
        written.append(f"{arguments.report} {why}" if why else arguments.report)
    return written


def _write_next(result: Audit, path: str, count: int) -> list[str]:
    """Write the next items, and beside them the config of an experiment that asks for the same rating."""
    import numpy as np

    from celadon.core import UsageError
    from celadon.io import atomic_write_text, write_json_rows
    from celadon.judge.rating_config import rating_config
    from celadon.meta.judges import best_judge, next_items

    items = next_items(result.table, best_judge(result), count, seed=result.seed)
    written = [f"{write_json_rows(path, items):,} texts to {path}"]
    config = Path(path).with_suffix(".toml")
    known = result.table.ratings[np.isfinite(result.table.ratings)]
    try:
        text = rating_config(result.table.human, float(known.min()), float(known.max()), max(result.raters, 2))
    except UsageError as error:
        print(f"no config for them: {error}", file=sys.stderr)
        return written
    if config.exists():
        print(f"{config} is there already and is left as it is", file=sys.stderr)
    else:
        atomic_write_text(str(config), text)
        written.append(f"their question to {config}")
    print(f"ask people: celadon judge new study --items {path} --config {config}", file=sys.stderr)
    return written


def _print(result: Audit) -> None:
    """The verdict about each judge first, then the figures."""
    from celadon.meta.judges.verdict import verdict_lines
    from celadon.text.layout import printable

    for one in result.judges:
        print(printable(one.verdict.headline))
        for title, lines in verdict_lines(one.verdict):
            print(f"\n{title}:")
            meta_tables.print_notes(lines)
        print()
    for one in result.judges:
        _print_figures(one, result)
    meta_tables.print_notes(result.notes)


def _print_figures(one: JudgeAudit, result: Audit) -> None:
    from celadon.meta.study.notes import LEVEL_WORDS
    from celadon.text.layout import printable, table

    print(printable(f"{one.judge} with {result.table.human}: {one.rated:,} rated texts of {one.scored:,}"))
    header = ["agreement", result.kind, "95% interval", "as a rater", "one rater", ""]
    cells = [
        [
            *(LEVEL_WORDS[row.level], figure(row.value), bounds(row.low, row.high)),
            *(figure(row.judge_as_rater), figure(row.rater), printable(row.reason)),
        ]
        for row in one.agreement
    ]
    print(table(header, cells), end="\n\n")
    if one.gate is not None:
        gate = one.gate
        rows = [(name, getattr(gate, name)) for name in ("accuracy", "precision", "recall", "kappa")]
        constant = {"accuracy": gate.constant}
        person = {"accuracy": gate.rater, "kappa": gate.rater_kappa}
        coin = {"accuracy": gate.coin}
        nan = float("nan")
        cells = [
            [name, *_estimate(value), *(figure(some.get(name, nan)) for some in (constant, coin, person))]
            for name, value in rows
        ]
        header = [f"at the gate {result.gate:g}", "value", "95% interval", "constant", "coin", "one rater"]
        print(table(header, cells), end="\n\n")
    _print_repetitions(one, result.repeats)
    if one.biases:
        header = ["bias", "effect", "95% interval", "p", "adjusted p", "of judge", "of people", "shown", "of"]
        cells = [
            [
                *(printable(row.name), *_estimate(row.effect), chance(row.effect.pvalue), chance(row.adjusted)),
                *(figure(row.judge_correlation), figure(row.human_correlation), "yes" if row.shown else "no"),
                printable(row.effect.reason or row.unit),
            ]
            for row in one.biases
        ]
        print(table(header, cells), end="\n\n")
    if one.alternatives:
        header = ["alternative", result.kind, "judge", "difference", "95% interval", "adjusted p", "better"]
        cells = [
            [
                *(printable(row.name), figure(row.alternative), figure(row.judge), *_estimate(row.difference)),
                *(chance(row.adjusted), row.better or "-"),
            ]
            for row in one.alternatives
        ]
        if one.combination is not None:
            gain = one.combination.gain
            cells.append(["all together", figure(one.combination.correlation), "", *_estimate(gain, -1), "", ""])
        print(table(header, cells), end="\n\n")
    _print_labels(one)


def _print_repetitions(one: JudgeAudit, repeats: str) -> None:
    from celadon.text.layout import table

    if one.repeatability is None:
        return
    same = one.repeatability
    print(
        f"{same.repetitions} {repeats}: ICC(2,1) {figure(same.agreement.value)} "
        f"({bounds(same.agreement.low, same.agreement.high)}), alpha {figure(same.alpha)}; "
        f"standard deviation between {repeats} {figure(same.spread)}"
    )
    if one.flips is not None and one.flips.expected:
        rate = one.flips.rate
        suites = ", ".join(f"{row.flips:.1f} of {row.checks:,}" for row in one.flips.expected)
        print(
            f"verdicts that change from one to the next: {rate.value:.1%} ({rate.low:.1%} .. {rate.high:.1%}), that is "
            f"{suites}"
        )
    cells = [[str(row.repetitions), figure(row.reliability), figure(row.flips)] for row in one.averaging]
    print(table([f"mean of {repeats}", "reliability", "flips"], cells), end="\n\n")


def _print_labels(one: JudgeAudit) -> None:
    from celadon.text.layout import printable, table

    if one.means:
        header = [
            "mean rating",
            "labels",
            "texts",
            "labels alone",
            "with the judge",
            "worth",
            "wanted",
            "labels for it",
        ]
        cells = [
            [
                printable(row.system or "all texts"),
                *(f"{mean.labels:,}", f"{mean.labels + mean.unlabeled:,}"),
                f"{mean.classical:.3f} ({bounds(mean.classical_low, mean.classical_high)})",
                *(f"{mean.value:.3f} ({bounds(mean.low, mean.high)})", f"{mean.equivalent:,.0f}"),
                *(f"{row.wanted:.3f}", "-" if row.needed is None else f"{row.needed:,}"),
            ]
            for row, mean in ((row, row.mean) for row in one.means)
        ]
        print(table(header, cells), end="\n\n")
    if one.differences:
        cells = [
            [
                *(printable(row.first), printable(row.second), figure(row.difference.value)),
                *(bounds(row.difference.low, row.difference.high), chance(row.difference.pvalue)),
            ]
            for row in one.differences
        ]
        print(table(["best", "against", "difference", "95% interval", "p"], cells, left=2), end="\n\n")


def _estimate(one: Estimate, sign: int = 1) -> list[str]:
    low, high = (one.low, one.high) if sign > 0 else (-one.high, -one.low)
    return [figure(sign * one.value), bounds(low, high)]
