"""A server that speaks as much of the Hugging Face Hub's HTTP interface as reading and writing files needs.

Repositories with branches, each a list of commits; large files go another way than small ones (Git LFS), as on the hub.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import http.server
import json
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 5  # the hub's pages have 1,000 entries
LARGE = ("*.parquet", "*.npz", "*.gz")  # of a new dataset's .gitattributes
LIMIT = (
    "You have exceeded the rate limit for repository commits (128 per hour). You can retry this action in 43 minutes. "
    "To reduce the number of commits, you can upload entire folders at once."
)
_ROUTES = [
    ("GET", r"/api/(datasets|models)/([^/]+/[^/]+)(?:/revision/([^/]+))?", "info"),
    ("GET", r"/api/(datasets|models)/([^/]+/[^/]+)/auth-check/write", "may_write"),
    ("GET", r"/api/(datasets|models)/([^/]+/[^/]+)/tree/([^/]+)(?:/(.+))?", "tree"),
    ("POST", r"/api/(datasets|models)/([^/]+/[^/]+)/preupload/([^/]+)", "preupload"),
    ("POST", r"/api/(datasets|models)/([^/]+/[^/]+)/paths-info/([^/]+)", "paths"),
    ("POST", r"/api/(datasets|models)/([^/]+/[^/]+)/commit/([^/]+)", "commit"),
    ("POST", r"/(?:(datasets)/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch", "batch"),
    ("GET", r"/(?:(datasets)/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", "resolve"),
    ("GET", r"/store/([0-9a-f]{64})", "stored"),
    ("PUT", r"/store/([0-9a-f]{64})", "store"),
    ("POST", r"/verify", "verify"),
]


class Refusal(Exception):
    """An answer that is an error, with the headers by which clients know what it is."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.headers = {"X-Error-Message": message, **({"X-Error-Code": code} if code else {})}


class Answer(NamedTuple):
    """What is sent back."""

    body: bytes
    headers: dict[str, str]
    status: int = 200


@dataclass
class Repository:
    """Its branches, each with all its commits: paths and what is in them."""

    private: bool = False
    branches: dict[str, list[dict[str, bytes]]] = field(default_factory=lambda: {"main": [{}]})

    def commit(self, revision: str) -> tuple[str, dict[str, bytes]]:
        """The name of a commit, and its files."""
        for branch, commits in self.branches.items():
            names = [_sha1(f"{branch} {number}".encode()) for number in range(len(commits))]
            if revision == branch:
                return names[-1], commits[-1]
            if revision in names:
                return revision, commits[names.index(revision)]
        raise Refusal(404, f"Invalid rev id: {revision}", "RevisionNotFound")


class Hub:
    """The state of the server.

    ``readers`` and ``writers`` are the tokens it knows. ``conflicts`` counts commits to be refused because another one
    came first; ``commits_left`` those to be taken, all where it is None.
    """

    def __init__(self) -> None:
        self.repositories: dict[tuple[str, str], Repository] = {}
        self.large: dict[str, bytes] = {}
        self.readers = {"hf_reader"}
        self.writers = {"hf_writer"}
        self.conflicts = 0
        self.commits_left: int | None = None
        self.requests: Counter[str] = Counter()
        self.tokens: set[str] = set()
        self.lock = threading.Lock()
        hub = self
        handler = type("Handler", (_Handler,), {"hub": hub})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Hub:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def dataset(self, name: str, files: dict[str, bytes] | None = None, *, private: bool = False) -> Repository:
        """A new dataset."""
        self.repositories["datasets", name] = Repository(private, {"main": [dict(files or {})]})
        return self.repositories["datasets", name]

    def files(self, name: str, folder: str, branch: str = "main") -> dict[str, bytes]:
        """The files of a folder as they are now."""
        found = self.repositories["datasets", name].branches[branch][-1]
        return {path.removeprefix(folder): data for path, data in found.items() if path.startswith(folder)}

    def reached(self, kind: str, name: str, token: str | None, *, write: bool = False) -> Repository:
        """A repository, for those who may have it."""
        if token is not None and token not in self.readers | self.writers:
            raise Refusal(401, "Invalid credentials in Authorization header")
        repository = self.repositories.get((kind, name))
        if repository is None or (repository.private and token is None) or (write and token is None):
            # who is not known does not learn whether it is there
            raise Refusal(401 if token is None else 404, "Repository not found", "RepoNotFound")
        if write and token not in self.writers:
            raise Refusal(403, "You don't have the required permissions to perform this action")
        return repository


