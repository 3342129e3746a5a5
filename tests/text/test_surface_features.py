"""Length, layout and repetition of a text."""

from __future__ import annotations

import pytest

from celadon.text.surface_features import surface_features

PARAGRAPH = "The train was late again, and nobody on the platform knew why."


def test_a_plain_sentence_has_words_and_no_layout() -> None:
    assert surface_features(PARAGRAPH) == (12, 0.0, 0.0, 0.0, 0.0)
    assert surface_features("") == (0, 0.0, 0.0, 0.0, 0.0)


def test_shares_are_those_of_the_characters() -> None:
    heading, items, code = "# A title", "- first of all\n- second of all", "```\nx = 1\n```"
    text = f"{heading}\n\n{PARAGRAPH}\n\n{items}\n\n{code}"
    features = surface_features(text)
    assert features.headings == pytest.approx(len(heading) / len(text), abs=0.02)
    # without the marks of the items
    assert features.lists == pytest.approx((len(items) - 5) / len(text), abs=0.02)
    assert features.code == pytest.approx(len(code) / len(text), abs=0.02)


def test_repetition_is_the_share_of_sequences_that_came_before() -> None:
    # nine words: of seven sequences of three, one two three, two three one and three one two come again
    assert surface_features("one two three one two three one two three").repetition == pytest.approx(4 / 7)
