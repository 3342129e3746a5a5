"""A realizer trained on a few trees, and a file of trees."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from celadon.models.store import write_manifest
from celadon.realize.model_files import save_fergus
from tests.conftest import missing_part
from tests.realize.small_treebank import CONLLU, trained


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    if find_spec("torch") is None:
        missing_part("torch", "celadon install train")
    folder = tmp_path_factory.mktemp("fergus")
    save_fergus(folder, trained())
    write_manifest(folder)
    return str(folder)


@pytest.fixture
def trees(tmp_path: Path) -> str:
    path = tmp_path / "trees.conllu"
    path.write_text(CONLLU)
    return str(path)
