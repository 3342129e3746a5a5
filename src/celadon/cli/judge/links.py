"""``celadon judge links``: links for people."""

from __future__ import annotations

import argparse
from typing import Any

from celadon.cli.judge.options import add_experiment, opened


def add_parser(steps: Any) -> None:
    """Add this step."""
    command = steps.add_parser(
        "links",
        help="print the link for everybody, or links of people's own",
        description="Print the link through which anybody may join, as Prolific and MTurk need it; with --count, links "
        "of people's own; with --again, another link for somebody who lost theirs.",
    )
    add_experiment(command)
    command.add_argument("--count", type=int, default=0, metavar="N", help="make links of so many people's own")
    command.add_argument("--again", metavar="PERSON", help="another link for this person, by their random name")
    command.add_argument("--site", default="", metavar="URL", help="where the pages are: https://study.example.org")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print them."""
    from celadon.core import UsageError

    if not 0 <= arguments.count <= 100_000:
        raise UsageError("--count: from 1 to 100,000 links can be made at once")
    site = arguments.site.rstrip("/")
    with opened(arguments) as (experiment, store):
        if arguments.again:
            link = store.new_link_for(arguments.again)
            if link is None:
                raise UsageError(f"there is no person {arguments.again!r}; celadon judge show lists those who began")
            print(f"{site}/p/{link}")
        elif arguments.count:
            for link in store.new_links(arguments.count):
                print(f"{site}/p/{link}")
        else:
            print(f"{site}/join/{experiment.keys.join_token}")
    return 0
