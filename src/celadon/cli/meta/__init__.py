"""``celadon meta``: how far metrics can be trusted."""

from __future__ import annotations

import argparse

from celadon.cli.meta import (
    agreement,
    audit,
    compare,
    correlate,
    instrument,
    load,
    references,
    regress,
    report,
    reproduce,
)

_PARSERS = (
    audit.add_parser,
    report.add_parser,
    correlate.add_parser,
    compare.add_parser,
    agreement.add_parser,
    regress.add_parser,
    compare.add_ablate_parser,
    references.add_parser,
    instrument.add_parser,
    load.add_parser,
    reproduce.add_parser,
)

_EPILOG = """\
TABLE is what `celadon score --output` wrote, or any CSV, TSV, JSONL or Parquet with columns of scores and ratings.

examples:
  celadon meta audit scored.jsonl --judge 'gpt.coherence.*' --human 'rater*.coherence' --gate 3.5 --report audit.html
  celadon meta report scored.jsonl --human overall,grammar --report meta.html
  celadon meta correlate scored.jsonl --human overall,grammar
  celadon meta compare scored.jsonl --human overall --metric rougeL,chrf --test williams
  celadon meta load summeval model_annotations.aligned.jsonl --output summeval.jsonl
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.description = "Audit judges and compare metrics with human ratings."
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    questions = command.add_subparsers(title="questions", metavar="QUESTION", required=True)
    for add_parser in _PARSERS:
        add_parser(questions)
