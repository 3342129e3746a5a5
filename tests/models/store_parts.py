"""What tests of the store share: a hub on this machine, wheels, catalogs, and a converter."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from tests import processes

REVISION = "0123456789abcdef0123456789abcdef01234567"
NAME = "tiny"
FILE = "weights.npy"


def weights(size: int = 1 << 20, seed: int = 0) -> bytes:
    """Bytes of a float32 array file."""
    content = io.BytesIO()
    np.save(content, np.random.default_rng(seed).random(size // 4, dtype=np.float32))
    return content.getvalue()


def pin(content: bytes) -> dict[str, Any]:
    """What a catalog says of a file."""
    return {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


class Hub(ThreadingHTTPServer):
    """A hub that can stop in the middle.

    Attributes
    ----------
    files
        What it serves, by path.
    cut
        Breaks off every answer after this many bytes.
    pause_at
        Sends this many bytes of the file, then waits for ``go``.
    ranges
        Whether it knows of ranges.
    requests
        The ranges asked for, in order; empty for a whole file.
    """

    daemon_threads = True

    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = {f"/org/{NAME}/resolve/{REVISION}/{name}": content for name, content in files.items()}
        self.cut: int | None = None
        self.pause_at: int | None = None
        self.go = threading.Event()
        self.ranges = True
        self.requests: list[str] = []

    @property
    def endpoint(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        content = self.server.files.get(self.path)
        asked = self.headers.get("Range", "")
        self.server.requests.append(asked)
        if content is None:
            self.send_error(404)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.server.ranges else 0
        if start >= len(content) > 0:
            self.send_error(416)
            return
        self.send_response(206 if asked and self.server.ranges else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        rest = content[start:]
        if self.server.cut is not None:
            rest = rest[: self.server.cut]
        pause = self.server.pause_at
        if pause is not None and start < pause:
            self.wfile.write(rest[: pause - start])
            self.wfile.flush()
            self.server.go.wait(120)
            rest = rest[pause - start :]
        try:
            self.wfile.write(rest)
        except OSError:
            return


@contextmanager
def running(hub: Hub) -> Iterator[Hub]:
    """Serve until the end of the block."""
    thread = threading.Thread(target=hub.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.go.set()
        hub.shutdown()
        hub.server_close()
        thread.join(timeout=processes.LIMIT)


def hub_source(*names: str) -> dict[str, Any]:
    """A source of the catalog."""
    return {
        "kind": "hub",
        "repository": f"org/{NAME}",
        "revision": REVISION,
        "paths": {name: name for name in names},
    }


def catalog(
    path: Path, files: Mapping[str, bytes], sources: list[dict[str, Any]], models: Mapping[str, Any] | None = None
) -> Path:
    """Write a catalog with one download, and by default one model that is not converted."""
    plain = {NAME: {"kind": "weights", "about": "made for a test", "license": "CC0-1.0", "download": "raw"}}
    raw = {
        "format": "celadon-catalog/1",
        "downloads": {"raw": {"files": {name: pin(content) for name, content in files.items()}, "sources": sources}},
        "models": models if models is not None else plain,
    }
    path.write_text(json.dumps(raw), encoding="utf-8")
    return path


def wheel(folder: Path, members: Mapping[str, bytes], change: Callable[[zipfile.ZipInfo], None] | None = None) -> Path:
    """Make a package called ``tiny-weights`` that pip can download."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tiny_weights-1.0-py3-none-any.whl"
    dist = "tiny_weights-1.0.dist-info"
    facts = {
        f"{dist}/METADATA": b"Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.0\n",
        f"{dist}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{dist}/RECORD": b"",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**members, **facts}.items():
            member = zipfile.ZipInfo(name)
            member.compress_type = zipfile.ZIP_DEFLATED
            if change is not None and name in members:
                change(member)
            archive.writestr(member, content)
    return path


def wheel_source(archive: Path, members: Mapping[str, str]) -> dict[str, Any]:
    """A source of the catalog."""
    return {
        "kind": "wheel",
        "package": "tiny-weights",
        "version": "1.0",
        "archive": pin(archive.read_bytes()),
        "paths": dict(members),
    }


def command(*arguments: str) -> list[str]:
    """The command line as a user runs it."""
    return [sys.executable, "-m", "celadon", "models", *arguments]


def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run ``celadon models`` in a process of its own."""
    done = subprocess.run(
        command(*arguments), env={**os.environ, **settings}, capture_output=True, text=True, check=False, timeout=120
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def eventually(true: Callable[[], bool], what: str) -> None:
    """Wait for something that another process does."""
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until, f"never happened: {what}"
        time.sleep(0.01)


def convert(file: Path, into: Path, precision: str, progress: Callable[[str], None]) -> None:
    """Stand in for a converter: the outcome depends on the file and the precision."""
    progress(f"made {precision}")
    (into / "model.json").write_text(json.dumps({"format": "celadon-lm/1", "kind": "onnx", "name": precision}))
    (into / "model.onnx").write_bytes(precision.encode() + hashlib.sha256(file.read_bytes()).digest())


def tree(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
