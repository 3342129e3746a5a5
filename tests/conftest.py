"""What tests share: the project's folders, optional data, and parts of the system that must be there in CI.

Environment variables:

``CELADON_DATA``
    The folder of optional data: judgements, treebanks, grammars. By default ``shared/data`` beside the checkout. Tests
    that need a file which is not there are skipped, and say which.
``CI``
    ``true``: a part of the system that is missing (chromium, PostgreSQL, an extra) is a failure, not a skip; hypothesis
    tries the same examples every time.
``PYTEST_TIMEOUT``
    Seconds a test may take, in place of the 300 of pyproject.toml, for a slow or emulated machine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.watchdog import Watchdog

# Machines are shared and slow at times, so no example has a deadline; CI tries the same examples every time, and
# developers' machines look for new ones, half as many in a run.
IN_CI = os.environ.get("CI") == "true"
settings.register_profile("celadon", deadline=None, derandomize=IN_CI, max_examples=100 if IN_CI else 50)
settings.load_profile("celadon")

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("CELADON_DATA") or ROOT.parent / "shared" / "data")


def pytest_configure(config: pytest.Config) -> None:
    """End the process where a test cannot be interrupted."""
    config.pluginmanager.register(Watchdog(), "celadon-watchdog")


@pytest.fixture(scope="session")
def example() -> Path:
    """The example file that the README scores."""
    return ROOT / "examples" / "summaries.jsonl"


@pytest.fixture(scope="session")
def judgements() -> Path:
    """The folder of human judgements, which are not part of the project."""
    folder = DATA / "judgements"
    if not folder.is_dir():
        pytest.skip(f"no judgements at {folder}; set CELADON_DATA to the folder that holds them")
    return folder


def missing_part(what: str, how: str) -> None:
    """Skip loudly where a part of the system is missing; in CI, where all must be there, fail."""
    message = f"{what} is not installed; {how}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message, allow_module_level=True)


def builtin_is_there() -> bool:
    """Whether the weights that the package ships are in this checkout."""
    return (ROOT / "src" / "celadon" / "weights" / "builtin" / "model.json").is_file()


CHROMIUM_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, one for all tests of a process; without it they are skipped, loudly, and fail in CI."""
    program = "/usr/bin/chromium" if Path("/usr/bin/chromium").exists() else shutil.which("chromium")
    if program is None:
        missing_part("chromium", "so pages are not tried in a real browser: ./celadon install test")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=CHROMIUM_ARGUMENTS)
        yield started
        started.close()
