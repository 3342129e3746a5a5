"""What the store tells the user while it works: a line, or a bar on the standard error stream."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

Say: TypeAlias = Callable[[str], None]

_PATIENCE = 2.0
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def say_on_stderr(message: str) -> None:
    """Show one line."""
    sys.stderr.write(f"celadon: {message}\n")
    sys.stderr.flush()


def size_text(size: float) -> str:
    """Return a number of bytes for a person: ``93 MB``."""
    for unit in _UNITS:
        if size < 999.5 or unit == _UNITS[-1]:
            break
        size /= 1000
    return f"{size:.1f} {unit}" if unit != "bytes" and size < 9.95 else f"{size:.0f} {unit}"


def byte_bar(what: str, total: int | None, done: int = 0) -> Any:
    """Return a tqdm bar that counts bytes, shown on a terminal once two seconds have passed."""
    from tqdm import tqdm

    return tqdm(
        desc=what,
        total=total,
        initial=done,
        unit="B",
        unit_scale=True,
        leave=False,
        delay=_PATIENCE,
        disable=not sys.stderr.isatty(),
    )
