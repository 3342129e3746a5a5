"""The rule checker: what LanguageTool's rules for English find wrong with a sentence.

The rules are lingotweaker's, a port to Rust under the LGPL that is loaded when it is asked for. They run in a process
of their own, since a very long sentence takes them time without end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from celadon.core import MissingExtraError, Span
from celadon.parsing import TIME_LIMIT
from celadon.parsing.worker_parser import Answer, Program, WorkerParser
from celadon.text.penn_words import penn_words

NAME = "lingotweaker"

MAX_WORDS = 250

_SCRIPT = Path(__file__).with_name("rule_library.py")
_MODULES = {"lt_py": "lingotweaker", "lingotweaker_data_en": "lingotweaker-data-en"}

LEFT_OUT = ("MORFOLOGIK_RULE_EN_US", "EN_UNPAIRED_QUOTES", "EN_UNPAIRED_BRACKETS")
"""Rules that are not asked. The speller marks a name in nearly every second sentence of Wikipedia; and quotes and
brackets may well be closed in another sentence than they are opened in."""


@dataclass(frozen=True)
class RuleCheck:
    """What the rules find wrong with a sentence of ``length`` words, punctuation among them.

    ``matches`` are what is marked, in the order of the sentence, each with the name of the rule and its message; they
    may overlap.
    """

    length: int
    matches: tuple[Span, ...]

    @property
    def share(self) -> float:
        """Matches per word."""
        return len(self.matches) / self.length


class RuleChecker(WorkerParser[RuleCheck]):
    """lingotweaker with its data for English; each of the ``workers`` takes 0.45 GB of memory.

    The limits are those of :class:`~celadon.parsing.worker_parser.WorkerParser`.
    """

    name = NAME
    max_words = MAX_WORDS

    def __init__(self, *, workers: int = 1, time_limit: int = TIME_LIMIT, patience: float | None = None) -> None:
        folders = [_folder(module, package) for module, package in _MODULES.items()]
        program = Program(NAME, _SCRIPT, {"folders": folders, "left_out": LEFT_OUT})
        super().__init__(program, workers, time_limit, patience)

    @property
    def facts(self) -> Mapping[str, str]:
        """Versions of the checker and of its rules."""
        checker, data = (version(package) for package in _MODULES.values())
        return {"lingotweaker": checker, "lingotweaker-data": f"en-{data}"}

    def _read(self, sentence: str, answer: Answer) -> RuleCheck:
        matches = sorted(Span(start, end, rule, _plain(message)) for start, end, rule, message in answer["matches"])
        return RuleCheck(max(1, len(penn_words(sentence))), tuple(matches))


def _folder(module: str, package: str) -> str:
    """Where a package is installed."""
    found = find_spec(module)
    if found is None or found.origin is None:
        raise MissingExtraError(package, "rules")
    return str(Path(found.origin).parent.parent)


def _plain(message: str) -> str:
    """A message with quotation marks in place of the tags around what it suggests."""
    return message.replace("<suggestion>", "'").replace("</suggestion>", "'")
