"""The license of every file in the wheel: one entry each, the same in README, NOTICE.md and the wheel's metadata."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path, PurePosixPath

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from celadon.models.store import load_catalog
from celadon.models.store.listing import (
    CODE_LICENSE,
    SOURCE_ENDINGS,
    TEXTS,
    ShippedPart,
    license_expression,
    license_table,
    shipped_files,
    shipped_parts,
)
from tests import processes

ROOT = Path(__file__).resolve().parent.parent
RESTRICTED = re.compile(r"NC|GPL|non-commercial|Penn|Brown", re.IGNORECASE)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    return zipfile.ZipFile(next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])))


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_bytes(wheel.read(name))


def test_every_data_file_of_the_wheel_has_exactly_one_license(wheel: zipfile.ZipFile) -> None:
    inside = [PurePosixPath(name) for name in wheel.namelist() if ".dist-info/" not in name]
    data = [path.relative_to("celadon") for path in inside if path.suffix not in SOURCE_ENDINGS]
    assert PurePosixPath("weights/grammar/words.txt") in data
    assert PurePosixPath("models/language/smollm2/int8.onnx") in data
    parts = shipped_parts()
    licenses = {str(path): [part.license for part in parts if part.covers(path)] for path in data}
    assert {path: found for path, found in licenses.items() if len(found) != 1} == {}
    assert sorted(data) == shipped_files()


def test_no_entry_is_for_nothing() -> None:
    files = shipped_files()
    assert [part.pattern for part in shipped_parts() if not any(map(part.covers, files))] == []


def test_an_entry_is_for_one_folder_only() -> None:
    part = ShippedPart("metrics/*.json", "", "MIT", "")
    assert part.covers(PurePosixPath("metrics/a.json"))
    assert not part.covers(PurePosixPath("metrics/deeper/a.json"))
    assert not part.covers(PurePosixPath("metrics/a.npy"))


def test_nothing_restricted_is_in_the_package() -> None:
    assert {part.license for part in shipped_parts()} <= set(TEXTS)
    for part in shipped_parts():
        assert not RESTRICTED.search(part.license)
        assert part.data
    grammar = next(part for part in shipped_parts() if "grammar" in part.pattern)
    assert not RESTRICTED.search(grammar.data)
    card = (ROOT / "src/celadon/weights/grammar/card.md").read_text(encoding="utf-8")
    assert "treebank.zip" not in card
    assert "gum_const_dev.ptb.xz" in card


def test_the_catalog_has_a_license_and_data_for_each_builtin_model() -> None:
    for model in load_catalog().models.values():
        assert model.license
        assert model.data or model.builtin is None


def test_the_metadata_names_the_licenses_and_holds_their_texts(wheel: zipfile.ZipFile, metadata: Message) -> None:
    expression = metadata["License-Expression"]
    assert expression == license_expression()
    files = metadata.get_all("License-File", [])
    folder = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")).removesuffix("METADATA")
    texts = {name: wheel.read(f"{folder}licenses/{name}").decode() for name in files}
    assert "Apache License" in texts["LICENSE"]
    for license_ in expression.split(" AND "):
        assert license_ == CODE_LICENSE or f"LICENSES/{license_}.txt" in texts
    assert (
        "Creative Commons Attribution-ShareAlike 4.0 International Public\nLicense"
        in texts["LICENSES/CC-BY-SA-4.0.txt"]
    )
    assert license_table() in texts["NOTICE.md"]


def test_the_source_distribution_holds_the_texts_too() -> None:
    builder = SdistBuilder(str(ROOT))
    packed = {file.distribution_path for file in builder.recurse_included_files()}
    packed |= set(builder.get_default_build_data()["force_include"].values())
    assert {"LICENSE", "NOTICE.md", "LICENSES/CC-BY-SA-4.0.txt"} <= packed


def test_readme_has_the_same_table() -> None:
    assert license_table() in (ROOT / "README.md").read_text(encoding="utf-8")


def models(*arguments: str) -> str:
    command = [sys.executable, "-m", "celadon", "models", *arguments]
    return processes.run(command, check=True, capture_output=True, text=True).stdout


def test_the_command_names_the_license_of_every_part() -> None:
    assert models("licenses", "--markdown") == license_table()
    told = json.loads(models("licenses", "--json"))
    assert told["license"] == license_expression()
    assert [part["pattern"] for part in told["parts"]] == [part.pattern for part in shipped_parts()]
    listed, plain = models("list"), models("licenses")
    for part in shipped_parts():
        name = part.about if part.is_model else part.pattern
        line = next(line for line in listed.splitlines() if line.split()[:1] == [name])
        assert part.license in line.split()
        assert f"{part.pattern} ({part.about})\n  license: {part.license}\n  made from: {part.data}\n" in plain
