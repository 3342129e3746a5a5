"""No run of the tests hangs: the very command of the Makefile over tests that hang, die and leave processes behind."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT, missing_part
from tests.limited import TIMED_OUT
from tests.processes import LIMIT, run
from tests.runs.run_parts import is_alive

LIMITED = [sys.executable, str(ROOT / "tests" / "limited.py")]
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to a process of one's choice")


def make_pytest(*cases: str, limit: int = 200, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run ``make pytest`` over some cases; each test has two seconds."""
    if shutil.which("make") is None:
        missing_part("make", "so the limits of make test are not tried: install make")
    files = [f"tests/limit_cases/{name}.py" for name in cases]
    # schemathesis imports what it needs within the first test: two seconds are too few for that on a busy machine
    arguments = f"PYTEST_ARGS=--timeout=2 -p no:cacheprovider -p no:schemathesis {' '.join(files)}"
    # a make above this one, and a pytest, must not be noticed
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS", "PYTEST_"))}
    return run(
        ["make", "pytest", f"PYTHON={sys.executable}", f"PYTEST_LIMIT={limit}", arguments],
        cwd=ROOT,
        env=inherited | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def wait_for(path: Path) -> str:
    """What a program has written into a file."""
    deadline = time.monotonic() + 60
    while not (path.exists() and (text := path.read_text())):
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.02)
    return text


@pytest.mark.parametrize(
    ("case", "test", "reason"),
    [
        ("kills_its_worker", "test_that_kills_its_worker", "crashed while running"),
        ("sleeps_for_ever", "test_that_sleeps_for_ever", "Timeout (>2.0s) from pytest-timeout"),
        ("hangs_in_c", "test_that_hangs_in_c", "Timeout (0:00:03)!"),
    ],
)
def test_a_test_that_does_not_end_fails_the_run(case: str, test: str, reason: str) -> None:
    done = make_pytest(case, "passes")
    assert done.returncode != 0
    # pytest ended by itself, before the limit of the whole run
    assert "Error 1" in done.stdout
    assert f"FAILED tests/limit_cases/{case}.py" in done.stdout
    assert test in done.stdout
    assert reason in done.stdout
    assert "1 failed" in done.stdout


def test_a_run_that_hangs_elsewhere_is_ended() -> None:
    done = make_pytest("hangs_when_imported", limit=5)
    assert done.returncode != 0
    assert "limited: ended after 5 s, the limit:" in done.stdout
    assert f"Error {TIMED_OUT}" in done.stdout


@linux
def test_no_process_is_left_behind(tmp_path: Path) -> None:
    noted = tmp_path / "process"
    done = make_pytest("leaves_a_process", CELADON_LEFT_PROCESS=str(noted))
    assert done.returncode == 0, done.stdout
    assert not is_alive(int(noted.read_text()))


@pytest.mark.parametrize(
    ("limit", "command", "code"),
    [
        ("60", "exit 0", 0),
        ("60", "exit 7", 7),
        ("60", "kill -ILL $$", 128 + signal.SIGILL),
        ("0.5", "sleep 1000", TIMED_OUT),
    ],
)
def test_the_exit_code_is_that_of_the_command(limit: str, command: str, code: int) -> None:
    assert run([*LIMITED, limit, "sh", "-c", command], capture_output=True).returncode == code


def test_a_command_that_ignores_requests_to_end_is_killed(tmp_path: Path) -> None:
    noted = tmp_path / "process"
    impatient = "import sys; from tests import limited; limited.GRACE = 1; sys.exit(limited.main(sys.argv[1:]))"
    command = f"trap '' TERM; echo $$ > {noted}; while true; do sleep 1; done"
    done = run([sys.executable, "-c", impatient, "2", "sh", "-c", command], cwd=ROOT)
    assert done.returncode == TIMED_OUT
    assert not is_alive(int(noted.read_text()))


def test_a_request_to_end_is_passed_on(tmp_path: Path) -> None:
    noted, cleaned = tmp_path / "process", tmp_path / "cleaned"
    command = f"trap 'echo yes > {cleaned}; exit 0' TERM; echo $$ > {noted}; while true; do sleep 0.1; done"
    started = subprocess.Popen([*LIMITED, "200", "sh", "-c", command])
    process = int(wait_for(noted))
    started.send_signal(signal.SIGTERM)
    assert started.wait(timeout=LIMIT) == 128 + signal.SIGTERM
    assert cleaned.read_text() == "yes\n"
    assert not is_alive(process)


def test_what_is_no_command_is_told(tmp_path: Path) -> None:
    done = run([*LIMITED, "9", str(tmp_path / "none")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (127, f"limited: {tmp_path / 'none'}: No such file or directory\n")
    assert run(LIMITED, capture_output=True).returncode == 2


def endless_waits(code: str) -> list[int]:
    """The lines on which something is waited for without a limit: a program, a thread, an event."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        named = {keyword.arg for keyword in node.keywords}
        owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
        starts = owner == "subprocess" and node.func.attr in {"run", "call", "check_call", "check_output"}
        waits = node.func.attr in {"wait", "join", "communicate"} and not node.args
        if (starts or waits) and "timeout" not in named:
            found.append(node.lineno)
    return found


def test_endless_waits_are_seen() -> None:
    code = "subprocess.run(a)\nb.wait()\nc.join()\nd.communicate(input=1)\n"
    assert endless_waits(code) == [1, 2, 3, 4]
    code = "subprocess.run(a, timeout=1)\nb.wait(2)\n','.join(c)\nd.communicate(timeout=9)\nrun(e)\n"
    assert endless_waits(code) == []


def test_no_test_waits_without_a_limit() -> None:
    """The limit of a test ends such waits too, but the program that is waited for would go on."""
    own = {ROOT / "tests" / "processes.py", *(ROOT / "tests" / "limit_cases").iterdir()}
    files = sorted(set((ROOT / "tests").rglob("*.py")) - own)
    assert len(files) > 200
    found = [
        f"{path.relative_to(ROOT)}:{line}" for path in files for line in endless_waits(path.read_text(encoding="utf-8"))
    ]
    assert found == []
