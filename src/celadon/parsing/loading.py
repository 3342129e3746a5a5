"""From the name of a parser to the parser, opened once per process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from threading import RLock
from typing import Any

from celadon.core import UsageError
from celadon.models.store.places import expanded, is_path
from celadon.parsing import Parser

LINK, CHART, DEPENDENCY, RULES = "link-grammar", "chart", "spacy-sm", "lingotweaker"
NAMES = (LINK, CHART, DEPENDENCY, RULES)

CHART_PREFIX = f"{CHART}:"
"""What stands before another grammar than the built-in one."""

RECENT = 20_000
"""How many sentences' parses are kept to explain scores."""


def chart_name(grammar: str = "") -> str:
    """Return the name of the chart parser with a grammar; with the built-in one where none is given."""
    return f"{CHART_PREFIX}{grammar}" if grammar else CHART


def open_parser(name: str) -> Parser[Any]:
    """Open a parser.

    ``name`` is ``link-grammar``; ``chart``, or ``chart:GRAMMAR`` with another grammar; ``spacy-sm``; ``lingotweaker``,
    the rule checker.
    """
    if name == LINK:
        from celadon.parsing.link_grammar import LinkGrammar

        return LinkGrammar()
    if name == CHART or name.startswith(CHART_PREFIX):
        from celadon.parsing.chart_parser import BUILTIN, chart_parser

        return chart_parser(name.removeprefix(CHART).removeprefix(":") or BUILTIN)
    if name == DEPENDENCY:
        from celadon.parsing.dependency_parser import dependency_parser

        return dependency_parser(name)
    if name == RULES:
        from celadon.parsing.rule_checker import RuleChecker

        return RuleChecker()
    raise UsageError(f"no parser is called {name!r}; known: {', '.join(NAMES)}, {CHART_PREFIX}GRAMMAR")


_lock = RLock()
_opened: dict[str, Parser[Any]] = {}


def parser(name: str) -> Parser[Any]:
    """Return the parser that the whole process shares, opening it on first use."""
    key = _canonical(name)
    with _lock:
        if key not in _opened:
            _opened[key] = open_parser(name)
        return _opened[key]


def share_parser(name: str, opened: Parser[Any]) -> None:
    """Let the whole process use a parser that is open already wherever ``name`` is asked for."""
    with _lock:
        _opened[_canonical(name)] = opened
        recent_parses.clear()


class RecentParses:
    """The latest parses, so that showing why a text got its score needs no second one.

    Scores themselves are never made from these: they must not depend on what was scored before.
    """

    def __init__(self, sentences: int = RECENT) -> None:
        self._most = sentences
        self._kept: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def known(self, name: str, sentences: Iterable[str]) -> dict[str, Any]:
        """Return what a parser said of those sentences that are kept."""
        with _lock:
            return {each: self._kept[name, each] for each in sentences if (name, each) in self._kept}

    def add(self, name: str, parses: Iterable[tuple[str, Any]]) -> None:
        """Keep parses, each with its sentence, and let go of the oldest."""
        with _lock:
            for sentence, parse in parses:
                self._kept[name, sentence] = parse
                self._kept.move_to_end((name, sentence))
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)

    def clear(self) -> None:
        """Let go of everything."""
        with _lock:
            self._kept.clear()


recent_parses = RecentParses()


def forget() -> None:
    """Let go of all parsers and parses that the process holds."""
    with _lock:
        _opened.clear()
        recent_parses.clear()


def _canonical(name: str) -> str:
    """A name that stays right where the process goes to another folder."""
    grammar = name.removeprefix(CHART_PREFIX)
    if grammar != name and is_path(grammar):
        return f"{CHART_PREFIX}{expanded(grammar).resolve()}"
    return name
