"""What the steps of ``celadon judge`` share."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from celadon.judge.experiment import Experiment
    from celadon.judge.store import Store

DATABASE_VARIABLE = "CELADON_JUDGE_DATABASE"


def add_experiment(command: argparse.ArgumentParser) -> None:
    """The folder, and where its answers are."""
    command.add_argument("experiment", type=Path, metavar="EXPERIMENT", help="the folder of the experiment")
    command.add_argument(
        "--database",
        metavar="URL",
        help=f"PostgreSQL in place of the folder's SQLite; better in {DATABASE_VARIABLE}, where nobody else sees it",
    )


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[tuple[Experiment, Store]]:
    """The experiment and its answers."""
    from celadon.core import MissingExtraError
    from celadon.judge.experiment import open_experiment

    experiment = open_experiment(arguments.experiment)
    try:
        from celadon.judge.store import Store
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "a part of it", "serve") from None
    store = Store(experiment, arguments.database or os.environ.get(DATABASE_VARIABLE) or None)
    try:
        yield experiment, store
    finally:
        store.close()
