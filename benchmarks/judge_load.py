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

from tests.judge.crowd import Crowd, run


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--people", type=int, default=200)
    options.add_argument("--kills", type=int, default=0)
    options.add_argument("--database", metavar="URL", help="PostgreSQL in place of SQLite")
    options.add_argument("--think", type=float, default=0.0, metavar="SECONDS", help="that a person takes for a page")
    options.add_argument("--twice", type=float, default=0.0, metavar="SHARE", help="of the forms that are sent twice")
    options.add_argument("--cells", type=int, default=12, help="pages of texts that a person is shown")
    arguments = options.parse_args()
    names = ("people", "cells", "kills", "think", "twice")
    crowd = Crowd(**{name: getattr(arguments, name) for name in names})
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(Path(folder) / "crowd", crowd, arguments.database), indent=2))


if __name__ == "__main__":
    main()
