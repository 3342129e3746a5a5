"""Numbered words against the words themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.text.numbering import number_words
from celadon.text.words import NORMALISATIONS, words

any_text = st.text(st.characters(), max_size=60)
ascii_text = st.text(st.characters(max_codepoint=127), max_size=60)
# many words that share their beginnings, and words around the length that is packed
long_words = st.lists(
    st.sampled_from(
        ["a" * n for n in (1, 7, 8, 9, 14, 15, 16, 17, 40)] + ["a" * 15 + "b", "b" + "a" * 15, "a\0", "it's"]
    ),
    max_size=20,
).map(" ".join)


@pytest.mark.parametrize("normalisation", NORMALISATIONS)
@settings(max_examples=300, deadline=None)
@given(documents=st.lists(any_text | ascii_text | long_words, max_size=8))
def test_numbers_are_equal_where_the_words_are(normalisation: str, documents: list[str]) -> None:
    numbered = number_words(documents, normalisation)
    expected = [words(document, normalisation) for document in documents]
    assert np.diff(numbered.starts).tolist() == [len(found) for found in expected]
    forms = [word for found in expected for word in found]
    assert len(forms) == len(numbered.ids)
    assert all(0 <= number < numbered.vocabulary for number in numbered.ids.tolist())
    assert (
        len(set(zip(forms, numbered.ids.tolist(), strict=True))) == len(set(forms)) == len(set(numbered.ids.tolist()))
    )


def test_a_crowded_table_stays_exact() -> None:
    """So many distinct words that some want the same place."""
    documents = [" ".join(f"w{number}" for number in range(start, start + 500)) for start in range(0, 20_000, 500)]
    numbered = number_words(documents, "rouge")
    assert len(set(numbered.ids.tolist())) == 20_000
    again = number_words([documents[3], *documents], "rouge")
    assert again.ids[:500].tolist() == again.ids[again.starts[4] : again.starts[5]].tolist()
