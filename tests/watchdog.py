"""Ends the process of a test that hangs where no signal is heard, as in a loop in C.

pytest-timeout's signal interrupts Python code, and most calls that wait. What it does not interrupt is ended by a
thread of faulthandler, which needs no interpreter: it writes where each thread is and leaves. Under xdist that is a
dead worker, which ends the run.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Generator
from typing import Any

import pytest

# how many times a test's own limit
PATIENCE = 1.5
COLLECTION_LIMIT = 600.0
FINISH_LIMIT = 300.0


class Watchdog:
    """A plugin of pytest that watches collection, every test with its fixtures, and the end."""

    def __init__(self) -> None:
        # tests are captured, this is not
        self._stderr = os.dup(sys.__stderr__.fileno() if sys.__stderr__ else 2)
        self._limit = COLLECTION_LIMIT

    def _watch(self, seconds: float) -> None:
        self._limit = seconds
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._stderr)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection(self) -> Generator[None, Any, Any]:
        """Watch the imports of test files."""
        self._watch(COLLECTION_LIMIT)
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(tryfirst=True)
    def pytest_timeout_set_timer(self, settings: Any) -> None:
        """Watch a test, whose own limit begins now."""
        self._watch(PATIENCE * settings.timeout)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        """Stop watching after the teardown."""
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()

    @pytest.hookimpl(trylast=True)
    def pytest_exception_interact(self) -> None:
        """Watch on after a failure: pytest stops its own watch there, and the teardown is still to come."""
        self._watch(self._limit)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Watch the end: threads and workers that do not stop."""
        self._watch(FINISH_LIMIT)
