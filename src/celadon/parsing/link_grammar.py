"""Link Grammar: how many words must be left out before the rest can be linked, and how well they link.

The parser is Debian's, with its English dictionary. It runs in processes of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from celadon.parsing import Failure, LinkParse, Reason
from celadon.parsing.link_workers import Limits, Workers
from celadon.text.scripts import is_in_scripts, is_wordless

SCRIPTS = ("Latin",)

TIME_LIMIT = 10
"""Seconds of processor time for one sentence."""

LINKAGE_LIMIT = 1000
"""How many linkages of a sentence are examined; where it has more, a sample of so many, always the same."""

MAX_WORDS = 250
"""The parser's tables end a little above this."""

_MEMORY = 2 << 30

# A process that has not answered after so many times its processor time is not at work but stopped, however busy the
# machine is.
_PATIENCE = 20

_CHARACTERS = {0: " "} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


class LinkGrammar:
    """The Link Grammar parser.

    Parameters
    ----------
    workers
        How many processes parse; two where there are two cores, if None.
    time_limit
        Seconds of processor time that a sentence may take.
    linkage_limit
        How many linkages of a sentence are examined.
    patience
        Seconds by the clock that a process may take to answer before it is replaced; many times ``time_limit`` if
        None, since other work may slow it down.
    """

    name = "link-grammar"

    def __init__(
        self,
        *,
        workers: int | None = None,
        time_limit: int = TIME_LIMIT,
        linkage_limit: int = LINKAGE_LIMIT,
        patience: float | None = None,
    ) -> None:
        limits = Limits(time_limit, linkage_limit, _MEMORY, _PATIENCE * time_limit if patience is None else patience)
        self._linkage_limit = linkage_limit
        self._workers = Workers(min(2, os.cpu_count() or 1) if workers is None else workers, limits)

    @property
    def facts(self) -> Mapping[str, str]:
        """Versions of the library and of its dictionary, and how many linkages are examined."""
        versions = self._workers.versions
        return {
            "link-grammar": versions["library"],
            "dictionary": f"en-{versions['dictionary']}",
            "linkages": str(self._linkage_limit),
        }

    @property
    def process_ids(self) -> list[int]:
        """The processes that run the parser now."""
        return self._workers.process_ids

    def parse(self, sentences: Sequence[str]) -> list[LinkParse | Failure]:
        """Parse sentences; one entry per sentence, in their order.

        Raises
        ------
        MissingPartError
            Where Link Grammar or its English dictionary is not installed.
        """
        refusals = [_refusal(sentence) for sentence in sentences]
        asked = [s.translate(_CHARACTERS) for s, refusal in zip(sentences, refusals, strict=True) if refusal is None]
        answers = iter(self._workers.ask(asked))
        return [_result(next(answers)) if refusal is None else Failure(refusal) for refusal in refusals]

    def close(self) -> None:
        """End the processes."""
        self._workers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _refusal(sentence: str) -> Reason | None:
    if is_wordless(sentence):
        return Reason.NO_WORDS
    if not is_in_scripts(sentence, SCRIPTS):
        return Reason.UNKNOWN_SCRIPT
    return Reason.TOO_LONG if len(sentence.split()) > MAX_WORDS else None


def _result(answer: dict[str, Any]) -> LinkParse | Failure:
    if "failure" in answer:
        return Failure(Reason[answer["failure"]])
    words = tuple((start, end) for start, end in answer["words"])
    return LinkParse(**{**answer, "words": words, "unused": tuple(answer["unused"])})
