"""The prose of texts that people write, with places in what they wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.text.prose import Nothing, read_prose

NOTE = """# Firing the kiln

Open it at *dawn*, and wait for
the glaze to cool.

- tongs
- a brush
- Lift each bowl with both hands, and set it down on the felt.

```python
print("hot")
```

It rings when it is whole. It"""


def test_sentences_and_their_places() -> None:
    prose = read_prose(NOTE)
    found = [prose.text[start:end] for start, end in prose.sentences]
    assert found[:3] == [
        "Open it at dawn, and wait for the glaze to cool.",
        "Lift each bowl with both hands, and set it down on the felt.",
        "It rings when it is whole.",
    ]
    start, end = prose.source_span(*prose.sentences[0])
    assert NOTE[start:end] == "Open it at *dawn*, and wait for\nthe glaze to cool."
    assert prose.nothing is None
    assert prose.broken_off
    assert 0.6 < prose.share < 0.9


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("", Nothing.EMPTY),
        (" \n ", Nothing.EMPTY),
        ("—", Nothing.WORDLESS),
        ("Paris", Nothing.FRAGMENT),
        ('{"name": "kiln", "cones": [6, 10]}', Nothing.DATA),
        ("```\nfor bowl in bowls:\n    fire(bowl)\n```", Nothing.DATA),
        ("El horno se abre al amanecer, y el esmalte todavía está caliente.", Nothing.LANGUAGE),
    ],
)
def test_nothing_to_judge(text: str, nothing: Nothing) -> None:
    prose = read_prose(text)
    assert (prose.nothing, prose.sentences) == (nothing, ())


def test_the_english_part_of_a_mixed_text() -> None:
    prose = read_prose(
        "The kiln was opened at dawn, and the glaze was still warm to the touch.\n\n"
        "El horno se abrió al amanecer, y el esmalte todavía estaba caliente al tacto."
    )
    assert prose.nothing is None
    assert [prose.text[start:end][:8] for start, end in prose.sentences] == ["The kiln"]
    assert set(prose.language.shares) == {"en", "es"}


@given(st.text(max_size=300))
def test_any_text_has_places_in_order(text: str) -> None:
    prose = read_prose(text)
    at = 0
    for start, end in prose.sentences:
        begin, stop = prose.source_span(start, end)
        assert at <= begin < stop <= len(text)
        at = begin
    assert (prose.nothing is None) == bool(prose.sentences)
