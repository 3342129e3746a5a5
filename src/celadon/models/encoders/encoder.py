"""Sentence encoders: texts in; acceptability, meaning, order and faulty words out.

Those that this project trains are folders of the format ``celadon-encoder/1``, which ONNX Runtime runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import RLock
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray, UsageError
from celadon.io.values import mend_surrogates
from celadon.models.encoders.word_findings import FINDING_KINDS, WordFindings, read_words
from celadon.models.networks.onnx_model import Description, Graph, ModelParts, OnnxModel, load_parts, read_description
from celadon.models.networks.self_check import RowCheck
from celadon.models.networks.windows import TextWindow, Window, plan_windows, same_length_batches
from celadon.models.store import folder_of
from celadon.models.store.model_files import files_digest, load_table
from celadon.models.store.places import is_path

Float32Array = npt.NDArray[np.float32]

BUILTIN = "builtin"
# its name in the catalog, where ``builtin`` is a language model
_CATALOGED = "builtin-encoder"


@dataclass(frozen=True, eq=False)
class Encoded:
    """What an encoder makes of texts, each array with one row per text.

    ``acceptability`` is a logit, above 0 where a text is rather a proper sentence than not; ``meaning`` a vector of
    length 1, so that the product of two is their cosine; ``before`` and ``after`` are the text as the first and as the
    second of two, compared with the weights ``order``, [2, width of before] (see :func:`order_logits`). ``words`` says
    of each text how likely its words are wrong; None where the encoder does not tell.
    """

    acceptability: FloatArray
    meaning: Float32Array
    before: Float32Array
    after: Float32Array
    order: FloatArray
    words: tuple[WordFindings, ...] | None = None

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
            words=None if self.words is None else tuple(self.words[row] for row in at.tolist()),
        )


def order_logits(encoded: Encoded, first: Sequence[int] | IntArray, second: Sequence[int] | IntArray) -> FloatArray:
    """Return how likely it is, as a logit, that one text stands right before the other and not right after it.

    s(a, b) = w . relu(before_a + after_b + c) says how well b goes on from a; the logit is s(a, b) - s(b, a), so that
    it changes its sign when the two are swapped. ``first`` and ``second`` are the rows of the two texts of each pair.
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
    """Load ``builtin``, an imported encoder, or the folder at a path; without ``threads``, one per core."""
    if not name:
        raise UsageError("no encoder was named; the default is builtin")
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


FORMAT = "celadon-encoder/1"
HEADS = ("acceptability", "meaning", "before", "after")
FINDINGS = "findings"
"""The output with a logit per token and class of ``FINDING_KINDS``, which not every encoder has."""
# what stands around the tokens of every window
_MARKS = 2
# Texts whose tokens are held at once.
_TEXTS_AT_ONCE = 8192
_SCORING = ("*.onnx", "*.bin", "tokenizer.json", "order.npy")
CHECK = RowCheck(lambda ids: {"ids": ids, "lengths": np.full(len(ids), ids.shape[1])}, "acceptability")
_GRAPH = Graph("sentence encoder", frozenset({"ids", "lengths"}), frozenset(HEADS), CHECK)


class EncoderDescription(Description, frozen=True, kw_only=True):
    """What ``model.json`` says: a window includes its two marks, which are ``cls_id`` and ``sep_id``."""

    REQUIRED: ClassVar[dict[str, str]] = {"format": FORMAT}
    SHORTEST_WINDOW: ClassVar[int] = _MARKS + 2

    cls_id: int
    sep_id: int
    batch_positions: int = 1024
    findings: tuple[str, ...] = ()  # the classes of words, where it tells them


