"""Starts a process that outlives its test, in a session of its own."""

import os
import subprocess
from pathlib import Path


def test_that_leaves_a_process() -> None:
    process = subprocess.Popen(["sleep", "100000"], start_new_session=True)
    Path(os.environ["CELADON_LEFT_PROCESS"]).write_text(str(process.pid))
