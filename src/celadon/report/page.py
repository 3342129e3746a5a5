"""The whole page: head with its policy, sections, and a size that stays within its limit."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from celadon.report.escape import css_string
from celadon.report.html import NAME_LIMIT, asset, render, style

# The widest measure of the page in the style sheet; a table that needs more is always shown as cards.
_PAGE_REM = 72.0

# How much of a long text is shown, from ample to scant.
_LIMITS = (1200, 900, 700, 550, 420, 320, 240, 180, 130, 90, 60)
BYTES = 1_950_000


def fitted(render: Callable[[int, int], str], texts: int, most: int) -> str:
    """Return the most ample page of at most ``most`` bytes: texts are first shown shorter, then fewer are shown."""
    page = ""
    for limit, count in _attempts(texts):
        page = render(limit, count)
        if len(page.encode()) <= most:
            break
    return page


def _attempts(texts: int) -> Iterator[tuple[int, int]]:
    for limit in _LIMITS:
        yield limit, texts
    while texts:
        texts //= 2
        yield _LIMITS[-1], texts


def document(template: str, *, title: str, css: str, **data: Any) -> str:
    """Fill a template that extends the self-contained document."""
    script = asset("report.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(css)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return render(template, title=title, style=css, script=script, policy=policy, **data)


def text_style(labels: Sequence[str]) -> str:
    """Return the style sheet; where the table of texts turns into cards depends on how many columns it has.

    A card has no header row above it, so its values are named once for all cards.
    """
    width = 12 + 6.5 * len(labels)
    names = [css_string(re.sub(r"([_\[,=])", "\\1\u200b", label[:NAME_LIMIT])) for label in labels]
    rules = "".join(
        f".texts tbody tr:first-child>:nth-child({place})::before{{content:{name}}}"
        for place, name in enumerate(names[1:], start=2)
    )
    media = f"(max-width: {width}rem)" if width < _PAGE_REM else "all"
    return f"{style('colors', 'report')}@media {media} {{\n{style('cards')}{rules}\n}}\n"


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"
