"""How likely a language model finds a text: NCE, PPL, SLOR, MORCELA and pseudo-likelihood.

SLOR is of Kann, Rothe and Filippova (2018), MORCELA, with weights fitted to people's judgments, of Tjuatja, Neubig,
Linzen and Hao (2024); with beta 1 and gamma 0 it is SLOR.

For a sentence S of \\|S\\| tokens, p_M its probability under the model and p_u the product of its tokens' probabilities
on their own::

    nce  = ln p_M(S) / |S|
    ppl  = exp(-nce)
    slor = (ln p_M(S) - ln p_u(S)) / |S|
    morcela = (ln p_M(S) - beta ln p_u(S) + gamma) / |S|

A text of several sentences has the mean of their values. Whether the end of a sentence is a token of p_M, p_u and |S|
is the model's affair and stands in the signature.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np

from celadon.core import (
    Direction,
    Evidence,
    FloatArray,
    MetricInfo,
    MetricScores,
    UsageError,
    option_text,
)
from celadon.io.weight_files import MorcelaWeights, read_morcela
from celadon.metrics.likelihood_evidence import explain
from celadon.metrics.prose_metric import ProseMetric, relocated
from celadon.scoring.batch import CONTEXTS, Batch, Likelihoods
from celadon.scoring.batch.prose import PLAIN, reading_facts
from celadon.scoring.batch.units import least, means

PARTS = ("sentences", "tokens", "worst")
_ENGLISH = ("builtin", "smollm2")
VARIANTS = ("l2r", "original")
_READ = "compare texts of one language and model; each sentence counts alike"


def _info(
    name: str,
    meaning: str,
    reading: str,
    low: float = -math.inf,
    high: float = math.inf,
    direction: Direction = Direction.HIGHER,
) -> MetricInfo:
    return MetricInfo(name, meaning, reading, direction=direction, low=low, high=high, parts=PARTS)


@dataclass(frozen=True)
class Likelihood(ProseMetric):
    """A metric whose value of a sentence is made from the log-probabilities of its tokens."""

    explains: ClassVar[tuple[str, ...]] = ("surprisal",)
    needs_unigrams: ClassVar[bool] = False
    variant: str = ""

    @property
    @abstractmethod
    def model(self) -> str:
        """The language model, in its notation."""

    @property
    @abstractmethod
    def context(self) -> str:
        """What the model reads at a time: a sentence or the document."""

    @abstractmethod
    def unit_values(self, read: Likelihoods) -> FloatArray:
        """Return the value of each sentence, or of each text that is read as a whole."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.context not in CONTEXTS:
            raise UsageError(f"{self.info.name}: unknown context {self.context!r}; known: {', '.join(CONTEXTS)}")

    @property
    def any_language(self) -> bool:
        return not self.model.startswith(_ENGLISH)

    def score_prose(self, batch: Batch) -> MetricScores:
        read = batch.token_scores(self.model, self.context, self.variant)
        values = self._checked(read)
        count = len(batch)
        units = np.bincount(read.owner, minlength=count)
        sign = -1.0 if self.info.direction is Direction.LOWER else 1.0
        parts = {
            "sentences": np.where(units > 0, units, np.nan),
            "tokens": np.where(units > 0, np.bincount(read.owner, weights=read.lengths, minlength=count), np.nan),
            "worst": sign * least(read.owner, sign * values, count),
        }
        return MetricScores(self.spec, means(read.owner, values, count), parts, read.reasons)

    def _checked(self, read: Likelihoods) -> FloatArray:
        if self.needs_unigrams and np.isnan(read.unigrams).any():
            raise UsageError(
                f"{self.info.name} needs the unigram probabilities of {self.model}, which has no table of them; "
                f"make one with: celadon models unigrams {self.model} CORPUS"
            )
        return self.unit_values(read)

    def prose_evidence(self, batch: Batch) -> Evidence | None:
        return self._explained(batch)[0]

    def evidences(self, batch: Batch) -> list[Evidence | None]:
        """Show why, for all samples of a batch at once; None for a sample without a score."""
        prose = self.prose(batch)
        return relocated(prose, self._explained(prose))

    def _explained(self, batch: Batch) -> list[Evidence | None]:
        read = batch.token_scores(self.model, self.context, self.variant, recent=True)
        values = self._checked(read)
        return explain(self, batch, read, values)

    def models(self) -> tuple[str, ...]:
        from celadon.models.language.language_model import language_model
        from celadon.models.networks.self_check import signed_name

        return (signed_name(language_model(self.model)),)

    def details(self) -> Mapping[str, str]:
        from celadon.models.language.language_model import language_model

        facts = dict(language_model(self.model).facts)
        is_whole = self.context == "document" and self.markup == PLAIN
        return facts | ({} if is_whole else reading_facts(self.markup))


