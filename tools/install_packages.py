#!/usr/bin/env python3
"""Install Python packages with uv, from where pip would take them, and with pip where uv cannot.

``python tools/install_packages.py ARGUMENTS ...``, with the Python to install into and arguments that both understand.
uv takes a fraction of pip's processor time. It does not read pip's settings, and without them torch may come with CUDA.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

UV = Path(__file__).resolve().parent.parent / ".venv-uv"
PIP = (sys.executable, "-m", "pip")
PIP_INSTALL = (*PIP, "install", "--quiet", "--disable-pip-version-check", "--no-compile")
# seconds
LIMIT = 600

# a later one counts more
SCOPES = ("global", "install", ":env:")
OPTIONS = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
}
VARIABLES = {"cert": "SSL_CERT_FILE", "proxy": "ALL_PROXY"}


def uv_settings(listed: str) -> tuple[list[str], dict[str, str]]:
    """Turn what ``pip config list`` prints into options and environment variables of uv."""
    scopes: dict[str, dict[str, str]] = {scope: {} for scope in SCOPES}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        scope, _, name = key.rpartition(".")
        scopes.get(scope, {})[name] = ast.literal_eval(value)
    settings = {name: value for scope in SCOPES for name, value in scopes[scope].items()}
    # pip takes the best version of all indexes, uv by itself that of the first which has any
    options = ["--index-strategy", "unsafe-best-match"]
    for name, option in OPTIONS.items():
        for value in settings.get(name, "").split():
            options += [option, value]
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        options.append("--no-index")
    return options, {variable: settings[name] for name, variable in VARIABLES.items() if name in settings}


def install_with_uv(arguments: list[str]) -> None:
    """Install, fetching uv first where it is not there yet."""
    program = UV / "bin" / "uv"
    if not program.exists():
        subprocess.run([*PIP_INSTALL, "--target", str(UV), "uv"], check=True, timeout=LIMIT)
    listed = subprocess.run([*PIP, "config", "list"], check=True, timeout=LIMIT, stdout=subprocess.PIPE, text=True)
    options, variables = uv_settings(listed.stdout)
    command = [str(program), "pip", "install", "--quiet", "--python", sys.executable, *options, *arguments]
    subprocess.run(command, env=os.environ | variables, check=True, timeout=LIMIT)


def main(arguments: list[str]) -> int:
    """Install with one or the other, and return the exit code."""
    try:
        install_with_uv(arguments)
    except (subprocess.SubprocessError, OSError) as error:
        sys.stderr.write(f"uv could not install the packages ({error}); pip installs them\n")
        return subprocess.run([*PIP_INSTALL, *arguments], check=False).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
