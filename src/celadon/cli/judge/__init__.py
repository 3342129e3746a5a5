"""``celadon judge``: a judgement experiment on the web; one file per step."""

from __future__ import annotations

import argparse

_EPILOG = """\
examples:
  celadon judge new study --items outputs.jsonl --design likert --title "How well does it read?"
  celadon judge links study --count 20 --site https://study.example.org
  celadon judge serve study --port 8000
  celadon judge show study
  celadon judge export study --output answers.csv
  celadon judge analyse study --metric rougeL,chrf --report study.html

The answers are in the folder, in SQLite; or in PostgreSQL, at the URL in CELADON_JUDGE_DATABASE or --database.
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    from celadon.cli.judge import analyse, export, links, new, serve, show, token

    command.description = "Ask people how well texts read: an experiment on web pages, from a file of texts to a table."
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    steps = command.add_subparsers(title="steps", metavar="STEP", required=True)
    for step in (new, links, serve, show, export, analyse, token):
        step.add_parser(steps)
