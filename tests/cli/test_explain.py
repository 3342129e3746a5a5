"""``celadon explain`` of a text alone: the surprisal of its tokens, on a terminal and off it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from celadon.cli import main
from celadon.core import Evidence, Metric, Sample
from celadon.metrics.gruen.focus import GruenFocus
from celadon.metrics.registry import load
from celadon.scoring.batch import Batch
from tests import processes
from tests.cli.test_score import CELADON, celadon
from tests.conftest import builtin_is_there, missing_part
from tests.tiny_models import make_bigrams

TEXT = "The dog ran home! He left it unhappy."
TWICE = "The cat sat on a red mat. Stocks fell in Tokyo on Monday. The cat sat on a blue mat."


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
    assert done.wait(timeout=processes.LIMIT) == 0
    os.close(master)
    return shown.decode().replace("\r\n", "\n")


def evidence(spec: str) -> Evidence:
    found = load(spec).evidence(Sample(TEXT))
    assert found is not None
    return found


def test_the_least_expected_words_and_each_sentence_are_listed(folder: Path) -> None:
    spec = f"slor[model={folder}]"
    done = celadon("explain", TEXT, "-m", spec)
    assert done.returncode == 0
    assert "\033" not in done.stdout
    listed = done.stdout.partition("least expected:\n")[2].splitlines()
    why = evidence(spec)
    words, sentences = (section.spans for section in why.of_kind("list"))
    for span, line in zip(words, listed, strict=False):
        last = TEXT[: span.start].split()[-1:]
        assert line.strip() == f"{span.note}  {TEXT[span.start : span.end] or f'the end after {last[0]}'}"
    for span in sentences:
        assert f"{span.note}  {TEXT[span.start : span.end]}" in done.stdout
    assert done.stdout.count("(worst)") == 1


def test_a_terminal_shows_each_token_on_its_shade(folder: Path) -> None:
    spec = f"nce[model={folder}]"
    shown = on_a_terminal("explain", TEXT, "-m", spec)
    text = next(line for line in shown.splitlines() if "dog" in line)
    assert re.sub(r"\033\[[\d;]*m", "", text) == f"    {TEXT}"
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
    done = celadon("explain", "Кот сидит на коврике у двери.", "-m", f"slor[model={folder}]")
    assert done.returncode == 0
    assert "no score, less than half of the text's letters are Latin" in done.stdout


def test_without_a_reference_celadon_explains() -> None:
    if not builtin_is_there():
        missing_part("the builtin language model", "train it, or check out its weights")
    done = celadon("explain", "He is a citizen of of Tuvalu.")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("celadon: ")
    aspects = re.findall(r"^  (\w+) [01]\.\d{4}: ", done.stdout, re.MULTILINE)
    assert aspects == ["grammaticality", "redundancy", "focus", "coherence", "complete", "prose"]


def test_a_metric_relative_to_a_set_says_that_one_text_is_none() -> None:
    done = celadon("explain", "The cat sat on the mat.", "--reference", "A cat sat on a mat.", "-m", "rouge_lm")
    assert done.returncode == 0
    assert "how a text stands in a set" in done.stdout
    assert "rougeL 0.6667" in done.stdout


class Plain:
    """What a command prints off a terminal that is so many columns wide."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys, self.monkeypatch = capsys, monkeypatch

    def __call__(self, spec: str, text: str, columns: int = 80) -> str:
        self.monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["explain", text, "-m", spec]) == 0
        return self.capsys.readouterr().out


