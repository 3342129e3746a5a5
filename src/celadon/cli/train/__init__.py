"""``celadon train``: models and metrics of one's own; one file per kind."""

from __future__ import annotations

import argparse
from importlib import import_module

_KINDS = ("lm", "ngram", "combine", "morcela")

_EPILOG = """\
examples:
  celadon train lm corpus.txt.xz --output my-lm --unit wordpiece --vocab 16000
  celadon train ngram corpus.txt.xz --output my-trigram
  celadon train combine rated.jsonl --rating overall --features wpslor,rougeL --output mine.json
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.description = "Train a language model, or fit a combination of metrics to human ratings."
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    kinds = command.add_subparsers(title="kinds", metavar="KIND", required=True)
    for kind in _KINDS:
        import_module(f"celadon.cli.train.{kind}").add_parser(kinds)
