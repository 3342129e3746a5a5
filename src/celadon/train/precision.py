"""Whether this machine can train in bfloat16: found out by a child process, because some processors trap on it.

A processor, or the hypervisor above it, may advertise AMX or 16-bit instructions and stop a program that uses them. No
exception can be caught then, so a child process tries what training does (``precision_probe.py``). The result is kept
in the process, and in ``probes`` below ``CELADON_HOME`` for this processor and this torch. If that folder is not
writable, caching is disabled.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from celadon.core import CeladonError, UsageError
from celadon.io.atomic import atomic_write_text
from celadon.models.store.places import home

PRECISIONS = ("float32", "bfloat16")
PROBE = (sys.executable, "-P", "-m", "celadon.train.precision_probe")
"""The command that tries bfloat16: exit code 0 if it works, else a line on standard error says what is wrong."""

TIME_LIMIT = 120.0
"""Seconds after which the probe counts as failed."""

# after these a second trial would come to the same; SIGKILL is the kernel's for want of memory
_FINAL = (signal.SIGILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGABRT)
# oneDNN and torch read these; they decide which instructions are used
_SETTINGS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY")


class ProbeResult(NamedTuple):
    """What a probe came to."""

    fault: str  # why bfloat16 cannot be used; empty if it can
    final: bool  # whether it would come to the same again. A time-out depends on what else the machine does


def autocast(precision: str) -> AbstractContextManager[Any]:
    """Return the context in which torch multiplies in a precision; raise UsageError where this machine cannot."""
    import torch

    check_precision(precision)
    if precision == "bfloat16" and (fault := bfloat16_fault()):
        raise UsageError(f"bfloat16 cannot be used on this machine: {fault}; use float32")
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bfloat16")


def check_precision(precision: str) -> None:
    """Raise a usage error unless a precision is known."""
    if precision not in PRECISIONS:
        raise UsageError(f"unknown precision {precision!r}; known: {', '.join(PRECISIONS)}")


def usable_precision(precision: str, note: Callable[[str], None]) -> str:
    """Return a precision, or float32 with a note where this machine cannot multiply in it."""
    check_precision(precision)
    if precision == "bfloat16" and (fault := bfloat16_fault()):
        note(f"bfloat16 cannot be used on this machine: {fault}; training in float32")
        return "float32"
    return precision


@cache
def bfloat16_fault() -> str:
    """Return why bfloat16 cannot be used here, empty if it can; the probe runs at most once on a machine."""
    path = home() / "probes" / f"bfloat16-{_machine()}.json"
    known = _read(path)
    if known is not None:
        return known
    result = run_probe(PROBE, TIME_LIMIT)
    if result.final:
        _write(path, result.fault)
    return result.fault


def run_probe(command: Sequence[str], time_limit: float) -> ProbeResult:
    """Run a probe in a child process, which is gone when this returns, at the latest after the time limit."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=time_limit,
            check=False,
            # what this process can import, also where it was started from the folder of the package
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or str(Path.cwd()) for path in sys.path)},
        )
    except subprocess.TimeoutExpired:
        return ProbeResult(f"a trial of it did not end within {time_limit:g} s", final=False)
    except OSError as error:
        return ProbeResult(f"a trial of it could not be started ({error.strerror or error})", final=False)
    if done.returncode < 0:
        name, final = _signal_name(-done.returncode), -done.returncode in _FINAL
        return ProbeResult(f"a trial of it died of {name}", final)
    if done.returncode > 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        # 1 is what Python gives for a failed import, which can be repaired
        return ProbeResult(f"a trial of it failed ({lines[-1][:200]})", final=done.returncode != 1)
    return ProbeResult("", final=True)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _machine() -> str:
    """A digest of all that decides which instructions torch uses, and whether they are let through."""
    try:
        torch = metadata.version("torch")
    except metadata.PackageNotFoundError:
        torch = ""
    facts = [torch, platform.node(), platform.release(), *_processor(), *(os.environ.get(name) for name in _SETTINGS)]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def _processor() -> list[str]:
    """The processor's architecture, model and instruction sets."""
    facts = {"machine": platform.machine()}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if (name := name.strip()) in {"model name", "stepping", "microcode", "flags", "Features", "CPU part"}:
                facts[name] = " ".join(sorted(value.split())) if name in {"flags", "Features"} else value.strip()
    return [f"{name}: {value}" for name, value in sorted(facts.items())]


def _read(path: Path) -> str | None:
    try:
        fault = json.loads(path.read_bytes())["fault"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return fault if isinstance(fault, str) else None


def _write(path: Path, fault: str) -> None:
    with suppress(OSError, CeladonError):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write_text(str(path), json.dumps({"fault": fault, "machine": _processor()}, indent=1) + "\n")
