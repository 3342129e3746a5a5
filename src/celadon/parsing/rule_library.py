"""lingotweaker: LanguageTool's rules for English.

A bare interpreter runs this file (see ``worker_parser``), so it imports only the standard library, and lingotweaker
from the folders that it is told.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any


class Library:
    """The rules; ``folders`` have lingotweaker and its data, and the rules ``left_out`` are not asked."""

    def __init__(self, folders: Sequence[str], left_out: Sequence[str]) -> None:
        sys.path += folders
        data = import_module("lingotweaker_data_en").data_dir()
        self._engine = import_module("lt_py").Engine("en-US", data_dir=data, disabled_rules=list(left_out))
        self._left_out = frozenset(left_out)
        self.versions: dict[str, str] = {}

    def parse(self, sentence: str) -> dict[str, Any]:
        """Return the matches: where each begins and ends, in characters, its rule and its message."""
        text = sentence.encode()
        matches = []
        for match in self._engine.check(sentence):
            if match["rule_id"] in self._left_out:  # the engine cannot leave all of them out
                continue
            end = match["offset"] + match["length"]
            places = [len(text[:place].decode(errors="ignore")) for place in (match["offset"], end)]
            matches.append([*places, match["rule_id"], match["message"]])
        return {"matches": matches}
