"""``celadon install``: add an extra, and the Debian packages it needs, to the environment that runs celadon."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

# Debian packages that an extra needs beside its Python packages
DEBIAN = {
    "wordnet": ("wordnet-base",),
    "parse": ("liblink-grammar5",),
    "test": ("chromium", "postgresql", "wordnet-base", "link-grammar", "liblink-grammar5"),
}

# Extras with a Python package that is compiled where it is installed
COMPILED = frozenset({"ngram"})

_PIP = (sys.executable, "-m", "pip")
_QUIET = ("--quiet", "--disable-pip-version-check")


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.add_argument("extras", nargs="*", metavar="EXTRA", help="without any: list them")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Install the extras and say what was done."""
    from celadon.core import UsageError

    known = extras()
    if not arguments.extras:
        for name, requirements in known.items():
            print(f"{name}: {', '.join([*requirements, *(f'{p} (Debian)' for p in DEBIAN.get(name, ()))])}")
        return 0
    unknown = [name for name in arguments.extras if name not in known]
    if unknown:
        raise UsageError(f"unknown extra {unknown[0]!r}; known: {', '.join(known)}")
    requirements = list(dict.fromkeys(r for name in arguments.extras for r in known[name]))
    packages = list(dict.fromkeys(p for name in arguments.extras for p in DEBIAN.get(name, ())))
    if COMPILED.intersection(arguments.extras) and (absent := _absent_compiler()):
        _install_debian(absent)
    compiled = [r for name in arguments.extras if name in COMPILED for r in known[name]]
    # downloads, a compiler and apt-get wait for different things, so all work at once
    with ThreadPoolExecutor(1) as aside:
        debian = aside.submit(_install_debian, packages) if packages else None
        if requirements:
            _install_python(requirements, compiled)
            print(f"installed Python packages: {', '.join(requirements)}")
        if debian is not None:
            debian.result()
    return 0


def _install_python(requirements: Sequence[str], compiled: Sequence[str]) -> None:
    """Install into this very environment; what is compiled is compiled while the rest is fetched."""
    from celadon.core import CeladonError

    with TemporaryDirectory() as folder:
        compiler = None
        if compiled and _has_pip():
            compiler = subprocess.Popen([*_PIP, "wheel", *_QUIET, "--no-deps", "--wheel-dir", folder, *compiled])
        done = subprocess.run(_python_installer([r for r in requirements if r not in compiled]), check=False)
        failed = bool(done.returncode)
        if compiler is not None:
            failed |= bool(compiler.wait())
        if compiled and not failed:
            found = [str(wheel) for wheel in Path(folder).iterdir()]
            failed = bool(subprocess.run(_python_installer(found or compiled), check=False).returncode)
        if failed:
            raise CeladonError(f"installing {', '.join(requirements)} failed; see the lines above")


def extras() -> dict[str, list[str]]:
    """Each extra's requirements, as the installed package states them."""
    from importlib.metadata import metadata

    facts = metadata("celadon-text")
    found: dict[str, list[str]] = {name: [] for name in facts.get_all("Provides-Extra") or []}
    for line in facts.get_all("Requires-Dist") or []:
        requirement, _, marker = line.partition(";")
        for name, requirements in found.items():
            if f"extra == '{name}'" in marker.replace('"', "'"):
                requirements.append(requirement.strip())
    return found


def _absent_compiler() -> list[str]:
    """What is missing, in Debian's words, to compile a Python package."""
    found = []
    if not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        found.append("g++")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        found.append("python3-dev")
    return found


def _has_pip() -> bool:
    return subprocess.run([*_PIP, "--version"], check=False, capture_output=True).returncode == 0


def _python_installer(requirements: Sequence[str]) -> list[str]:
    """The command that installs into this very environment."""
    from celadon.core import CeladonError

    if _has_pip():
        # modules are compiled when they are first imported: most of them never are, and compiling all takes a minute
        return [*_PIP, "install", *_QUIET, "--no-compile", *requirements]
    uv = shutil.which("uv")
    if uv is None:
        raise CeladonError(f"neither pip nor uv is here; install these into {sys.prefix}: {', '.join(requirements)}")
    return [uv, "pip", "install", "--quiet", "--python", sys.executable, *requirements]


def _install_debian(packages: Sequence[str]) -> None:
    from celadon.core import CeladonError, MissingPartError

    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}"]
    if shutil.which("dpkg-query"):
        absent = [
            package
            for package in packages
            if subprocess.run([*query, package], check=False, capture_output=True, text=True).stdout != "installed"
        ]
    else:
        absent = list(packages)
    names = " ".join(absent)
    if not absent:
        print(f"Debian packages already there: {' '.join(packages)}")
    elif shutil.which("apt-get") is None:
        raise MissingPartError(f"this system has no apt-get; install what Debian calls {names} by its own means")
    elif os.geteuid() != 0:
        raise MissingPartError(f"Debian packages need root; run: sudo apt-get install {names}")
    else:
        print(f"installing Debian packages: {names}", flush=True)
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], check=False, env=quiet, stdout=subprocess.DEVNULL)
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *absent]
        if subprocess.run(install, check=False, env=quiet, stdout=subprocess.DEVNULL).returncode:
            raise CeladonError(f"apt-get could not install {names}; see the lines above")
        print(f"installed Debian packages: {names}")
