"""API keys: held as hashes, compared in constant time, never shown."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

from celadon.core import InputError

_SHORTEST = 16


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class ApiKeys:
    """The keys that are let in.

    Parameters
    ----------
    keys
        The keys themselves; only their hashes are kept.
    """

    def __init__(self, keys: list[str]) -> None:
        self._hashes = tuple(map(_hash, keys))

    def accepts(self, given: str) -> bool:
        """Tell whether this is one of the keys; all of them are always compared."""
        found = _hash(given)
        return sum(hmac.compare_digest(found, known) for known in self._hashes) > 0


def read_keys(path: str) -> ApiKeys:
    """Read a file with one key per line; empty lines and those that begin with # say nothing."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is no text in UTF-8") from None
    keys = []
    for number, line in enumerate(lines, start=1):
        key = line.strip()
        if not key or key.startswith("#"):
            continue
        if len(key) < _SHORTEST or not key.isascii() or not key.isprintable() or " " in key:
            # the key itself is not shown: this line may end up in a log
            raise InputError(
                f"{path}:{number}: a key must have {_SHORTEST} or more visible ASCII characters; "
                "make one with: openssl rand -hex 24"
            )
        keys.append(key)
    if not keys:
        raise InputError(f"{path}: there is no key in it")
    return ApiKeys(keys)
