"""Windows over two long texts that are compared piece by piece, so that memory does not grow with their lengths.

Both texts are cut into the same number of pieces, the least with which no piece is longer than the window, each text
into pieces of like length: the first tenth of the one is compared with the first tenth of the other, and so on. Two
texts that both fit into the window are compared as they are.
"""

from __future__ import annotations

Stretch = tuple[int, int]


def window_count(left: int, right: int, window: int) -> int:
    """Return into how many pieces of at most ``window`` words two texts are cut."""
    return max(1, -(-max(left, right) // window))


def stretches(length: int, count: int) -> list[Stretch]:
    """Cut a text into pieces of consecutive words; return where each begins and ends.

    The lengths differ by one at most and every word is in one piece, in order. A text with fewer words than pieces has
    one word in each: the one that stands where the piece would.
    """
    if length < count:
        return [(at * length // count, at * length // count + 1) for at in range(count)]
    return [(at * length // count, (at + 1) * length // count) for at in range(count)]
