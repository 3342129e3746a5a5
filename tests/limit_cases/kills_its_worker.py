"""Dies of an illegal instruction, as a test does on a processor that traps."""

import os
import resource
import signal


def test_before() -> None:
    pass


def test_that_kills_its_worker() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), signal.SIGILL)


def test_after() -> None:
    pass
