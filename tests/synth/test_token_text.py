"""Tokens and the texts made of them: as many as the paper counts, and the same when the text is read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.synth.tokens import is_word, sentence_text, text_of, tokens_of
from tests.synth.english_sentences import SENTENCES

# figures 1 and 3 of Mutton et al. 2007: every text has 24 tokens
PAPER = (
    "Ginebra face Formula Shell in a sudden-death playoff on Sunday to decide who will face Alaska in a best-of-seven "
    "series for the title.",
    "There is some thinking in the government to be nearly as dramatic as some people have to be slaughtered to "
    "eradicate the epidemic.",
    "Most of Banharn's move comes after it can still be averted the crash if it should again become a police "
    "statement said.",
    "Massey said in line with losses, Nordbanken is well-placed to benefit abuse was loaded with Czech prime minister "
    "Andris Shkele, said.",
    "The war we're here in a spokesman Jeff Sluman 86 percent jump that Spain to what was booked, express also said.",
    "If Denmark is closely linked to the Euro Disney reported a net profit of 85 million note: the figures were "
    "rounded off.",
    "He said earlier the 9 years and holding company's government, including 69.62 points as a number of last year "
    "but market.",
    "That 97 saying he said in its shares of the market 74.53 percent, adding to allow foreign exchange: I think "
    "people.",
)


@pytest.mark.parametrize("text", PAPER)
def test_the_papers_texts_have_24_tokens(text: str) -> None:
    assert len(tokens_of(text)) == 24
    assert text_of(tokens_of(text)) == text


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_comes_back_as_it_was(text: str) -> None:
    assert text_of(tokens_of(text)) == text


def test_an_abbreviation_at_the_end_has_the_full_stop_beside_its_own() -> None:
    made = sentence_text(["he", "left", "the", "U.S.", "."])
    assert made == ("He left the U.S.", ("He", "left", "the", "U.S.", "."))


TOKENS = st.sampled_from(
    "the bank 's n't can not , . `` '' -LRB- -RRB- $ 5.2 % -- U.S. Mr. Corp. I ' ` : 1,750 AT&T ca ... ! well-placed "
    "< > US$ 'll # café".split()
)


@given(st.lists(TOKENS, min_size=1, max_size=12))
def test_what_is_made_has_its_tokens_when_it_is_read_again(tokens: list[str]) -> None:
    made = sentence_text(tokens)
    if made is not None:
        assert tokens_of(made.text) == list(made.tokens)
        assert [token.lower() for token in made.tokens] == [token.lower() for token in tokens]
        assert not made.text.startswith((",", "'s", "N't", "%"))


def test_words_are_told_from_marks_and_clitics() -> None:
    assert [token for token in ("the", "5.2", "'s", "n't", ",", "``", "--", "U.S.") if is_word(token)] == [
        "the", "5.2", "U.S.",
    ]  # fmt: skip
