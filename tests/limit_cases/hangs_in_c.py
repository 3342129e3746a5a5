"""Loops in C, where neither signals nor other threads are heard."""

from collections import deque
from itertools import repeat


def test_that_hangs_in_c() -> None:
    deque(repeat(None), maxlen=0)
