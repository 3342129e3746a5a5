#!/usr/bin/env python3
"""Run a command with a time limit: ``python tests/limited.py SECONDS COMMAND ...``.

Ends with the command's exit code, or with 124 if it had to be ended. Nothing that it started goes on after it: the
processes of its group are killed and, on Linux, those that have left the group too, as servers do. coreutils' timeout
is not everywhere, and leaves the latter. Any Python 3 can run this, before anything is installed.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time

TIMED_OUT = 124
# seconds in which a command that was asked to end may clean up
GRACE = 10.0
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: orphans of the command become our children


def main(arguments):
    """Run the command and return its exit code."""
    if len(arguments) < 2:
        sys.stderr.write("usage: limited.py SECONDS COMMAND ...\n")
        return 2
    limit, command = float(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    # only noted here, so that no moment is the wrong one
    requests = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: requests.append(number))
    try:
        # preexec_fn: there is one thread, and process_group is new in 3.11; such a group cannot read the terminal
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=os.setpgrp)  # noqa: PLW1509
    except OSError as error:
        sys.stderr.write(f"limited: {command[0]}: {error.strerror}\n")
        return 127
    deadline = time.monotonic() + limit
    while started.poll() is None and not requests and time.monotonic() < deadline:
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(timeout=0.1)
    code = started.poll()
    if code is None and requests:
        code = 128 + requests[0]
    elif code is None:
        sys.stderr.write(f"limited: ended after {limit:g} s, the limit: {' '.join(command)}\n")
        code = TIMED_OUT
    _end_all(started, requests[0] if requests else signal.SIGTERM)
    # as a shell gives it: a signal is 128 and its number
    return code if code >= 0 else 128 - code


def _signal_group(group, number):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _end_all(started, request):
    """End the group, politely if it is still at work, and all that is left below this process."""
    if started.poll() is None:
        _signal_group(started.pid, request)
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(timeout=GRACE)
    _signal_group(started.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        started.wait(timeout=GRACE)
    deadline = time.monotonic() + GRACE
    # the children of one that is killed become ours, so this is done until there are none
    while sys.platform == "linux" and time.monotonic() < deadline and (left := _children()):
        for child in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)


def _children():
    """Processes whose parent is this one."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        with contextlib.suppress(OSError, IndexError, ValueError):
            with open(f"/proc/{int(name)}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
                # the name, in parentheses, may hold anything
                parent = int(file.read().rpartition(")")[2].split()[1])
            if parent == os.getpid():
                found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
