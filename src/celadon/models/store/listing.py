"""What the store knows of each model, for a person, and which data come with the package under which license.

The catalog of the package names the license and the data of each model that comes with it, and in its section ``files``
those of all other files that are data. Everything else in the package is source code under the license of the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from celadon.core import UsageError
from celadon.models.store.catalog import Model, Pin, load_catalog, package_catalog
from celadon.models.store.manifest import DamagedError, file_names, read_manifest
from celadon.models.store.places import home, model_place
from celadon.models.store.resolving import verify_imported, verify_model

BUILTIN, CACHED, IMPORTED, ABSENT, MISSING = (
    "builtin",
    "in cache",
    "in cache (imported)",
    "not fetched",
    "not in this installation",
)


@dataclass(frozen=True)
class Known:
    """A model of the catalog or of the user."""

    # name, aliases, kind, about, license, data: as in the catalog
    name: str
    kind: str
    license: str
    where: str  # ``builtin``, ``in cache``, ``in cache (imported)``, ``not fetched``, ``not in this installation``
    aliases: tuple[str, ...] = ()
    about: str = ""
    data: str = ""
    folder: Path | None = None  # where its files are, if they are here
    # the bytes of its files; as the catalog has it where they are not here; None where that is not known
    size: int | None = None
    files: Mapping[str, Pin] = field(default_factory=dict)  # its files, from the manifest
    sources: tuple[str, ...] = ()  # where it comes from, a line each
    fetched: Mapping[str, Pin] = field(default_factory=dict)  # what is fetched from there, as the catalog pins it

    @property
    def card(self) -> str:
        """The model's card; empty where there is none."""
        path = self.folder / "card.md" if self.folder else None
        return path.read_text(encoding="utf-8", errors="replace") if path and path.is_file() else ""


def known_models() -> list[Known]:
    """List the catalog, then what the user imported."""
    catalog = load_catalog()
    room = home() / "models"
    own = sorted(path.name for path in room.iterdir() if path.is_dir()) if room.is_dir() else []
    return [
        *(_cataloged(model) for model in catalog.models.values()),
        *(_imported(name) for name in own if name not in catalog.models),
    ]


def known_model(name: str, *, full: bool = False) -> Known:
    """Return what is known of one model.

    ``full``: hash all of its files first, and refuse it where one was altered.
    """
    model = load_catalog().find(name)
    if model is not None:
        if full:
            verify_model(model, full=True)
        return _cataloged(model)
    found = next((known for known in known_models() if known.name == name), None)
    if found is None:
        raise UsageError(f"no model is called {name!r}; see: celadon models list")
    if full:
        verify_imported(name, full=True)
    return found


def _cataloged(model: Model) -> Known:
    if model.builtin is not None:
        folder, here, absent = model.builtin, BUILTIN, MISSING
        sources: tuple[str, ...] = ("the package",)
    else:
        folder, here, absent = model_place(model.name).folder, CACHED, ABSENT
        sources = tuple(map(str, model.download.sources)) if model.download else ()
    found = folder.is_dir()
    files = _files(folder) if found else {}
    return Known(
        name=model.name,
        aliases=model.aliases,
        kind=model.kind,
        about=model.about,
        license=model.license,
        data=model.data,
        where=here if found else absent,
        folder=folder if found else None,
        size=sum(pin.size for pin in files.values()) if found else model.size,
        files=files,
        sources=sources,
        fetched=model.download.files if model.download else {},
    )


def _imported(name: str) -> Known:
    folder = model_place(name).folder
    files = _files(folder)
    kind = "language model" if (folder / "model.json").is_file() else "weights"
    size = sum(pin.size for pin in files.values())
    return Known(
        name, kind, "not stated", IMPORTED, folder=folder, size=size, files=files, sources=("imported by you",)
    )


def _files(folder: Path) -> Mapping[str, Pin]:
    try:
        return read_manifest(folder).files
    except DamagedError:
        # a listing lists; whoever loads the model is told
        try:
            return {name: Pin((folder / name).stat().st_size, "") for name in file_names(folder)}
        except (DamagedError, OSError):
            return {}


PACKAGE = Path(__file__).parents[2]
"""The folder of the package."""

CODE_LICENSE = "Apache-2.0"
SOURCE_ENDINGS = frozenset({".py", ".html", ".css", ".js", ".svg", ".toml", ".typed"})
"""Files of these endings are source code."""

TEXTS = {
    "Apache-2.0": "https://www.apache.org/licenses/LICENSE-2.0",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/legalcode",
}
"""Where the text of each license is published; LICENSE and LICENSES hold them too."""


@dataclass(frozen=True)
class ShippedPart:
    """A part of the package that is data."""

    pattern: str  # its files, below the folder of the package
    about: str
    license: str  # an SPDX expression
    data: str  # what it was made from, and under which terms that is published

    @property
    def is_model(self) -> bool:
        """Return whether it is a model of the catalog."""
        return self.pattern.startswith("weights/")

    def covers(self, path: PurePosixPath) -> bool:
        """Return whether a file, by its path below the folder of the package, is of this part."""
        return fnmatchcase(str(path), self.pattern) and len(path.parts) == len(PurePosixPath(self.pattern).parts)


def shipped_parts() -> list[ShippedPart]:
    """Return all parts of the package that are data, models first."""
    catalog = package_catalog()
    models = [
        ShippedPart(f"weights/{entry.builtin}/*", name, entry.license, entry.data)
        for name, entry in catalog.models.items()
        if entry.builtin is not None
    ]
    files = [ShippedPart(pattern, part.about, part.license, part.data) for pattern, part in catalog.files.items()]
    return [*models, *files]


def shipped_files() -> list[PurePosixPath]:
    """Return the files of the package that are not source code, by their paths below its folder."""
    found = [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*") if path.is_file()]
    return sorted(
        PurePosixPath(path.as_posix())
        for path in found
        if path.suffix not in SOURCE_ENDINGS and "__pycache__" not in path.parts
    )


def license_expression() -> str:
    """Return the SPDX expression of the whole package."""
    return " AND ".join(sorted({CODE_LICENSE, *(part.license for part in shipped_parts())}))


def license_table() -> str:
    """Return the table of all parts in Markdown, as README and NOTICE.md have it."""
    rows = [
        ("files", "what", "license", "made from"),
        ("---", "---", "---", "---"),
        ("source code", "", CODE_LICENSE, ""),
        *((f"`{part.pattern}`", part.about, part.license, part.data) for part in shipped_parts()),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
