"""A crowd in the judgement experiment: how fast pages come, and whether an answer is ever lost or there twice.

Serves an experiment with ``celadon judge serve``, lets many people take part at once over real connections, kills the
server with -9 in the middle if asked to, and compares what pages confirmed with what the database holds.

    python benchmarks/judge_load.py --people 200
    python benchmarks/judge_load.py --people 200 --think 5
    python benchmarks/judge_load.py --people 200 --kills 5
    python benchmarks/judge_load.py --people 200 --database 'postgresql://judge@/study?host=/run/judge'
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.judge.crowd import run


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--people", type=int, default=200)
    options.add_argument("--kills", type=int, default=0)
    options.add_argument("--database", metavar="URL", help="PostgreSQL in place of SQLite")
    options.add_argument("--think", type=float, default=0.0, metavar="SECONDS", help="that a person takes for a page")
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = Path(folder) / "crowd"
        print(
            json.dumps(
                run(study, arguments.people, arguments.kills, arguments.database, think=arguments.think), indent=2
            )
        )


if __name__ == "__main__":
    main()
