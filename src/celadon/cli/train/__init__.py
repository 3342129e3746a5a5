"""``celadon train``: models and metrics of one's own; one file per kind."""

from __future__ import annotations

import argparse
from importlib import import_module

_KINDS = (
    "lm",
    "ngram",
    "vectors",
    "teacher",
    "acceptability",
    "order",
    "celadon",
    "combine",
    "morcela",
    "sumqe",
    "parser",
    "gleu",
    "fergus",
)

_EPILOG = """\
examples:
  celadon train lm corpus.txt.xz --output my-lm --unit wordpiece --vocab 16000
  celadon train ngram corpus.txt.xz --output my-trigram
  celadon train vectors corpus.txt.xz --output my-vectors
  celadon train acceptability corpus.txt.xz --labelled cola.tsv --output my-encoder --network my-network.safetensors
  celadon train combine rated.jsonl --rating overall --features wpslor,rougeL --output mine.json
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.description = "Train language models, word vectors and sentence encoders, or fit metrics to human ratings."
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    kinds = command.add_subparsers(title="kinds", metavar="KIND", required=True)
    for kind in _KINDS:
        import_module(f"celadon.cli.train.{kind}").add_parser(kinds)
