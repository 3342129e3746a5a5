"""Files behind addresses (s3://, gs://, hf://, https://), through fsspec.

An address may carry a password or a token: names that are shown or stored come from :func:`shown_name`.
"""

from __future__ import annotations

import glob
import io
import logging
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from celadon.core import CeladonError, InputError, MissingExtraError, MissingPartError, OutputError, UsageError
from celadon.io.hub import check_takes_commits, commit_files, commit_removal, hub_reason, is_repository

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://([^/?#]*)(.*)", re.DOTALL)
# Elsewhere than on the web a question mark may be a pattern's, unless it looks like the beginning of a query.
_QUERY = re.compile(r"\?[\w.%-]+=.*", re.DOTALL)
_WEB = frozenset({"http", "https"})
_GOOGLE = frozenset({"gs", "gcs"})
_PACKAGES = {
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
    "hf": "huggingface_hub",
    "http": "aiohttp",
    "https": "aiohttp",
    "sftp": "paramiko",
    "ssh": "paramiko",
}
# Of these protocols the packages are an extra of ours, and an address begins with a bucket.
_EXTRAS = {"gcs": "gs", "gs": "gs", "s3": "s3", "s3a": "s3"}
# In these a file appears when all of it is there; elsewhere it is written under another name first.
_WHOLE_OBJECTS = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "hf", "memory"})
# What the packages call it when there is no network, or nobody at the address.
_UNREACHABLE = frozenset({"ConnectError", "ConnectionError", "EndpointConnectionError", "ClientConnectorError"})
_COPY_BYTES = 1024 * 1024
_SHORTEST_SECRET = 4


class RemoteStatus(NamedTuple):
    """What a server tells of a file; ``size`` is None where it does not say."""

    size: int | None
    is_folder: bool


def is_url(path: str) -> bool:
    """Whether a path is an address rather than a place on this machine."""
    return _URL.match(path) is not None and not path.startswith("file://")


def local_path(path: str) -> str:
    """The path of a ``file://`` address; any other path as it is."""
    return unquote(path.removeprefix("file://")) if path.startswith("file://") else path


def shown_name(path: str) -> str:
    """An address without user, password and query; any other path as it is."""
    match = _URL.match(path)
    if match is None:
        return path
    protocol, host, rest = match.groups()
    rest = re.split(r"[?#]", rest, maxsplit=1)[0] if protocol in _WEB else _QUERY.sub("", rest)
    return f"{protocol}://{host.rpartition('@')[2]}{rest}"


def reads_anywhere(url: str) -> bool:
    """Whether reading can begin in the middle of the file; many web servers cannot do that."""
    return _protocol(url) not in _WEB


def expand_url(url: str) -> list[str]:
    """The files meant by an address that may be a pattern, in order; a name without a pattern stays as it is.

    Raises InputError if no file matches the pattern, or the server cannot be asked.
    """
    place = shown_name(url)
    magic = re.search(r"[*\[]", place) if _protocol(url) in _WEB else glob.has_magic(place)
    if not magic:
        return [url]
    system, path = _file_system(url)
    with _read_errors(url):
        # others may have written there since it was listed
        system.invalidate_cache()
        if _protocol(url) not in _WEB and system.exists(path):
            return [url]
        matches = sorted(match for match, facts in system.glob(path, detail=True).items() if facts["type"] == "file")
    if not matches:
        raise InputError(f"{place}: no file matches this pattern")
    # What the system calls a file lacks the beginning of the address, with the server in it.
    beginning = url[: len(url) - len(path)] if url.endswith(path) else None
    return [system.unstrip_protocol(match) if beginning is None else f"{beginning}{match}" for match in matches]


def status_of(url: str) -> RemoteStatus:
    """Ask the server; InputError where the file is not there or may not be read."""
    system, path = _file_system(url)
    with _read_errors(url):
        system.invalidate_cache()
        facts = system.info(path)
    return RemoteStatus(facts.get("size"), facts.get("type") == "directory")


def is_remote_folder(url: str) -> bool:
    """Whether an address is a folder; one of the web is none, nor is what cannot be asked for."""
    if _protocol(url) in _WEB:
        return False
    with suppress(InputError):
        return status_of(url).is_folder
    return False


