"""Choose how a text is marked up and read its blocks."""

from __future__ import annotations

import re
from enum import StrEnum

from celadon.text.structure.blocks import Block, BlockKind
from celadon.text.structure.plain import read_plain


class Markup(StrEnum):
    """How a text is marked up."""

    AUTO = "auto"
    MARKDOWN = "markdown"
    RST = "rst"
    HTML = "html"
    PLAIN = "plain"


_FRONT_MATTER = re.compile(r"\s{0,20}(?P<fence>---|\+\+\+)[ \t]*\r?\n(?=[ \t]*[\"'\w#-]+[ \t]*[:=])")
_HTML_START = re.compile(
    r"\s{0,80}(?:<!doctype html|<html|<(?:p|div|h[1-6]|ul|ol|body|article|section|main|blockquote)\b[^<>]*>)", re.I
)
_HTML_CLOSING = re.compile(r"</(?:p|div|h[1-6]|ul|ol|li|body|html|article|section|blockquote|table)\s*>", re.I)
# each sign with a string that every text with it contains, which is looked for first
_RST_SIGNS = (
    ("\n..", re.compile(r"\n\.\. (?:[\w-]+::|_[^:\n]{1,80}:|\[[\w#*]{1,20}\] )")),
    (":`", re.compile(r"(?<![\w`]):[a-z][\w:+.-]{1,30}:`[^`\n]")),
    ("``", re.compile(r"(?<!`)``[^`\n]{1,80}``(?!`)")),
    ("\n", re.compile(r"\n(?<=\S\n)([=~^\"*+#-])\1{3,}[ \t]*(?:\n|$)")),
    ("::", re.compile(r"::[ \t]*\n")),
    ("_", re.compile(r"`[^`\n<]{1,80}<[^`\n>]{3,200}>`__?|\[[#\w]{1,20}\]_\b")),
)
_MARKDOWN_SIGNS = (
    ("`", re.compile(r"\n {0,3}```")),
    ("#", re.compile(r"\n#{1,6} \S")),
    ("](", re.compile(r"\]\((?:https?:|/|#|\.)[^\s)]{0,400}[\s)]")),
)
_MARKDOWN_HINTS = (
    ("**", re.compile(r"\*\*[^\s*][^*\n]{0,200}\*\*")),
    ("*", re.compile(r"(?<![\w*])\*[^\s*][^*\n]{0,80}[^\s*]\*(?![\w*])")),
    ("](", re.compile(r"\]\([^\s)]{1,400}[\s)]")),
    ("---", re.compile(r"\n {0,3}\|?(?:[ \t]?:?-{3,}:?[ \t]?\|)+")),
    ("`", re.compile(r"(?<!`)`[^`\n]{1,200}`(?!`)")),
    ("\n>", re.compile(r"\n> \S")),
    ("]:", re.compile(r"\n\[[^\]\n]{1,60}\]: \S")),
    ("<!--", re.compile(r"\n<!--")),
)


def _count(signs: tuple[tuple[str, re.Pattern[str]], ...], text: str) -> int:
    return sum(part in text and pattern.search(text) is not None for part, pattern in signs)


def detect_markup(text: str) -> Markup:
    """Return the markup of a text by unmistakable signs, else plain."""
    closings = len(_HTML_CLOSING.findall(text, 0, 100_000)) if "</" in text else 0
    if closings and _HTML_START.match(text):
        return Markup.HTML
    text = f"\n{text}"
    strong = _count(_MARKDOWN_SIGNS, text)
    if (rst := _count(_RST_SIGNS, text)) >= 2 and rst > strong:
        return Markup.RST
    if closings > 2 and not strong and closings * 400 > min(len(text), 100_000):
        return Markup.HTML
    return Markup.MARKDOWN if strong or _count(_MARKDOWN_HINTS, text) else Markup.PLAIN


def read_blocks(text: str, markup: Markup = Markup.AUTO) -> tuple[Block, ...]:
    """Return the blocks of a text in order; they do not overlap."""
    if not text or text.isspace():
        return ()
    if markup is Markup.AUTO:
        markup = detect_markup(text)
    # readers are imported when needed: markdown-it takes a while to load
    if markup is Markup.RST:
        from celadon.text.structure.rst import read_rst

        return tuple(read_rst(text))
    if markup is Markup.HTML:
        from celadon.text.structure.html import read_html

        return tuple(read_html(text))
    front = _front_matter(text)
    start = front[0].end if front else 0
    if markup is Markup.MARKDOWN:
        from celadon.text.structure.markdown import read_markdown

        return (*front, *read_markdown(text, start))
    return (*front, *read_plain(text, start))


def _front_matter(text: str) -> list[Block]:
    opening = _FRONT_MATTER.match(text)
    if not opening:
        return []
    closing = re.compile(rf"^{re.escape(opening['fence'])}[ \t]*$", re.M).search(text, opening.end())
    if not closing:
        return []
    start = opening.start("fence")
    return [Block(BlockKind.FRONT_MATTER, start, closing.end(), ((start, closing.end()),))]
