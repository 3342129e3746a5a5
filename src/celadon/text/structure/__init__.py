"""Read a text into blocks (paragraphs, headings, list items, code, tables ...) and decide which of them are prose."""

from __future__ import annotations

from celadon.text.structure.blocks import Block, BlockKind, BlockText, LeftOut, is_prose, left_out
from celadon.text.structure.reader import Markup, detect_markup, read_blocks

__all__ = [
    "Block",
    "BlockKind",
    "BlockText",
    "LeftOut",
    "Markup",
    "detect_markup",
    "is_prose",
    "left_out",
    "read_blocks",
]
