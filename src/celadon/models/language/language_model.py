"""Language models: texts in, scored tokens out; from the notation of a model to one that is loaded once per process."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, IntArray, UsageError
from celadon.io.weight_files import MorcelaWeights, read_morcela
from celadon.models.store import folder_of, load_catalog
from celadon.models.store.places import HF_PREFIX, is_path


@dataclass(frozen=True, eq=False)
class TokenScores:
    """The tokens of one text, in its order, each array with one entry per token.

    ``logprobs`` are natural logarithms of the probability given what is before, ``unigrams`` given nothing, finite for
    a token never seen. ``starts`` and ``ends`` are its characters in the text; a mark for the end of the text has none,
    and both are the text's length. ``known`` is False where the model has no piece for what stands there.
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


NGRAM_PREFIX = "ngram:"
_DESCRIPTION = "model.json"

# Tokens whose scores are kept to explain a text that was just scored: about 30 MB.
RECENT_TOKENS = 1 << 19


def open_language_model(spec: str, threads: int | None = None) -> LanguageModel:
    """Load a language model; without ``threads`` their number is left to the model's kind.

    ``spec`` is a name of the catalog (``builtin``, ``smollm2``), ``hf:NAME_OR_FOLDER``, ``ngram:PATH``, or the path of
    a folder: a model of ours or one of transformers.
    """
    if spec.startswith(HF_PREFIX):
        return _open_transformers(_rest(spec, HF_PREFIX), threads)
    if spec.startswith(NGRAM_PREFIX):
        return _open_ngram(_rest(spec, NGRAM_PREFIX), threads)
    folder = _folder(spec)
    if folder.is_file():
        return _open_ngram(str(folder), threads)
    if (folder / _DESCRIPTION).is_file():
        return _open_ours(folder, spec if is_path(spec) else _canonical(spec), threads)
    if (folder / "config.json").is_file():
        return _open_transformers(str(folder), threads)
    raise InputError(f"{spec}: is no language model: there is neither {_DESCRIPTION} (ours) nor config.json in it")


def _rest(spec: str, prefix: str) -> str:
    rest = spec.removeprefix(prefix)
    if not rest:
        raise UsageError(f"{spec!r}: say which model: {prefix}{'NAME_OR_FOLDER' if prefix == HF_PREFIX else 'PATH'}")
    return rest


def _folder(spec: str) -> Path:
    """Return where a model that is no ``hf:`` and no ``ngram:`` has its files."""
    if not spec:
        raise UsageError("no model was named; the default is builtin")
    # absolute, since a loaded model may look for its files once the process has gone elsewhere
    if is_path(spec) and Path(spec).expanduser().is_file():
        return Path(spec).expanduser().absolute()
    return folder_of(spec).absolute()


def _canonical(spec: str) -> str:
    """Return the one name of a model that has several, and a path that stays right where the process goes elsewhere."""
    if spec.startswith((HF_PREFIX, NGRAM_PREFIX)):
        prefix, _, rest = spec.partition(":")
        path = Path(rest).expanduser()
        return f"{prefix}:{path.resolve()}" if path.exists() else spec
    if is_path(spec):
        return str(Path(spec).expanduser().resolve())
    model = load_catalog().find(spec)
    return spec if model is None else model.name


def _open_ours(folder: Path, name: str, threads: int | None) -> LanguageModel:
    try:
        described: Any = json.loads((folder / _DESCRIPTION).read_bytes())
        kind = described.get("kind")
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"{folder / _DESCRIPTION}: cannot be read as the description of a model: {error}") from None
    if kind == "ngram":
        return _open_ngram(str(folder), threads)
    if kind != "onnx":
        raise InputError(f"{folder / _DESCRIPTION}: the kind is {kind!r}, not onnx or ngram")
    from celadon.models.language.onnx_lm import OnnxLanguageModel

    return OnnxLanguageModel.open(folder, name, threads)


def _open_ngram(path: str, threads: int | None) -> LanguageModel:
    from celadon.models.language.ngram_lm import open_ngram

    return open_ngram(Path(path).expanduser(), threads)


def _open_transformers(name_or_folder: str, threads: int | None) -> LanguageModel:
    from celadon.models.language.transformers_lm import TransformersLanguageModel

    return TransformersLanguageModel.open(name_or_folder, threads)


_lock = RLock()
_loaded: dict[str, LanguageModel] = {}


def language_model(spec: str) -> LanguageModel:
    """Return the model that the whole process shares, loading it on first use."""
    key = _canonical(spec)
    with _lock:
        if key not in _loaded:
            _loaded[key] = open_language_model(spec)
        return _loaded[key]


def share_language_model(spec: str, model: LanguageModel) -> None:
    """Let the whole process use a model that is loaded already wherever ``spec`` is asked for: ``slor[model=mine]``."""
    with _lock:
        _loaded[_canonical(spec)] = model


def morcela_weights(spec: str) -> MorcelaWeights | None:
    """Return the weights of MORCELA that come with a model; None where it has none."""
    elsewhere = spec.startswith((HF_PREFIX, NGRAM_PREFIX))
    folder = Path(spec.partition(":")[2]).expanduser() if elsewhere else _folder(spec)
    path = folder / "morcela.json"
    return read_morcela(str(path)) if path.is_file() else None


class RecentScores:
    """The scores of the latest texts, so that showing why a text got its score costs no second run of the model.

    Scores themselves are never taken from here: they must not depend on what was scored before.
    """

    def __init__(self, tokens: int = RECENT_TOKENS) -> None:
        self.tokens = tokens
        self._kept: OrderedDict[tuple[str, ...], TokenScores] = OrderedDict()
        self._held = 0

    def get(self, key: tuple[str, ...]) -> TokenScores | None:
        """Return what is kept under a key: the model and how it was asked, then the text."""
        with _lock:
            return self._kept.get(key)

    def add(self, items: Iterable[tuple[tuple[str, ...], TokenScores]]) -> None:
        """Keep scores and let go of the oldest."""
        with _lock:
            for key, scores in items:
                if (old := self._kept.pop(key, None)) is not None:
                    self._held -= 1 + len(old)
                self._kept[key] = scores
                self._held += 1 + len(scores)
            while self._held > self.tokens:
                _, old = self._kept.popitem(last=False)
                self._held -= 1 + len(old)

    def clear(self) -> None:
        """Let go of everything."""
        with _lock:
            self._kept.clear()
            self._held = 0


recent_scores = RecentScores()


def forget() -> None:
    """Let go of all models and scores that the process holds."""
    with _lock:
        _loaded.clear()
        recent_scores.clear()
