"""``celadon metrics``, ``explain`` and ``install``."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import sys
from pathlib import Path

import pytest

from celadon.metrics.registry import names
from tests import processes
from tests.cli.test_score import celadon


def test_metrics_lists_all_of_them() -> None:
    listed = json.loads(celadon("metrics", "--json").stdout)
    assert [entry["name"] for entry in listed] == list(names())
    text = celadon("metrics").stdout
    for entry in listed:
        assert entry["meaning"] in text
        assert entry["direction"] in ("higher is better", "lower is better")


def test_explain_shows_the_papers_alignment() -> None:
    done = celadon(
        "explain",
        "There was estimate for phase the second no cost",
        "--reference",
        "There was no cost estimate for the second phase",
    )
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("  reference"))
    assert lines[at].split()[1:] == "There was no cost estimate for the second phase".split()
    assert lines[at + 1].split()[1:] == "There was estimate for phase the second no cost".split()
    assert lines[at + 2].split() == ". . d d . . i . . i s".split()
    assert "simple_string_accuracy: 0.4444" in done.stdout
    assert "generation_string_accuracy: 0.5556" in done.stdout
    assert "4 shared 2-grams: there was, estimate for, the second, no cost" in done.stdout


def test_explain_says_why_there_is_no_score() -> None:
    done = celadon("explain", "", "--reference", "x")
    assert "no score, the text has no words" in done.stdout


def test_explain_survives_any_text() -> None:
    for text in ("ตัวอย่าง", "天気がいい", "👩‍👩‍👧‍👦 ok", "\u202eabc"):
        assert celadon("explain", text, "--reference", f"{text} more").returncode == 0


def test_install_lists_the_extras() -> None:
    lines = celadon("install").stdout.splitlines()
    assert any(re.fullmatch(r"pandas +scores\.to_pandas\(\) +(installed|missing: pandas)", line) for line in lines)
    assert any(line.startswith("wordnet  synonyms for meteor") for line in lines)


APT = """#!/bin/sh
echo "$@" >> "$APT_LOG"
"""


@pytest.mark.parametrize(
    ("options", "answer", "code", "calls"), [([], "n", 3, 0), ([], "y", 0, 2), (["--yes"], "", 0, 2)]
)
def test_install_asks_before_apt_get(tmp_path: Path, options: list[str], answer: str, code: int, calls: int) -> None:
    """At a terminal, as root, where a package is not there and apt-get only notes what it was called with."""
    program = tmp_path / "apt-get"
    program.write_text(APT, encoding="utf-8")
    program.chmod(0o755)
    log = tmp_path / "log"
    log.touch()
    script = (
        "import os, sys, celadon.cli.install as i; i.DEBIAN['wordnet'] = ('no-such-package-of-debian',);"
        f"os.geteuid = lambda: 0; from celadon.cli import main; sys.exit(main(['install', 'wordnet', *{options}]))"
    )
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "APT_LOG": str(log)}
    ours, theirs = pty.openpty()
    try:
        os.write(ours, f"{answer}\n".encode())
        done = processes.run(
            [sys.executable, "-c", script],
            stdin=theirs,
            capture_output=True,
            text=True,
            check=False,
            env=environment,
            timeout=100,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == code, done.stderr
    assert ("[y/N]" in done.stderr) is (not options)
    assert len(log.read_text(encoding="utf-8").splitlines()) == calls


def test_install_refuses_constraints_that_are_not_there() -> None:
    done = celadon("install", "pandas", "--constraint", "none.txt")
    assert done.returncode == 2
    assert done.stderr == "celadon: none.txt: no such file\n"


def test_install_without_root_says_what_root_should_do() -> None:
    """As a user who may not run apt-get, on a system where the package is not there."""
    code = (
        "import os, sys, celadon.cli.install as i; i.DEBIAN['wordnet'] = ('no-such-package-of-debian',);"
        "os.geteuid = lambda: 1000; from celadon.cli import main; sys.exit(main(['install', 'wordnet']))"
    )
    done = processes.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if shutil.which("apt-get") is None:
        assert "no apt-get" in done.stderr
    else:
        assert "sudo apt-get install no-such-package-of-debian" in done.stderr
    assert done.returncode == 3
