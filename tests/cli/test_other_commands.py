"""``celadon metrics``, ``explain`` and ``install``."""

from __future__ import annotations

import json
import shutil
import sys

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
    done = celadon("install")
    assert "pandas: pandas" in done.stdout
    assert "wordnet: wordnet-base (Debian)" in done.stdout


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
