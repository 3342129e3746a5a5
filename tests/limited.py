#!/usr/bin/env python3
"""Run a command with a time limit: ``python tests/limited.py SECONDS COMMAND ...``.

Ends with the command's exit code, or with 124 if it had to be ended. Nothing that it started goes on after it: the
processes of its group are killed and, on Linux, those that have left the group too, as servers do. coreutils' timeout
is not everywhere, and leaves the latter. Any Python 3 can run this, before anything is installed.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

TIMED_OUT = 124
# seconds in which a command that was asked to end may clean up
GRACE = 10.0
# in the environment of all that the command starts. A subreaper would find orphans too, but Ray's workers end only when
# their new parent is init
MARK = "CELADON_LIMITED"


def main(arguments):
    """Run the command and return its exit code."""
    if len(arguments) < 2:
        sys.stderr.write("usage: limited.py SECONDS COMMAND ...\n")
        return 2
    limit, command = float(arguments[0]), arguments[1:]
    mark = f"{os.getpid()}-{time.time_ns()}"
    environment = dict(os.environ, **{MARK: mark})
    # only noted here, so that no moment is the wrong one
    requests = []
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: requests.append(number))
    try:
        # preexec_fn: there is one thread, and process_group is new in 3.11; such a group cannot read the terminal
        started = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, preexec_fn=os.setpgrp)  # noqa: PLW1509
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
    _end_all(started, requests[0] if requests else signal.SIGTERM, mark)
    # as a shell gives it: a signal is 128 and its number
    return code if code >= 0 else 128 - code


def _signal_group(group, number):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _end_all(started, request, mark):
    """End the group, politely if it is still at work, and all that is left of what the command started."""
    if started.poll() is None:
        _signal_group(started.pid, request)
        with contextlib.suppress(subprocess.TimeoutExpired):
            started.wait(timeout=GRACE)
    _signal_group(started.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        started.wait(timeout=GRACE)
    deadline = time.monotonic() + GRACE
    while sys.platform == "linux" and time.monotonic() < deadline and (left := _marked(mark)):
        for process in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.01)


def _marked(mark):
    """Processes that have the mark in their environment; that of a dead one is empty."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for name in os.listdir("/proc"):  # noqa: PTH208
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{int(name)}/environ", "rb") as file:  # noqa: PTH123
            if wanted in file.read().split(b"\0"):
                found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
