"""Plain-text grammars of the Stanford parser: a small one made here, and the real one where it is there."""

from __future__ import annotations

import lzma
import math
from pathlib import Path

import pytest

from celadon.core import InputError
from celadon.parsing.chart_parser import ChartParse, ChartParser, chart_parser
from celadon.parsing.stanford_grammar import read_stanford_grammar, signature
from tests.conftest import DATA
from tests.parsing.small_grammars import need_compiler

TEXT = r"""BEGIN OPTIONS
numStates 8
smoothInUnknownsThreshold 5

BEGIN LEXICON
"DT^NP" -> "the" SEEN 6.0
"NN^NP" -> "cat" SEEN 3.0
"NN^NP" -> "run" SEEN 1.0
"VB^VP" -> "run" SEEN 2.0
"VB^VP" -> "and\\/or" SEEN 1.0
".$$." -> ".$." SEEN 7.0
"DT^NP" -> ".*." SEEN 6.0
"NN^NP" -> ".*." SEEN 4.0
"VB^VP" -> ".*." SEEN 3.0
".$$." -> ".*." SEEN 7.0
".*." -> "the" SEEN 6.0
".*." -> "cat" SEEN 3.0
".*." -> "run" SEEN 3.0
".*." -> "and\\/or" SEEN 1.0
".*." -> ".*." SEEN 20.0
"NN^NP" -> "UNK-LCs" UNSEEN 3.0
"NN^NP" -> ".*." UNSEEN 3.0
"VB^VP" -> ".*." UNSEEN 1.0
".*." -> "UNK-LCs" UNSEEN 3.0
".*." -> ".*." UNSEEN 4.0
smooth[0] = 1.0
smooth[1] = 0.2

BEGIN UNARY_GRAMMAR
"VP^S" -> "VB^VP" -0.5
"@S| NP" -> "VP^S" -0.25

BEGIN BINARY_GRAMMAR
"ROOT" -> "S^ROOT" ".$$." -0.125
"S^ROOT" -> "NP^S" "@S| NP" 0.0625
"NP^S" -> "DT^NP" "NN^NP" -1.0

BEGIN DEPENDENCY_GRAMMAR

"""
RULES = -0.125 + 0.0625 - 0.25 - 0.5 - 1.0


@pytest.fixture(scope="module", autouse=True)
def compiler() -> None:
    need_compiler()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "grammar.txt"
    path.write_text(TEXT)
    return path


def only(parser: ChartParser, sentence: str) -> ChartParse:
    [found] = parser.parse([sentence])
    assert isinstance(found, ChartParse)
    return found


def test_words_seen_often_seldom_and_never(file: Path) -> None:
    parser = chart_parser(str(file))
    the = math.log(6 / 6)
    cat = math.log((3 + 0.2 * 3 / 4) / 3.2 * 3 / 4)
    run = math.log((2 + 0.2 * 1 / 4) / 3.2 * 3 / 3)
    found = only(parser, "the cat run")
    assert found.logprob == pytest.approx(RULES + the + cat + run)
    assert found.tree == "(TOP (S (NP (DT the) (NN cat)) (VP (VB run))))"
    assert found.exact
    # a new word of the look of UNK-LCs: (3 + 1 x 3/4) / (3 + 1) of 1 / 4
    dogs = math.log((3 + 3 / 4) / 4 * 1 / 4)
    assert only(parser, "the dogs run").logprob == pytest.approx(RULES + the + dogs + run)


def test_escapes_and_fragments(file: Path) -> None:
    parser = chart_parser(str(file))
    assert only(parser, "the cat and/or").tree.endswith("(VP (VB and/or))))")
    cover = only(parser, "cat the the cat")
    assert cover.fragments == 3
    assert cover.tree == "(TOP (NN cat) (DT the) (NP (DT the) (NN cat)))"


@pytest.mark.parametrize(
    ("word", "first", "name"),
    [
        ("dogs", False, "UNK-LCs"),
        ("Dogs", True, "UNK-INITs"),
        ("Dogs", False, "UNK-UCs"),
        ("DOGS", False, "UNK-ALLCs"),
        ("well-read", False, "UNK-LC-DASHd"),
        ("42", False, "UNK-NUM"),
        ("4.2", False, "UNK-DIG"),
        ("B-52", False, "UNK-ALLC-DASH-DIG"),
        ("of", False, "UNK-LC"),
        ("+", False, "UNK"),
    ],
)
def test_signatures(word: str, first: bool, name: str) -> None:
    assert signature(word, first) == name


def test_compressed_is_the_same_and_damage_is_refused(file: Path, tmp_path: Path) -> None:
    packed = tmp_path / "grammar.txt.xz"
    packed.write_bytes(lzma.compress(TEXT.encode()))
    assert read_stanford_grammar(packed)[1] == read_stanford_grammar(file)[1]
    for name, raw in {
        "cut.xz": packed.read_bytes()[:60],
        "other.txt": b"no grammar",
        "rule.txt": TEXT.replace('"ROOT" -> "S^ROOT"', '"ROOT" "S^ROOT"').encode(),
    }.items():
        bad = tmp_path / name
        bad.write_bytes(raw)
        with pytest.raises(InputError, match=name):
            read_stanford_grammar(bad)


def test_the_real_grammar() -> None:
    folder = DATA / "grammars"
    path = folder / "stanford-englishPCFG-2011.txt.xz"
    if not path.is_file():
        pytest.skip(f"no grammar of the Stanford parser at {folder}; set CELADON_DATA to the folder that holds it")
    found = only(chart_parser(str(path)), "The committee approved the new budget.")
    assert found.tree == (
        "(TOP (S (NP (DT The) (NN committee)) (VP (VBD approved) (NP (DT the) (JJ new) (NN budget))) (. .)))"
    )
