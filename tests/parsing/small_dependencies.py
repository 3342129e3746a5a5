"""Weights of a dependency parser that has learnt nothing, in the files of the real one: tests fetch nothing."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from celadon.core import CeladonError
from celadon.parsing import Parser
from celadon.parsing.dependency_parser import _PARSER, _TOK2VEC, FILES, DependencyParser
from celadon.parsing.loading import CHART, DEPENDENCY, LINK, parser, share_parser
from tests.conftest import missing_part

LABELS = ("nsubj", "dobj", "det", "amod", "prep", "pobj", "punct")


def make_dependencies(folder: Path, seed: int | None = None) -> Path:
    """Write weights.

    Parameters
    ----------
    folder
        Where to; it is made.
    seed
        For random weights. Without one the last layer is all zeros: every decision is as good as any other, so that
        nothing but the number of words counts.
    """
    if find_spec("spacy") is None:
        missing_part("spaCy", "run: celadon install parse")
    import spacy

    language = spacy.blank("en")
    tok2vec = language.add_pipe("tok2vec", config={"model": _TOK2VEC})
    pipe = language.add_pipe("parser", config={"model": _PARSER})
    for label in LABELS:
        pipe.add_label(label)
    language.initialize()
    upper = pipe.model.get_ref("upper")
    if seed is None:
        for name in upper.param_names:
            upper.set_param(name, np.zeros_like(upper.get_param(name)))
    else:
        rng = np.random.default_rng(seed)
        for node in (*tok2vec.model.walk(), *pipe.model.walk()):
            for name in filter(node.has_param, node.param_names):
                node.set_param(name, rng.normal(0, 0.3, node.get_param(name).shape).astype(np.float32))
    folder.mkdir(parents=True)
    contents = (
        tok2vec.model.to_bytes(),
        pipe.model.to_bytes(),
        pipe.moves.to_bytes(),
        language.vocab.lookups.to_bytes(),
    )
    for file, content in zip(FILES, contents, strict=True):
        (folder / file).write_bytes(content)
    return folder


class Remembering:
    """A parser that parses no sentence twice: that order and neighbours do not matter to it is tested on its own."""

    def __init__(self, asked: Parser[Any]) -> None:
        self.name, self.facts = asked.name, asked.facts
        self._asked, self._known = asked, dict[str, Any]()

    def parse(self, sentences: Sequence[str]) -> list[Any]:
        """Parse what is new."""
        new = [sentence for sentence in dict.fromkeys(sentences) if sentence not in self._known]
        self._known.update(zip(new, self._asked.parse(new), strict=True))
        return [self._known[sentence] for sentence in sentences]


def share_parsers(folder: Path) -> None:
    """Let metrics use the real Link Grammar and chart parser, and a dependency parser of these weights.

    Parameters
    ----------
    folder
        Of the weights.
    """
    for name in (LINK, CHART):
        try:
            share_parser(name, Remembering(parser(name)))
        except CeladonError as error:
            missing_part(name, str(error))
    share_parser(DEPENDENCY, Remembering(DependencyParser(folder)))
