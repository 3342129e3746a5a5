"""Statistics on arrays: how far metrics and judges can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celadon.meta.judges import audit

__all__ = ["audit"]


def __getattr__(name: str) -> Any:
    """Import on first use, so that the command line starts at once."""
    if name == "audit":
        from celadon.meta.judges import audit

        return audit
    raise AttributeError(f"module 'celadon.meta' has no attribute {name!r}")
