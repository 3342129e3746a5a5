"""Print how many megabytes each distribution of an environment takes, by the files that are there now.

    python benchmarks/environment_size.py .venv

The sum agrees with ``du -sm`` but for the interpreter's own files and compiled modules that no record lists.
"""

from __future__ import annotations

import argparse
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

MEGABYTE = 1024 * 1024


def disk_bytes(path: Path) -> int:
    """Return what a file takes on disk, in whole blocks; 0 where there is none."""
    try:
        return path.lstat().st_blocks * 512
    except OSError:
        return 0


def distribution_bytes(package: Distribution) -> int:
    """Return what the files of a distribution take, with the compiled forms of its modules."""
    files = {Path(str(package.locate_file(file))) for file in package.files or ()}
    compiled = {
        module
        for file in files
        if file.suffix == ".py"
        for module in file.parent.glob(f"__pycache__/{file.stem}.cpython-*.pyc")
    }
    return sum(map(disk_bytes, files | compiled))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("environment", type=Path, nargs="?", default=Path(sys.prefix), help="default: this one")
    parser.add_argument("--least", type=float, default=1.0, help="megabytes of the smallest that has a line of its own")
    arguments = parser.parse_args()
    folders = [str(path) for path in arguments.environment.glob("lib*/python3*/site-packages")]
    sizes = {package.name: distribution_bytes(package) / MEGABYTE for package in distributions(path=folders)}
    whole = sum(disk_bytes(path) for path in arguments.environment.rglob("*")) / MEGABYTE
    rest = whole - sum(sizes.values())
    small = [size for size in sizes.values() if size < arguments.least]
    print("| distribution | MB |\n|---|---|")
    for name, size in sorted(sizes.items(), key=lambda item: -item[1]):
        if size >= arguments.least:
            print(f"| {name} | {size:.0f} |")
    print(f"| {len(small)} others under {arguments.least:g} MB | {sum(small):.0f} |")
    print(f"| the environment's own files | {rest:.0f} |")
    print(f"| all of {arguments.environment} | {whole:.0f} |")


if __name__ == "__main__":
    main()
