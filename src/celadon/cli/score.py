"""``celadon score``: score files of texts."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celadon.engine.local import Job, Outcome

# as celadon.io.FORMATS, which would take its time to import
FORMATS = ("jsonl", "csv", "tsv", "parquet", "txt")
_FIELDS = ("text", "references", "source", "system", "id")

_EPILOG = """\
examples:
  celadon score outputs.jsonl --report report.html
  celadon score 'runs/*.csv' --metric rougeL,bleu,meteor --output scored.parquet
  celadon score new.jsonl --metric rouge_lm --standardize-on old-scored.jsonl
  zcat outputs.jsonl.gz | celadon score - --metric rouge1 --json
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
    command.add_argument("-o", "--output", metavar="OUT", help="write rows with scores: .jsonl, .csv, .tsv or .parquet")
    command.add_argument("--report", metavar="HTML", help="write a self-contained HTML report")
    command.add_argument("--json", action="store_true", help="print the summary as JSON instead of tables")
    fields = command.add_argument_group("fields (nested ones as scores.overall)")
    fields.add_argument("--text-field", metavar="NAME", help="the text (default: text, output or prediction)")
    fields.add_argument(
        "--references-field", metavar="NAME", help="a string or list (default: references, reference or ref0, ref1 ...)"
    )
    fields.add_argument("--source-field", metavar="NAME", help="what the text was made from (default: source)")
    fields.add_argument("--system-field", metavar="NAME", help="who made the text (default: system)")
    fields.add_argument("--id-field", metavar="NAME", help="the item (default: id)")
    bad = command.add_argument_group("input")
    bad.add_argument("--format", choices=FORMATS, help="instead of the file's ending")
    bad.add_argument(
        "--skip-bad", action="store_true", help="set malformed rows aside in OUT.rejects.jsonl and score the rest"
    )
    bad.add_argument("--rejects", metavar="FILE", help="where --skip-bad puts them instead")
    bad.add_argument(
        "--max-text-chars",
        type=_positive,
        default=1_000_000,
        metavar="N",
        help="a longer text is malformed (default: 1,000,000)",
    )
    how = command.add_argument_group("computation")
    how.add_argument("--seed", type=int, default=None, metavar="N", help="of the bootstrap (default: fixed)")
    how.add_argument("--resamples", type=_positive, default=None, metavar="N", help="of the bootstrap (default: 1000)")
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
        "--batch-rows", type=_positive, default=512, metavar="N", help="rows scored at a time (default: 512)"
    )
    how.add_argument("--quiet", action="store_true", help="no progress bar, no notes")
    command.set_defaults(run=run)


def _positive(text: str) -> int:
    try:
        value = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Score, then say what came of it."""
    from celadon.cli.progress import RowProgress
    from celadon.engine.local import run as run_job

    job = _job(arguments)
    with RowProgress(shown=not arguments.quiet) as progress:
        outcome = run_job(job, progress.update)
    if arguments.json:
        print(json.dumps(_as_json(outcome), indent=2, allow_nan=False))
    else:
        print(outcome.summary)
    if not arguments.quiet:
        for note in _notes(job, outcome):
            print(note, file=sys.stderr)
    return 0


def _job(arguments: argparse.Namespace) -> Job:
    from celadon.core import UsageError
    from celadon.engine.local import Job
    from celadon.io import Fields
    from celadon.metrics.registry import split_specs
    from celadon.summary import DEFAULT_RESAMPLES, DEFAULT_SEED

    if arguments.seed is not None and arguments.seed < 0:
        raise UsageError("--seed must not be negative")
    return Job(
        inputs=arguments.inputs,
        fields=Fields(**{name: getattr(arguments, f"{name}_field") for name in _FIELDS}),
        metrics=[spec for given in arguments.metric for spec in split_specs(given)],
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
    )


def _notes(job: Job, outcome: Outcome) -> list[str]:
    notes = []
    if outcome.rows_rejected:
        notes.append(
            f"{outcome.rows_read:,} rows read = {outcome.rows_scored:,} scored + {outcome.rows_rejected:,} rejected "
            f"(see {job.rejects_path})"
        )
    for metric, fitted in outcome.fitted.items():
        shown = ", ".join(f"{name} {value:.6g}" for name, value in fitted.constants.items())
        where = "these texts" if job.standardize_on is None else job.standardize_on
        notes.append(f"{metric}: {shown} (from {fitted.rows:,} rows of {where})")
    for old, new in outcome.renamed.items():
        notes.append(f"the input's column {old} is kept as {new}")
    written = [path for path in (job.output, job.report) if path]
    if written:
        notes.append(f"wrote {' and '.join(written)}")
    return notes


def _as_json(outcome: Outcome) -> dict[str, Any]:
    summary = outcome.summary
    return {
        "rows_read": outcome.rows_read,
        "rows_scored": outcome.rows_scored,
        "rows_rejected": outcome.rows_rejected,
        "seed": summary.seed,
        "resamples": summary.resamples,
        "signatures": dict(summary.signatures),
        "constants": {metric: dict(fitted.constants) for metric, fitted in outcome.fitted.items()},
        "scores": [
            {
                "system": row.system,
                "metric": row.metric,
                "count": row.count,
                "nulls": row.nulls,
                "mean": row.mean,
                "mean_interval": row.mean_interval,
                "corpus": row.corpus,
                "corpus_interval": row.corpus_interval,
            }
            for row in summary.rows
        ],
    }
