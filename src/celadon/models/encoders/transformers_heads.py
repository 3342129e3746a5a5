"""Heads of Hugging Face transformers that judge a whole text: a classifier of acceptability, ALBERT's order head.

Both need the extra ``hf``. Weights are taken in safetensors only, and no code of a checkpoint is ever run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from celadon.core import FloatArray, InputError, IntArray, MissingExtraError, UsageError
from celadon.io.values import mend_surrogates
from celadon.models.language.transformers_lm import load_tokenizer
from celadon.models.networks.transformers_files import Checkpoint, class_names, find_folder
from celadon.models.networks.transformers_network import (
    device_facts,
    load_model,
    moved,
    quiet_transformers,
    torch_failures,
    window_of,
)
from celadon.models.networks.windows import Window, plan_batches, plan_windows
from celadon.models.store.places import HF_PREFIX

if TYPE_CHECKING:
    import torch
    from tokenizers import Encoding, Tokenizer


@dataclass(frozen=True)
class HeadFiles:
    """A checkpoint on this machine: the class of transformers that loads it is ``kind``; ``head`` is what its head
    does.

    Weights whose names begin with ``idle`` are not used, and so may be missing.
    """

    name: str
    folder: Path
    kind: str
    head: str
    idle: str = ""

    def digest(self) -> str:
        """Return the sha256 over the names and contents of the configuration, the weights and the tokenizer."""
        return Checkpoint(self.name, self.folder, masked=False).digest()


def find_classifier(name: str) -> HeadFiles:
    """Find a classifier of two labels by its folder or by its name on the hub."""
    folder = find_folder(name)
    config = _config(name, folder)
    stated = getattr(config, "architectures", None) or []
    if stated and not set(stated) & _classifier_names():
        raise UsageError(f"{name} is no classifier of texts: its config.json says {', '.join(stated)}")
    if config.num_labels != 2:
        raise UsageError(
            f"{name} has {config.num_labels} labels; a classifier of acceptability has two, as when fine-tuned on CoLA"
        )
    return HeadFiles(name, folder, "AutoModelForSequenceClassification", "head that classifies")


def find_order_head(name: str) -> HeadFiles:
    """Find an ALBERT with its order head by its folder or by its name on the hub."""
    folder = find_folder(name)
    config = _config(name, folder)
    if config.model_type != "albert":
        raise UsageError(
            f"{name} has no head for the order of sentences, which only ALBERT has; its config.json says "
            f"{config.model_type} (the next-sentence head of BERT and its kin tells other texts apart, not the order)"
        )
    if config.num_labels != 2:
        raise UsageError(f"{name} has {config.num_labels} labels; an order head has two, in order and swapped")
    return HeadFiles(name, folder, "AlbertForPreTraining", "order head", idle="predictions.")


def load_head(files: HeadFiles) -> Any:
    """Load the network, ready to be run; refused where weights of it are missing."""
    return load_model(files.name, files.folder, files.kind, files.head, files.idle)


def load_text_tokenizer(files: HeadFiles) -> tuple[Tokenizer, int]:
    """Return the tokenizer, which neither cuts nor pads, and the id to fill up short rows with."""
    tokenizer, _, pad_id = load_tokenizer(Checkpoint(files.name, files.folder, masked=False))
    return tokenizer, pad_id


def text_marks(tokenizer: Tokenizer) -> tuple[list[int], list[int]]:
    """Return the ids that a tokenizer puts before and behind a text."""
    whole, bare = tokenizer.encode("a").ids, tokenizer.encode("a", add_special_tokens=False).ids
    inside = next((at for at in range(len(whole)) if whole[at : at + len(bare)] == bare), 0)
    return whole[:inside], whole[inside + len(bare) :]


def _config(name: str, folder: Path) -> Any:
    try:
        import transformers
    except ImportError:
        raise MissingExtraError("transformers", "hf") from None
    with quiet_transformers(), torch_failures(name):
        return transformers.AutoConfig.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True)


def _classifier_names() -> set[str]:
    from transformers.models.auto import modeling_auto

    return class_names(modeling_auto.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES)


# Positions in one run of the network: enough to keep two cores busy, and bounded memory.
_POSITIONS = 2048
# Labels that mean an acceptable sentence; CoLA itself calls it 1.
_ACCEPTABLE = ("acceptable", "grammatical", "correct", "label_1", "1")
_TRIAL = ("The cat sat on the mat.", "A cat")


class _Row(NamedTuple):
    """Ids that go through the network together, and for each the number of the part of the text that it is in."""

    ids: IntArray
    types: IntArray


class _Head(ABC):
    """A network with a head of two outputs; short rows are filled up with ``pad_id`` where the model does not say."""

    def __init__(self, files: HeadFiles, model: Any, tokenizer: Tokenizer, pad_id: int) -> None:
        self.files = files
        self.window = window_of(model)
        self._model, self._placed = model, False
        self._tokenizer = tokenizer
        self._vocabulary = int(model.get_input_embeddings().weight.shape[0])
        stated = getattr(model.config, "pad_token_id", None)
        filler = pad_id if stated is None else int(stated)
        self._pad_id = filler if 0 <= filler < self._vocabulary else 0
        self._padded = False

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, str]:
        """What a signature must say beside the name."""

    @property
    def name(self) -> str:
        """The name it is asked for by."""
        return f"{HF_PREFIX}{self.files.name}"

    @cached_property
    def digest(self) -> str:
        """The sha256 over the configuration, the weights and the tokenizer."""
        return self.files.digest()

    def _forward(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        logits: torch.Tensor = self._model(**inputs).logits
        return logits

    def _tokens(self, text: str) -> IntArray:
        return np.array(self._tokenizer.encode(mend_surrogates(text), add_special_tokens=False).ids, dtype=np.int64)

    def _logits(self, rows: Sequence[_Row]) -> FloatArray:
        """Run rows in batches of like length; two logits for each."""
        if not self._placed:
            self._model, self._placed = moved(self._model), True
        found = np.empty((len(rows), 2))
        positions = _POSITIONS if self._padded else 1
        for batch in plan_batches([len(row.ids) for row in rows], positions):
            found[batch] = self._run([rows[number] for number in batch])
        return found

    def _run(self, rows: Sequence[_Row]) -> FloatArray:
        import torch

        size = (len(rows), max(len(row.ids) for row in rows))
        ids, attention, types = np.full(size, self._pad_id), np.zeros(size, np.int64), np.zeros(size, np.int64)
        for number, row in enumerate(rows):
            ids[number, : len(row.ids)] = row.ids
            types[number, : len(row.ids)] = row.types
            attention[number, : len(row.ids)] = 1
        if ids.max() >= self._vocabulary:
            raise InputError(
                f"{self.files.name}: the tokenizer made the token {ids.max()}, "
                f"but the model has only {self._vocabulary}"
            )
        inputs = {"input_ids": ids, "attention_mask": attention}
        # not every network has parts, and those that have take all for the first
        inputs |= {"token_type_ids": types} if types.any() else {}
        with torch.inference_mode():
            logits = self._forward({name: torch.from_numpy(values) for name, values in inputs.items()})
        return logits.float().cpu().numpy().astype(np.float64)

    def _try_padding(self, long: _Row, short: _Row) -> None:
        """Try whether a row that is filled up gives what it gives alone; if not, rows are run one at a time.

        Some networks read the last position, which may then be a filler, or refuse to run more than one row.
        """
        with torch_failures(self.files.name):
            alone = self._run([short])[0]
        try:
            filled = self._run([long, short])[1]
        except (RuntimeError, IndexError, ValueError):
            return
        self._padded = bool(np.allclose(alone, filled, atol=1e-4, rtol=1e-4))


class AcceptabilityClassifier(_Head):
    """A classifier that tells acceptable sentences from others, as fine-tuned on CoLA; open one with :meth:`open`.

    It must have two labels. The one that is called ``acceptable``, ``grammatical``, ``correct``, ``LABEL_1`` or ``1``
    in ``id2label`` of its configuration means acceptable; where neither is, the second, as in CoLA.
    """

    def __init__(self, files: HeadFiles, model: Any, tokenizer: Tokenizer, pad_id: int) -> None:
        super().__init__(files, model, tokenizer, pad_id)
        labels = [str(model.config.id2label.get(number, number)) for number in (0, 1)]
        known = [number for number, label in enumerate(labels) if label.strip().casefold() in _ACCEPTABLE]
        self._acceptable = known[0] if len(known) == 1 else 1
        self._label = labels[self._acceptable]
        self._before, self._after = _marks(files.name, tokenizer.encode("a"), 1)
        self._room = self.window - len(self._before.ids) - len(self._after.ids)
        if self._room < 2:
            raise InputError(f"{files.name}: its window of {self.window} tokens is too short to read a text")
        self._try_padding(*(self._row(self._tokens(text)) for text in _TRIAL))

    @classmethod
    def open(cls, name_or_folder: str) -> AcceptabilityClassifier:
        """Load a classifier from a folder, or by its name on the Hugging Face hub."""
        files = find_classifier(name_or_folder)
        return cls(files, load_head(files), *load_text_tokenizer(files))

    @property
    def facts(self) -> Mapping[str, str]:
        """What a signature must say: the label that means acceptable, and the most tokens that are read at once."""
        return {"kind": "classifier", "label": self._label, "window": str(self.window), **device_facts()}

    def probabilities(self, texts: Sequence[str]) -> FloatArray:
        """Return how likely each text is acceptable, from 0 to 1.

        A text longer than the window is read in overlapping windows. Its value is their mean, each weighted by the
        tokens that no window before it has read.
        """
        if not texts:
            return np.zeros(0)
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        rows: list[_Row] = []
        owners: list[int] = []
        weights: list[int] = []
        for text, number in numbers.items():
            ids = self._tokens(text)
            # a text without tokens is read as well: the marks alone
            for window in plan_windows(len(ids), self._room) or [Window(0, 0, 0)]:
                rows.append(self._row(ids[window.start : window.end]))
                owners.append(number)
                weights.append(max(1, window.end - window.first))
        logits = self._logits(rows)
        odds = logits[:, self._acceptable] - logits[:, 1 - self._acceptable]
        found = np.exp(-np.logaddexp(0.0, -odds))
        means = np.bincount(owners, found * weights) / np.bincount(owners, weights)
        return means[[numbers[text] for text in texts]]

    def _row(self, ids: IntArray) -> _Row:
        row = _joined([self._before, _Row(ids, np.zeros_like(ids)), self._after])
        # a network without marks cannot read nothing
        return row if len(row.ids) else _Row(np.array([self._pad_id]), np.zeros(1, np.int64))


class OrderHead(_Head):
    """ALBERT's head for the order of two parts of a text; open one with :meth:`open`.

    Where the two parts together are longer than the window, what stands nearest their border is kept: the end of the
    first and the beginning of the second, half of the room each, or more where the other part is shorter. The rest is
    not read, since the head must see both at once; ``facts`` says so.
    """

    def __init__(self, files: HeadFiles, model: Any, tokenizer: Tokenizer, pad_id: int) -> None:
        super().__init__(files, model, tokenizer, pad_id)
        marks = _marks(files.name, tokenizer.encode("a", "b"), 2)
        self._before, self._between, self._after = marks
        if not len(self._between.ids) or 1 not in self._after.types:
            raise InputError(f"{files.name}: its tokenizer does not mark two parts as [CLS] a [SEP] b [SEP]")
        self._room = self.window - sum(len(row.ids) for row in marks)
        if self._room < 2:
            raise InputError(f"{files.name}: its window of {self.window} tokens is too short to read two parts")
        self._try_padding(*(self._row(self._tokens(text), self._tokens(text)) for text in _TRIAL))

    @classmethod
    def open(cls, name_or_folder: str) -> OrderHead:
        """Load an order head from a folder, or by its name on the Hugging Face hub."""
        files = find_order_head(name_or_folder)
        return cls(files, load_head(files), *load_text_tokenizer(files))

    @property
    def facts(self) -> Mapping[str, str]:
        """What a signature must say: the most tokens that are read at once, and what is read of longer parts."""
        longer = "cut to what is nearest the border"
        return {"kind": "sentence-order", "window": str(self.window), "longer": longer, **device_facts()}

    def logits(self, pairs: Sequence[tuple[str, str]]) -> FloatArray:
        """Return for each pair the logit that its parts are in their right order and not swapped."""
        if not pairs:
            return np.zeros(0)
        numbers = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
        found = self._logits([self._row(self._tokens(first), self._tokens(second)) for first, second in numbers])
        # label 0 of transformers' AlbertForPreTraining is the original order, label 1 the swapped one
        ordered = found[:, 0] - found[:, 1]
        return ordered[[numbers[pair] for pair in pairs]]

    def _forward(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        # not through the model as a whole, whose other head gives a logit to every token of the vocabulary
        order: torch.Tensor = self._model.sop_classifier(self._model.albert(**inputs).pooler_output)
        return order

    def _row(self, first: IntArray, second: IntArray) -> _Row:
        kept = min(len(first), max(self._room - len(second), self._room // 2))
        first, second = first[len(first) - kept :], second[: self._room - kept]
        one, two = _Row(first, np.zeros_like(first)), _Row(second, np.ones_like(second))
        return _joined([self._before, one, self._between, two, self._after])


def _marks(name: str, encoding: Encoding, parts: int) -> list[_Row]:
    """Return what a tokenizer puts before, between and after the parts of a text, from how it did so once."""
    edges = [0]
    for part in range(parts):
        places = [place for place, owner in enumerate(encoding.sequence_ids) if owner == part]
        if not places:
            raise InputError(f"{name}: its tokenizer makes nothing of Latin letters")
        edges += [places[0], places[-1] + 1]
    edges.append(len(encoding))
    ids, types = np.array(encoding.ids, dtype=np.int64), np.array(encoding.type_ids, dtype=np.int64)
    return [_Row(ids[start:end], types[start:end]) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _joined(rows: Sequence[_Row]) -> _Row:
    return _Row(*(np.concatenate(columns) for columns in zip(*rows, strict=True)))


Head = TypeVar("Head", AcceptabilityClassifier, OrderHead)

_lock = RLock()
_classifiers: dict[str, AcceptabilityClassifier] = {}
_order_heads: dict[str, OrderHead] = {}


def acceptability_classifier(spec: str) -> AcceptabilityClassifier:
    """Return the classifier ``hf:NAME_OR_FOLDER`` that the whole process shares, loading it on first use."""
    return _shared(spec, _classifiers, AcceptabilityClassifier.open)


def order_head(spec: str) -> OrderHead:
    """Return the order head ``hf:NAME_OR_FOLDER`` that the whole process shares, loading it on first use."""
    return _shared(spec, _order_heads, OrderHead.open)


def _shared(spec: str, loaded: dict[str, Head], load: Callable[[str], Head]) -> Head:
    name = spec.removeprefix(HF_PREFIX)
    if not name or name == spec:
        raise UsageError(f"{spec!r}: say which model: {HF_PREFIX}NAME_OR_FOLDER")
    folder = Path(name).expanduser()
    key = str(folder.resolve()) if folder.exists() else name
    with _lock:
        if key not in loaded:
            loaded[key] = load(name)
        return loaded[key]


def forget_heads() -> None:
    """Let go of all heads that the process holds."""
    with _lock:
        _classifiers.clear()
        _order_heads.clear()
