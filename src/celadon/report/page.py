"""The whole page: head with its policy, sections, and a size that stays within its limit."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from importlib.resources import files

from celadon.report.escape import short

# The widest measure of the page in the style sheet; a table that needs more is always shown as cards.
_PAGE_REM = 72.0

# How much of a long text is shown, from ample to scant.
_LIMITS = (1200, 900, 700, 550, 420, 320, 240, 180, 130, 90, 60)
BYTES = 1_950_000


def fitted(render: Callable[[int, int], str], texts: int, most: int) -> str:
    """Return the most ample page that fits: texts are first shown shorter, then fewer of them are shown.

    Parameters
    ----------
    render
        Makes the page from how many characters of a text and how many texts are shown.
    texts
        How many texts there are to show.
    most
        How many bytes the page may have.
    """
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


def document(title: str, body: str, *, style: str) -> str:
    """Wrap the sections into a file that needs nothing else and may load nothing else."""
    script = asset("script.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="generator" content="celadon">'
        f'<title>{short(title, 300)}</title><link rel="icon" href="data:,"><style>{style}</style></head>\n'
        f"<body>{body}<script>{script}</script></body></html>\n"
    )


def navigation(places: Mapping[str, str]) -> str:
    """Link to the sections, from their ids to their names."""
    links = "".join(f'<li><a href="#{place}">{name}</a></li>' for place, name in places.items())
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>'


def text_style(columns: int, labels: str) -> str:
    """Return the style sheet; where the table of texts turns into cards depends on how many columns it has."""
    width = 12 + 6.5 * columns
    media = f"(max-width: {width}rem)" if width < _PAGE_REM else "all"
    return f"{asset('style.css')}@media {media} {{\n{asset('cards.css')}{labels}\n}}\n"


def asset(name: str) -> str:
    """Return a style sheet or script that comes with the package."""
    return files("celadon.report").joinpath(name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"