@dataclass(frozen=True)
class OfAnyModel(Likelihood):
    """Options that most of these metrics share.

    Parameters
    ----------
    model
        ``builtin``, ``smollm2``, ``hf:NAME``, ``ngram:PATH`` or a folder.
    context
        ``sentence``: each sentence on its own, then the mean. ``document``: the text as a whole, which rewards
        repetition.
    """

    model: str = "builtin"
    context: str = "sentence"


@dataclass(frozen=True)
class Nce(OfAnyModel):
    """ln p_M(S) / |S|."""

    info: ClassVar[MetricInfo] = _info(
        "nce",
        "negative cross-entropy: the mean log-probability of a token under a language model",
        f"0 would be certainty; rare words lower it as much as bad grammar does; {_READ}",
        high=0.0,
    )

    def unit_values(self, read: Likelihoods) -> FloatArray:
        """Return NCE."""
        # a probability of 1 may come out of float32 a hair above it
        return np.minimum(read.logprobs / read.lengths, 0.0)


@dataclass(frozen=True)
class Ppl(OfAnyModel):
    """exp(-NCE)."""

    info: ClassVar[MetricInfo] = _info(
        "ppl",
        "perplexity: among how many equally likely tokens the model chooses, on average",
        f"1 would be certainty; one odd sentence can outweigh all others in the mean, as nce's cannot; {_READ}",
        direction=Direction.LOWER,
        low=1.0,
    )

    def unit_values(self, read: Likelihoods) -> FloatArray:
        """Return PPL."""
        return np.exp(-np.minimum(read.logprobs / read.lengths, 0.0))


@dataclass(frozen=True)
class _LogOdds(Likelihood):
    """(ln p_M(S) - ln p_u(S)) / |S|."""

    needs_unigrams: ClassVar[bool] = True

    def unit_values(self, read: Likelihoods) -> FloatArray:
        """Return SLOR."""
        return (read.logprobs - read.unigrams) / read.lengths


_SLOR_READING = (
    f"above 0 where the words are likelier in this order than strewn at random; rare words cost little; {_READ}"
)


@dataclass(frozen=True)
class Slor(OfAnyModel, _LogOdds):
    """SLOR of any language model."""

    info: ClassVar[MetricInfo] = _info(
        "slor",
        "syntactic log-odds ratio: log-probability less that of the tokens on their own, per token",
        _SLOR_READING,
    )


@dataclass(frozen=True)
class Wpslor(_LogOdds):
    """SLOR of the built-in WordPiece model, the paper's WPSLOR.

    Parameters
    ----------
    context
        ``sentence`` or ``document``.
    """

    model: ClassVar[str] = "builtin"
    context: str = "sentence"
    info: ClassVar[MetricInfo] = _info(
        "wpslor",
        "slor of the built-in WordPiece model, as in the paper",
        _SLOR_READING,
    )


