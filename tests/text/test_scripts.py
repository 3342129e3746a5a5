"""The share of a text's letters in a script, against the names that Unicode gives its characters."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import InputError
from celadon.text.scripts import is_in_scripts, is_wordless, script_share

MIXED = st.text(st.sampled_from("abzÉßгдеΩאبก天 .,3!🎉\u0301\ud800"), max_size=30)


def share_by_name(text: str, scripts: tuple[str, ...]) -> float:
    letters = [c for c in text if unicodedata.category(c).startswith("L")]
    ours = [c for c in letters if unicodedata.name(c, "").startswith(tuple(script.upper() for script in scripts))]
    return len(ours) / len(letters) if letters else 1.0


@given(MIXED, st.sampled_from([("Latin",), ("Cyrillic",), ("Latin", "Greek"), ("Thai", "Hebrew", "Arabic")]))
def test_the_share_is_that_of_the_names(text: str, scripts: tuple[str, ...]) -> None:
    assert script_share(text, scripts) == pytest.approx(share_by_name(text, scripts))
    assert is_in_scripts(text, scripts) == (share_by_name(text, scripts) >= 0.5)


def test_half_is_enough_and_no_script_means_any() -> None:
    assert is_in_scripts("abc где", ("Latin",))
    assert not is_in_scripts("ab где", ("Latin",))
    assert is_in_scripts("где", ())
    assert not is_in_scripts("abc", ("Cyrillic",))


@given(MIXED)
def test_wordless_is_without_letters_and_digits(text: str) -> None:
    assert is_wordless(text) == (not any(unicodedata.category(c)[0] in "LN" for c in text))


@pytest.mark.parametrize("name", ["Klingon", "", "Latin}", "Latin]a["])
def test_a_name_that_is_no_script_is_an_error(name: str) -> None:
    with pytest.raises(InputError, match="Unicode script"):
        script_share("é", (name, "Greek"))
