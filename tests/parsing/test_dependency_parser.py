"""The dependency parser, against spaCy's own way of running the same weights."""

from __future__ import annotations

import json
import math
import os
import pickle
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import InputError, MissingPartError
from celadon.models.store import folder_of, load_catalog
from celadon.parsing import Failure, Reason
from celadon.parsing.dependency_parser import FILES, MAX_CHARACTERS, NAME, DependencyParse, DependencyParser
from tests.conftest import missing_part
from tests.parsing.small_dependencies import make_dependencies

SENTENCES = [
    "The committee approved the new budget after a long debate.",
    "Everybody likes big cakes do",
    "Debate the long a budget after new the approved committee.",
    "He said that he would come if the weather was good. She did not.",
    "https://example.org/a?b=c",
    "A trial last summer doubled the number of passengers (by 3.5%).",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dependencies(tmp_path_factory.mktemp("dependencies") / "random", seed=3)


@pytest.fixture(scope="module")
def parser(folder: Path) -> DependencyParser:
    return DependencyParser(folder)


def parsed(parser: DependencyParser, sentence: str) -> DependencyParse:
    result = parser.parse([sentence])[0]
    assert isinstance(result, DependencyParse)
    return result


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_heads_are_those_that_spacy_finds_itself(parser: DependencyParser, sentence: str) -> None:
    document = parser._language(sentence)
    found = parsed(parser, sentence)
    assert found.heads == tuple(token.head.i for token in document)
    assert [sentence[start:end] for start, end in found.words] == [token.text for token in document]
    assert found.fragments == len(list(document.sents))


def test_neighbours_and_order_change_nothing(parser: DependencyParser) -> None:
    whole = parser.parse(SENTENCES)
    assert parser.parse(SENTENCES[::-1]) == whole[::-1]
    assert [parser.parse([sentence])[0] for sentence in SENTENCES] == whole


def test_the_confidence_is_the_mean_over_the_decisions(tmp_path: Path) -> None:
    """With a last layer of zeros all moves that may be made are alike: -ln of their number, at each step."""
    alike = DependencyParser(make_dependencies(tmp_path / "zeros"))
    moves, state_of = alike._parser.moves, alike._parser.moves.init_batch
    state = state_of([alike._language.make_doc(SENTENCES[0])])[0]
    logs = []
    while not state.is_final():
        allowed = [move for move in alike._parser.move_names if moves.is_valid(state, move)]
        logs.append(-math.log(len(allowed)))
        moves.apply_transition(state, allowed[0])
    assert parsed(alike, SENTENCES[0]).confidence == pytest.approx(sum(logs) / len(logs))


def test_the_real_weights_find_what_spacy_finds() -> None:
    try:
        real = folder_of(NAME, offline=True)
    except MissingPartError:
        missing_part(f"the model {NAME}", f"run: celadon models fetch {NAME}")
    opened = DependencyParser(real)
    for sentence in SENTENCES:
        assert parsed(opened, sentence).heads == tuple(token.head.i for token in opened._language(sentence))
    assert parsed(opened, SENTENCES[2]).confidence < parsed(opened, SENTENCES[0]).confidence < 0


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("", Reason.NO_WORDS),
        (" \n ...", Reason.NO_WORDS),
        ("今天天气很好我们一起去散步吧", Reason.UNKNOWN_SCRIPT),
        ("word " * 300, Reason.TOO_LONG),
        ("a " + ")" * MAX_CHARACTERS, Reason.TOO_LONG),
    ],
    ids=["empty", "marks", "chinese", "words", "brackets"],
)
def test_what_cannot_be_parsed_has_a_reason(parser: DependencyParser, sentence: str, reason: Reason) -> None:
    assert parser.parse([sentence]) == [Failure(reason)]


def test_a_sentence_that_takes_too_long_has_a_reason(folder: Path) -> None:
    """The longest that is let in ends within the limit many times over; without time, no sentence ends."""
    longest = "word " * 250
    hasty, patient = DependencyParser(folder, time_limit=0.0), DependencyParser(folder)
    assert hasty.parse([*SENTENCES, longest]) == [Failure(Reason.TIME_LIMIT)] * (len(SENTENCES) + 1)
    assert isinstance(patient.parse([longest])[0], DependencyParse)


@settings(max_examples=25)
@given(st.text(st.characters(), max_size=40))
def test_any_text_has_a_result_whose_words_are_in_it(parser: DependencyParser, text: str) -> None:
    result = parser.parse([text])[0]
    if isinstance(result, DependencyParse):
        ends = [0]
        for start, end in result.words:
            assert ends[-1] <= start < end <= len(text)
            ends.append(end)
        assert len(result.heads) == len(result.words)
        assert result.fragments >= 1
        assert result.confidence <= 0


class _Mine:
    """Makes a folder when it is unpickled."""

    def __init__(self, made: Path) -> None:
        self.made = made

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.mkdir, (str(self.made),)


@pytest.mark.parametrize("name", FILES)
def test_a_pickle_is_refused_and_never_run(folder: Path, tmp_path: Path, name: str) -> None:
    copy, made = tmp_path / "weights", tmp_path / "made"
    shutil.copytree(folder, copy)
    (copy / name).write_bytes(pickle.dumps(_Mine(made)))
    with pytest.raises(InputError, match=name):
        DependencyParser(copy)
    assert not made.exists()


def test_a_damaged_file_is_told_in_one_line(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "weights"
    shutil.copytree(folder, copy)
    (copy / "tok2vec.msgpack").write_bytes((copy / "tok2vec.msgpack").read_bytes()[:1000])
    with pytest.raises(InputError, match=r"tok2vec\.msgpack"):
        DependencyParser(copy)


def test_the_catalog_takes_these_files_and_no_code() -> None:
    download = load_catalog().get(NAME).download
    assert download is not None
    assert set(download.files) == set(FILES)
    assert not any(path.endswith((".py", ".pkl")) for source in download.sources for path in source.paths.values())


@pytest.mark.parametrize(
    ("file", "member", "refused"),
    [
        ("a.msgpack", "pack/parser/model", False),
        ("a.msgpack", "pack/vocab/lookups.bin", False),
        ("a.msgpack", "pack/code.py", True),
        ("a.msgpack", "pack/model.pkl", True),
        ("a.json", "pack/parser/model", True),
        ("a.onnx", "pack/model.bin", True),
    ],
)
def test_only_msgpack_may_have_no_ending_in_a_wheel(
    file: str, member: str, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = {"size": 1, "sha256": "0" * 64}
    source = {"kind": "wheel", "package": "p", "version": "1", "archive": pin, "paths": {file: member}}
    catalog = {"format": "celadon-catalog/1", "downloads": {"d": {"files": {file: pin}, "sources": [source]}}}
    (tmp_path / "catalog.json").write_text(json.dumps(catalog))
    monkeypatch.setenv("CELADON_CATALOG", str(tmp_path / "catalog.json"))
    if refused:
        with pytest.raises(InputError, match="not a weight file"):
            load_catalog()
    else:
        load_catalog()