class _Handler(http.server.BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        place = urlsplit(self.path)
        self.query = {name: values[0] for name, values in parse_qs(place.query).items()}
        self.token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        method = "GET" if self.command == "HEAD" else self.command
        for verb, pattern, name in _ROUTES:
            match = re.fullmatch(pattern, place.path)
            if verb == method and match:
                groups = [None if group is None else unquote(group) for group in match.groups()]
                self.hub.requests[name] += 1
                self.hub.tokens |= {self.token} if self.token else set()
                try:
                    answer = getattr(self, f"_{name}")(*groups)
                except Refusal as refusal:
                    answer = _json({"error": str(refusal)}, refusal.headers, refusal.status)
                break
        else:
            answer = _json({"error": "Sorry, we can't find the page you are looking for."}, {}, 404)
        self._send(answer)

    do_GET = do_HEAD = do_POST = do_PUT = _serve  # noqa: N815

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in {"Content-Length": str(len(answer.body)), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, *_: object) -> None:
        pass

    def _info(self, kind: str, name: str, revision: str | None) -> Answer:
        repository = self.hub.reached(kind, name, self.token)
        sha, files = repository.commit(revision or "main")
        told = {"_id": "6" * 24, "id": name, "author": name.partition("/")[0], "sha": sha, "tags": [], "downloads": 0}
        siblings = [{"rfilename": path} for path in sorted(files)]
        return _json({**told, "private": repository.private, "gated": False, "disabled": False, "siblings": siblings})

    def _may_write(self, kind: str, name: str) -> Answer:
        self.hub.reached(kind, name, self.token, write=True)
        return _json({})

    def _tree(self, kind: str, name: str, revision: str, folder: str | None) -> Answer:
        _, files = self.hub.reached(kind, name, self.token).commit(revision)
        beginning = f"{folder}/" if folder else ""
        below = {path: data for path, data in files.items() if path.startswith(beginning)}
        if folder and not below:
            raise Refusal(404, f"{folder} does not exist on {revision!r}", "EntryNotFound")
        deep = self.query.get("recursive", "").lower() == "true"
        entries: dict[str, dict[str, Any]] = {}
        for path, data in below.items():
            parts = path.removeprefix(beginning).split("/")
            for depth in range(1, len(parts) if deep else min(len(parts), 2)):
                above = beginning + "/".join(parts[:depth])
                entries[above] = {"type": "directory", "oid": _sha1(above.encode()), "size": 0, "path": above}
            if deep or len(parts) == 1:
                entries[path] = _entry(path, data)
        first = int(self.query.get("cursor", "0"))
        listed = [entries[path] for path in sorted(entries)]
        headers = {}
        if len(listed) > first + PAGE:
            here = f"{self.hub.url}{urlsplit(self.path).path}?recursive={deep}&cursor={first + PAGE}"
            headers["Link"] = f'<{here}>; rel="next"'
        return _json(listed[first : first + PAGE], headers)

    def _paths(self, kind: str, name: str, revision: str) -> Answer:
        """What is known of some paths, as versions of the hub's package before 2 want it; no paths is no error."""
        _, files = self.hub.reached(kind, name, self.token).commit(revision)
        sent = self.body.decode()
        wanted = json.loads(sent)["paths"] if sent.startswith("{") else parse_qs(sent).get("paths", [])
        entries = []
        for path in [wanted] if isinstance(wanted, str) else wanted:
            if path in files:
                entries.append(_entry(path, files[path]))
            elif any(file.startswith(f"{path}/") for file in files):
                entries.append({"type": "directory", "oid": _sha1(path.encode()), "size": 0, "path": path})
        return _json(entries)

    def _resolve(self, kind: str | None, name: str, revision: str, path: str) -> Answer:
        sha, files = self.hub.reached(kind or "models", name, self.token).commit(revision)
        if path not in files:
            raise Refusal(404, "Entry not found", "EntryNotFound")
        data, oid = files[path], hashlib.sha256(files[path]).hexdigest()
        if not _is_large(path):
            return self._range(data, {"ETag": f'"{_blob(data)}"', "X-Repo-Commit": sha})
        self.hub.large[oid] = data
        linked = {"X-Linked-Size": str(len(data)), "X-Linked-ETag": f'"{oid}"', "X-Repo-Commit": sha}
        return Answer(b"", {"Location": f"{self.hub.url}/store/{oid}", **linked}, 302)

    def _stored(self, oid: str) -> Answer:
        return self._range(self.hub.large[oid], {"ETag": f'"{oid}"'})

    def _range(self, data: bytes, headers: dict[str, str]) -> Answer:
        headers = {"Accept-Ranges": "bytes", "Content-Type": "application/octet-stream", **headers}
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if asked is None:
            return Answer(data, headers)
        first, last = int(asked[1]), min(int(asked[2] or len(data)), len(data) - 1)
        if first >= len(data):
            return Answer(b"", {"Content-Range": f"bytes */{len(data)}"}, 416)
        return Answer(data[first : last + 1], {**headers, "Content-Range": f"bytes {first}-{last}/{len(data)}"}, 206)

    def _preupload(self, kind: str, name: str, revision: str) -> Answer:
        _, files = self.hub.reached(kind, name, self.token, write=True).commit(revision)
        told = []
        for path in (file["path"] for file in json.loads(self.body)["files"]):
            mode = "lfs" if _is_large(path) else "regular"
            entry = _entry(path, files[path]) if path in files else {}
            oid = entry.get("lfs", entry).get("oid")
            told.append({"path": path, "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        return _json({"files": told})

    def _batch(self, kind: str | None, name: str) -> Answer:
        self.hub.reached(kind or "models", name, self.token, write=True)
        asked = json.loads(self.body)
        assert (asked["operation"], asked["hash_algo"]) == ("upload", "sha256")
        objects = []
        for each in asked["objects"]:
            actions = {
                "upload": {"href": f"{self.hub.url}/store/{each['oid']}"},
                "verify": {"href": f"{self.hub.url}/verify"},
            }
            objects.append({**each, **({} if each["oid"] in self.hub.large else {"actions": actions})})
        return _json({"transfer": "basic", "objects": objects})

    def _store(self, oid: str) -> Answer:
        if hashlib.sha256(self.body).hexdigest() != oid:
            raise Refusal(400, "The content is not what its hash says")
        self.hub.large[oid] = self.body
        return Answer(b"", {})

    def _verify(self) -> Answer:
        asked = json.loads(self.body)
        if len(self.hub.large.get(asked["oid"], b"")) != asked["size"]:
            raise Refusal(404, "Object does not exist")
        return _json({"success": True})

    def _commit(self, kind: str, name: str, revision: str) -> Answer:
        with self.hub.lock:
            repository = self.hub.reached(kind, name, self.token, write=True)
            before, _ = repository.commit(revision)
            commits = repository.branches[revision]
            header, *operations = [json.loads(line) for line in self.body.splitlines()]
            assert header["key"] == "header"
            assert header["value"]["summary"]
            raced, self.hub.conflicts = self.hub.conflicts > 0, max(0, self.hub.conflicts - 1)
            if raced or header["value"].get("parentCommit", before) != before:
                raise Refusal(412, "A commit has happened since. Please refresh and try again.")
            if self.hub.commits_left is not None:
                if not self.hub.commits_left:
                    raise Refusal(429, LIMIT)
                self.hub.commits_left -= 1
            files = dict(commits[-1])
            for operation in operations:
                self._change(files, operation["key"], operation["value"])
            commits.append(files)
            sha, _ = repository.commit(revision)
            page = f"{self.hub.url}/{kind}/{name}/commit/{sha}"
            return _json({"success": True, "commitOid": sha, "commitUrl": page, "hookOutput": ""})

    def _change(self, files: dict[str, bytes], key: str, value: dict[str, Any]) -> None:
        path = value["path"]
        if key == "file":
            assert value["encoding"] == "base64"
            files[path] = base64.b64decode(value["content"], validate=True)
        elif key == "lfsFile":
            if len(self.hub.large.get(value["oid"], b"")) != value["size"]:
                raise Refusal(400, f"LFS pointer pointed to a file that does not exist: {path}")
            files[path] = self.hub.large[value["oid"]]
        else:
            assert key == "deletedFile"
            if path not in files:
                raise Refusal(404, "A file with this name doesn't exist", "EntryNotFound")
            del files[path]


def _is_large(path: str) -> bool:
    return any(fnmatch.fnmatch(path, pattern) for pattern in LARGE)


def _entry(path: str, data: bytes) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "file", "oid": _blob(data), "size": len(data), "path": path}
    if _is_large(path):
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(data).hexdigest()}\n"
        pointer += f"size {len(data)}\n"
        large = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": len(pointer)}
        entry |= {"oid": _blob(pointer.encode()), "lfs": large}
    return entry


def _blob(data: bytes) -> str:
    """Git's name of a file's content."""
    return _sha1(b"blob %d\0" % len(data) + data)


def _sha1(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _json(value: Any, headers: dict[str, str] | None = None, status: int = 200) -> Answer:
    return Answer(
        json.dumps(value).encode(), {"Content-Type": "application/json; charset=utf-8", **(headers or {})}, status
    )
