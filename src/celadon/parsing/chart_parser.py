"""The chart parser: the most probable tree of a sentence, and the logarithm of its probability.

A sentence for which the grammar has no tree gets the cover by fragments that is best, each fragment at the price of
:data:`celadon.parsing.chart.FRAGMENT_PENALTY`, as if a rule put any constituent below the root.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from celadon.core import MissingExtraError, UsageError
from celadon.models.store import folder_of
from celadon.models.store.model_files import files_digest
from celadon.models.store.places import expanded, is_path
from celadon.parsing import TIME_LIMIT, Failure, Reason
from celadon.parsing.grammar import Grammar, Tagging
from celadon.parsing.grammar_files import FILES, load_grammar
from celadon.parsing.stanford_grammar import read_stanford_grammar
from celadon.parsing.tag_chain import TagChain
from celadon.text.penn_words import penn_words
from celadon.text.scripts import is_in_scripts, is_wordless

if TYPE_CHECKING:
    from celadon.parsing.chart import Mask

BUILTIN = "builtin"

MARGIN = 16.0
"""A margin to prune by that seldom loses the best tree."""

MAX_WORDS = 250


@dataclass(frozen=True)
class ChartParse:
    """What the chart parser makes of a sentence.

    ``logprob`` is the natural logarithm of the probability of the best tree with its words; with the penalty, where the
    sentence falls into several ``fragments``, which stand side by side below the root of ``tree``. ``words`` are the
    characters of each word, begin and end. Where it is ``exact``, nothing was pruned, so that there is surely no better
    tree. ``chain`` is the log-probability of the words under the chain of the grammar's tags
    (:mod:`celadon.parsing.tag_chain`).
    """

    logprob: float
    fragments: int
    tree: str
    words: tuple[tuple[int, int], ...]
    exact: bool
    chain: float

    @property
    def gain(self) -> float:
        """By how much the tree explains the words better than the chain of tags, in natural logarithms."""
        return self.logprob - self.chain


class ChartParser:
    """A chart parser with its grammar; :func:`chart_parser` opens one.

    ``margin`` is how far, in natural logarithms, the best coarse tree with a constituent may be below the best of all,
    lest it be pruned; None prunes nothing, so that the tree found is the most probable one. Where pruning leaves no
    tree, the sentence is parsed again without it. A grammar without coarse rules is never pruned. ``time_limit`` is in
    seconds of processor time for a sentence. Results do not depend on ``threads``, how many sentences are parsed at a
    time.
    """

    def __init__(
        self,
        grammar: Grammar,
        name: str = "",
        digest: str = "",
        *,
        margin: float | None = None,
        time_limit: float = TIME_LIMIT,
        threads: int = 1,
    ) -> None:
        if margin is not None and not margin > 0:
            raise UsageError(f"the margin {margin} is not above 0; None prunes nothing")
        if threads < 1:
            raise UsageError(f"{threads} threads are too few; take 1 or more")
        self.name = name
        self.grammar = grammar
        self._digest = digest
        self._margin = margin if grammar.coarse is not None else None
        self._time_limit = time_limit
        self._threads = threads

    @property
    def facts(self) -> Mapping[str, str]:
        """The grammar's digest, and how charts are pruned."""
        pruning = "none" if self._margin is None else f"{self._margin:g}"
        return {"grammar": self._digest[:8], "pruning": pruning}

    def parse(self, sentences: Sequence[str]) -> list[ChartParse | Failure]:
        """Parse sentences of plain text; one entry per sentence, in their order."""
        if self._threads == 1 or len(sentences) < 2:
            return [self._parse(sentence) for sentence in sentences]
        with ThreadPoolExecutor(self._threads) as pool:
            return list(pool.map(self._parse, sentences))

    def _parse(self, sentence: str) -> ChartParse | Failure:
        if is_wordless(sentence):
            return Failure(Reason.NO_WORDS)
        if not is_in_scripts(sentence, self.grammar.scripts):
            return Failure(Reason.UNKNOWN_SCRIPT)
        words = penn_words(sentence)
        return self.parse_words([word.form for word in words], [(word.start, word.end) for word in words])

    def parse_words(self, words: Sequence[str], spans: Sequence[tuple[int, int]] = ()) -> ChartParse | Failure:
        """Parse a sentence that is split into words of the Penn Treebank; ``spans`` are their characters."""
        if not words:
            return Failure(Reason.NO_WORDS)
        if len(words) > MAX_WORDS:
            return Failure(Reason.TOO_LONG)
        from celadon.parsing.chart import OutOfTime

        try:
            return self._analysed(words, tuple(spans), time.thread_time() + self._time_limit)
        except OutOfTime:
            return Failure(Reason.TIME_LIMIT)

    def _analysed(self, words: Sequence[str], spans: tuple[tuple[int, int], ...], until: float) -> ChartParse:
        from celadon.parsing.chart import best_fragments, best_tree, fill_chart

        rules, taggings = self.grammar.rules, self.grammar.lexicon.taggings(words)
        mask = self._mask(taggings, until)
        if self.grammar.closing is not None:
            taggings.append(Tagging(np.array([self.grammar.closing], dtype=np.int32), np.zeros(1)))
        chain = self._chain.logprob(taggings)
        if mask is not None:
            found = best_tree(self.grammar, fill_chart(rules, taggings, mask, until), words)
            if found is not None:
                return ChartParse(*found, spans, exact=False, chain=chain)
        chart = fill_chart(rules, taggings, None, until)
        found = best_tree(self.grammar, chart, words) or best_fragments(self.grammar, chart, words)
        return ChartParse(*found, spans, exact=True, chain=chain)

    @cached_property
    def _chain(self) -> TagChain:
        return TagChain(self.grammar)

    def _mask(self, taggings: Sequence[Tagging], until: float) -> Mask | None:
        from celadon.parsing.chart import pruning_mask

        grammar = self.grammar
        if self._margin is None or grammar.coarse is None or grammar.shares is None:
            return None
        projection = grammar.rules.arrays.projection
        coarse = [Tagging(projection[states], scores + grammar.shares[states]) for states, scores in taggings]
        return pruning_mask(grammar.coarse, coarse, self._margin, until)


def chart_parser(name: str = BUILTIN, *, margin: float | None = None, threads: int = 1) -> ChartParser:
    """Open a chart parser.

    ``name`` is ``builtin``, with the grammar that comes with the package; the folder of another, made by ``celadon
    train parser``; or a plain-text grammar of the Stanford parser (also .xz, .gz).
    """
    check_compiler()
    if is_path(name) and expanded(name).is_file():
        grammar, digest = read_stanford_grammar(expanded(name))
        return ChartParser(grammar, name, digest, margin=margin, threads=threads)
    folder = folder_of(f"{BUILTIN}-grammar" if name == BUILTIN else name)
    return ChartParser(load_grammar(folder), name, files_digest(folder, FILES), margin=margin, threads=threads)


def check_compiler() -> None:
    """Refuse to go on without numba, before anything is read."""
    if find_spec("numba") is None:
        raise MissingExtraError("numba", "parse")
