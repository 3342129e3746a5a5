"""What tests of training share: bfloat16 where the machine has it, and a machine that traps on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from celadon.train import precision

# ud2 on x86-64; elsewhere, or where no page may be executed, the signal that a processor would raise
ILLEGAL_INSTRUCTION = """
import ctypes, mmap, os, platform, resource, signal
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if platform.machine() == "x86_64":
    try:
        page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError:
        pass
    else:
        page.write(bytes([0x0F, 0x0B]))
        ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
os.kill(os.getpid(), signal.SIGILL)
"""


@pytest.fixture
def bfloat16() -> None:
    """Skip where a probe of bfloat16 does not survive."""
    if fault := precision.bfloat16_fault():
        pytest.skip(f"bfloat16 cannot be used on this machine: {fault}")


@pytest.fixture
def no_probe_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home in which no result of a probe is kept; returns it."""
    monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))
    precision.bfloat16_fault.cache_clear()
    yield tmp_path / "home"
    precision.bfloat16_fault.cache_clear()


@pytest.fixture
def trapping_processor(no_probe_yet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which the probe dies of an illegal instruction."""
    monkeypatch.setattr(precision, "PROBE", (sys.executable, "-c", ILLEGAL_INSTRUCTION))
