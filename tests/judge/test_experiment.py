"""Configs, items and keys: what is read, and what is said of what cannot be."""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from celadon.core import InputError, UsageError
from celadon.judge.config import DESIGNS
from celadon.judge.experiment import new_experiment, open_experiment, renew_admin_token
from celadon.judge.items import read_items
from celadon.judge.keys import Keys
from celadon.web.security import digest, new_token
from tests.conftest import ROOT
from tests.judge.conftest import MakeExperiment, item_rows


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_makes_a_folder_that_can_be_read(made: MakeExperiment, design: str) -> None:
    experiment = made(design)
    assert experiment.config.design == design
    assert len(experiment.items) == 12
    assert {question.kind for question in experiment.config.questions} == {DESIGNS[design]}
    # readable: comments say what each number is for
    assert (experiment.folder / "experiment.toml").read_text(encoding="utf-8").count("\n#") >= 6


def test_the_anchors_are_those_of_the_paper(made: MakeExperiment) -> None:
    understandability, quality = made("likert").config.questions
    assert understandability.anchors == {7: "Extremely easy", 4: "Just barely possible", 1: "Impossible"}
    assert quality.anchors == {7: "Extremely well-written", 4: "Pretty bad", 1: "Horrible"}
    assert list(quality.values) == [1, 2, 3, 4, 5, 6, 7]


def test_duc_asks_the_questions_of_table_1_from_1_to_5(made: MakeExperiment) -> None:
    questions = made("duc").config.questions
    names = ["grammaticality", "non_redundancy", "focus", "structure_and_coherence", "overall"]
    assert [question.name for question in questions] == names
    assert {(question.low, question.high) for question in questions} == {(1, 5)}


def test_the_example_is_the_experiment_of_the_paper(tmp_path: Path) -> None:
    folder = ROOT / "examples" / "judge-2000"
    experiment, _ = new_experiment(tmp_path / "x", str(folder / "items.jsonl"), None, config=folder / "experiment.toml")
    assert len(experiment.items) == 24
    assert sorted(len(page.items) for page in experiment.plan(0)[1:]) == [3, 3, 3, 5, 5, 5]
    assert experiment.people_needed == 10


@pytest.mark.parametrize(
    ("line", "instead", "message"),
    [
        ("design = ", 'design = "guess"', r"design: expected a text matching regex '\^\(likert\|magnitude"),
        ("seed = ", "seed = -1", r"seed: expected a whole number >= 0"),
        ("ratings_per_item", "ratings_per_items = 3", r"assignment\.ratings_per_item"),
        (
            "variants_per_page",
            'variants_per_page = "two"',
            r"assignment\.variants_per_page: expected a whole number, got a text",
        ),
        (
            "break_every",
            "break_every = 1\nbreak_evry = 2",
            r"assignment\.break_evry: is not known; did you mean break_every\?",
        ),
        ("high = 7", "high = 1", r"questions\[0\]: high must be above low"),
        ("answer = 2", "answer = 9", r"checks\[0\]: answer 9 is none of the answers"),
        ("name = ", 'name = "Two words"', r"questions\[0\]\.name: expected a text matching regex"),
        ("url = ", 'url = "javascript:alert(1)"', r"completion\.url: expected a text matching regex '\^\(https://"),
        ("language = ", 'language = "english please"', r"language: expected a text matching regex"),
        ("title = ", "title = ", r"not valid TOML"),
    ],
)
def test_a_wrong_config_is_refused_with_its_place(made: MakeExperiment, line: str, instead: str, message: str) -> None:
    experiment = made("likert")
    path = experiment.folder / "experiment.toml"
    text = path.read_text(encoding="utf-8")
    text = re.sub(rf"(?m)^{re.escape(line)}.*$", instead, text)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        open_experiment(experiment.folder)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ('{"text": "a"}\n{"text": ""}\n', r"items.jsonl:2: the text is empty"),
        ('{"id": "x", "text": "a"}\n{"id": "x", "text": "b"}\n', r":2: the item 'x' is there already at .*:1"),
        ('{"id": "check:0", "text": "a"}\n', r":1: the id 'check:0' begins with"),
        ('{"id": "a\\u0000b", "text": "a"}\n', r":1: .* characters that cannot be shown"),
        ('{"id": "x"}\n', r":1: no text"),
        ("", r"items.jsonl"),
    ],
)
def test_wrong_items_are_refused_with_their_line(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_items(write(tmp_path / "items.jsonl", rows))


def test_items_have_their_cells_from_a_column_or_from_shared_ids(tmp_path: Path) -> None:
    shared = read_items(write(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in item_rows())))
    assert {item.cell for item in shared} == {"alpha", "beta", "gamma", "delta"}
    assert shared[0].key == "alpha/one"
    assert shared[0].references == ("The alpha text.",)
    grouped = read_items(write(tmp_path / "b.csv", "id,group,text,context\n1,g,one,before\n2,g,two,\n3,h,three,\n"))
    assert [(item.key, item.cell, item.context) for item in grouped] == [
        ("1", "g", "before"),
        ("2", "g", ""),
        ("3", "h", ""),
    ]
    alone = read_items(write(tmp_path / "c.jsonl", '{"text": "x"}\n{"text": "y"}\n'))
    assert [item.cell for item in alone] == ["1", "2"]


