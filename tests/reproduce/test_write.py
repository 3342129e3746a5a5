"""The marked section of a Markdown file, and all the rest of it, which stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import UsageError
from celadon.reproduce.blocks import BEGIN, END, replaced

MADE = f"{BEGIN}\nnew\n{END}\n"


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=30))
def test_only_the_section_changes(before: bytes, after: bytes, old: bytes) -> None:
    content = before + BEGIN.encode() + old + END.encode() + after
    assert replaced(content, MADE, "x") == before + MADE.strip().encode() + after


@given(st.binary(max_size=60))
def test_where_there_is_no_section_it_is_appended_and_then_replaced(content: bytes) -> None:
    once = replaced(content, MADE, "x")
    assert once.startswith(content)
    assert once.endswith(MADE.encode())
    assert replaced(once, MADE, "x") == once


@pytest.mark.parametrize("content", [BEGIN, END, f"{END} {BEGIN}", f"{BEGIN}{BEGIN}{END}{END}"])
def test_marks_that_do_not_pair_are_refused(content: str) -> None:
    with pytest.raises(UsageError, match=r"results\.md"):
        replaced(content.encode(), MADE, "results.md")


def test_a_run_leaves_the_rest_byte_for_byte(reproduce: Callable[..., int], tmp_path: Path) -> None:
    before = b"# Results\r\n\r\nby hand \xff\xfe\n\n"
    after = b"\n\n## More\r\nno newline at the end"
    file = tmp_path / "out.md"
    file.write_bytes(before + f"{BEGIN}\nold\n{END}".encode() + after)
    assert reproduce("--metric", "rouge1", "--only", "gruen3") == 0
    first = file.read_bytes()
    assert first.startswith(before + BEGIN.encode())
    assert first.endswith(END.encode() + after)
    assert b"old" not in first
    assert b"#### BAGEL" in first
    assert reproduce("--metric", "rouge1", "--only", "gruen3") == 0
    assert file.read_bytes() == first
    assert not list(tmp_path.glob(".celadon-*"))
