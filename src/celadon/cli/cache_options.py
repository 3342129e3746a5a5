"""The options of the score cache, for every command that scores."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from celadon.scoring.cache.score_cache import CacheSettings

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_LEAST = 1_000_000


def add_cache_options(group: argparse._ArgumentGroup) -> None:
    """Say what there is to choose."""
    group.add_argument(
        "--cache",
        action="store_true",
        help="keep scores in the user's celadon folder and take those that are there (CELADON_CACHE=1: always)",
    )
    group.add_argument(
        "--cache-size",
        type=_bytes,
        default=None,
        metavar="SIZE",
        help="the least recently used scores go when it is full (default: 1GB)",
    )


def cache_settings(arguments: argparse.Namespace) -> CacheSettings | None:
    """Return the cache that is asked for; None where none is."""
    from celadon.scoring.cache.score_cache import CacheSettings, is_wanted_everywhere

    if not (arguments.cache or arguments.cache_size is not None or is_wanted_everywhere()):
        return None
    return CacheSettings() if arguments.cache_size is None else CacheSettings(max_bytes=arguments.cache_size)


def hit_line(hits: int, misses: int) -> str:
    """Say in one line what the cache was good for."""
    total = hits + misses
    return f"cache: {hits:,} of {total:,} scores were there ({hits / max(total, 1):.1%})"


def _bytes(text: str) -> int:
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?i?)b?", text.strip().lower())
    size = int(float(match[1]) * _UNITS.get(match[2], 0)) if match else 0
    if size < _LEAST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size from 1MB on, as in 500MB or 1GB")
    return size
