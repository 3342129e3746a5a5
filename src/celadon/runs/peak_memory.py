"""The most memory that this process has held."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path


def peak_memory_bytes() -> int:
    """Return the most memory that this process has held; 0 where the system does not tell."""
    # not getrusage, which on Linux begins with what the parent held when it started this process
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
    try:
        import resource
    except ImportError:
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
