"""What is in the package that users install."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "celadon"
LARGEST_FILE, LARGEST_WEIGHTS = 35_000_000, 95_000_000


@pytest.fixture(scope="module")
def packed() -> set[str]:
    """The paths of the wheel, as its builder chooses them."""
    return {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}


def test_all_that_the_package_has_is_in_the_wheel(packed: set[str]) -> None:
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path.relative_to(PACKAGE.parent).as_posix() for path in files} <= packed


def test_the_weights_are_whole_and_not_too_large(packed: set[str]) -> None:
    manifests = sorted(PACKAGE.glob("weights/*/manifest.json"))
    assert manifests
    total = 0
    for manifest in manifests:
        for name, pin in json.loads(manifest.read_text(encoding="utf-8"))["files"].items():
            assert (manifest.parent / name).relative_to(PACKAGE.parent).as_posix() in packed
            assert pin["size"] <= LARGEST_FILE
            total += pin["size"]
    assert total <= LARGEST_WEIGHTS


def test_nothing_else_is_in_the_wheel(packed: set[str]) -> None:
    assert {path.split("/")[0] for path in packed} == {"celadon"}
