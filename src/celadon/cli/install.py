"""``celadon install``: list the extras, or add some of them to the environment that runs celadon."""

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

from celadon.cli.extras import DEBIAN, DISTRIBUTION, GIVES, missing_debian, missing_python, requirements_of_extras

# Extras with a Python package that is compiled where it is installed
COMPILED = frozenset({"ngram"})

_PIP = (sys.executable, "-m", "pip")
_QUIET = ("--quiet", "--disable-pip-version-check")


_EPILOG = """\
examples:
  celadon install
  celadon install parquet plots
  celadon install wordnet --yes
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.add_argument("extras", nargs="*", metavar="EXTRA", help="without any: list them")
    command.add_argument("--yes", action="store_true", help="do not ask before apt-get installs Debian packages")
    command.add_argument(
        "--constraint", type=Path, metavar="FILE", help="versions that Python packages must have, as pip reads them"
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List the extras, or install some and say what was done."""
    from celadon.core import UsageError

    known = requirements_of_extras()
    if not arguments.extras:
        _list(known)
        return 0
    unknown = [name for name in arguments.extras if name not in known]
    if unknown:
        raise UsageError(f"unknown extra {unknown[0]!r}; known: {', '.join(known)}")
    if arguments.constraint is not None and not arguments.constraint.is_file():
        raise UsageError(f"{arguments.constraint}: no such file")
    requirements = list(dict.fromkeys(r for name in arguments.extras for r in known[name]))
    packages = list(dict.fromkeys(p for name in arguments.extras for p in DEBIAN.get(name, ())))
    compiled = [r for name in arguments.extras if name in COMPILED for r in known[name]]
    compiler = _missing_compiler() if compiled else []
    if not arguments.yes:
        _ask([*compiler, *missing_debian(packages)])
    if compiler:
        _install_debian(compiler)
    # downloads, a compiler and apt-get wait for different things, so all work at once
    with ThreadPoolExecutor(1) as aside:
        debian = aside.submit(_install_debian, packages) if packages else None
        if requirements:
            _install_python(requirements, compiled, arguments.constraint)
            print(f"installed Python packages: {', '.join(requirements)}")
        if debian is not None:
            debian.result()
    return 0


def _list(known: dict[str, list[str]]) -> None:
    """Print what each extra gives and whether it is there, then how to install one."""
    names = [*(name for name in GIVES if name in known), *(name for name in known if name not in GIVES)]
    name_width, gives_width = (max(map(len, column)) for column in (names, GIVES.values()))
    for name in names:
        missing = missing_python(known[name]) + [f"{p} (Debian)" for p in missing_debian(DEBIAN.get(name, ()))]
        state = f"missing: {', '.join(missing)}" if missing else "installed"
        if not known[name] and name not in DEBIAN:
            state = "not for this version of Python"
        print(f"{name:<{name_width}}  {GIVES.get(name, ''):<{gives_width}}  {state}")
    print(
        f"""
To install one, for example parquet:
  celadon install parquet                        into {sys.prefix}
  pip install '{DISTRIBUTION}[parquet]'
  uv tool install '{DISTRIBUTION}[parquet]'
  pipx install --force '{DISTRIBUTION}[parquet]'
Debian packages are installed by the first alone; it asks before it calls apt-get."""
    )


def _ask(packages: Sequence[str]) -> None:
    """Ask whoever sits at the terminal whether Debian packages may be installed, where they could be."""
    from celadon.core import MissingPartError

    if not packages or not sys.stdin.isatty() or shutil.which("apt-get") is None or os.geteuid() != 0:
        return
    names = " ".join(packages)
    print(f"install these Debian packages with apt-get: {names}? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise MissingPartError(f"nothing was installed; install the Debian packages yourself: apt-get install {names}")


def _install_python(requirements: Sequence[str], compiled: Sequence[str], constraint: Path | None) -> None:
    """Install into this very environment; what is compiled is compiled while the rest is fetched."""
    from celadon.core import CeladonError

    limits = [] if constraint is None else ["--constraint", str(constraint)]
    with TemporaryDirectory() as folder:
        compiler = None
        if compiled and _has_pip():
            build = [*_PIP, "wheel", *_QUIET, "--no-deps", "--wheel-dir", folder]
            compiler = subprocess.Popen([*build, *limits, *compiled])
        failed = False
        if fetched := [r for r in requirements if r not in compiled]:
            failed = bool(subprocess.run(_python_installer([*limits, *fetched]), check=False).returncode)
        if compiler is not None:
            failed |= bool(compiler.wait())
        if compiled and not failed:
            wheels = [str(wheel) for wheel in Path(folder).iterdir()]
            failed = bool(subprocess.run(_python_installer([*limits, *(wheels or compiled)]), check=False).returncode)
        if failed:
            raise CeladonError(f"installing {', '.join(requirements)} failed; see the lines above")


def _missing_compiler() -> list[str]:
    """What is missing, in Debian's words, to compile a Python package."""
    packages = []
    if not any(shutil.which(name) for name in ("c++", "g++", "clang++")):
        packages.append("g++")
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        packages.append("python3-dev")
    return packages


def _has_pip() -> bool:
    return subprocess.run([*_PIP, "--version"], check=False, capture_output=True).returncode == 0


def _python_installer(arguments: Sequence[str]) -> list[str]:
    """The command that installs into this very environment."""
    from celadon.core import CeladonError

    if _has_pip():
        # modules are compiled when they are first imported: most of them never are, and compiling all takes a minute
        return [*_PIP, "install", *_QUIET, "--no-compile", *arguments]
    uv = shutil.which("uv")
    if uv is None:
        raise CeladonError(f"neither pip nor uv is here; install these into {sys.prefix}: {' '.join(arguments)}")
    return [uv, "pip", "install", "--quiet", "--python", sys.executable, *arguments]


def _install_debian(packages: Sequence[str]) -> None:
    from celadon.core import CeladonError, MissingPartError

    absent = missing_debian(packages)
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
