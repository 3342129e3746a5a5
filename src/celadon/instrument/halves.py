"""One rule that parts all data by document: what is fitted or chosen never sees the test half."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import Any

_PATH = re.compile(r"^(?:content/en/|peps/)|\.(?:md|rst|txt|html)$")
_LAST_NUMBER = re.compile(r"-\d+$")
_NUMBERED = frozenset({"fiction", "speech", "essay", "letters"})


class Half(StrEnum):
    """What a document may be used for."""

    FIT = "fit"
    DEVELOPMENT = "development"
    TEST = "test"


def document_of(row: Mapping[str, Any]) -> str:
    """Return the document that a row belongs to: a source file, a book, a prompt, a dialogue.

    Documentation and corrections of one source file have the same document, and so have all passages of a book and all
    answers to a prompt.
    """
    if "file" in row:
        return _PATH.sub("", _PATH.sub("", str(row["file"])))
    if "prompt" in row:
        return str(row["prompt"])
    name = str(row["id"])
    is_passage = row.get("genre") in _NUMBERED and not name.startswith("GUM_")
    return _LAST_NUMBER.sub("", name) if is_passage else name


def half_of(document: str) -> Half:
    """Return the half of a document: a half of all are for tests, a quarter of the others for development."""
    number = int.from_bytes(blake2b(document.encode(), digest_size=8).digest(), "big")
    if number % 2:
        return Half.TEST
    return Half.DEVELOPMENT if number // 2 % 4 == 0 else Half.FIT
