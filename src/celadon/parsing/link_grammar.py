"""Link Grammar: how many words must be left out before the rest can be linked, and how well they link.

The parser is Debian's, with its English dictionary. It runs in processes of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from celadon.parsing import TIME_LIMIT, LinkParse
from celadon.parsing.worker_parser import Answer, Program, WorkerParser

LINKAGE_LIMIT = 1000
"""How many linkages of a sentence are examined; where it has more, a sample of so many, always the same."""

MAX_WORDS = 250
"""The parser's tables end a little above this."""

_SCRIPT = Path(__file__).with_name("link_library.py")


class LinkGrammar(WorkerParser[LinkParse]):
    """The Link Grammar parser.

    ``linkage_limit`` is how many linkages of a sentence are examined; by default there are two ``workers`` where there
    are two cores. The other limits are those of :class:`~celadon.parsing.worker_parser.WorkerParser`.
    """

    name = "link-grammar"
    max_words = MAX_WORDS

    def __init__(
        self,
        *,
        workers: int | None = None,
        time_limit: int = TIME_LIMIT,
        linkage_limit: int = LINKAGE_LIMIT,
        patience: float | None = None,
    ) -> None:
        program = Program("Link Grammar", _SCRIPT, {"seconds": time_limit, "linkages": linkage_limit})
        super().__init__(program, min(2, os.cpu_count() or 1) if workers is None else workers, time_limit, patience)
        self._linkage_limit = linkage_limit

    @property
    def facts(self) -> Mapping[str, str]:
        """Versions of the library and of its dictionary, and how many linkages are examined."""
        versions = self._workers.versions
        return {
            "link-grammar": versions["library"],
            "dictionary": f"en-{versions['dictionary']}",
            "linkages": str(self._linkage_limit),
        }

    def _read(self, sentence: str, answer: Answer) -> LinkParse:
        words = tuple((start, end) for start, end in answer["words"])
        return LinkParse(**{**answer, "words": words, "unused": tuple(answer["unused"])})
