"""What a language model makes of a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from celadon.core import FloatArray, IntArray, UsageError
from celadon.models.language.language_model import LanguageModel, TokenScores
from celadon.scoring.batch.units import places_of, units_of, unreadable

if TYPE_CHECKING:
    from celadon.scoring.batch import Batch


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


def likelihoods_of(batch: Batch, model: str, context: str, variant: str, recent: bool) -> Likelihoods:
    """What a language model makes of the texts."""
    from celadon.models.language.loading import language_model

    loaded = language_model(model)
    reasons = unreadable(batch, loaded.scripts, loaded.name)
    units = [unit for unit in units_of(batch, context) if unit.owner not in reasons]
    scored = _scored(loaded, (model, variant), [unit.text for unit in units], recent)
    known = {unit.owner for unit, scores in zip(units, scored, strict=True) if _any_known(scores)}
    for row in range(len(batch)):
        if row not in known:
            reasons.setdefault(row, f"{loaded.name} knows no piece of the text")
    kept = [(unit, s) for unit, s in zip(units, scored, strict=True) if len(s) and unit.owner not in reasons]
    return Likelihoods(
        *places_of([unit for unit, _ in kept]),
        tokens=tuple(scores for _, scores in kept),
        logprobs=np.array([scores.logprobs.sum() for _, scores in kept], dtype=np.float64),
        unigrams=np.array([scores.unigrams.sum() for _, scores in kept], dtype=np.float64),
        lengths=np.array([len(scores) for _, scores in kept], dtype=np.int64),
        reasons=dict(sorted(reasons.items())),
    )


def _any_known(scores: TokenScores) -> bool:
    """Whether the model has a piece for anything that stands in the text; the mark of the end does not count."""
    return bool((scores.known & (scores.ends > scores.starts)).any())


def _scored(model: LanguageModel, asked: tuple[str, str], texts: Sequence[str], recent: bool) -> list[TokenScores]:
    """Score texts, each once; the model sorts them by length and runs them in full batches."""
    from celadon.models.language.loading import recent_scores

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
