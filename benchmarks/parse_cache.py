"""A parser that keeps its results in a file, so that a long run can be stopped and gone on with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from celadon.core import Span
from celadon.parsing import Failure, LinkParse, Parser, Reason
from celadon.parsing.chart_parser import ChartParse
from celadon.parsing.dependency_parser import DependencyParse
from celadon.parsing.loading import CHART, DEPENDENCY, LINK, RULES
from celadon.parsing.rule_checker import RuleCheck


def _rule_check(length: int, matches: Sequence[Sequence[Any]]) -> RuleCheck:
    return RuleCheck(length, tuple(Span(*match) for match in matches))


_KINDS: Mapping[str, Callable[..., Any]] = {
    LINK: LinkParse,
    CHART: ChartParse,
    DEPENDENCY: DependencyParse,
    RULES: _rule_check,
}
_PIECE = 64


class CachedParser:
    """A parser and the file of what it said; results of other versions of it are not in the same file."""

    def __init__(self, kind: str, parser: Parser[Any], folder: Path) -> None:
        self.name, self.facts = parser.name, dict(parser.facts)
        self._parser, self._kind = parser, _KINDS[kind]
        version = "-".join(f"{key}={value}" for key, value in sorted(self.facts.items()))
        self._path = folder / f"{kind}.{version}.jsonl"
        self._known: dict[str, Any] = {}
        if self._path.exists():
            for line in self._path.read_text(encoding="utf-8").splitlines():
                try:
                    row = json.loads(line)
                    self._known[row["text"]] = self._read(row["result"])
                except (ValueError, TypeError):  # the run was stopped while it wrote this line, or results have changed
                    continue

    def parse(self, sentences: Sequence[str]) -> list[Any]:
        """Parse what is not known yet."""
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._known]
        with self._path.open("a", encoding="utf-8") as file, tqdm(total=len(new), desc=self.name, disable=None) as bar:
            for start in range(0, len(new), _PIECE):
                piece = new[start : start + _PIECE]
                for text, result in zip(piece, self._parser.parse(piece), strict=True):
                    self._known[text] = result
                    kept = result.reason.name if isinstance(result, Failure) else asdict(result)
                    file.write(json.dumps({"text": text, "result": kept}) + "\n")
                file.flush()
                bar.update(len(piece))
        return [self._known[sentence] for sentence in sentences]

    def _read(self, kept: str | Mapping[str, Any]) -> Any:
        if isinstance(kept, str):
            return Failure(Reason[kept])
        return self._kind(**{key: _frozen(value) for key, value in kept.items()})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
