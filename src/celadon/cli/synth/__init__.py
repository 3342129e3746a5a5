"""``celadon synth``: texts of graded fluency; the methods that go by a treebank share a file."""

from __future__ import annotations

import argparse

_EPILOG = """\
examples:
  celadon synth glue corpus.txt.xz --length 24 --sequence 1,2,4,8,24 --count 1000 --seed 1 --output glued.jsonl
  celadon synth pos corpus.txt.xz --treebank treebank.zip --count 1000 --output by-tags.jsonl
  celadon synth cfg corpus.txt.xz --treebank treebank.zip --count 1000 --output by-grammar.jsonl
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    from celadon.cli.synth import by_treebank, glue

    command.description = (
        "Make texts of known, graded fluency from a corpus, to test metrics with or to train them on. "
        "A text has a fixed number of tokens, with marks counted, and ends with a full stop."
    )
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    methods = command.add_subparsers(title="methods", metavar="METHOD", required=True)
    glue.add_parser(methods)
    by_treebank.add_parsers(methods)
