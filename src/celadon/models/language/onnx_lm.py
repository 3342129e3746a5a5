"""Language models that ONNX Runtime runs: the folders that this project trains or converts (``celadon-lm/1``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError, IntArray
from celadon.io.values import mend_surrogates
from celadon.models.language.language_model import TokenScores
from celadon.models.networks.onnx_model import Description, Graph, ModelParts, OnnxModel, load_parts
from celadon.models.networks.self_check import RowCheck
from celadon.models.networks.windows import TextWindow, plan_batches, plan_windows
from celadon.models.store.model_files import load_table

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FORMAT = "celadon-lm/1"
# Texts whose tokens are held at once.
_TEXTS_AT_ONCE = 8192
# all tokens of each row but the first are scored
CHECK = RowCheck(lambda ids: {"ids": ids, "where": np.arange(ids[:, 1:].size)}, "logprobs")
_GRAPH = Graph("language model", frozenset({"ids", "where"}), frozenset({"logprobs"}), CHECK)


class LanguageModelDescription(Description, frozen=True, kw_only=True):
    """What ``model.json`` says.

    ``begin`` stands before the first token of every window. ``end_id`` ends every text; None where the end is left out.
    ``unknown_id`` is for what the model has no piece for. Positions of a run are padded ones.
    """

    REQUIRED: ClassVar[dict[str, str]] = {"format": FORMAT, "kind": "onnx"}

    kind: str
    begin: str
    begin_id: int
    end_id: int | None
    unknown_id: int | None
    batch_positions: int = 2048


class _Tokens(NamedTuple):
    """The tokens of one text."""

    ids: IntArray
    starts: IntArray
    ends: IntArray


class OnnxLanguageModel(OnnxModel[LanguageModelDescription]):
    """A loaded model; open one with :meth:`open`.

    A text is read after the model's begin token. One that is longer than the window is read in overlapping windows,
    each after a begin token: half of every later window was scored in the one before.
    """

    SCORING_FILES = ("*.onnx", "*.bin", "tokenizer.json", "unigrams.npy")

    def __init__(
        self, folder: Path, name: str, parts: ModelParts[LanguageModelDescription], unigrams: FloatArray
    ) -> None:
        super().__init__(folder, name, parts)
        self._unigrams = unigrams

    @classmethod
    def open(cls, folder: Path, name: str, threads: int | None = None) -> OnnxLanguageModel:
        """Load a model from a folder of the format ``celadon-lm/1`` and the kind ``onnx``; without ``threads``, one per
        core.
        """
        parts = load_parts(folder, LanguageModelDescription, _GRAPH, threads)
        return cls(folder, name, parts, _load_unigrams(folder / "unigrams.npy", parts.tokenizer))

    @property
    def facts(self) -> Mapping[str, str]:
        """What stands before the first token, and whether the end of the text counts."""
        end = "left-out" if self._description.end_id is None else "counted"
        return {"begin": self._description.begin, "end": end}

    def score(self, texts: Sequence[str]) -> list[TokenScores]:
        """Score texts; one entry per text, in their order."""
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        distinct = list(numbers)
        scored: list[TokenScores] = []
        for at in range(0, len(distinct), _TEXTS_AT_ONCE):
            scored += self._score_distinct(distinct[at : at + _TEXTS_AT_ONCE])
        return [scored[numbers[text]] for text in texts]

    def _score_distinct(self, texts: Sequence[str]) -> list[TokenScores]:
        tokens = [self._split(text) for text in texts]
        room = self._description.window
        rows = [TextWindow(at, window) for at, of in enumerate(tokens) for window in plan_windows(len(of.ids), room)]
        found = [np.empty(len(of.ids)) for of in tokens]
        lengths = [row.window.end - row.window.start for row in rows]
        for batch in plan_batches(lengths, self._description.batch_positions):
            self._run([rows[at] for at in batch], tokens, found)
        return [self._token_scores(*parts) for parts in zip(tokens, found, strict=True)]

    def _split(self, text: str) -> _Tokens:
        """Split a text; what a token shows of it does not begin with white space if there is anything else."""
        text = mend_surrogates(text)
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ids = list(encoding.ids)
        spans = [(_skip_space(text, start, end), end) for start, end in encoding.offsets]
        if ids and self._description.end_id is not None:
            ids.append(self._description.end_id)
            spans.append((len(text), len(text)))
        edges = np.array(spans, dtype=np.int64).reshape(-1, 2)
        return _Tokens(np.array(ids, dtype=np.int64), edges[:, 0], edges[:, 1])

    def _run(self, rows: Sequence[TextWindow], tokens: Sequence[_Tokens], found: Sequence[FloatArray]) -> None:
        """Score the windows of one batch into ``found``."""
        length = max(row.window.end - row.window.start for row in rows)
        ids = np.full((len(rows), length + 1), self._description.begin_id, dtype=np.int64)
        where = []
        for at, (text, (start, first, end)) in enumerate(rows):
            ids[at, 1 : 1 + end - start] = tokens[text].ids[start:end]
            where.append(at * length + np.arange(first - start, end - start))
        feed = {"ids": ids, "where": np.concatenate(where)}
        logprobs = self._session.run(["logprobs"], feed)[0]
        taken = 0
        for text, (_, first, end) in rows:
            found[text][first:end] = logprobs[taken : taken + end - first]
            taken += end - first

    def _token_scores(self, tokens: _Tokens, logprobs: FloatArray) -> TokenScores:
        unknown = -1 if self._description.unknown_id is None else self._description.unknown_id
        return TokenScores(
            logprobs=logprobs,
            unigrams=self._unigrams[tokens.ids],
            starts=tokens.starts,
            ends=tokens.ends,
            known=tokens.ids != unknown,
        )


def _skip_space(text: str, start: int, end: int) -> int:
    if start < end and text[start].isspace():
        return end - len(text[start:end].lstrip()) if not text[start:end].isspace() else start
    return start


def _load_unigrams(path: Path, tokenizer: Tokenizer) -> FloatArray:
    table = load_table(path)
    size = tokenizer.get_vocab_size()
    if table.ndim != 1 or len(table) < size or table.dtype.kind != "f" or not np.isfinite(table).all():
        raise InputError(f"{path}: is no unigram table of {size:,} finite numbers; fetch or train the model again")
    return np.asarray(table, dtype=np.float64)
