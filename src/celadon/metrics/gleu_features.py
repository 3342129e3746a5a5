"""What parsers, models and a dictionary tell of each sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from celadon.core import FloatArray
from celadon.parsing import Failure
from celadon.parsing.loading import CHART, DEPENDENCY, LINK, RULES
from celadon.scoring.batch import Batch, Parses
from celadon.scoring.batch.units import Units, same_units
from celadon.text.penn_words import penn_words
from celadon.text.repetition import NORMALISATION, longest_loop
from celadon.text.words import located_words

STRUCTURE_FEATURES = ("structure", "fragments", "certainty", "unused", "invalid")
PAPER_FEATURES = ("logprob", "fragments", "nulls", "invalid")
PARSER_FEATURES = ("logprob", "fragments", "confidence", "nulls", "invalid")
FURTHER_FEATURES = ("disjuncts", "slor", "acceptability", "unknown", "repeated")
RULE_FEATURES = ("rules",)

STEP = 8.0
"""How much, in natural logarithms, a tree must gain on the chain of tags for the odds of ``structure`` to rise by e.
With 1 it would be the probability that the grammar and not the chain made the sentence: nearly always 0 or 1."""

DOUBT = 0.25
"""The doubt that every sentence begins with, shared out among its words, so that a single word is no certainty."""

LIKELIHOOD = ENCODER = "builtin"
DICTIONARY = "builtin"
"""The word vectors whose words are the dictionary."""


@dataclass(frozen=True, eq=False)
class SentenceFeatures(Units):
    """The features of the sentences of a batch; the sentences of a sample with a reason are left out.

    Attributes
    ----------
    columns
        ``logprob``: of the chart parser's tree, per word. ``structure``: whether the tree explains the words better
        than a chain of tags does, 0 to 1. ``fragments``: the trees of the dependency parser. ``confidence``: the mean
        log-probability of its decisions; ``certainty``: less the logarithm of how far that is below 0. ``nulls``: the
        share of words that Link Grammar left out; ``unused``: its square root. ``invalid``: the share of its linkages
        that break a rule. ``disjuncts``: what the uses of words cost in its best linkage, per word. ``slor``: of the
        language model. ``acceptability``: by the sentence encoder, 0 to 1. ``unknown``: the share of words in small
        letters that are not in the dictionary. ``repeated``: the share of words in the longest run that comes again at
        once. ``rules``: what the rule checker marks, per word.
    """

    columns: Mapping[str, FloatArray]

    def without(self, reasons: Mapping[int, str]) -> SentenceFeatures:
        """Leave further samples out."""
        kept = ~np.isin(self.owner, list(reasons))
        columns = {name: values[kept] for name, values in self.columns.items()}
        every = dict(sorted({**reasons, **self.reasons}.items()))
        return SentenceFeatures(self.owner[kept], self.starts[kept], self.ends[kept], every, columns)


def parser_features(batch: Batch, recent: bool = False, chart: str = CHART) -> SentenceFeatures:
    """Return the features of the three parsers, once for a batch; ``recent`` as for :meth:`Batch.parses`."""
    return batch.view(("parser features", recent, chart), lambda: _of_parsers(batch, recent, chart))


def all_features(batch: Batch, recent: bool = False, chart: str = CHART) -> SentenceFeatures:
    """Return what parsers, models and a dictionary tell, once for a batch."""
    return batch.view(("all features", recent, chart), lambda: _of_all(batch, recent, chart))


def rule_features(batch: Batch, recent: bool = False, chart: str = CHART) -> SentenceFeatures:
    """Return the same and what the rule checker tells, once for a batch."""
    return batch.view(("rule features", recent, chart), lambda: _with_rules(batch, recent, chart))


def _of_parsers(batch: Batch, recent: bool, chart_name: str) -> SentenceFeatures:
    views = {name: batch.parses(name, recent=recent) for name in (chart_name, DEPENDENCY, LINK)}
    first = views[chart_name]
    reasons = {**first.reasons, **_failures(views)}
    kept = np.flatnonzero(~np.isin(first.owner, list(reasons)))
    chart, dependency, link = ([view.results[at] for at in kept] for view in views.values())
    columns = {
        "logprob": _column([each.logprob / len(each.words) for each in chart]),
        "structure": np.exp(-np.logaddexp(0, -_column([each.gain for each in chart]) / STEP)),
        "fragments": _column([each.fragments for each in dependency]),
        "confidence": _column([each.confidence for each in dependency]),
        "certainty": -np.log(_column([DOUBT / len(each.words) - each.confidence for each in dependency])),
        "nulls": _column([each.null_share for each in link]),
        "unused": np.sqrt(_column([each.null_share for each in link])),
        "invalid": _column([each.invalid_share for each in link]),
        "disjuncts": _column([each.disjunct_cost / each.length for each in link]),
    }
    every = dict(sorted(reasons.items()))
    return SentenceFeatures(first.owner[kept], first.starts[kept], first.ends[kept], every, columns)


def _column(values: Sequence[float]) -> FloatArray:
    return np.array(values, dtype=np.float64)


def _failures(views: Mapping[str, Parses]) -> dict[int, str]:
    """A text of which a sentence cannot be parsed has no score: what is left would say too much good of it."""
    found: dict[int, str] = {}
    for name, view in views.items():
        numbers: dict[int, int] = {}
        for owner, result in zip(view.owner.tolist(), view.results, strict=True):
            numbers[owner] = numbers.get(owner, 0) + 1
            if isinstance(result, Failure):
                found.setdefault(owner, f"{name}, sentence {numbers[owner]}: {result.reason}")
    return found


def _of_all(batch: Batch, recent: bool, chart: str) -> SentenceFeatures:
    parsed = parser_features(batch, recent, chart)
    read, judged = batch.token_scores(LIKELIHOOD, recent=recent), batch.acceptability(ENCODER)
    slor = _matched(parsed, read, (read.logprobs - read.unigrams) / read.lengths)
    acceptability = _matched(parsed, judged, judged.values)
    unread = {**judged.reasons, **read.reasons}
    unknown = f"{LIKELIHOOD} knows no piece of a sentence"
    reasons = {row: unread.get(row, unknown) for row in parsed.owner[np.isnan(slor + acceptability)].tolist()}
    places = zip(parsed.owner.tolist(), parsed.starts.tolist(), parsed.ends.tolist(), strict=True)
    sentences = [batch.samples[row].text[start:end] for row, start, end in places]
    columns = {
        **parsed.columns,
        "slor": slor,
        "acceptability": acceptability,
        "unknown": _column([unknown_share(sentence) for sentence in sentences]),
        "repeated": _column([repeated_share(sentence) for sentence in sentences]),
    }
    return replace(parsed, columns=columns).without(reasons)


def _with_rules(batch: Batch, recent: bool, chart: str) -> SentenceFeatures:
    checked = batch.parses(RULES, recent=recent)  # before the others, which take long, lest it be missing
    known = all_features(batch, recent, chart)
    shares = _column([np.nan if isinstance(each, Failure) else each.share for each in checked.results])
    columns = {**known.columns, "rules": _matched(known, checked, shares)}
    reasons = _failures({RULES: checked})
    return replace(known, columns=columns).without(reasons)


def _matched(parsed: SentenceFeatures, units: Units, values: FloatArray) -> FloatArray:
    """Return what a model says of the parsed sentences; NaN where it says nothing."""
    ours, theirs = same_units(parsed, units)
    column = np.full(len(parsed.owner), np.nan)
    column[ours] = values[theirs]
    return column


def unknown_share(sentence: str) -> float:
    """The share of words that are not in the dictionary; names and numbers are not looked up."""
    from celadon.models.words.word_vectors import word_vectors

    known, words = word_vectors(DICTIONARY), [word.form for word in penn_words(sentence)]
    unknown = sum(word.isalpha() and word.islower() and word not in known for word in words)
    return unknown / max(len(words), 1)


def repeated_share(sentence: str) -> float:
    """The share of words in the longest run that comes again at once: "the the", "of the town of the town"."""
    words = located_words(sentence, NORMALISATION)
    loop = longest_loop(words, gap=0)
    return loop.words / len(words) if loop else 0.0
