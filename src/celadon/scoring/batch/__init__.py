"""A batch of samples and the views over them, each computed at most once however many metrics ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from celadon.core import NO_WORDS, Sample
from celadon.models.encoders.token_encoder import token_encoder
from celadon.scoring.batch.order import Orders, orders_of
from celadon.scoring.batch.prose import PLAIN, ProseOfText, prose_of
from celadon.scoring.batch.token_states import TokenStates
from celadon.scoring.batch.trees import Trees, trees_of
from celadon.scoring.batch.units import (
    CONTEXTS,
    Acceptabilities,
    Encodings,
    Likelihoods,
    Parses,
    acceptabilities_of,
    encodings_of,
    likelihoods_of,
    parses_of,
)
from celadon.scoring.batch.words import Words, words_of
from celadon.text.language import ENGLISH

__all__ = [
    "CONTEXTS",
    "NO_WORDS",
    "Acceptabilities",
    "Batch",
    "Encodings",
    "Likelihoods",
    "Orders",
    "Parses",
    "TokenStates",
    "Trees",
    "Words",
]

View = TypeVar("View")


class Batch:
    """Samples with memoized views; the samples are never changed.

    Attributes
    ----------
    samples
        The samples.
    proses
        Of a batch that :meth:`prose` made, what each text is in the original; else empty.
    nothing
        For each text of such a batch that has no prose, why.
    """

    def __init__(self, samples: Sequence[Sample], proses: Sequence[ProseOfText] = ()) -> None:
        self.samples: tuple[Sample, ...] = tuple(samples)
        self.proses = tuple(proses)
        self.nothing = {row: each.reason for row, each in enumerate(self.proses) if each.reason}
        self._views: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self.samples)

    def view(self, key: Any, make: Callable[[], View]) -> View:
        """Return the view kept under ``key``, making it on first use."""
        if key not in self._views:
            self._views[key] = make()
        view: View = self._views[key]
        return view

    def prose(self, markup: str = "auto", *, any_language: bool = False) -> Batch:
        """Return the prose of all texts as a batch of its own; of ``plain`` markup, this batch as it is.

        It has the sentences that are English, or those of any language.
        """
        if markup == PLAIN:
            return self
        return self.view(("prose", any_language), lambda: _prose(self.samples, any_language))

    def words(self, normalisation: str) -> Words:
        """Return the words of all texts and references under a normalisation."""
        return self.view(("words", normalisation), lambda: words_of(self.samples, normalisation))

    def sentences(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """Return for each text the characters of its sentences, begin and end."""
        if self.proses:
            return tuple(each.sentences for each in self.proses)
        return self.view("sentences", lambda: _sentences(self.samples))

    def token_scores(
        self, model: str, context: str = "sentence", variant: str = "", *, recent: bool = False
    ) -> Likelihoods:
        """Return what a language model makes of the texts.

        The context ``sentence`` scores each sentence on its own, ``document`` each text as a whole. The variant of a
        masked model's pseudo-log-likelihood is ``l2r`` or ``original``. With ``recent``, results that this process
        still has are taken: to explain scores, not to make them.
        """
        key = ("token scores", model, context, variant, recent)
        return self.view(key, lambda: likelihoods_of(self, model, context, variant, recent))

    def encodings(self, model: str = "builtin") -> Encodings:
        """Return what a sentence encoder makes of the sentences: ``builtin``, or a folder."""
        return self.view(("encodings", model), lambda: encodings_of(self, model))

    def token_states(self, model: str = "builtin") -> TokenStates:
        """Return the tokens of all texts and references, and what an encoder makes of each in its context."""
        return self.view(("token states", model), lambda: TokenStates(self.samples, token_encoder(model)))

    def acceptability(self, model: str = "builtin") -> Acceptabilities:
        """Return how acceptable the sentences are: by an encoder, or by a classifier ``hf:NAME``."""
        return self.view(("acceptability", model), lambda: acceptabilities_of(self, model))

    def order(self, model: str = "builtin") -> Orders:
        """Return whether the sentences stand in their right order: by an encoder, ``lm:NAME`` or ``hf:NAME``."""
        return self.view(("order", model), lambda: orders_of(self, model))

    def parses(self, parser: str, *, recent: bool = False) -> Parses:
        """Return what a parser makes of the sentences; ``recent`` as for :meth:`token_scores`."""
        return self.view(("parses", parser, recent), lambda: parses_of(self, parser, recent))

    def trees(self, normalisation: str, parser: str) -> Trees:
        """Return the dependency trees of the references: those the samples have, else what a parser makes of them."""
        return self.view(("trees", normalisation, parser), lambda: trees_of(self, normalisation, parser))


def _prose(samples: Sequence[Sample], any_language: bool) -> Batch:
    # where all languages are alike, a text is taken as if it were English
    proses = [prose_of(sample.text, sample.markup, ENGLISH if any_language else sample.language) for sample in samples]
    # references, trees and the row's other columns say nothing of prose
    return Batch([Sample(each.text, id=s.id) for s, each in zip(samples, proses, strict=True)], proses)


def _sentences(samples: Sequence[Sample]) -> tuple[tuple[tuple[int, int], ...], ...]:
    from celadon.text.sentences import split_sentences

    sentences = {text: split_sentences(text) for text in dict.fromkeys(sample.text for sample in samples)}
    return tuple(sentences[sample.text] for sample in samples)
