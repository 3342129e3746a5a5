"""Compare a folder of data with the files that our figures were made with, as docs/data.md names them.

    python benchmarks/data/check.py FOLDER

Prints for each file whether its content, uncompressed, is the same, differs (with its number of rows beside ours), or
is missing. A file that `celadon meta load` wrote differs, and should have as many rows. Ends with 1 if one has not.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import lzma
import re
import sys
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "data.md"
_ROW = re.compile(r"^\| `([\w/.-]+)` \| ([\d,]+) ([\w ]+) \| `([0-9a-f]{64})` \|", re.M)
_OPENERS = {".gz": gzip.open, ".xz": lzma.open}


class Known(NamedTuple):
    """A file as the page names it."""

    name: str
    count: int
    unit: str
    sha256: str


def known_files(page: Path = PAGE) -> list[Known]:
    """Return the files that the page names."""
    rows = _ROW.findall(page.read_text(encoding="utf-8"))
    return [Known(name, int(count.replace(",", "")), unit, digest) for name, count, unit, digest in rows]


def compare(folder: Path, known: Known) -> tuple[str, bool]:
    """Return what is to be said of a file, and whether it will do."""
    path = folder / known.name
    if not path.is_file():
        return "missing", True
    digest, count = hashlib.sha256(), 0
    with _OPENERS.get(path.suffix, open)(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
            count += block.count(b"\n")
    if digest.hexdigest() == known.sha256:
        return "the same", True
    if known.unit != "rows":
        return f"differs (ours: {known.count:,} {known.unit})", True
    return f"differs: {count:,} rows, ours {known.count:,}", count == known.count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    if not folder.is_dir():
        sys.exit(f"{folder}: there is no such folder")
    found = [(known.name, *compare(folder, known)) for known in known_files()]
    for name, said, _ in found:
        print(f"{name}: {said}")
    sys.exit(not all(right for _, _, right in found))


if __name__ == "__main__":
    main()
