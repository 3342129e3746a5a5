"""``celadon explain`` of a text alone: the surprisal of its tokens, on a terminal and off it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from celadon.core import Sample
from celadon.metrics.likelihood_evidence import LikelihoodEvidence
from celadon.metrics.registry import load
from tests.cli.test_score import CELADON, celadon
from tests.conftest import builtin_is_there, missing_part
from tests.tiny_models import make_bigrams

TEXT = "The dog ran home! He left it unhappy."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bigrams(tmp_path_factory.mktemp("models") / "bigrams").folder


def on_a_terminal(*arguments: str, **environment: str) -> str:
    master, slave = pty.openpty()
    settings = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm-256color"}
    done = subprocess.Popen([*CELADON, *arguments], stdout=slave, stdin=slave, env=settings | environment)
    os.close(slave)
    shown = b""
    try:
        while piece := os.read(master, 4096):
            shown += piece
    except OSError:  # the other end was closed
        pass
    assert done.wait() == 0
    os.close(master)
    return shown.decode().replace("\r\n", "\n")


def evidence(spec: str) -> LikelihoodEvidence:
    found = load(spec).evidence(Sample(TEXT))
    assert isinstance(found, LikelihoodEvidence)
    return found


def test_the_least_expected_words_and_each_sentence_are_listed(folder: Path) -> None:
    spec = f"slor[model={folder}]"
    done = celadon("explain", TEXT, "-m", spec)
    assert done.returncode == 0
    assert "\033" not in done.stdout
    listed = done.stdout.partition("least expected:\n")[2].splitlines()
    why = evidence(spec)
    for span, line in zip(why.words, listed, strict=False):
        last = TEXT[: span.start].split()[-1:]
        assert line.split("  ")[2] == (TEXT[span.start : span.end] or f"the end after {last[0]}")
        assert line.endswith(f"  {span.note}")
    for span in why.sentences:
        assert f"{span.note}  {TEXT[span.start : span.end]}" in done.stdout
    assert done.stdout.count("(worst)") == 1


def test_a_terminal_shows_each_token_on_its_shade(folder: Path) -> None:
    spec = f"nce[model={folder}]"
    shown = on_a_terminal("explain", TEXT, "-m", spec)
    text = next(line for line in shown.splitlines() if "dog" in line)
    assert re.sub(r"\033\[[\d;]*m", "", text) == f"  {TEXT}"
    painted = re.findall(r"\033\[38;5;16;48;5;(\d+)m(.*?)\033\[0m", text)
    shades = {"surprisal-1": "230", "surprisal-2": "223", "surprisal-3": "216"}
    assert painted == [
        (shades[span.label], TEXT[span.start : span.end])
        for span in evidence(spec).text_spans
        if span.label != "surprisal-0"
    ]


def test_no_color_is_obeyed_and_equal_tokens_are_shaded_once(folder: Path) -> None:
    specs = f"nce[model={folder}],slor[model={folder}]"
    assert "\033" not in on_a_terminal("explain", TEXT, "-m", specs, NO_COLOR="1")
    assert on_a_terminal("explain", TEXT, "-m", specs).count("bits from") == 1


def test_control_characters_do_not_reach_the_terminal(folder: Path) -> None:
    shown = on_a_terminal("explain", "The \033[31mcat\x07 sat\non a mat.", "-m", f"nce[model={folder}]")
    assert "\033[31m" not in shown
    assert "\x07" not in shown


def test_what_cannot_be_read_is_said(folder: Path) -> None:
    done = celadon("explain", "кот", "-m", f"slor[model={folder}]")
    assert done.returncode == 0
    assert "no score, less than half of the text's letters are Latin" in done.stdout


def test_without_a_reference_slor_explains() -> None:
    if not builtin_is_there():
        missing_part("the builtin language model", "train it, or check out its weights")
    done = celadon("explain", "He is a citizen of of Tuvalu.")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("slor: ")
    assert "least expected:" in done.stdout


def test_a_metric_relative_to_a_set_says_that_one_text_is_none() -> None:
    done = celadon("explain", "The cat sat on the mat.", "--reference", "A cat sat on a mat.", "-m", "rouge_lm")
    assert done.returncode == 0
    assert "how a text stands in a set" in done.stdout
    assert "rougeL 0.6667" in done.stdout