def sizes_below(folder: str) -> dict[str, int]:
    """The bytes of every file in a folder and those in it, by its path in the folder; none where it is not there."""
    system, path = _file_system(folder)
    beginning = path.rstrip("/") + "/"
    with _read_errors(folder):
        system.invalidate_cache()
        try:
            files = system.find(path, detail=True)
        except FileNotFoundError:
            return {}
    return {name.removeprefix(beginning): facts["size"] for name, facts in files.items()}


class RemoteFile(io.RawIOBase):
    """An open remote file; whatever goes wrong while it is read is an InputError."""

    def __init__(self, url: str, file: Any) -> None:
        self._url = url
        self._file = file
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return reads_anywhere(self._url)

    def readinto(self, buffer: Any) -> int:
        with _read_errors(self._url):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        with _read_errors(self._url):
            self._position = self._file.seek(offset, whence)
        return self._position

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if not self.closed:
            with suppress(Exception):
                self._file.close()
        super().close()


def open_url(url: str, **options: Any) -> RemoteFile:
    """Open a remote file for reading; ``options`` are fsspec's."""
    if not reads_anywhere(url):
        # a stream, which needs nothing of the server but to send the file
        options = {"block_size": 0}
    system, path = _file_system(url)
    with _read_errors(url):
        if _protocol(url) == "hf":
            # it takes the size from a listing, which may be older than the file
            system.invalidate_cache(path)
        return RemoteFile(url, system.open(path, "rb", **options))


def fetch(url: str, place: Path) -> None:
    """Copy a remote file to a place on this machine."""
    with open_url(url) as remote, place.open("wb") as file:
        while data := remote.read(_COPY_BYTES):
            file.write(data)


def check_takes_files(url: str) -> None:
    """Find out, as far as can be before anything is written, whether files can be put there."""
    if _protocol(url) in _WEB:
        raise OutputError(f"{shown_name(url)}: nothing can be written to the web; choose another place")
    system, path = _file_system(url)
    if _protocol(url) in _EXTRAS:
        # those who may write objects need not be allowed to look at the bucket
        with _write_errors(url), suppress(PermissionError):
            system.info(path.partition("/")[0])
    elif _in_repository(url, path):
        with _write_errors(url):
            check_takes_commits(system, path)


def put_file(local: Path, url: str) -> None:
    """Copy a file to an address, where it appears whole or not at all.

    Raises OutputError if it cannot be written there.
    """
    put_files([(local, url)])


def put_files(files: Sequence[tuple[Path, str]]) -> None:
    """Copy files to addresses of one place, each whole and in their order; in a repository they appear at once.

    Raises OutputError if one cannot be written there.
    """
    places = [(local, url, *_file_system(url)) for local, url in files]
    if places and _in_repository(files[0][1], places[0][3]):
        with _write_errors(files[0][1]):
            commit_files(places[0][2], [(local, path) for local, _, _, path in places])
        return
    for local, url, system, path in places:
        with _write_errors(url):
            if _protocol(url) in _WHOLE_OBJECTS:
                system.put_file(str(local), path)
            else:
                _put_and_rename(system, local, path)


def _put_and_rename(system: Any, local: Path, path: str) -> None:
    folder, _, name = path.rpartition("/")
    temporary = f"{folder}/.celadon-{secrets.token_hex(8)}-{name}"
    if folder:
        system.makedirs(folder, exist_ok=True)
    try:
        system.put_file(str(local), temporary)
        system.mv(temporary, path)
    except BaseException:
        with suppress(Exception):
            system.rm_file(temporary)
        raise


def remove_url(url: str) -> None:
    """Remove a remote file, if there is one."""
    remove_urls([url])


def remove_urls(urls: Sequence[str]) -> None:
    """Remove files of one server, those that are there; in a repository they go at once."""
    places = [(url, *_file_system(url)) for url in urls]
    if places and _in_repository(urls[0], places[0][2]):
        with _write_errors(urls[0]):
            commit_removal(places[0][1], [path for _, _, path in places])
        return
    for url, system, path in places:
        with _write_errors(url):
            system.invalidate_cache()
            if system.exists(path):
                system.rm_file(path)


