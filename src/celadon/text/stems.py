"""English stems, by the Snowball stemmer, each word stemmed once."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import snowballstemmer


@cache
def _stemmer() -> Any:
    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=1 << 17)
def english_stem(word: str) -> str:
    """Return the stem of a lower-case word; a word with letters beyond a to z is its own stem."""
    if not word.isascii():
        return word
    stem: str = _stemmer().stemWord(word)
    return stem