@dataclass(frozen=True)
class Wordslor(_LogOdds):
    """SLOR of the built-in word model, the paper's WordSLOR.

    Parameters
    ----------
    context
        ``sentence`` or ``document``.
    """

    model: ClassVar[str] = "builtin-word"
    context: str = "sentence"
    info: ClassVar[MetricInfo] = _info(
        "wordslor",
        "slor of the built-in word model, as in the paper",
        f"as slor; a word that the model does not know is scored as any unknown word; {_READ}",
    )


@dataclass(frozen=True)
class Pll(Likelihood):
    """Mean pseudo-log-likelihood of a token under a masked model.

    Parameters
    ----------
    model
        A masked model: ``hf:NAME_OR_FOLDER``.
    variant
        ``l2r``: while a piece of a word is scored, the later pieces of the word are masked too (Kauf and Ivanova 2023).
        ``original``: one piece at a time is masked (Salazar et al. 2020).
    context
        ``sentence`` or ``document``.
    """

    model: str = "hf:bert-base-cased"
    variant: str = "l2r"
    context: str = "sentence"
    info: ClassVar[MetricInfo] = _info(
        "pll",
        "mean log-probability of a token given all others, under a masked model (needs the extra hf)",
        f"0 would be certainty; it is no probability of the text; {_READ}",
        high=0.0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variant not in VARIANTS:
            raise UsageError(f"pll: unknown variant {self.variant!r}; known: {', '.join(VARIANTS)}")

    def unit_values(self, read: Likelihoods) -> FloatArray:
        """Return the mean pseudo-log-likelihood."""
        return np.minimum(read.logprobs / read.lengths, 0.0)


@dataclass(frozen=True)
class Morcela(OfAnyModel):
    """(ln p_M(S) - beta ln p_u(S) + gamma) / |S|.

    Parameters
    ----------
    model
        ``builtin``, ``smollm2``, ``hf:NAME``, ``ngram:PATH`` or a folder.
    context
        ``sentence`` or ``document``.
    beta, gamma
        The weights; where they are not given, those of the file ``weights``, or else those that come with the model.
    weights
        A JSON file that ``celadon train morcela`` made for this model.
    """

    needs_unigrams: ClassVar[bool] = True
    beta: float | None = None
    gamma: float | None = None
    weights: str = ""
    info: ClassVar[MetricInfo] = _info(
        "morcela",
        "slor with weights for frequency and length that were fitted to people's judgements",
        "as slor; comparable only where model, beta and gamma are the same",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("beta", self.beta), ("gamma", self.gamma)):
            if value is not None and not math.isfinite(value):
                raise UsageError(f"morcela: {name} must be a finite number")
        if self.weights:
            read_morcela(self.weights)

    def used_weights(self) -> MorcelaWeights:
        """Return beta and gamma as they are used."""
        if self.beta is not None and self.gamma is not None:
            return MorcelaWeights(self.beta, self.gamma)
        fitted = read_morcela(self.weights) if self.weights else self._of_model()
        return msgspec.structs.replace(
            fitted,
            beta=fitted.beta if self.beta is None else self.beta,
            gamma=fitted.gamma if self.gamma is None else self.gamma,
        )

    def _of_model(self) -> MorcelaWeights:
        from celadon.models.language.language_model import morcela_weights

        weights = morcela_weights(self.model)
        if weights is None:
            raise UsageError(
                f"morcela: no weights come with {self.model}; give beta= and gamma=, or weights=FILE "
                f"(celadon train morcela makes one)"
            )
        return weights

    def unit_values(self, read: Likelihoods) -> FloatArray:
        """Return MORCELA."""
        used = self.used_weights()
        values: FloatArray = (read.logprobs - used.beta * read.unigrams + used.gamma) / read.lengths
        return values

    def details(self) -> Mapping[str, str]:
        used = self.used_weights()
        weights = {"beta": option_text(used.beta), "gamma": option_text(used.gamma)}
        # the file's name says less than what stood in it
        return {**super().details(), **weights, "weights": used.sha256[:8] or "given"}
