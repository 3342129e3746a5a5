"""Which licenses the packages of a plain installation have; fails where one is under the GPL (the LGPL is no GPL).

    python benchmarks/core_licenses.py [FOLDER]

Installs celadon without extras into a new virtual environment in FOLDER (default: a temporary one), and pip-licenses
into a second, which reads the first.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NAME = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
# the affero license is a GPL, the lesser one is not
_GPL = re.compile(r"(?<![A-Z])A?GPL|(?<!Lesser )General Public License", re.IGNORECASE)
_EITHER = re.compile(r"\bOR\b")


def is_gpl(license_: str) -> bool:
    """Whether a license leaves no choice but the GPL."""
    return all(_GPL.search(choice) for choice in _EITHER.split(license_))


def licenses(folder: Path) -> list[dict[str, Any]]:
    """The packages of a plain installation, as pip-licenses tells of them."""
    python = {}
    for kind, wanted in (("core", str(ROOT)), ("tool", "pip-licenses>=5")):
        venv.create(folder / kind, with_pip=True, clear=True)
        python[kind] = folder / kind / ("Scripts" if os.name == "nt" else "bin") / "python"
        subprocess.run([python[kind], "-m", "pip", "install", "--quiet", wanted], check=True)
    command = [python["tool"], "-m", "piplicenses", "--python", python["core"], "--from", "mixed", "--format", "json"]
    found: list[dict[str, Any]] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def main() -> int:
    """Print the table; 1 where a package is under the GPL."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary)
        packages = [each for each in licenses(folder) if each["Name"].lower() != NAME]
    print("| package | version | license |\n|---|---|---|")
    for each in packages:
        print(f"| {each['Name']} | {each['Version']} | {each['License']} |")
    many = Counter(each["License"] for each in packages)
    print(f"\n{len(packages)} packages: {', '.join(f'{name} {count}' for name, count in many.most_common())}")
    bad = [each["Name"] for each in packages if is_gpl(each["License"])]
    print(f"under the GPL: {', '.join(bad) or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