@pytest.fixture
def plain(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Plain:
    return Plain(capsys, monkeypatch)


def test_repeated_sentences_stand_above_each_other_with_what_they_share_marked(plain: Plain) -> None:
    shown = plain("gruen.redundancy", TWICE)
    assert "    1  [The cat sat on a] red [mat].\n    3  [The cat sat on a] blue [mat].\n" in shown
    coloured = on_a_terminal("explain", TWICE, "-m", "gruen.redundancy")
    assert "[The" not in coloured
    line = next(line for line in coloured.splitlines() if "blue" in line)
    shared = re.findall(r"\033\[1;4m(.*?)\033\[0m", line)
    assert shared == ["The", "cat", "sat", "on", "a", "mat"]
    assert re.sub(r"\033\[[\d;]*m", "", line) == "    3  The cat sat on a blue mat."


def test_weak_transitions_show_their_two_sentences(plain: Plain) -> None:
    why = GruenFocus(threshold=1).evidence(Sample(TWICE))
    assert why is not None
    shown = plain("gruen.focus[threshold=1]", TWICE)
    transitions = why.of_kind("transition")
    assert len(transitions) == 2
    for transition in transitions:
        first, second = (TWICE[span.start : span.end] for span in transition.spans)
        assert f"    {transition.spans[1].value:.3f}  {first}\n           {second}\n" in shown


def test_long_sentences_fit_the_terminal_and_control_characters_stay_out(plain: Plain) -> None:
    text = " ".join([f"The \033[31mcat{'食' * 10} sat on a mat and it was a very \n happy cat indeed."] * 2)
    shown = plain("gruen.redundancy,gruen.focus[threshold=1]", text, columns=50)
    details = [line for line in shown.splitlines() if line.startswith("    ")]
    assert details
    assert "\033" not in shown
    wide = [sum(2 if character == "食" else 1 for character in line) for line in details]
    assert max(wide) <= 50


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Metric]:
    try:
        import onnx  # noqa: F401
        import torch  # noqa: F401
    except ImportError:
        missing_part("torch or onnx", "run: pip install 'celadon-text[train]'")
    from tests.tiny_aspects import name_tiny_tier

    gruen, ours = name_tiny_tier(monkeypatch, tmp_path)
    return {"gruen": gruen, "celadon": ours}


@pytest.mark.parametrize("name", ["gruen", "celadon"])
def test_every_aspect_is_told_with_its_value_and_its_sentences(
    tiny: dict[str, Metric], name: str, plain: Plain
) -> None:
    text = f"{TWICE} He left the <unk> and the. {TEXT}"
    metric = tiny[name]
    shown = plain(metric.spec, text)
    scored = metric.score(Batch([Sample(text)]))
    assert shown.startswith(f"{metric.spec}: {scored.values[0]:.4f}\n")
    for part, column in scored.parts.items():
        assert f"\n  {part} {column[0]:.4f}: " in shown
    evidence = metric.evidence(Sample(text))
    assert evidence is not None
    (sentences,) = evidence.aspects[0].of_kind("sentences")
    for span in sentences.spans:
        number = span.note.partition(":")[0]
        assert float(number) == pytest.approx(span.value, abs=0.006)
        assert f"\n      {number}  {text[span.start : span.end]}" in shown
    assert shown.count("  (worst)\n") == 1
    assert "      1  [The cat sat on a] red [mat].\n" in shown
    assert ("He left the <unk>\n" in shown) == (name == "celadon")
    assert ("      loose end, ends on 'the'  …" in shown) == (name == "celadon")
    for span in evidence.aspects[3].text_spans:
        told = f"      {span.note}  {text[span.start : span.end]}\n"
        assert (told in shown) == (span.label == "doubted order")


def test_one_sentence_is_short_and_of_many_the_worst_are_listed(tiny: dict[str, Metric], plain: Plain) -> None:
    spec = tiny["celadon"].spec
    assert len(plain(spec, "The cat sat.").splitlines()) <= 11
    text = " ".join(f"The {' '.join(['cat'] * (1 + row % 7))} sat on mat {row}." for row in range(40))
    shown = plain(spec, text)
    listed = [line for line in shown.splitlines() if re.match(r"      \d\.\d\d  The cat", line)]
    assert len(listed) == 30
    assert "      and 10 more, none below 0." in shown
    assert max(map(len, shown.splitlines()[1:])) <= 80


def test_a_text_that_cannot_be_read_says_why(tiny: dict[str, Metric], plain: Plain) -> None:
    for metric in tiny.values():
        assert "no score, the text has no words" in plain(metric.spec, "...")
