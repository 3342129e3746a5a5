"""Hangs while tests are collected."""

import time

time.sleep(100_000)


def test_never_collected() -> None:
    pass
