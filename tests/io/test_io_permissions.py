"""No permission to read or to write; root, who may do everything, becomes nobody for it."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from tests import processes

PROGRAM = """
import os, sys
from celadon.core import CeladonError
from celadon.io import Fields, Reader, Rejects, atomic_write_text, check_distinct, open_writer
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for path in ["shut.txt", "closed/a.txt", "gone.txt"]:
    try:
        Reader([path], Fields(), on_bad=print)
    except CeladonError as error:
        print(error)
def rejects(path):
    Rejects(path).commit()
for write in (lambda p: open_writer(p, []), lambda p: atomic_write_text(p, ""), rejects):
    for path in ["readonly/o.jsonl", "closed/o.jsonl"]:
        try:
            write(path)
            print("written", path)
        except CeladonError as error:
            print(type(error).__name__, error)
check_distinct("closed/a.txt", ["closed/b.txt", "shut.txt"])
"""


@pytest.fixture
def folder():
    """A folder that anybody can get at, unlike pytest's own."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    (path / "closed").chmod(0o700)
    shutil.rmtree(path)


def test_no_permission(folder):
    for name in ("closed", "readonly"):
        (folder / name).mkdir()
    for name in ("shut.txt", "closed/a.txt", "readonly/o.jsonl"):
        (folder / name).write_text("x")
    (folder / "shut.txt").chmod(0)
    (folder / "closed").chmod(0)
    (folder / "readonly").chmod(0o555)
    done = processes.run([sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, check=False, text=True)
    if "setgroups" in done.stderr and os.geteuid() == 0:
        pytest.skip(f"NOT TESTED, root cannot become another user here: {done.stderr}")
    assert done.stderr == ""
    refused = [f"OutputError {n}/o.jsonl: no permission to write in {n}; choose another place" for n in
               ("readonly", "closed")]  # fmt: skip
    assert done.stdout.splitlines() == [
        "shut.txt: no permission to read it",
        "closed/a.txt: no permission to read it",
        "gone.txt: no such file",
        *refused * 3,
    ]
