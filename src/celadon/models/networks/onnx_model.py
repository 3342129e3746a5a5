"""What the models that ONNX Runtime runs share: a folder with a description, a tokenizer and a checked graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from celadon.core import InputError
from celadon.io.json_file import convert
from celadon.models.networks.self_check import CheckedSession, RowCheck, check_session
from celadon.models.store.model_files import files_digest, load_json, load_session, load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What ``model.json`` says.

    ``window`` is the most tokens that are read at once, ``batch_positions`` the most positions of one run.
    """

    REQUIRED: ClassVar[dict[str, str]] = {}  # fields with the only value that this version reads
    SHORTEST_WINDOW: ClassVar[int] = 2

    format: str
    window: int
    scripts: tuple[str, ...]
    batch_positions: int


DescriptionType = TypeVar("DescriptionType", bound=Description)


def read_description(folder: Path, kind: type[DescriptionType], what: str) -> DescriptionType:
    """Read ``model.json``; a message names what is wrong there. ``what``: the kind of model, for messages."""
    path = folder / "model.json"
    raw = load_json(path)
    for name, expected in kind.REQUIRED.items():
        if isinstance(raw, dict) and raw.get(name, expected) != expected:
            raise InputError(f"{path}: its {name} is {raw[name]}; {expected} is expected")
    description = convert(raw, kind, f"{path}: does not describe a {what}")
    if description.window < kind.SHORTEST_WINDOW:
        least = f"it must be {kind.SHORTEST_WINDOW} or more"
        raise InputError(f"{path}: a window of {description.window} tokens is too short; {least}")
    return description


@dataclass(frozen=True)
class Graph:
    """The graph of one kind of model: its name in messages, what goes in and comes out, and how it is checked."""

    what: str
    inputs: frozenset[str]
    outputs: frozenset[str]
    check: RowCheck


class ModelParts(NamedTuple, Generic[DescriptionType]):
    """What a folder holds, loaded."""

    description: DescriptionType
    tokenizer: Tokenizer
    graph: CheckedSession


def load_parts(
    folder: Path, kind: type[DescriptionType], graph: Graph, threads: int | None
) -> ModelParts[DescriptionType]:
    """Load a folder; without ``threads``, one per core."""
    description = read_description(folder, kind, graph.what)
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    path = folder / "model.onnx"
    session = load_session(path, threads, set(graph.inputs), set(graph.outputs), graph.what)
    return ModelParts(description, tokenizer, check_session(path, session, graph.check))


class OnnxModel(Generic[DescriptionType]):
    """A loaded model."""

    SCORING_FILES: ClassVar[tuple[str, ...]] = ()  # patterns of the files that scores depend on

    def __init__(self, folder: Path, name: str, parts: ModelParts[DescriptionType]) -> None:
        self._folder = folder
        self._name = name
        self._description = parts.description
        self._tokenizer = parts.tokenizer
        self._session, self._runtime = parts.graph.session, parts.graph.runtime

    @property
    def name(self) -> str:
        """The name it is asked for by."""
        return self._name

    @cached_property
    def digest(self) -> str:
        """The sha256 over the names and hashes of the files that scores depend on."""
        return files_digest(self._folder, self.SCORING_FILES)

    @property
    def runtime(self) -> str:
        """What a signature must say of the runtime; empty where scores count as equal."""
        return self._runtime

    @property
    def scripts(self) -> tuple[str, ...]:
        """The Unicode scripts it knows."""
        return self._description.scripts
