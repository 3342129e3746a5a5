"""``celadon judge new``: write the folder of an experiment."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any


def add_parser(steps: Any) -> None:
    """Add this step."""
    command = steps.add_parser(
        "new",
        help="write a folder with a config to edit, the items and the keys",
        description="Write the folder of an experiment. Its experiment.toml says what people are asked and how items "
        "are given out, and is yours to edit before the first person begins.",
    )
    command.add_argument("experiment", type=Path, metavar="EXPERIMENT", help="the folder to make")
    command.add_argument(
        "--items",
        required=True,
        metavar="FILE",
        help="JSONL, CSV, TSV or Parquet with text, id, system, cell (or group), context, references, lang",
    )
    which = command.add_mutually_exclusive_group(required=True)
    which.add_argument("--design", metavar="DESIGN", help="likert, magnitude, duc, pairwise or postedit")
    which.add_argument("--config", type=Path, metavar="TOML", help="the experiment.toml of another experiment")
    command.add_argument("--title", default="", metavar="WORDS", help="what the pages are headed with")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make it, and say what it will take."""
    from celadon.cli.judge.show import needs
    from celadon.judge.experiment import new_experiment

    experiment, token = new_experiment(
        arguments.experiment, arguments.items, arguments.design, title=arguments.title, config=arguments.config
    )
    print(needs(experiment))
    print(f"the researcher's token, shown only now: {token}")
    print(
        f"edit {experiment.folder / 'experiment.toml'}, then: celadon judge serve {experiment.folder}", file=sys.stderr
    )
    return 0
