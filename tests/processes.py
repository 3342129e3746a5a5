"""Programs that tests start: none is waited for without a limit."""

from __future__ import annotations

import subprocess
from typing import Any

LIMIT = 240
"""Seconds to wait for a program: less than a test may take, so that the message says which program it was."""


def run(command: Any, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a program as ``subprocess.run`` does, for :data:`LIMIT` seconds at most unless ``timeout`` says otherwise."""
    return subprocess.run(command, **{"check": False, "timeout": LIMIT} | options)  # noqa: PLW1510
