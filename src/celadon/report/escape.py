"""From any string to characters that an HTML file can hold."""

from __future__ import annotations

import html
import unicodedata

_REPLACEMENT = 0xFFFD
_WORD = 16
_SHOWN: dict[int, int] = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n\r"},
    0x7F: 0x2421,
    **dict.fromkeys(range(0x80, 0xA0), _REPLACEMENT),
    **dict.fromkeys(range(0xD800, 0xE000), _REPLACEMENT),
    **dict.fromkeys(range(0xFDD0, 0xFDF0), _REPLACEMENT),
    **{plane * 0x10000 + last: _REPLACEMENT for plane in range(17) for last in (0xFFFE, 0xFFFF)},
}


def clean(text: str) -> str:
    """Show control characters as their pictures, what UTF-8 or HTML cannot hold as U+FFFD, line ends as newlines."""
    return text.translate(_SHOWN).replace("\r\n", "\n").replace("\r", "\n")


def escape(text: str) -> str:
    """Make a string safe between tags and inside quoted attributes."""
    return html.escape(clean(text))


def cut_at(text: str, limit: int) -> int:
    """Where to cut a text of at most ``limit`` characters without parting a letter from its marks."""
    if len(text) <= limit:
        return len(text)
    cut = text.rfind(" ", limit - _WORD, limit) + 1 or limit
    while cut > 0 and (unicodedata.combining(text[cut]) or "\u200d" in text[cut - 1 : cut + 1]):
        cut -= 1
    return cut or limit


def css_string(text: str) -> str:
    """Quote a string for a style sheet; everything but letters, digits, spaces and hyphens is written as a number."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in " -") else f"\\{ord(c):x} " for c in clean(text))
    return f'"{plain}"'
