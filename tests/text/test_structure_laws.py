"""What holds of the blocks of any text: they are in order, take linear time, and damaged words do not change them."""

from __future__ import annotations

import json
import lzma
import random
import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from celadon.text.structure import Markup, is_prose, read_blocks
from tests.conftest import DATA

MARKUPS = list(Markup)
PIECES = (
    *(
        "word ",
        "A sentence.",
        "\n",
        "\n\n",
        "  ",
        "    ",
        "\t",
        "> ",
        "- ",
        "1. ",
        "# ",
        "| a | b |",
        "---",
        "===",
        "::",
    ),
    *(
        "```",
        "`",
        "``",
        "*",
        "**",
        "_",
        "[",
        "](",
        "]",
        "!",
        "<p>",
        "</p>",
        "<br>",
        "<!--",
        "-->",
        "<pre>",
        "&amp;",
        "&",
    ),
    *(
        "{{< x >}}",
        "{%",
        "$",
        "\\",
        "\\(",
        ".. note::",
        ".. [1] x",
        ":a:`b`",
        "A: ",
        "Dear X,",
        "é",
        "中",
        "\r\n",
        "\r",
        "\x00",
    ),
    *("\u2028", "\x0b", "{", '"a": 1', "}", "x = f(y);", "https://a.b", "a@b.c", "/etc/x", "İ", "\U0001f600", "\ud800"),
)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.text(max_size=80)),
    st.sampled_from(MARKUPS),
)
@example("<pre>\n", Markup.MARKDOWN)
@example("- \n\n  - a\n\n\tb", Markup.MARKDOWN)
def test_spans_lie_in_the_text_in_order(text: str, markup: Markup) -> None:
    end = 0
    for block in read_blocks(text, markup):
        assert end <= block.start <= block.end <= len(text)
        at = block.start
        assert block.spans
        for start, stop in block.spans:
            assert at <= start < stop <= block.end
            at = stop
        at = block.start
        for start, stop in block.opaque:
            assert at <= start < stop <= block.end
            at = stop
        end = block.end
        rendered = block.render(text)
        assert "\n" not in rendered.text
        places = [rendered.source_offset(offset) for offset in range(len(rendered.text))]
        assert places == sorted(places)
        at = 0
        for start, stop in rendered.opaque:
            assert at <= start < stop <= len(rendered.text)
            at = stop
        is_prose(block, text)


@pytest.mark.parametrize("markup", [Markup.PLAIN, Markup.MARKDOWN, Markup.RST, Markup.HTML])
@pytest.mark.parametrize(
    "part", [*PIECES, "> - ", "a\n", "*a", "[a](b ", "![", "<a '", "`a ", "(", "a_ ", "- a::\n", "a\n==\n"]
)
def test_takes_linear_time(part: str, markup: Markup) -> None:
    """Twice the text takes at most about twice the time; quadratic time would be four times."""
    taken = []
    for length in (8_000, 32_000):
        text = (part * (length // len(part) + 1))[:length]
        best = float("inf")
        for _ in range(2):
            begin = time.process_time()
            for block in read_blocks(text, markup):
                is_prose(block, text)
            best = min(best, time.process_time() - begin)
        taken.append(best)
    assert taken[1] < 10 * taken[0] + 0.1


@pytest.mark.parametrize("markup", [Markup.PLAIN, Markup.MARKDOWN, Markup.RST, Markup.HTML])
def test_reads_a_megabyte_of_one_line_and_of_blank_lines(markup: Markup) -> None:
    begin = time.process_time()
    assert read_blocks("word " * 200_000, markup)
    assert not read_blocks("\n" * 1_000_000, markup)
    assert read_blocks(("> " * 500 + "word\n") * 1_000, markup)
    assert time.process_time() - begin < 60


def texts(name: str, every: int) -> Iterator[str]:
    """Return some of the texts of a genre."""
    path = DATA / "genres" / f"{name}.jsonl.xz"
    if not path.exists():
        pytest.skip(f"no {path}; set CELADON_DATA to the folder that holds genres/{path.name}")
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number % every == 0:
                row = json.loads(line)
                yield row.get("text") or row.get("output") or "\n".join(row["turns"])


def damaged(text: str, seed: int) -> str:
    """Drop, swap and inflect one word in eight inside lines; marks, first words and markup stay."""
    chance = random.Random(seed)
    parts = re.split(r"((?<=[a-z,] )[a-z]{2,}(?= [a-z]))", text)
    for at in range(1, len(parts), 2):
        draw = chance.random()
        if draw < 0.04:
            parts[at] = ""
        elif draw < 0.08 and at + 2 < len(parts):
            parts[at], parts[at + 2] = parts[at + 2], parts[at]
        elif draw < 0.12:
            parts[at] += "s"
    return "".join(parts)


def prose_share(text: str) -> float:
    """Return the share of a text's words that are in prose."""
    prose = [block.render(text).text for block in read_blocks(text) if is_prose(block, text)]
    return len(" ".join(prose).split()) / max(1, len(text.split()))


@pytest.mark.parametrize(
    ("name", "every"),
    [
        ("docs_kubernetes", 20),
        ("docs_peps", 20),
        ("fiction_gutenberg", 40),
        ("gum_dev", 3),
        ("llm_outputs_dev", 40),
        ("dialogue_sgd", 40),
    ],
)
def test_damaged_words_do_not_change_what_is_prose(name: str, every: int) -> None:
    changes = []
    for number, text in enumerate(texts(name, every)):
        before, after = prose_share(text), prose_share(damaged(text, number))
        assert (before > 0) <= (after > 0)
        changes.append(abs(before - after))
    assert len(changes) > 20
    assert sum(changes) / len(changes) <= 0.02
