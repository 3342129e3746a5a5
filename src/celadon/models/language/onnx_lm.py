"""Language models that ONNX Runtime runs: the folders that this project trains or converts (``celadon-lm/1``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError, IntArray
from celadon.io.values import mend_surrogates
from celadon.models.language.language_model import TokenScores
from celadon.models.networks.self_check import CheckedSession, RowCheck, check_session
from celadon.models.networks.windows import Window, plan_batches, plan_windows
from celadon.models.store.model_files import files_digest, load_json, load_session, load_table, load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FORMAT = "celadon-lm/1"
# Padded positions of one run where model.json does not say (``batch_positions``).
_BATCH_POSITIONS = 2048
# Texts whose tokens are held at once.
_TEXTS_AT_ONCE = 8192
_SCORING = ("*.onnx", "*.bin", "tokenizer.json", "unigrams.npy")
# all tokens of each row but the first are scored
CHECK = RowCheck(lambda ids: {"ids": ids, "where": np.arange(ids[:, 1:].size)}, "logprobs")


@dataclass(frozen=True)
class Description:
    """What ``model.json`` says.

    ``begin`` stands before the first token of every window. ``end_id`` ends every text; None where the end is left out.
    ``unknown_id`` is for what the model has no piece for. ``window`` is the most tokens that are scored in one window,
    ``batch_positions`` the most padded positions of one run.
    """

    begin: str
    begin_id: int
    end_id: int | None
    unknown_id: int | None
    window: int
    batch_positions: int
    scripts: tuple[str, ...]


class _Tokens(NamedTuple):
    """The tokens of one text."""

    ids: IntArray
    starts: IntArray
    ends: IntArray


class _Row(NamedTuple):
    """One window of the text numbered ``text``."""

    text: int
    window: Window


class OnnxLanguageModel:
    """A loaded model; open one with :meth:`open`.

    A text is read after the model's begin token. One that is longer than the window is read in overlapping windows,
    each after a begin token: half of every later window was scored in the one before.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        description: Description,
        session: CheckedSession,
        tokenizer: Tokenizer,
        unigrams: FloatArray,
    ) -> None:
        self._folder = folder
        self._name = name
        self._description = description
        self._session, self._runtime = session.session, session.runtime
        self._tokenizer = tokenizer
        self._unigrams = unigrams

    @classmethod
    def open(cls, folder: Path, name: str, threads: int | None = None) -> OnnxLanguageModel:
        """Load a model from a folder of the format ``celadon-lm/1`` and the kind ``onnx``; without ``threads``, one per
        core.
        """
        description = read_description(folder)
        tokenizer = load_tokenizer(folder / "tokenizer.json")
        unigrams = _load_unigrams(folder / "unigrams.npy", tokenizer)
        path = folder / "model.onnx"
        session = load_session(path, threads, {"ids", "where"}, {"logprobs"}, "language model")
        return cls(folder, name, description, check_session(path, session, CHECK), tokenizer, unigrams)

    @property
    def name(self) -> str:
        """The name it is asked for by."""
        return self._name

    @cached_property
    def digest(self) -> str:
        """The sha256 over the names and hashes of the weights, the tokenizer and the unigram table."""
        return files_digest(self._folder, _SCORING)

    @property
    def runtime(self) -> str:
        """What a signature must say of the runtime; empty where scores count as equal."""
        return self._runtime

    @property
    def facts(self) -> Mapping[str, str]:
        """What stands before the first token, and whether the end of the text counts."""
        end = "left-out" if self._description.end_id is None else "counted"
        return {"begin": self._description.begin, "end": end}

    @property
    def scripts(self) -> tuple[str, ...]:
        """The Unicode scripts it knows."""
        return self._description.scripts

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
        rows = [_Row(at, window) for at, of in enumerate(tokens) for window in plan_windows(len(of.ids), room)]
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

    def _run(self, rows: Sequence[_Row], tokens: Sequence[_Tokens], found: Sequence[FloatArray]) -> None:
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


def read_description(folder: Path) -> Description:
    """Read ``model.json``; a message names what is wrong there."""
    path = folder / "model.json"
    raw = load_json(path)
    try:
        if raw["format"] != FORMAT or raw["kind"] != "onnx":
            raise InputError(f"{path}: is {raw['format']}, {raw['kind']}; {FORMAT}, onnx is expected")
        description = Description(
            begin=str(raw["begin"]),
            begin_id=int(raw["begin_id"]),
            end_id=_optional_id(raw["end_id"]),
            unknown_id=_optional_id(raw["unknown_id"]),
            window=int(raw["window"]),
            batch_positions=int(raw.get("batch_positions", _BATCH_POSITIONS)),
            scripts=tuple(str(script) for script in raw["scripts"]),
        )
    except KeyError as error:
        raise InputError(f"{path}: has no {error}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: does not describe a model: {error}") from error
    if description.window < 2:
        raise InputError(f"{path}: a window of {description.window} tokens is too short; it must be 2 or more")
    return description


def _optional_id(value: Any) -> int | None:
    return None if value is None else int(value)


def _load_unigrams(path: Path, tokenizer: Tokenizer) -> FloatArray:
    table = load_table(path)
    size = tokenizer.get_vocab_size()
    if table.ndim != 1 or len(table) < size or table.dtype.kind != "f" or not np.isfinite(table).all():
        raise InputError(f"{path}: is no unigram table of {size:,} finite numbers; fetch or train the model again")
    return np.asarray(table, dtype=np.float64)
