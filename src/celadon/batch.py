"""A batch of samples and the views over them, each computed at most once however many metrics ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np

from celadon.core import FloatArray, IntArray, Sample, UsageError
from celadon.models.language_model import LanguageModel, TokenScores
from celadon.text.numbering import number_words
from celadon.text.scripts import is_in_scripts, is_wordless

View = TypeVar("View")

CONTEXTS = ("sentence", "document")
"""What a language model reads at a time: each sentence on its own, or a text as a whole."""
NO_WORDS = "the text has no words"


@dataclass(frozen=True)
class Words:
    """The words of all texts and references of a batch under one normalisation.

    Equal strings are split once: a *document* is a distinct string. ``pair_*`` list each sample's usable references
    (those with words, of texts with words), samples in order, references in order.

    Attributes
    ----------
    documents
        The distinct strings.
    ids
        The words of all documents, one after another, as numbers that are equal where the words are.
    starts
        Where each document begins in ``ids``, with one more at the end.
    vocabulary
        Every number is below this.
    text
        The document of each sample's text.
    pair_sample, pair_reference, pair_document
        For each usable pair: the sample, which of its references, and that reference's document.
    without_words, without_reference
        The samples whose text has no words; of the others, those that have no usable reference.
    """

    documents: tuple[str, ...]
    ids: IntArray
    starts: IntArray
    vocabulary: int
    text: IntArray
    pair_sample: IntArray
    pair_reference: IntArray
    pair_document: IntArray
    without_words: tuple[int, ...]
    without_reference: tuple[int, ...]

    @property
    def lengths(self) -> IntArray:
        """The number of words of each document."""
        return np.diff(self.starts)

    @property
    def pair_text(self) -> IntArray:
        """The document of the text of each pair."""
        return self.text[self.pair_sample]


@dataclass(frozen=True, eq=False)
class Likelihoods:
    """What a language model makes of the texts of a batch, unit by unit: sentences, or texts as a whole.

    Attributes
    ----------
    owner
        The sample of each unit; samples in order, units in order.
    starts, ends
        The characters of each unit in its text.
    tokens
        The scored tokens of each unit, with characters counted from the unit's beginning.
    logprobs, unigrams
        For each unit the sums over its tokens; the unigrams are NaN where the model has no table of them.
    lengths
        The number of tokens of each unit, never 0.
    reasons
        For each sample without units, why.
    """

    owner: IntArray
    starts: IntArray
    ends: IntArray
    tokens: tuple[TokenScores, ...]
    logprobs: FloatArray
    unigrams: FloatArray
    lengths: IntArray
    reasons: Mapping[int, str]

    def of(self, sample: int) -> list[TokenScores]:
        """Return the scored tokens of one sample, unit by unit, with their characters in its text."""
        shifted = []
        for unit in np.flatnonzero(self.owner == sample).tolist():
            scores, start = self.tokens[unit], int(self.starts[unit])
            shifted.append(replace(scores, starts=scores.starts + start, ends=scores.ends + start))
        return shifted


class Batch:
    """Samples with memoised views.

    Parameters
    ----------
    samples
        What is to be scored; kept as it is, never changed.
    """

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.samples: tuple[Sample, ...] = tuple(samples)
        self._views: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.samples)

    def view(self, key: Any, make: Callable[[], View]) -> View:
        """Return the view kept under ``key``, making it on first use."""
        if key not in self._views:
            self._views[key] = make()
        view: View = self._views[key]
        return view

    def words(self, normalisation: str) -> Words:
        """Return the words of all texts and references under a normalisation."""
        return self.view(("words", normalisation), lambda: _words(self.samples, normalisation))

    def sentences(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return for each text the characters of its sentences, begin and end."""
        return self.view("sentences", lambda: _sentences(self.samples))

    def token_scores(
        self, model: str, context: str = "sentence", variant: str = "", *, recent: bool = False
    ) -> Likelihoods:
        """Return what a language model makes of the texts.

        Parameters
        ----------
        model
            The model in its usual notation: ``builtin``, ``smollm2``, ``hf:NAME``, ``ngram:PATH``, a folder.
        context
            ``sentence`` scores each sentence on its own, ``document`` each text as a whole.
        variant
            For a masked model's pseudo-log-likelihood: ``l2r`` or ``original``; empty for the model's own way.
        recent
            Take what this process made lately where it is still there: to explain scores, not to make them.
        """
        key = ("token scores", model, context, variant, recent)
        return self.view(key, lambda: _likelihoods(self, model, context, variant, recent))


