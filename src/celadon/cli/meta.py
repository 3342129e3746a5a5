"""``celadon meta``: how far metrics can be trusted; one file per question."""

from __future__ import annotations

import argparse
from typing import Any

from celadon.cli import (
    meta_ablate,
    meta_agreement,
    meta_compare,
    meta_correlate,
    meta_load,
    meta_references,
    meta_regress,
    meta_report,
    meta_reproduce,
)

_QUESTIONS = (
    meta_report,
    meta_correlate,
    meta_compare,
    meta_agreement,
    meta_regress,
    meta_ablate,
    meta_references,
    meta_load,
    meta_reproduce,
)

_EPILOG = """\
TABLE is what `celadon score --output` wrote, or any CSV, TSV, JSONL or Parquet with columns of scores and ratings.

examples:
  celadon meta report scored.jsonl --human overall,grammar --report meta.html
  celadon meta correlate scored.jsonl --human overall,grammar
  celadon meta compare scored.jsonl --human overall --metric rougeL,chrf --test williams
  celadon meta load summeval model_annotations.aligned.jsonl --output summeval.jsonl
"""


def add_parser(commands: Any) -> None:
    """Add this command to the command line."""
    command = commands.add_parser(
        "meta",
        help="how far metrics can be trusted: compare their scores with human ratings",
        description="Compare metrics with human ratings.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    questions = command.add_subparsers(title="questions", metavar="QUESTION", required=True)
    for question in _QUESTIONS:
        question.add_parser(questions)
