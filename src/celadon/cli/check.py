"""``celadon check``: a gate for continuous integration."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from celadon.cli.scoring_options import (
    add_cache_options,
    add_field_options,
    add_input_options,
    add_markup_options,
    cache_settings,
    fields_of,
    hit_line,
    positive,
)

if TYPE_CHECKING:
    from celadon.compare.baseline import Regression
    from celadon.compare.gate import Check, Offence, Verdict

_FAILED = 1
_SHOWN_CHARS = 200
_EPILOG = """\
exit codes: 0 all texts pass; 1 some do not; 2 and above as for every command

examples:
  celadon check outputs.jsonl --min gruen=0.6 --max ppl=80
  celadon check outputs.jsonl --min 'slor[model=smollm2]=1.2' --min celadon.coherence=0.5
  celadon check outputs.jsonl --gate gate.json
  celadon check answers.jsonl --min celadon=0.6 --nulls none
  celadon check outputs.jsonl --max-regression baseline.jsonl:0.02 --junit check.xml
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.description = (
        "Check that every text keeps its limits, and that the mean is not worse than a baseline's. A text without a "
        "score fails, unless it is a fragment or data."
    )
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.add_argument("inputs", nargs="+", metavar="INPUT", help="a file, a quoted glob, or - for standard input")
    _add_limits(command)
    output = command.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print the result as JSON")
    output.add_argument("--junit", metavar="XML", help="write a JUnit file: a test case per text")
    output.add_argument(
        "--github",
        action=argparse.BooleanOptionalAction,
        help="print annotations for GitHub (default: where GITHUB_ACTIONS is true)",
    )
    output.add_argument("--show", type=_count, default=10, metavar="N", help="offences that are told of (default: 10)")
    output.add_argument("--quiet", action="store_true", help="no progress bar, no notes")
    add_field_options(command)
    add_markup_options(command)
    add_input_options(command.add_argument_group("input"))
    how = command.add_argument_group("computation")
    how.add_argument(
        "--standardize-on",
        metavar="FILE",
        help="metrics relative to the scored set (rouge_lm) take mean and spread from FILE instead",
    )
    how.add_argument(
        "--trees",
        metavar="CONLLU",
        help="dependency trees of the references, for the tree accuracies, as in celadon score; for the baseline too",
    )
    how.add_argument(
        "--batch-rows", type=positive, default=512, metavar="N", help="rows scored at a time (default: 512)"
    )
    add_cache_options(how)
    command.set_defaults(run=run)


def _add_limits(command: argparse.ArgumentParser) -> None:
    limits = command.add_argument_group("limits")
    limits.add_argument(
        "--min",
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="a metric, or a part of one, that no text may have less of; may be given again",
    )
    limits.add_argument(
        "--max", action="append", default=[], metavar="NAME=NUMBER", help="that no text may have more of; the same"
    )
    limits.add_argument("--gate", metavar="JSON", help="the limits of a file that celadon calibrate wrote")
    limits.add_argument(
        "--max-regression",
        metavar="FILE:NUMBER",
        help="how much worse the mean may be than that of FILE, which has texts or scores; of the metrics with limits, "
        "else of those that FILE has columns of, else of the usual ones; rows are paired by id, else by order",
    )
    limits.add_argument(
        "--nulls",
        metavar="KINDS",
        help="which texts pass without a score: a list of wordless, fragment, data, language, other; or none (default: "
        "fragment,data)",
    )
    limits.add_argument(
        "--language",
        choices=("english", "any"),
        default="english",
        help="any: texts in other languages pass without a score as well",
    )


def _count(text: str) -> int:
    return 0 if text.strip() == "0" else positive(text)


def run(arguments: argparse.Namespace) -> int:
    """Check, tell what is wrong, and say by the exit code whether anything is."""
    from celadon.cli.progress import RowProgress, TallyProgress
    from celadon.compare.gate import run_check

    check = _check(arguments)
    show_progress = not arguments.quiet
    with TallyProgress("baseline", enabled=show_progress) as read, RowProgress(enabled=show_progress) as progress:
        verdict = run_check(check, progress.update, read)
    if arguments.json:
        print(json.dumps(_as_json(verdict), indent=2, allow_nan=False))
    else:
        print("\n".join(_lines(verdict)).strip("\n"))
    github = arguments.github
    if github if github is not None else os.environ.get("GITHUB_ACTIONS") == "true":
        for line in _annotations(verdict):
            # both streams are read for them, and JSON must stay JSON
            print(line, file=sys.stderr if arguments.json else sys.stdout)
    if not arguments.quiet and check.job.cache is not None:
        print(hit_line(verdict.cache_hits, verdict.cache_misses), file=sys.stderr)
    return 0 if verdict.passed else _FAILED


def _check(arguments: argparse.Namespace) -> Check:
    from celadon.compare.baseline import Baseline
    from celadon.compare.calibration import read_gate
    from celadon.compare.columns import limits_of, nulls_of
    from celadon.compare.gate import Check
    from celadon.runs.local import Job

    job = Job(
        inputs=arguments.inputs,
        fields=fields_of(arguments),
        standardize_on=arguments.standardize_on,
        trees=arguments.trees,
        format=arguments.format,
        batch_rows=arguments.batch_rows,
        max_text_chars=arguments.max_text_chars,
        cache=cache_settings(arguments),
    )
    baseline = None if arguments.max_regression is None else Baseline.read(arguments.max_regression)
    limits = limits_of(arguments.min, arguments.max)
    if arguments.gate is not None:
        limits += read_gate(arguments.gate).checked_limits(arguments.gate)
    nulls = nulls_of(arguments.nulls, arguments.language)
    return Check(job, limits, baseline, arguments.junit, arguments.show, nulls)


