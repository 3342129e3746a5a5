"""``celadon judge show``: how an experiment stands."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from celadon.cli.judge.options import add_experiment, opened
from celadon.cli.meta.tables import figure

if TYPE_CHECKING:
    from celadon.judge.experiment import Experiment


def add_parser(steps: Any) -> None:
    """Add this step."""
    command = steps.add_parser("show", help="how many people it needs, and how it stands")
    add_experiment(command)
    command.set_defaults(run=run)


def needs(experiment: Experiment) -> str:
    """What the experiment will take, in one line."""
    from celadon.judge.assignment import pages_each

    config = experiment.config
    pages = pages_each(experiment.cells, config.assignment)
    cells = len({item.cell for item in experiment.items})
    return (
        f"{config.design}: {len(experiment.items):,} items in {cells:,} cells; {experiment.people_needed:,} people "
        f"with {pages:,} pages each give every item at least {config.assignment.ratings_per_item} ratings"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print it."""
    from celadon.judge.conduct import collect, overview
    from celadon.text.layout import table

    with opened(arguments) as (experiment, store):
        state = overview(experiment, collect(experiment, store))
        print(needs(experiment))
        print(f"{state.completed:,} of {state.needed:,} people finished, {state.begun - state.completed:,} under way")
        print(f"{state.enough:,} of {len(state.items):,} items have {state.target} ratings")
        if state.agreement and state.begun:
            rows = [[row.question, figure(row.alpha), figure(row.correlation)] for row in state.agreement]
            print(table(["agreement so far", "alpha", "correlation"], rows))
        for person in state.conduct:
            if person.flags:
                print(f"flagged: {person.participant}: {'; '.join(person.flags)}")
    return 0
