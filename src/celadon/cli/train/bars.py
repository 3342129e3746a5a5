"""The progress bars of training: on a terminal only, and not for what is soon done."""

from __future__ import annotations

import sys
from typing import Any

_PATIENCE = 2.0


def bar(what: str, total: int, unit: str = "B") -> Any:
    """A bar that moves by ``update``."""
    from tqdm import tqdm

    return tqdm(
        desc=what,
        total=total,
        unit=unit,
        unit_scale=True,
        leave=False,
        delay=_PATIENCE,
        disable=not sys.stderr.isatty(),
    )