def _words(samples: Sequence[Sample], normalisation: str) -> Words:
    distinct = dict.fromkeys(sample.text for sample in samples)
    distinct.update(dict.fromkeys(chain.from_iterable(sample.references for sample in samples)))
    documents = tuple(distinct)
    number = {document: at for at, document in enumerate(documents)}
    text = np.array([number[sample.text] for sample in samples], dtype=np.int64)
    references = np.array([number[r] for sample in samples for r in sample.references], dtype=np.int64)
    ids, starts, vocabulary = number_words(documents, normalisation)

    has_words = np.diff(starts) > 0
    counts = np.array([len(sample.references) for sample in samples], dtype=np.int64)
    owner = np.repeat(np.arange(len(samples)), counts)
    position = np.arange(len(references)) - np.repeat(np.cumsum(counts) - counts, counts)
    usable = np.flatnonzero(has_words[references] & has_words[text][owner])
    paired = np.zeros(len(samples), dtype=np.bool_)
    paired[owner[usable]] = True
    return Words(
        documents=documents,
        ids=ids,
        starts=starts,
        vocabulary=vocabulary,
        text=text,
        pair_sample=owner[usable],
        pair_reference=position[usable],
        pair_document=references[usable],
        without_words=tuple(np.flatnonzero(~has_words[text]).tolist()),
        without_reference=tuple(np.flatnonzero(has_words[text] & ~paired).tolist()),
    )


def _sentences(samples: Sequence[Sample]) -> tuple[tuple[tuple[int, int], ...], ...]:
    from celadon.text.sentences import split_sentences

    found = {text: split_sentences(text) for text in dict.fromkeys(sample.text for sample in samples)}
    return tuple(found[sample.text] for sample in samples)


class _Unit(NamedTuple):
    owner: int
    start: int
    end: int
    text: str


def _likelihoods(batch: Batch, model: str, context: str, variant: str, recent: bool) -> Likelihoods:
    from celadon.models.loading import language_model

    loaded = language_model(model)
    reasons = {row: why for row, sample in enumerate(batch.samples) if (why := _unknown(sample.text, loaded))}
    units = [unit for unit in _units(batch, context) if unit.owner not in reasons]
    scored = _scored(loaded, (model, variant), [unit.text for unit in units], recent)
    known = {unit.owner for unit, scores in zip(units, scored, strict=True) if _any_known(scores)}
    for row in range(len(batch)):
        if row not in known:
            reasons.setdefault(row, f"{loaded.name} knows no piece of the text")
    kept = [(unit, s) for unit, s in zip(units, scored, strict=True) if len(s) and unit.owner not in reasons]
    return Likelihoods(
        owner=np.array([unit.owner for unit, _ in kept], dtype=np.int64),
        starts=np.array([unit.start for unit, _ in kept], dtype=np.int64),
        ends=np.array([unit.end for unit, _ in kept], dtype=np.int64),
        tokens=tuple(scores for _, scores in kept),
        logprobs=np.array([scores.logprobs.sum() for _, scores in kept], dtype=np.float64),
        unigrams=np.array([scores.unigrams.sum() for _, scores in kept], dtype=np.float64),
        lengths=np.array([len(scores) for _, scores in kept], dtype=np.int64),
        reasons=dict(sorted(reasons.items())),
    )


def _any_known(scores: TokenScores) -> bool:
    """Whether the model has a piece for anything that stands in the text; the mark of the end does not count."""
    return bool((scores.known & (scores.ends > scores.starts)).any())


def _unknown(text: str, model: LanguageModel) -> str | None:
    """Why a model cannot read a text."""
    if is_wordless(text):
        return NO_WORDS
    if not is_in_scripts(text, model.scripts):
        return f"less than half of the text's letters are {' or '.join(model.scripts)}, which is all {model.name} knows"
    return None


def _units(batch: Batch, context: str) -> list[_Unit]:
    if context not in CONTEXTS:
        raise UsageError(f"unknown context {context!r}; known: {', '.join(CONTEXTS)}")
    units = []
    for row, sample in enumerate(batch.samples):
        text = sample.text
        whole = (len(text) - len(text.lstrip()), len(text.rstrip()))
        for start, end in batch.sentences()[row] if context == "sentence" else (whole,):
            if not is_wordless(text[start:end]):
                units.append(_Unit(row, start, end, text[start:end]))
    return units


def _scored(model: LanguageModel, asked: tuple[str, str], texts: Sequence[str], recent: bool) -> list[TokenScores]:
    """Score texts, each once; the model sorts them by length and runs them in full batches."""
    from celadon.models.loading import recent_scores

    found: dict[str, TokenScores] = {}
    if recent:
        kept = ((text, recent_scores.get((*asked, text))) for text in texts)
        found = {text: scores for text, scores in kept if scores is not None}
    wanted = [text for text in dict.fromkeys(texts) if text not in found]
    if wanted:
        scores = _pseudo(model, wanted, asked[1]) if asked[1] else model.score(wanted)
        found.update(zip(wanted, scores, strict=True))
        recent_scores.add(((*asked, text), found[text]) for text in wanted)
    return [found[text] for text in texts]


def _pseudo(model: LanguageModel, texts: Sequence[str], variant: str) -> list[TokenScores]:
    pseudo: Callable[[Sequence[str], str], list[TokenScores]] | None = getattr(model, "pseudo", None)
    if pseudo is None:
        raise UsageError(f"pseudo-log-likelihood needs a masked model, as hf:bert-base-cased; {model.name} is none")
    return pseudo(texts, variant)
