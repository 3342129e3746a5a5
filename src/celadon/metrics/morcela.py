"""MORCELA: SLOR with learned weights for the tokens' frequency and the length (Tjuatja, Neubig, Linzen and Hao 2024).

For a sentence S of \\|S\\| tokens: ``(ln p_M(S) - beta ln p_u(S) + gamma) / |S|``. With beta 1 and gamma 0 it is SLOR.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from celadon.core import FloatArray, MetricInfo, UsageError, option_text
from celadon.io.weight_files import MorcelaWeights, read_morcela
from celadon.metrics.likelihood import PARTS, OfAnyModel
from celadon.scoring.batch import Likelihoods


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
    info: ClassVar[MetricInfo] = MetricInfo(
        name="morcela",
        meaning="slor with weights for frequency and length that were fitted to people's judgements",
        reading="as slor; comparable only where model, beta and gamma are the same",
        low=-math.inf,
        high=math.inf,
        parts=PARTS,
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
        from celadon.models.language.loading import morcela_weights

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
