"""``assert_reads_well``, and the plugin in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from celadon.core import InputError, UsageError
from celadon.testing import assert_reads_well
from tests.conftest import builtin_is_there, missing_part
from tests.prose_share import NAME, register

pytest_plugins = ["pytester"]

GOOD = "The cat sat on the mat."
INSTALLED = any(point.value == "celadon.testing.pytest_plugin" for point in entry_points(group="pytest11"))
PLUGIN = [] if INSTALLED else ["-p", "celadon.testing.pytest_plugin"]


def message(text: str, **limits: object) -> str:
    with pytest.raises(AssertionError) as failed:
        assert_reads_well(text, **limits)  # type: ignore[arg-type]
    return str(failed.value)


def test_limits_of_any_metric() -> None:
    assert_reads_well(GOOD, references=GOOD, minimum={"rougeL": 1.0}, maximum={"ter": 0.0, "rougeL.precision": 1})
    told = message("The dog sat.", references=[GOOD, "x"], minimum={"rougeL": 0.9, "rougeL.recall": 0.8})
    assert "rougeL at least 0.9, but it is 0.4444" in told  # 2 of 3 words and 2 of 6
    assert "rougeL.recall at least 0.8, but it is 0.3333" in told
    assert "2 words in common, in order: the sat" in told
    assert "text: 'The dog sat.'" in told
    assert "there is no score: " in message("", references=GOOD, minimum={"rougeL": 0})
    assert "ter at most 10, but it is" in message("dogs", references=GOOD, maximum={"ter": 10})


def test_requests_that_make_no_sense() -> None:
    with pytest.raises(UsageError, match="unknown metric"):
        assert_reads_well(GOOD, minimum={"rougeX": 1})
    with pytest.raises(InputError, match="rougeL needs references"):
        assert_reads_well(GOOD, minimum={"rougeL": 1})


def test_the_usual_limit_names_the_sentence_and_the_words() -> None:
    if not builtin_is_there():
        missing_part("the builtin model", "so the usual limit is not tried: git lfs pull")
    assert_reads_well("The cat sat on the mat. It was warm there, and the cat was happy.")
    told = message("The cat sat on the mat. Mat the of on cat and")
    assert "celadon at least 0.6, but it is 0." in told
    assert "Mat the of on cat and  (worst)" in told
    assert "ends on 'and'" in told


TESTS = f"""
def test_good(assert_reads_well):
    assert_reads_well({GOOD!r}, references={GOOD!r})

def test_bad(assert_reads_well):
    assert_reads_well("The dog sat.", references={GOOD!r})

def test_own_limit(assert_reads_well):
    assert_reads_well("The dog sat.", references={GOOD!r}, minimum={{"rougeL": 0.4}})
"""


def test_in_a_run_of_pytest(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    asked = ["-p", "no:cacheprovider", *PLUGIN]
    done = pytester.runpytest_inprocess(*asked, "--celadon-min", "rougeL=0.5", "--celadon-max", "ter=70")
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*the text does not read well", "*rougeL at least 0.5, but it is 0.4444"])
    # the traceback ends in the user's own line
    assert "celadon/testing.py" not in done.stdout.str()
    wrong = pytester.runpytest_inprocess(*asked, "--celadon-min", "rougeL")
    wrong.assert_outcomes(errors=3)
    wrong.stdout.fnmatch_lines(["*'rougeL' is not a limit; write NAME=NUMBER*"])


def test_loading_it_costs_nothing() -> None:
    heavy = "[name for name in sys.modules if name in ('numpy', 'celadon.core')]"
    said = f"import sys, celadon.testing.pytest_plugin as plugin; print({heavy})"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_texts_without_a_score(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    limit = {"minimum": {NAME: 0.1}}
    assert assert_reads_well("The ferry runs every hour.", **limit) is None  # type: ignore[arg-type]
    assert assert_reads_well("Paris", **limit) == "fragment"  # type: ignore[arg-type]
    assert assert_reads_well('{"a": 1}', **limit) == "data"  # type: ignore[arg-type]
    assert "there is no score: fragment: " in message("Paris", **limit, nulls="none")
    assert "there is no score: the text has no words" in message("", **limit)
    spanish = "El barco sale cada hora y para en la isla. Los niños juegan en la playa con sus amigos."
    assert "text is Spanish" in message(spanish, **limit)
    assert assert_reads_well(spanish, **limit, language="any") == "language"  # type: ignore[arg-type]
    assert assert_reads_well("", **limit, nulls=["wordless"]) == "wordless"  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is no kind of text"):
        assert_reads_well("Paris", nulls="short")
    with pytest.raises(InputError, match="'latex' is no markup"):
        assert_reads_well("Paris", **limit, markup="latex")  # type: ignore[arg-type]


NULL_TESTS = """
def test_fragment(assert_reads_well):
    assert_reads_well("Paris")

def test_data(assert_reads_well):
    assert_reads_well('{"a": 1}')

def test_own_choice(assert_reads_well):
    assert_reads_well("Paris", nulls="fragment")
"""


def test_nulls_in_a_run_of_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)
    pytester.makepyfile(NULL_TESTS)
    asked = ["-p", "no:cacheprovider", *PLUGIN, "--celadon-min", f"{NAME}=0.1"]
    done = pytester.runpytest_inprocess(*asked)
    done.assert_outcomes(passed=3)
    done.stdout.fnmatch_lines(["celadon: 3 texts without a score passed: 2 fragment, 1 data"])
    strict = pytester.runpytest_inprocess(*asked, "--celadon-nulls", "none")
    strict.assert_outcomes(passed=1, failed=2)
    wrong = pytester.runpytest_inprocess(*asked, "--celadon-nulls", "short")
    wrong.stdout.fnmatch_lines(["*'short' is no kind of text without a score*"])
