"""What data come with the package, each part under which license: one source for the listing, README and NOTICE.md.

The catalog of the package names the license and the data of each model that comes with it, and in its section ``files``
those of all other files that are data. Everything else in the package is source code under the license of the package.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from celadon.models.store.catalog import OF_THE_PACKAGE

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
    """A part of the package that is data.

    Attributes
    ----------
    pattern
        Its files, below the folder of the package.
    about
        What it is.
    license
        An SPDX expression.
    data
        What it was made from, and under which terms that is published.
    """

    pattern: str
    about: str
    license: str
    data: str

    @property
    def is_model(self) -> bool:
        """Return whether it is a model of the catalog."""
        return self.pattern.startswith("weights/")

    def covers(self, path: PurePosixPath) -> bool:
        """Return whether a file, by its path below the folder of the package, is of this part."""
        return fnmatchcase(str(path), self.pattern) and len(path.parts) == len(PurePosixPath(self.pattern).parts)


def shipped_parts() -> list[ShippedPart]:
    """Return all parts of the package that are data, models first."""
    catalog = json.loads(OF_THE_PACKAGE.read_text(encoding="utf-8"))
    models = {
        f"weights/{entry['builtin']}/*": {**entry, "about": name}
        for name, entry in catalog["models"].items()
        if "builtin" in entry
    }
    return [
        ShippedPart(pattern, entry["about"], entry["license"], entry["data"])
        for pattern, entry in {**models, **catalog["files"]}.items()
    ]


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