def test_texts_come_back_as_they_were(tmp_path: Path) -> None:
    texts = ["line one\nline two", "\u2028 and \u2029", "<script>alert(1)</script>", "نص عربي", "tab\tand \u0085", "🙂"]
    source = write(tmp_path / "items.jsonl", "".join(json.dumps({"text": text}) + "\n" for text in texts))
    experiment, _ = new_experiment(tmp_path / "x", source, "duc")
    assert [item.text for item in experiment.items] == texts


def test_a_folder_in_use_is_left_alone(made: MakeExperiment, tmp_path: Path) -> None:
    experiment = made()
    source = str(experiment.folder.with_suffix(".jsonl"))
    with pytest.raises(UsageError, match="is there already"):
        new_experiment(experiment.folder, source, "duc")
    with pytest.raises(UsageError, match="unknown design 'guess'; known: likert"):
        new_experiment(tmp_path / "new", source, "guess")
    assert not (tmp_path / "new").exists()


def test_keys_are_for_their_owner_and_hold_no_token(made: MakeExperiment, tmp_path: Path) -> None:
    experiment = made()
    token = renew_admin_token(experiment)
    keys = experiment.folder / "keys.json"
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert token not in keys.read_text(encoding="utf-8")
    assert not experiment.keys.is_admin_token(token)
    assert open_experiment(experiment.folder).keys.is_admin_token(token)


def test_a_session_of_the_researcher_ends_with_its_time_its_token_or_a_changed_letter() -> None:
    keys = Keys(b"k" * 32, digest("secret"))
    session = keys.admin_session(now=1_000.0)
    assert keys.is_admin_session(session, now=1_000.0 + 11.9 * 3600)
    assert not keys.is_admin_session(session, now=1_000.0 + 12.1 * 3600)
    assert not Keys(b"k" * 32, digest("other")).is_admin_session(session, now=1_000.0)
    until, _, rest = session.partition(".")
    assert not keys.is_admin_session(f"{int(until) + 99_999}.{rest}", now=1_000.0)
    assert not keys.is_admin_session("", now=1_000.0)
    assert not keys.is_admin_session("x.y.z", now=1_000.0)


def test_what_must_not_be_guessed_is_long_and_differs() -> None:
    tokens = {new_token() for _ in range(200)}
    assert len(tokens) == 200
    assert min(map(len, tokens)) >= 43
    keys, others = Keys(b"a" * 32, ""), Keys(b"b" * 32, "")
    assert keys.join_token != others.join_token
    assert keys.code("P1") != keys.code("P2") != others.code("P2")
    assert re.fullmatch(r"[A-Z2-9]{8}", keys.code("P1"))
    assert repr(keys).find("aaaa") == -1
