"""``celadon train``: models and metrics of one's own; one file per room of :mod:`celadon.train`."""

from __future__ import annotations

import argparse

_EPILOG = """\
examples:
  celadon train lm corpus.txt.xz --output my-lm --unit wordpiece --vocab 16000
  celadon train ngram corpus.txt.xz --output my-trigram
  celadon train vectors corpus.txt.xz --output my-vectors
  celadon train acceptability corpus.txt.xz --labelled cola.tsv --output my-encoder --network my-network.safetensors
  celadon train combine rated.jsonl --rating overall --features wpslor,rougeL --output mine.json
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from celadon.cli.train import combinations, encoders, language_models, treebanks

    command.description = "Train language models, word vectors and sentence encoders, or fit metrics to human ratings."
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    kinds = command.add_subparsers(title="kinds", metavar="KIND", required=True)
    for room in (language_models, encoders, combinations, treebanks):
        room.add_parsers(kinds)
