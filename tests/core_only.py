"""An interpreter that has nothing but celadon and what its core depends on.

Modules of every other installed distribution cannot be imported in it, as after ``pip install celadon-text``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from importlib.metadata import distribution, packages_distributions
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests import processes

PROGRAM = """
import contextlib, io, json, sys

class Blocker:
    def __init__(self, blocked):
        self.blocked = frozenset(blocked)

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.blocked:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

given = json.load(sys.stdin)
sys.meta_path.insert(0, Blocker(given["blocked"]))
sys.stdin.close()
sys.stdin = open("/dev/null")

from celadon.cli import main

results = []
for command in given["commands"]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(command)
        except SystemExit as end:
            code = end.code
    results.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(results))
"""


class Result(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str


def core_distributions() -> set[str]:
    """Return celadon-text and all that it depends on without extras, by their normalized names."""
    names: set[str] = set()
    waiting = ["celadon-text"]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in names:
            continue
        names.add(name)
        for line in distribution(name).requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return names


def blocked_modules() -> list[str]:
    """Return the top-level modules of all distributions that the core does not need."""
    core = core_distributions()
    return sorted(
        module
        for module, owners in packages_distributions().items()
        if module != "celadon" and not any(canonicalize_name(owner) in core for owner in owners)
    )


def run_commands(commands: Sequence[Sequence[str]], folder: str) -> list[Result]:
    """Run commands of celadon one after another in such an interpreter, in a folder."""
    given = json.dumps({"blocked": blocked_modules(), "commands": commands})
    done = processes.run(
        [sys.executable, "-c", PROGRAM], input=given, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [Result(*each) for each in json.loads(done.stdout)]
