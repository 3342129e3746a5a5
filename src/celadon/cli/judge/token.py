"""``celadon judge token``: another token for the researcher."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(steps: Any) -> None:
    """Add this step."""
    command = steps.add_parser("token", help="make another token for the researcher's page; the old one is void")
    command.add_argument("experiment", type=Path, metavar="EXPERIMENT", help="the folder of the experiment")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make and print it."""
    from celadon.judge.experiment import open_experiment, renew_admin_token

    print(renew_admin_token(open_experiment(arguments.experiment)))
    return 0
