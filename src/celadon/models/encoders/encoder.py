"""What a sentence encoder is to the rest of the package: texts in; acceptability, meaning and order out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from typing import Protocol

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, IntArray, UsageError
from celadon.models.store import folder_of
from celadon.models.store.places import is_path

Float32Array = npt.NDArray[np.float32]

BUILTIN = "builtin"
# its name in the catalog, where ``builtin`` is a language model
_CATALOGED = "builtin-encoder"


@dataclass(frozen=True, eq=False)
class Encoded:
    """What an encoder makes of texts, each array with one row per text.

    Attributes
    ----------
    acceptability
        A logit: above 0 where a text is rather a proper sentence than not.
    meaning
        A vector of length 1; the product of two is their cosine.
    before, after
        The text as the first and as the second of two.
    order
        The weights that compare them, [2, width of before]: see :func:`order_logits`.
    """

    acceptability: FloatArray
    meaning: Float32Array
    before: Float32Array
    after: Float32Array
    order: FloatArray

    def __len__(self) -> int:
        return len(self.acceptability)

    def take(self, rows: Sequence[int] | IntArray) -> Encoded:
        """Return the texts at ``rows``, in that order."""
        at = np.asarray(rows, dtype=np.int64)
        return replace(
            self,
            acceptability=self.acceptability[at],
            meaning=self.meaning[at],
            before=self.before[at],
            after=self.after[at],
        )


def order_logits(encoded: Encoded, first: Sequence[int] | IntArray, second: Sequence[int] | IntArray) -> FloatArray:
    """Return how likely it is, as a logit, that one text stands right before the other and not right after it.

    s(a, b) = w . relu(before_a + after_b + c) says how well b goes on from a; the logit is s(a, b) - s(b, a), so that
    it changes its sign when the two are swapped.

    Parameters
    ----------
    encoded
        The texts.
    first, second
        The rows of the two texts of each pair.
    """
    one, two = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    return _goes_on(encoded, one, two) - _goes_on(encoded, two, one)


def _goes_on(encoded: Encoded, one: IntArray, two: IntArray) -> FloatArray:
    weight, offset = encoded.order
    summed = encoded.before[one].astype(np.float64) + encoded.after[two] + offset
    # no matrix product: its rounding may depend on the number of pairs
    scores: FloatArray = (np.maximum(summed, 0.0) * weight).sum(axis=-1)
    return scores


class SentenceEncoder(Protocol):
    """A loaded encoder.

    Results do not depend on the other texts of the call, on their order or on the number of threads (to 1e-5). A text
    longer than the window is read in overlapping windows, never cut. An empty text has a result like any other, which
    says nothing.
    """

    @property
    def name(self) -> str:
        """The name it is asked for by: ``builtin``, or a path."""
        ...

    @property
    def digest(self) -> str:
        """The sha256 of its weights, in hexadecimal."""
        ...

    @property
    def scripts(self) -> tuple[str, ...]:
        """The Unicode scripts it knows (``Latin``); empty where that is not known."""
        ...

    @property
    def facts(self) -> Mapping[str, str]:
        """What a signature must say: ``window``, the most tokens that are read at once."""
        ...

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Encode texts; one row per text, in their order."""
        ...


def open_sentence_encoder(name: str = BUILTIN, threads: int | None = None) -> SentenceEncoder:
    """Load an encoder.

    Parameters
    ----------
    name
        ``builtin``, the name of an imported one, or the path of a folder of the format ``celadon-encoder/1``.
    threads
        How many threads encode; None takes one per core.
    """
    if not name:
        raise UsageError("no encoder was named; the default is builtin")
    from celadon.models.encoders.onnx_encoder import OnnxEncoder

    # absolute, since a loaded model may look for its files once the process has gone elsewhere
    folder = folder_of(_CATALOGED if name == BUILTIN else name).absolute()
    return OnnxEncoder.open(folder, name, threads)


_lock = RLock()
_loaded: dict[str, SentenceEncoder] = {}


def sentence_encoder(name: str = BUILTIN) -> SentenceEncoder:
    """Return the encoder that the whole process shares, loading it on first use."""
    key = str(Path(name).expanduser().resolve()) if is_path(name) else name
    with _lock:
        if key not in _loaded:
            _loaded[key] = open_sentence_encoder(name)
        return _loaded[key]


def forget_encoders() -> None:
    """Let go of all encoders that the process holds."""
    with _lock:
        _loaded.clear()
