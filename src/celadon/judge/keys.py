"""What must not be guessed: links, forms, codes, the researcher's token.

The folder keeps one random key, of which everything else is made, and only the hash of the researcher's token. The
database keeps only hashes of the links.
"""

from __future__ import annotations

import hmac
import json
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from celadon.core import InputError
from celadon.io.atomic import write_atomically
from celadon.web.security import digest, same

_CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_CODE_LENGTH = 8
_ADMIN_HOURS = 12


@dataclass(frozen=True, repr=False)
class Keys:
    """The keys of one experiment."""

    signing: bytes
    admin_sha256: str

    def _signed(self, purpose: str, *facts: str) -> bytes:
        message = "\0".join((purpose, *facts)).encode("utf-8", "replace")
        return hmac.digest(self.signing, message, "sha256")

    @property
    def join_token(self) -> str:
        """The last part of the link through which anybody may join."""
        return self._signed("join").hex()

    def form_token(self, session: str) -> str:
        """What a form must bring along to be believed that it is ours; ``session`` is the cookie's value."""
        return self._signed("form", session).hex()

    def is_form_token(self, session: str, token: str) -> bool:
        """Whether a form is one that this session was given."""
        return same(self.form_token(session), token)

    def platform_hash(self, platform_id: str) -> str:
        """Stands for a platform's name of a person, which is not stored."""
        return self._signed("platform", platform_id).hex()

    def code(self, participant: str) -> str:
        """A completion code of a person's own."""
        return "".join(_CODE_LETTERS[byte % len(_CODE_LETTERS)] for byte in self._signed("code", participant))[
            :_CODE_LENGTH
        ]

    def is_admin_token(self, token: str) -> bool:
        """Whether this is the researcher's token."""
        return same(self.admin_sha256, digest(token))

    def admin_session(self, now: float | None = None) -> str:
        """A cookie for somebody who gave the researcher's token; a new token ends it."""
        until = str(int((time.time() if now is None else now) + _ADMIN_HOURS * 3600))
        nonce = secrets.token_hex(8)
        return f"{until}.{nonce}.{self._signed('admin', self.admin_sha256, until, nonce).hex()}"

    def is_admin_session(self, cookie: str, now: float | None = None) -> bool:
        """Whether a cookie is one of ours and not too old."""
        until, _, rest = cookie.partition(".")
        nonce, _, signature = rest.partition(".")
        expected = self._signed("admin", self.admin_sha256, until, nonce).hex()
        return same(expected, signature) and float(until) > (time.time() if now is None else now)


class _KeysFile(msgspec.Struct):
    signing_key: str
    admin_sha256: str


def write_keys(path: Path, keys: Keys) -> None:
    """Write the file of keys, for its owner's eyes only."""
    content = json.dumps({"signing_key": keys.signing.hex(), "admin_sha256": keys.admin_sha256}, indent=2)
    with write_atomically(str(path), mode=0o600) as file:
        file.write(content.encode("ascii") + b"\n")


def read_keys(path: Path) -> Keys:
    """Read the file of keys."""
    try:
        content = msgspec.json.decode(path.read_bytes(), type=_KeysFile)
        keys = Keys(bytes.fromhex(content.signing_key), content.admin_sha256)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; it belongs to the experiment") from None
    except (msgspec.MsgspecError, ValueError):
        raise InputError(f"{path}: is not a file of keys as celadon judge new wrote it") from None
    if len(keys.signing) < 32:
        raise InputError(f"{path}: the signing key is too short")
    return keys
