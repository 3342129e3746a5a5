"""Files from the Hugging Face hub, over plain HTTPS.

A download is gathered in a partial file named after its sha256, so that a broken one goes on where it stopped,
whoever began it. ``HF_ENDPOINT`` names a mirror; the pinned sha256 is what makes any of them as good as another.
"""

from __future__ import annotations

import http.client
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

from celadon import __version__
from celadon.models.store.catalog import HubSource, Pin
from celadon.models.store.failures import SourceError
from celadon.models.store.manifest import sha256_of
from celadon.models.store.notices import byte_bar
from celadon.models.store.space import make_folder

_ENDPOINT = "https://huggingface.co"
_TIMEOUT = 30.0
_CHUNK = 1 << 16
_TRIES = 3
_PAUSE = 0.5
# answers that another try may change: a range that is not there, too many requests, a server in trouble
_PASSING = (416, 429, 500, 502, 503, 504)


def fetch_from_hub(source: HubSource, name: str, pin: Pin, into: Path, partials: Path) -> None:
    """Fetch one file into a folder.

    Parameters
    ----------
    source, name, pin
        The repository, which of its files, and what that must be.
    into
        Where it goes once it is whole and right.
    partials
        Where it is gathered.

    Raises
    ------
    SourceError
        The hub is not reached, or does not give the file that the catalog pins.
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
        return bytes(answer.read(_CHUNK))
    except OSError as error:
        # not to be taken for a failure of writing
        raise ConnectionError(_reason(error)) from error


def _begin_anew(file: Any, bar: Any) -> None:
    file.seek(0)
    file.truncate()
    bar.reset()


def _reason(error: object) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
