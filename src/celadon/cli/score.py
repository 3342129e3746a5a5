"""``celadon score``: score files of texts."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from celadon.cli.scoring_options import (
    add_cache_options,
    add_field_options,
    add_input_options,
    add_markup_options,
    add_run_options,
    cache_settings,
    carry_out,
    fields_of,
    hit_line,
    positive,
    run_notes,
    run_settings,
    written,
)

if TYPE_CHECKING:
    from celadon.runs.local import Job, JobResult
    from celadon.runs.run import RunResult

_EPILOG = """\
examples:
  celadon score outputs.jsonl --report report.html
  celadon score 'runs/*.csv' --metric rougeL,bleu,meteor --output scored.parquet
  celadon score new.jsonl --metric rouge_lm --standardize-on old-scored.jsonl
  zcat outputs.jsonl.gz | celadon score - --metric rouge1 --json
  celadon score 'data/*.parquet' --metric slor --output out/ --workers 8
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.description = "Score texts in JSONL, CSV, TSV, Parquet or plain text, also .gz, .xz, .zst."
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.add_argument("inputs", nargs="+", metavar="INPUT", help="a file, a quoted glob, or - for standard input")
    command.add_argument(
        "-m",
        "--metric",
        action="append",
        default=[],
        metavar="A,B",
        help="metrics (default: rougeL, chrf and the string accuracies; without references slor); options in brackets: "
        "rougeW[weight=1.5]",
    )
    command.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        help="write rows with scores: .jsonl, .csv, .tsv, .parquet, or FOLDER/ for a run",
    )
    command.add_argument("--report", metavar="HTML", help="write a self-contained HTML report")
    command.add_argument("--json", action="store_true", help="print the summary as JSON instead of tables")
    add_field_options(command)
    add_markup_options(command)
    bad = command.add_argument_group("input")
    add_input_options(bad)
    bad.add_argument(
        "--skip-bad", action="store_true", help="set malformed rows aside in OUT.rejects.jsonl and score the rest"
    )
    bad.add_argument("--rejects", metavar="FILE", help="where --skip-bad puts them instead")
    how = command.add_argument_group("computation")
    how.add_argument("--seed", type=int, default=None, metavar="N", help="of the bootstrap (default: fixed)")
    how.add_argument("--resamples", type=positive, default=None, metavar="N", help="of the bootstrap (default: 1000)")
    how.add_argument(
        "--standardize-on",
        metavar="FILE",
        help="metrics relative to the scored set (rouge_lm) take mean and spread from FILE instead: the --output of an "
        "earlier run, or texts that are scored for it",
    )
    how.add_argument(
        "--trees",
        metavar="CONLLU",
        help="dependency trees of the references, for the tree accuracies: the sent_id is the row's id, id#2 for its "
        "second reference (default: the parser of the extra parse)",
    )
    how.add_argument(
        "--window",
        type=positive,
        metavar="N",
        help="compare long texts in stretches of N words or tokens: window=N for each metric that has the option and "
        "was not given one (wmd, smd, s_wmd, bertscore, moverscore)",
    )
    how.add_argument(
        "--batch-rows", type=positive, default=512, metavar="N", help="rows scored at a time (default: 512)"
    )
    add_cache_options(how)
    how.add_argument("--quiet", action="store_true", help="no progress bar, no notes")
    add_run_options(command)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Score, then say what came of it."""
    from celadon.cli.failures import INTERRUPTED
    from celadon.cli.progress import RowProgress
    from celadon.runs.local import run as run_job

    job = _job(arguments)
    settings = run_settings(arguments)
    outcome: JobResult | RunResult | None
    if settings is not None:
        outcome = carry_out(job, settings, quiet=arguments.quiet)
        if outcome is None:
            return INTERRUPTED
        notes = [*_notes(job, outcome, f"{outcome.folder}rejects/"), *run_notes(job, outcome)]
    else:
        with RowProgress(enabled=not arguments.quiet) as progress:
            outcome = run_job(job, progress.update)
        notes = [*_notes(job, outcome, job.rejects_path), *written(job.output, job.report)]
    if arguments.json:
        print(json.dumps(_as_json(outcome), indent=2, allow_nan=False))
    else:
        print(outcome.summary)
    if not arguments.quiet:
        for note in notes:
            print(note, file=sys.stderr)
    return 0


def _job(arguments: argparse.Namespace) -> Job:
    from celadon.core import UsageError
    from celadon.metrics.registry import split_specs, with_option
    from celadon.runs.local import Job
    from celadon.scoring.summary import DEFAULT_RESAMPLES, DEFAULT_SEED

    if arguments.seed is not None and arguments.seed < 0:
        raise UsageError("--seed must not be negative")
    metrics = [spec for part in arguments.metric for spec in split_specs(part)]
    return Job(
        inputs=arguments.inputs,
        fields=fields_of(arguments),
        metrics=with_option(metrics, "window", arguments.window) if arguments.window else metrics,
        standardize_on=arguments.standardize_on,
        trees=arguments.trees,
        output=arguments.output,
        report=arguments.report,
        skip_bad=arguments.skip_bad,
        rejects=arguments.rejects,
        format=arguments.format,
        seed=DEFAULT_SEED if arguments.seed is None else arguments.seed,
        resamples=DEFAULT_RESAMPLES if arguments.resamples is None else arguments.resamples,
        batch_rows=arguments.batch_rows,
        max_text_chars=arguments.max_text_chars,
        cache=cache_settings(arguments),
    )


def _notes(job: Job, outcome: JobResult | RunResult, rejects: str) -> list[str]:
    from celadon.io.remote import shown_name

    notes = []
    if job.cache is not None:
        notes.append(hit_line(outcome.cache_hits, outcome.cache_misses))
    if outcome.rows_rejected:
        notes.append(
            f"{outcome.rows_read:,} rows read = {outcome.rows_scored:,} scored + {outcome.rows_rejected:,} rejected "
            f"(see {rejects})"
        )
    for metric, fitted in outcome.fitted.items():
        constants = ", ".join(f"{name} {value:.6g}" for name, value in fitted.constants.items())
        where = "these texts" if job.standardize_on is None else shown_name(job.standardize_on)
        notes.append(f"{metric}: {constants} (from {fitted.rows:,} rows of {where})")
    for old, new in outcome.renamed.items():
        notes.append(f"the input's column {old} is kept as {new}")
    return notes


def _as_json(outcome: JobResult | RunResult) -> dict[str, Any]:
    summary = outcome.summary.to_dict()
    return {
        "rows_read": outcome.rows_read,
        "rows_scored": outcome.rows_scored,
        "rows_rejected": outcome.rows_rejected,
        "seed": summary["seed"],
        "resamples": summary["resamples"],
        "signatures": summary["signatures"],
        "constants": {metric: dict(fitted.constants) for metric, fitted in outcome.fitted.items()},
        "scores": summary["scores"],
    }
