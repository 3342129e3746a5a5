"""What a model's folder must hold: ``manifest.json``, and the check of the files against it.

Hashing half a gigabyte at every start would be slow, so a folder that was found right is stamped with each file's
size, times of change and inode. While these stay the same the file is taken for unchanged; whoever writes to a file,
even one byte, changes its time, and it is hashed again. Decay of the disk itself does not show in the times:
``celadon models info NAME --verify`` hashes everything.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from celadon.core import CeladonError
from celadon.io import atomic_write_text
from celadon.models.store.catalog import Pin
from celadon.models.store.places import byte_bar, home

MANIFEST = "manifest.json"
FORMAT = "celadon-manifest/1"
_CHUNK = 1 << 20
# a file that changes again within one tick of the clock keeps its time, so a stamp younger than this proves nothing
_TICK_NS = 100_000_000


class DamagedError(CeladonError):
    """A folder is not what its manifest says; the message tells which file."""

    exit_code = 3


class Manifest(msgspec.Struct, frozen=True):
    """The files of a folder."""

    files: Mapping[str, Pin]  # each file's size and sha256
    made: Mapping[str, Any] = {}  # what the folder was made from: for a cached model, what the catalog said then
    added: tuple[str, ...] = ()  # files that the user put there (a unigram table), kept when the rest is fetched again


class _ManifestFile(Manifest, frozen=True, kw_only=True):
    format: str


def write_manifest(folder: Path, made: Mapping[str, Any] | None = None, added: Iterable[str] = ()) -> Manifest:
    """Hash all files of a folder into its ``manifest.json``; to be called whenever one of them was changed on purpose.

    ``made``: what it was made from; by default what an older manifest says.
    ``added``: the names of files that the user has put there, beside those that an older manifest names.
    """
    older = read_manifest(folder) if (folder / MANIFEST).is_file() else Manifest({})
    names = file_names(folder)
    files = {name: Pin((folder / name).stat().st_size, sha256_of(folder / name)) for name in names}
    kept = {*older.added, *added} & set(names)
    manifest = Manifest(files, older.made if made is None else made, tuple(sorted(kept)))
    raw = {"format": FORMAT, **msgspec.to_builtins(manifest)}
    atomic_write_text(str(folder / MANIFEST), json.dumps(raw, indent=2) + "\n")
    return manifest


def read_manifest(folder: Path) -> Manifest:
    """Read a folder's ``manifest.json``. Raises DamagedError if there is none, or it cannot be read."""
    path = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=_ManifestFile)
    except FileNotFoundError as error:
        raise DamagedError(f"{path}: is missing") from error
    except OSError as error:
        raise DamagedError(f"{path}: cannot be read: {error.strerror or error}") from error
    except msgspec.MsgspecError as error:
        raise DamagedError(f"{path}: is damaged") from error
    if manifest.format != FORMAT:
        raise DamagedError(f"{path}: its format is {manifest.format!r}; {FORMAT} is expected")
    return manifest


def file_names(folder: Path) -> list[str]:
    """Return the files below a folder, but for the manifest and hidden ones.

    Raises DamagedError if there is a symbolic link or something else that is not a file.
    """
    names = []
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        for name in [*files, *(name for name in folders if (Path(root) / name).is_symlink())]:
            path = Path(root) / name
            if name.startswith(".") or (name == MANIFEST and Path(root) == folder):
                continue
            if path.is_symlink() or not path.is_file():
                raise DamagedError(f"{path}: is not a regular file")
            names.append(path.relative_to(folder).as_posix())
    return sorted(names)


def verify(folder: Path, *, full: bool = False, strict: bool = True) -> Manifest:
    """Check a folder against its manifest.

    ``full``: hash all files, whatever their stamps say.
    ``strict``: refuse files that the manifest does not know.
    Raises DamagedError if a file is missing, altered, or (where strict) unknown.
    """
    manifest = read_manifest(folder)
    names = file_names(folder)
    if missing := sorted(set(manifest.files) - set(names)):
        raise DamagedError(f"{folder / missing[0]}: is missing")
    if strict and (unknown := sorted(set(names) - set(manifest.files))):
        raise DamagedError(f"{folder / unknown[0]}: is not in {MANIFEST}")
    stamps = {}
    for name, pin in manifest.files.items():
        status = (folder / name).stat()
        stamps[name] = [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        if status.st_size != pin.size:
            raise DamagedError(f"{folder / name}: has {status.st_size:,} bytes where {pin.size:,} are expected")
    known = {} if full else _read_stamps(folder)
    began = time.time_ns()
    doubtful = [name for name in manifest.files if known.get(name) != [*stamps[name], manifest.files[name].sha256]]
    with byte_bar(f"verifying {folder.name}", sum(manifest.files[name].size for name in doubtful)) as bar:
        for name in doubtful:
            if _readable_sha256(folder / name, bar) != manifest.files[name].sha256:
                raise DamagedError(f"{folder / name}: was altered; its sha256 is not that of the manifest")
    if doubtful:
        settled = {name: s for name, s in stamps.items() if max(s[1], s[2]) < began - _TICK_NS}
        _write_stamps(folder, {name: [*s, manifest.files[name].sha256] for name, s in settled.items()})
    return manifest


def sha256_of(path: Path, bar: Any = None) -> str:
    """Hash a file; a bar is told of the bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            if bar is not None:
                bar.update(len(chunk))
    return digest.hexdigest()


def _readable_sha256(path: Path, bar: Any) -> str:
    try:
        return sha256_of(path, bar)
    except OSError as error:
        raise DamagedError(f"{path}: cannot be read: {error.strerror or error}") from error


def _stamp_path(folder: Path) -> Path:
    return home() / "stamps" / f"{hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]}.json"


def _read_stamps(folder: Path) -> dict[str, Any]:
    try:
        stamps = json.loads(_stamp_path(folder).read_bytes())
    except (OSError, ValueError):
        return {}
    return stamps if isinstance(stamps, dict) else {}


def _write_stamps(folder: Path, stamps: Mapping[str, Any]) -> None:
    # a home that cannot be written costs only time
    with suppress(OSError, CeladonError):
        _stamp_path(folder).parent.mkdir(parents=True, exist_ok=True)
        atomic_write_text(str(_stamp_path(folder)), json.dumps(stamps))


def forget_stamps(folder: Path) -> None:
    """Remove what is known of a folder that is removed."""
    with suppress(OSError):
        _stamp_path(folder).unlink()