def _protocol(url: str) -> str:
    return url.partition("://")[0]


def _in_repository(url: str, path: str) -> bool:
    return _protocol(url) == "hf" and is_repository(path)


def _file_system(url: str) -> tuple[Any, str]:
    """The fsspec file system of an address, and what it calls the file."""
    from fsspec.core import url_to_fs

    protocol = _protocol(url)
    try:
        with _read_errors(url, let_pass=(ImportError, ValueError)):
            options = _web_options() if protocol in _WEB else _google_options() if protocol in _GOOGLE else {}
            system, path = url_to_fs(url, **options)
            return system, path
    except ImportError as error:
        if protocol in _EXTRAS:
            raise MissingExtraError(f"{shown_name(url)}: what reads {protocol}://", _EXTRAS[protocol]) from None
        package = _PACKAGES.get(protocol)
        how = f"install it with: pip install {package}" if package else str(error)
        raise MissingPartError(f"{shown_name(url)}: what reads {protocol}:// is not installed; {how}") from None
    except ValueError:
        raise UsageError(f"{shown_name(url)}: {protocol}:// is not known; s3://, gs://, hf://, https:// are") from None


def _web_options() -> dict[str, Any]:
    import aiohttp

    # Without this a file that takes more than five minutes is given up. Proxies are as the environment says.
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=120)
    return {"client_kwargs": {"timeout": timeout, "trust_env": True}}


def _google_options() -> dict[str, Any]:
    logger = logging.getLogger("gcsfs")
    if not logger.handlers:
        # what it raises is told in a line; without a handler it would be printed with its traceback, too
        logger.addHandler(logging.NullHandler())
    if not os.environ.get("STORAGE_EMULATOR_HOST"):
        return {}
    # An emulator speaks HTTP only and knows no accounts: gcsfs would wait a minute for it to tell over gRPC what kind
    # of bucket it has, and look for credentials on the network.
    os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    return {"token": "anon"}


@contextmanager
def _read_errors(url: str, let_pass: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    try:
        yield
    except CeladonError:
        raise
    except Exception as error:
        # every protocol's package has its own kinds
        if isinstance(error, let_pass):
            raise
        # not as the cause: it may tell what the message must not
        raise InputError(f"{shown_name(url)}: {_reason(url, error, 'read')}") from None


@contextmanager
def _write_errors(url: str) -> Iterator[None]:
    try:
        yield
    except CeladonError:
        raise
    except Exception as error:  # noqa: BLE001  as above
        raise OutputError(f"{shown_name(url)}: {_reason(url, error, 'written')}") from None


def _reason(url: str, error: Exception, done: str) -> str:
    if _protocol(url) == "hf" and (reason := hub_reason(error, done)):
        return reason
    if isinstance(error, FileNotFoundError) and _protocol(url) in _WEB and isinstance(error.__cause__, Exception):
        # so called whatever went wrong
        error = error.__cause__
    status = getattr(error, "status", None) or getattr(error, "code", None)
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        if done == "written":
            return f"the {'bucket' if _protocol(url) in _EXTRAS else 'folder'} does not exist; create it first"
        return "no such file"
    # gcsfs has no kind of its own for it
    if isinstance(error, PermissionError) or status in (401, 403) or str(error).startswith("Forbidden: "):
        return f"no permission to {'read' if done == 'read' else 'write'} it"
    lines = str(error).splitlines() or [""]
    # one that announces the next
    first = " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
    if type(error).__name__ in _UNREACHABLE:
        return f"the server cannot be reached: {_without_secrets(url, first)}"
    return f"cannot be {done}: {_without_secrets(url, first) or type(error).__name__}"


def _without_secrets(url: str, text: str) -> str:
    """A library's message, which may repeat the address."""
    text = text.replace(url, shown_name(url))
    match = _URL.match(url)
    assert match is not None
    user = match[2].rpartition("@")[0]
    query = match[3].partition("?")[2]
    pieces = {query, user, *user.split(":", 1)[1:], *(pair.partition("=")[2] for pair in query.split("&"))}
    for secret in sorted({*pieces, *map(unquote, pieces)}, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET or (secret and secret in user):
            text = text.replace(secret, "***")
    return text
