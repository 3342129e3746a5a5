"""What the tests of reading and writing share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from celadon.core import Sample
from celadon.io import BadRow, Chunk, Fields, Reader


@dataclass
class Outcome:
    """All that one reading gave."""

    reader: Reader
    chunks: list[Chunk]
    bad: list[BadRow]

    @property
    def samples(self) -> list[Sample]:
        return [sample for chunk in self.chunks for sample in chunk.samples]

    @property
    def texts(self) -> list[str]:
        return [sample.text for sample in self.samples]

    @property
    def complaints(self) -> list[str]:
        return [str(bad) for bad in self.bad]


def read_all(*inputs: str | Path, fields: Fields | None = None, **options: Any) -> Outcome:
    bad: list[BadRow] = []
    reader = Reader([str(name) for name in inputs], fields or Fields(), on_bad=bad.append, **options)
    outcome = Outcome(reader, list(reader), bad)
    assert reader.rows_read == len(outcome.samples) + len(bad)
    for chunk in outcome.chunks:
        assert len(chunk) == len(chunk.samples) == len(chunk.files) == len(chunk.lines) > 0
    return outcome


@pytest.fixture(scope="session")
def read() -> Callable[..., Outcome]:
    return read_all


@pytest.fixture
def write_bytes(tmp_path: Path) -> Callable[[str, bytes], Path]:
    def write(name: str, data: bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    return write