def _lines(verdict: Verdict) -> Iterator[str]:
    from celadon.compare.columns import passed_line

    texts = "1 text" if verdict.rows == 1 else f"{verdict.rows:,} texts"
    if verdict.limits:
        failures = (
            f"{verdict.failed_rows:,} of {texts} {'does' if verdict.failed_rows == 1 else 'do'} not keep the limits"
        )
        yield f"FAILED: {failures}" if verdict.failed_rows else f"passed: {texts}, all within the limits"
        for limit, failed, nulls in verdict.limits:
            yield f"  {limit}: {failed:,} failed{f', {nulls:,} of them without a score' if nulls else ''}"
    if verdict.passed_nulls:
        yield f"  {passed_line(verdict.passed_nulls)}"
    for offence in verdict.offences:
        yield ""
        yield f"{_whose(offence.where, offence.id, offence.system)}: {_printable(offence.message)}"
        yield f"    {_short(offence.text)}"
    more = sum(each.failed for each in verdict.limits) - len(verdict.offences)
    if more:
        yield f"\n... and {more:,} more"
    if verdict.pairing is not None:
        first, second = verdict.pairing.alone
        alone = f"; without a partner: {first:,} there, {second:,} here" if first or second else ""
        yield f"\nbaseline: {verdict.pairing.pairs:,} rows paired by {verdict.pairing.by}{alone}"
    for regression in verdict.regressions:
        yield f"  {'passed' if regression.passed else 'FAILED'}: {_printable(regression.describe())}"
        if not regression.passed:
            for fallen in regression.fallen:
                where = _whose(fallen.now.where, fallen.now.id, fallen.now.system)
                yield f"    {where}: {fallen.old:.4g} to {fallen.new:.4g}: {_short(fallen.now.text or '')}"


def _whose(where: str, ident: str | None, system: str | None) -> str:
    labels = [f"{name} {each}" for name, each in (("id", ident), ("system", system)) if each is not None]
    return _printable(f"{where} ({', '.join(labels)})" if labels else where)


def _printable(text: str) -> str:
    from celadon.text.layout import printable

    return printable(text)


def _short(text: str) -> str:
    from celadon.report.escape import cut_at

    line = " ".join(text.split())
    cut = cut_at(line, _SHOWN_CHARS)
    return _printable(line[:cut].rstrip() + ("…" if cut < len(line) else "")) or "(empty)"


def _annotations(verdict: Verdict) -> Iterator[str]:
    for offence in verdict.offences:
        yield _annotation(f"{_printable(offence.message)}\n{_short(offence.text)}", offence.file, offence.line)
    for regression in verdict.regressions:
        if not regression.passed:
            yield _annotation(_printable(regression.describe()))


def _annotation(message: str, file: str | None = None, line: int | None = None) -> str:
    properties = {"title": "celadon check"}
    if file is not None and not file.startswith("<"):
        properties = {"file": file, **({"line": str(line)} if line is not None else {}), **properties}
    escaped = {name: _data(value).replace(":", "%3A").replace(",", "%2C") for name, value in properties.items()}
    named = ",".join(f"{name}={value}" for name, value in escaped.items())
    return f"::error {named}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _as_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "passed": verdict.passed,
        "rows": verdict.rows,
        "failed_rows": verdict.failed_rows,
        "passed_nulls": {kind.value: count for kind, count in verdict.passed_nulls.items()},
        "limits": [
            {
                "column": limit.column.name,
                "min" if limit.is_least else "max": limit.bound,
                "failed": failed,
                "nulls": nulls,
            }
            for limit, failed, nulls in verdict.limits
        ],
        "offences": [_offence_json(offence) for offence in verdict.offences],
        "baseline": None
        if verdict.pairing is None
        else {
            "paired_by": verdict.pairing.by,
            "pairs": verdict.pairing.pairs,
            "alone": list(verdict.pairing.alone),
            "regressions": [_regression_json(each) for each in verdict.regressions],
        },
    }


def _offence_json(offence: Offence) -> dict[str, Any]:
    return {
        "id": offence.id,
        "system": offence.system,
        "where": offence.where,
        "column": offence.limit.column.name,
        "min" if offence.limit.is_least else "max": offence.limit.bound,
        "value": _number(offence.value),
        "reason": offence.reason or None,
        "text": offence.text,
    }


def _regression_json(regression: Regression) -> dict[str, Any]:
    return {
        "column": regression.column,
        "passed": regression.passed,
        "baseline_mean": _number(regression.old),
        "mean": _number(regression.new),
        "worse_by": _number(regression.worse_by),
        "tolerance": regression.tolerance,
        "pairs": regression.pairs,
        "lost": regression.lost,
        "fallen": [
            {
                "id": each.now.id,
                "system": each.now.system,
                "where": each.now.where,
                "baseline": each.old,
                "value": each.new,
                "text": each.now.text,
            }
            for each in regression.fallen
        ],
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
