"""Where sentences begin and end, by the trained splitter."""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.text.sentence_splitter import split_sentences

ANY = st.text(st.characters(codec=None, exclude_categories=()), max_size=80)
WORDY = st.lists(
    st.sampled_from(
        [
            "The",
            "cat",
            "sat.",
            "Dr.",
            "3.14",
            "...",
            "!",
            '"Go."',
            "\n",
            "2.",
            "—",
            "。",
            "a.b",
            "\u2028",
            "?",
            ")",
            ":)",
        ]
    ),
    max_size=25,
).map(" ".join)
DATA = Path(os.environ.get("CELADON_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text)]


@pytest.mark.parametrize(
    "marked",
    [
        "The market closed at 4 p.m. | Investors were glad.",
        "We met at 5 p.m. on Monday. | It rained.",
        "He works for Acme Corp. | Shares fell sharply.",
        "She was born in Oct. | Infant care was poor.",
        "On Jan. 5 we left. | On Feb. 6 we returned.",
        "Dr. Smith paid $3.14 to Mr. Jones Jr. | He left.",
        "We met Sen. John McCain. | Gov. Smith was there.",
        "She lives on Main St. | It is a long street.",
        "St. Peter was there. | Mt. Everest is high.",
        "The U.S. Treasury said so. | The U.K. is next.",
        "he lives in the U.S. | He likes it.",
        "He moved to Washington D.C. | It was cold.",
        "Use fruits, e.g. apples, i.e. pomes. | They are good.",
        "It was cheap, fast, etc. | The rest was bad.",
        "They sell apples, pears, etc. in the shop.",
        "Smith et al. (2010) showed it. | See Fig. 3 for more.",
        "It is No. 5 on the list. | Vol. 2 is better.",
        "The answer is no. | I said no.",
        "He paid approx. 5 dollars. | OK.",
    ],
)
def test_abbreviations(marked: str) -> None:
    assert sentences(marked.replace("| ", "")) == marked.split(" | ")


@pytest.mark.parametrize(
    "marked",
    [
        "J. K. Rowling wrote it. | It sold well.",
        "George W. Bush said so. | Nobody listened.",
        "E. coli is a bacterium. | It is common.",
        "He got an A. | She got a B.",
    ],
)
def test_initials(marked: str) -> None:
    assert sentences(marked.replace("| ", "")) == marked.split(" | ")


@pytest.mark.parametrize(
    "marked",
    [
        '"Stop!" he said. | She did not.',
        '"Why?" she asked. | "Because," he said.',
        '"Do you know?" he asked. | "No."',
        'He said "I am here." | She left.',
        "“He left.” | She stayed.",
        "“Come in!” said Alice. | “Are you there?”",
        "'What is it?' she asked. | 'Nothing.'",
        'He asked me, "Are you sure?" and left. | I stayed.',
        "He left (finally!). | She stayed.",
        "He left. | (She did not.) | They met again.",
        "He left. ) | They met again.",
    ],
)
def test_quotations_and_brackets(marked: str) -> None:
    assert sentences(marked.replace("| ", "")) == marked.split(" | ")


@pytest.mark.parametrize(
    "marked",
    [
        "It cost 3.5 million dollars. | That is a lot.",
        "Sales rose 5.5%. | Profits fell.",
        "Version 2.0 is out. | Python 3.11.4 too.",
        "It ended in 2004. | Then came 2005.",
        "See www.example.com/index.html for more. | It is free.",
        "Open config.yaml and main.py first. | Then run it.",
        "1. First do this. | 2. Then do that.",
    ],
)
def test_numbers_addresses_and_lists(marked: str) -> None:
    assert sentences(marked.replace("| ", "")) == marked.split(" | ")


@pytest.mark.parametrize(
    "marked",
    [
        "Wait... | What was that?",
        "It was ... odd, to say the least.",
        "I don't know … | Maybe.",
        "What?! | Are you mad?!",
        "I like it!!! | You should too.",
        "Yahoo! is a company. | It was big.",
        "This is great! :) | See you soon.",
    ],
)
def test_several_marks(marked: str) -> None:
    assert sentences(marked.replace("| ", "")) == marked.split(" | ")


@pytest.mark.parametrize(
    "marked",
    [
        "hi there. | how are you? | i am fine. | thanks.",
        "ok. | that works for me. | see you at 5.",
        "the time is 5 p.m. | see you then.",
        "the cat sat . | the dog ran .",
    ],
)
def test_small_letters(marked: str) -> None:
    assert sentences(marked.replace("| ", "")) == marked.split(" | ")


@pytest.mark.parametrize("marked", ["This is the end.|Next we go on.", "Really?|Yes, really.", "What is it?|i see."])
def test_no_space_after_a_mark(marked: str) -> None:
    assert sentences(marked.replace("|", "")) == marked.split("|")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", " \n ", "\u2028", "\x0b", "\x85"])
def test_a_line_ends_a_sentence(end: str) -> None:
    assert sentences(f"A headline{end}the story goes on{end}") == ["A headline", "the story goes on"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello. !!! ... He left.", ["Hello. !!! ...", "He left."]),
        ("*** Hello. He left. ***", ["*** Hello.", "He left. ***"]),
        ("Hello.\n* * *\nHe left.", ["Hello.", "* * *", "He left."]),
        ("12.", ["12."]),
        ("今天天气很好。我们去散步吧！「好吗？」", ["今天天气很好。", "我们去散步吧！", "「好吗？」"]),
        ("", []),
        (" \n\u00a0", []),
    ],
)
def test_text_without_words_or_spaces(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(ANY | WORDY)
def test_nothing_is_lost_and_nothing_overlaps(text: str) -> None:
    spans = split_sentences(text)
    inside = {at for start, end in spans for at in range(start, end)}
    assert {at for at, character in enumerate(text) if not character.isspace()} <= inside
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)
    assert all(len(text[start:end].splitlines()) == 1 for start, end in spans)


@given(WORDY, WORDY)
def test_a_line_is_split_as_if_it_were_alone(first: str, second: str) -> None:
    assert sentences(f"{first}\n{second}") == [*sentences(first), *sentences(second)]


@pytest.mark.parametrize("unit", [".", "a", " ", "a.", "A. ", '."', "a.A", "?a", "\n", ". )", '" ', "Mr. ", "é…", "]"])
def test_time_is_linear(unit: str) -> None:
    begin = time.process_time()
    split_sentences((unit * 1_000_000)[:1_000_000])
    assert time.process_time() - begin < 20


def test_boundaries_of_a_treebank() -> None:
    from celadon.train.sentence_boundaries import read_universal_passages

    path = DATA / "treebanks" / "en_ewt-ud-dev.conllu.xz"
    if not path.exists():
        pytest.skip(f"no {path}; set CELADON_DATA to the folder that holds treebanks/{path.name}")
    right = predicted = actual = 0
    for passage in read_universal_passages(path):
        ends = {end for _, end in split_sentences(passage.text)} - {len(passage.text)}
        gold = set(passage.ends) - {len(passage.text)}
        right, predicted, actual = right + len(ends & gold), predicted + len(ends), actual + len(gold)
    assert right / predicted > 0.96
    assert right / actual > 0.82
