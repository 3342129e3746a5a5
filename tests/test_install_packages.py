"""uv is asked for packages with the settings that pip has, and pip where uv cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.processes import run

SCRIPT = ROOT / "tools" / "install_packages.py"
CONFIGURATION = """\
[global]
index-url = https://one.example/simple
extra-index-url = https://two.example/simple
    https://three.example/simple
cert = /certificates.pem
timeout = 9
[install]
find-links = /wheels
no-index = true
[download]
find-links = /elsewhere
"""


@pytest.fixture
def script() -> Any:
    """The module, which lies outside of the package."""
    spec = spec_from_file_location("install_packages", SCRIPT)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pip_lists(folder: Path, text: str, **variables: str) -> str:
    """What pip itself prints of its settings."""
    file = folder / "pip.conf"
    file.write_text(text, encoding="utf-8")
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment = (
        plain | {"HOME": str(folder), "XDG_CONFIG_DIRS": str(folder), "PIP_CONFIG_FILE": str(file)} | variables
    )
    listed = run([sys.executable, "-m", "pip", "config", "list"], env=environment, stdout=subprocess.PIPE, text=True)
    # a file of the machine or of this environment counts too
    return "".join(line for line in listed.stdout.splitlines(keepends=True) if not line.startswith("site."))


def test_settings_are_those_of_pip(script: Any, tmp_path: Path) -> None:
    options, variables = script.uv_settings(
        pip_lists(tmp_path, CONFIGURATION, PIP_INDEX_URL="https://four.example/simple")
    )
    pairs = list(zip(options[2:-1:2], options[3::2], strict=True))
    assert pairs == [
        ("--default-index", "https://four.example/simple"),
        ("--index", "https://two.example/simple"),
        ("--index", "https://three.example/simple"),
        ("--find-links", "/wheels"),
    ]
    assert options[-1] == "--no-index"
    assert variables == {"SSL_CERT_FILE": "/certificates.pem"}


def test_where_nothing_is_set_there_is_nothing_to_say(script: Any) -> None:
    assert script.uv_settings("") == (["--index-strategy", "unsafe-best-match"], {})


def test_pip_installs_where_uv_cannot(script: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script.UV = tmp_path
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "uv"
    program.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    program.chmod(0o755)
    package = tmp_path / "package"
    package.mkdir()
    (package / "pyproject.toml").write_text("[project]\nname = 'small'\nversion = '1'\n", encoding="utf-8")
    arguments = ["--no-deps", "--no-build-isolation", "--target", str(tmp_path / "installed"), str(package)]
    assert script.main(arguments) == 0
    assert [*(tmp_path / "installed").glob("small-1*")]
    assert "exit status 3" in capfd.readouterr().err
    program.unlink()
    program.mkdir()
    assert script.main([*arguments[:-1], str(tmp_path / "none")]) != 0
