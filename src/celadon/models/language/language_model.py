"""What a language model is to the rest of the package: texts in, scored tokens out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class TokenScores:
    """The tokens of one text, in its order, each array with one entry per token.

    Attributes
    ----------
    logprobs
        The natural logarithm of each token's probability given what is before it.
    unigrams
        The natural logarithm of its probability given nothing; finite for a token never seen.
    starts, ends
        Its characters in the text; a mark for the end of the text has none, and both are the text's length.
    known
        False where the model has no piece for what stands there.
    """

    logprobs: FloatArray
    unigrams: FloatArray
    starts: IntArray
    ends: IntArray
    known: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.logprobs)


class LanguageModel(Protocol):
    """A loaded language model.

    Scores do not depend on the other texts of the call, on their order or on the number of threads (to 1e-4); a text
    longer than the model's window is scored in overlapping windows, never cut. An empty text has no tokens.
    """

    @property
    def name(self) -> str:
        """The name it is asked for by: ``builtin``, ``smollm2``, ``hf:NAME``, ``ngram:PATH``."""
        ...

    @property
    def digest(self) -> str:
        """The sha256 of its weights, in hexadecimal."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """What a signature must say: ``begin`` (what stands before the first token) and ``end`` (``counted``, where
        the end of the text is a token of p_M, p_u and the length; ``left-out`` where it is not)."""
        ...

    @property
    def scripts(self) -> tuple[str, ...]:
        """The Unicode scripts it knows (``Latin``); empty where that is not known."""
        ...

    def score(self, texts: Sequence[str]) -> list[TokenScores]:
        """Score texts; one entry per text, in their order."""
        ...
