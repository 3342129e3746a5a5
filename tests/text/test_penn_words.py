"""Words of the Penn Treebank: against NLTK's tokenizer, by hand, and where they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize.treebank import TreebankWordTokenizer

from celadon.text.penn_words import penn_words


def forms(sentence: str) -> list[str]:
    return [word.form for word in penn_words(sentence)]


@pytest.mark.parametrize(
    "sentence",
    [
        "They'll save and invest more.",
        "hi, my name can't hello,",
        "Good muffins cost $3.88 in New York. ",
        '"We beat some pretty good teams to get here," Slocum said.',
        "I cannot cannot work under these conditions!",
        "The company spent 40.75% of its income last year.",
        "He arrived at 3:00 pm, don't you think (or not)?",
        "I bought these items: books, pencils, and pens.",
        "John's dog -- a well-known one -- wasn't there; we'd left.",
    ],
)
def test_as_nltk_cuts(sentence: str) -> None:
    assert forms(sentence) == TreebankWordTokenizer().tokenize(sentence.strip(), convert_parentheses=True)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("He lives in the U.S.", "He lives in the U.S. ."),
        ("The U.S. and Acme Inc. agreed with Mr. J. Smith Jr.", "The U.S. and Acme Inc. agreed with Mr. J. Smith Jr ."),
        ("See https://example.com/a?b=(c), please.", "See https://example.com/a?b=(c -RRB- , please ."),
        ("Write to a.b@c.org…", "Write to a.b@c.org ..."),
        ("“It’s {odd} [indeed]” — she isn’t", "`` It 's -LCB- odd -RCB- -LRB- indeed -RRB- '' -- she is n't"),
        ("the workers' '90s, 'quoted' words", "the workers ' '90s , ` quoted ' words"),
        ('he said " yes " twice', "he said `` yes '' twice"),
        ("US$5 and 1,234.5 or .5", "US$ 5 and 1,234.5 or .5"),
    ],
)
def test_by_hand(sentence: str, expected: str) -> None:
    assert forms(sentence) == expected.split()


def test_what_is_cut_already_stays_so() -> None:
    cut = "`` I ca n't , '' he said -LRB- in the U.S. -RRB- -- of John 's $ 5 or 10 % ..."
    assert forms(cut) == cut.split()


@given(st.text())
def test_characters_follow_each_other_and_all_are_there(sentence: str) -> None:
    words = penn_words(sentence)
    ends = [0, *(word.end for word in words)]
    assert all(word.form and end <= word.start < word.end for end, word in zip(ends, words, strict=False))
    left = "".join(
        sentence[end:start] for end, start in zip(ends, [*(word.start for word in words), len(sentence)], strict=True)
    )
    assert all(character.isspace() or ord(character) < 32 or ord(character) == 127 for character in left)
    assert not any(map(str.isspace, "".join(word.form for word in words)))
