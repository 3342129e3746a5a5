"""Waits for what never comes."""

import threading


def test_that_sleeps_for_ever() -> None:
    threading.Event().wait()


def test_after() -> None:
    pass
