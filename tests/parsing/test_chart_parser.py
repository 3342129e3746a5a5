"""The chart parser with the grammar that ships: awkward sentences, independence, and what it says of its result."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import InputError, MissingExtraError, UsageError
from celadon.parsing import Failure, Parser, Reason
from celadon.parsing import chart_parser as module
from celadon.parsing.brackets import parse_trees
from celadon.parsing.chart_parser import MARGIN, ChartParse, ChartParser, chart_parser
from celadon.text.penn_words import penn_words
from tests.parsing.small_grammars import need_compiler

SENTENCES = (
    "The committee approved the new budget after a long debate.",
    "She said that the old bridge would be closed until the end of the month.",
    "Two of the workers who had been waiting outside were asked to leave.",
    "Prices rose sharply in October, but analysts expect them to fall again.",
    "He doesn't believe (and never did) that the company's profits grew by 3.5%.",
    "In the evening the children walked home through the quiet park.",
)
LONG = (
    " and ".join(f"the {noun} of the company sold its shares" for noun in "owner founder lawyer banker".split() * 4)[
        :-1
    ]
    + "s ."
)


@pytest.fixture(scope="module", autouse=True)
def compiler() -> None:
    need_compiler()


@pytest.fixture(scope="module")
def parser() -> ChartParser:
    return chart_parser()


def parsed(parser: Parser[ChartParse], sentences: list[str]) -> list[ChartParse]:
    found = parser.parse(sentences)
    assert all(isinstance(each, ChartParse) for each in found)
    return [each for each in found if isinstance(each, ChartParse)]


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("", Reason.NO_WORDS),
        (" \t", Reason.NO_WORDS),
        (")" * 40, Reason.NO_WORDS),
        ("\x00", Reason.NO_WORDS),
        ("委员会经过长时间的辩论后批准了新预算。", Reason.UNKNOWN_SCRIPT),
        ("word " * 251, Reason.TOO_LONG),
    ],
)
def test_no_result_has_a_reason(parser: ChartParser, sentence: str, reason: Reason) -> None:
    assert parser.parse([sentence]) == [Failure(reason)]


@pytest.mark.parametrize(
    "sentence",
    [
        "https://example.com/a_(b)?c=d#e",
        "a" + ")" * 40,
        "((((((((( x",
        "zqx wvfl the of of of 17 -- ?",
        "Emoji 😀 and NUL \x00 and \ud800 here",
        "naïve café 中文 words",
    ],
)
def test_anything_with_words_gets_a_tree(parser: ChartParser, sentence: str) -> None:
    [found] = parsed(parser, [sentence])
    words = penn_words(sentence)
    assert found.words == tuple((word.start, word.end) for word in words)
    tree = next(parse_trees(found.tree))
    assert len(tree.words()) == len(words)
    assert found.logprob < 0
    assert 1 <= found.fragments <= len(words)


def test_a_sentence_of_120_words_ends_in_time(parser: ChartParser) -> None:
    words = [word.form for word in penn_words(LONG)]
    words = [*(words * 3)[:119], "."]
    assert len(words) == 120
    found = parser.parse_words(words)
    assert isinstance(found, ChartParse)
    assert found.fragments == 1


def test_trees_are_english(parser: ChartParser) -> None:
    found = parsed(parser, [SENTENCES[0]])[0]
    assert "(NP (DT The) (NN committee))" in found.tree
    assert "(NP (DT the) (JJ new) (NN budget))" in found.tree
    assert found.tree.startswith("(TOP (S ")
    assert found.fragments == 1
    assert found.exact


def test_shuffled_words_are_less_probable(parser: ChartParser) -> None:
    rng = random.Random(0)
    worse = 0
    for sentence in SENTENCES:
        words = [word.form for word in penn_words(sentence)]
        before = parser.parse_words(words)
        rng.shuffle(words)
        after = parser.parse_words(words)
        assert isinstance(before, ChartParse)
        assert isinstance(after, ChartParse)
        worse += after.logprob < before.logprob
    assert worse == len(SENTENCES)


def test_neighbours_order_and_threads_do_not_matter(parser: ChartParser) -> None:
    alone = [parsed(chart_parser(), [sentence])[0] for sentence in SENTENCES]
    assert parsed(parser, list(SENTENCES)) == alone
    assert parsed(parser, list(reversed(SENTENCES))) == alone[::-1]
    assert parsed(chart_parser(threads=3), list(SENTENCES * 2)) == alone * 2


def test_pruned_trees_are_nearly_always_the_best(parser: ChartParser) -> None:
    exact = parsed(parser, list(SENTENCES))
    pruned = parsed(chart_parser(margin=MARGIN), list(SENTENCES))
    assert all(each.exact for each in exact)
    assert not any(each.exact for each in pruned)
    assert all(few.logprob <= all_.logprob + 1e-9 for few, all_ in zip(pruned, exact, strict=True))
    assert sum(few.tree == all_.tree for few, all_ in zip(pruned, exact, strict=True)) >= len(SENTENCES) - 1


@settings(max_examples=25)
@given(st.text(max_size=40))
def test_no_text_ends_the_call(text: str) -> None:
    [found] = chart_parser_once().parse([text])
    if isinstance(found, ChartParse):
        assert len(found.words) == len(next(parse_trees(found.tree)).words())


_opened: list[ChartParser] = []


def chart_parser_once() -> ChartParser:
    if not _opened:
        _opened.append(chart_parser())
    return _opened[0]


def test_what_ships_is_small_and_says_what_it_is(parser: ChartParser) -> None:
    folder = Path(module.__file__).parent.parent / "weights" / "grammar"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 3_000_000
    assert parser.name == "builtin"
    assert len(parser.facts["grammar"]) == 8
    assert parser.facts["pruning"] == "none"
    assert chart_parser(margin=MARGIN).facts["pruning"] == "16"


def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises((InputError, UsageError)):
        chart_parser(str(tmp_path / "nothing"))
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="celadon install parse"):
        chart_parser()