class OnnxEncoder(OnnxModel[EncoderDescription]):
    """A loaded encoder; open one with :meth:`open`."""

    SCORING_FILES = _SCORING

    def __init__(self, folder: Path, name: str, parts: ModelParts[EncoderDescription], order: FloatArray) -> None:
        super().__init__(folder, name, parts)
        self._order = order
        self._finds = bool(parts.description.findings)
        self._widths = {item.name: item.shape[1] for item in self._session.get_outputs() if len(item.shape) > 1}

    @classmethod
    def open(cls, folder: Path, name: str, threads: int | None = None) -> OnnxEncoder:
        """Load an encoder from a folder of the format ``celadon-encoder/1``; without ``threads``, one per core."""
        findings = read_encoder(folder).findings
        if findings not in ((), FINDING_KINDS):
            raise InputError(f"{folder / 'model.json'}: its findings are of other kinds; train the model again")
        graph = replace(_GRAPH, outputs=_GRAPH.outputs | {FINDINGS}) if findings else _GRAPH
        parts = load_parts(folder, EncoderDescription, graph, threads)
        width = next(item.shape[1] for item in parts.graph.session.get_outputs() if item.name == "before")
        return cls(folder, name, parts, _load_order(folder / "order.npy", width))

    @property
    def facts(self) -> Mapping[str, str]:
        """The most tokens that are read at once."""
        return {"window": str(self._description.window)}

    def encode(self, texts: Sequence[str]) -> Encoded:
        """Encode texts; one row per text, in their order."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        distinct = list(numbers)
        found, words = self._empty(len(distinct)), list[WordFindings]()
        for at in range(0, len(distinct), _TEXTS_AT_ONCE):
            part = self._encode_distinct(distinct[at : at + _TEXTS_AT_ONCE], words)
            for name, rows in part.items():
                found[name][at : at + len(rows)] = rows
        logits = found["acceptability"].astype(np.float64)
        encoded = Encoded(
            logits,
            found["meaning"],
            found["before"],
            found["after"],
            self._order,
            tuple(words) if self._finds else None,
        )
        return encoded.take([numbers[text] for text in texts])

    def _empty(self, rows: int) -> dict[str, Float32Array]:
        sizes = {name: (rows, self._widths[name]) if name in self._widths else (rows,) for name in HEADS}
        return {name: np.empty(size, dtype=np.float32) for name, size in sizes.items()}

    def _encode_distinct(self, texts: Sequence[str], words: list[WordFindings]) -> Mapping[str, Float32Array]:
        """Encode texts; what is found of their words is added to ``words``."""
        read = [self._tokenizer.encode(mend_surrogates(text), add_special_tokens=False) for text in texts]
        tokens = [encoding.ids for encoding in read]
        room = self._description.window - _MARKS
        # a text without tokens is read as well: the two marks alone
        rows = [
            TextWindow(at, window)
            for at, ids in enumerate(tokens)
            for window in plan_windows(len(ids), room) or [Window(0, 0, 0)]
        ]
        found = self._empty(len(rows))
        logits = [np.zeros((len(ids), len(FINDING_KINDS)), dtype=np.float32) for ids in tokens] if self._finds else []
        outputs = [*HEADS, FINDINGS] if self._finds else list(HEADS)
        first, last = self._description.cls_id, self._description.sep_id
        lengths = [row.window.end - row.window.start + _MARKS for row in rows]
        for batch in same_length_batches(lengths, self._description.batch_positions):
            inner = (tokens[rows[at].text][rows[at].window.start : rows[at].window.end] for at in batch)
            ids = np.array([[first, *each, last] for each in inner], dtype=np.int64)
            feed = {"ids": ids, "lengths": np.full(len(batch), ids.shape[1], dtype=np.int64)}
            values = dict(zip(outputs, self._session.run(outputs, feed), strict=True))
            for name in HEADS:
                found[name][batch] = values[name]
            for at, classes in zip(batch, values.get(FINDINGS, ()), strict=False):
                start, own, end = rows[at].window
                logits[rows[at].text][own:end] = classes[1 + own - start : 1 + end - start]
        words += (
            read_words(text, encoding.offsets, each) for text, encoding, each in zip(texts, read, logits, strict=False)
        )
        return found if len(rows) == len(texts) else _join_windows(rows, found)


def _join_windows(rows: Sequence[TextWindow], found: Mapping[str, Float32Array]) -> Mapping[str, Float32Array]:
    """Join windows to texts.

    Acceptability and meaning are means, weighted by the tokens that no window before has read. What stands at the
    border decides of order, so a text is the first of two by its last window and the second by its first.
    """
    owners = np.array([row.text for row in rows])
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    lasts = np.append(starts[1:], len(rows)) - 1
    own = np.array([max(1, row.window.end - row.window.first) for row in rows], dtype=np.float64)
    totals = np.add.reduceat(own, starts)
    acceptability = np.add.reduceat(found["acceptability"] * own, starts) / totals
    meaning = np.add.reduceat(found["meaning"] * own[:, None], starts)
    meaning /= np.maximum(np.linalg.norm(meaning, axis=1, keepdims=True), np.finfo(np.float32).tiny)
    # a text of one window is left as it is, to the last bit
    single = (starts == lasts)[:, None]
    return {
        "acceptability": np.where(single[:, 0], found["acceptability"][starts], acceptability.astype(np.float32)),
        "meaning": np.where(single, found["meaning"][starts], meaning.astype(np.float32)),
        "before": found["before"][lasts],
        "after": found["after"][starts],
    }


def encoder_digest(folder: Path) -> str:
    """Return the sha256 over the names and hashes of an encoder's weights and its tokenizer."""
    return files_digest(folder, _SCORING)


def read_encoder(folder: Path) -> EncoderDescription:
    """Read ``model.json`` of an encoder."""
    return read_description(folder, EncoderDescription, _GRAPH.what)


def _load_order(path: Path, width: int) -> FloatArray:
    table = load_table(path)
    if table.shape != (2, width) or table.dtype.kind != "f" or not np.isfinite(table).all():
        raise InputError(f"{path}: is not two rows of {width} finite numbers; fetch or train the model again")
    return np.asarray(table, dtype=np.float64)
