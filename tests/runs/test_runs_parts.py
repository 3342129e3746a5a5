"""The parts of a run: states that are put together again, reasons read back, what workers are told."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import InputError, Metric, MetricInfo, MetricScores, OutputError, Sample
from celadon.io import Fields
from celadon.runs.folder import RunFolder
from celadon.runs.manifest import RunConfig
from celadon.runs.report import reasons_of
from celadon.runs.resources import worker_environment
from celadon.runs.shards import ShardRecord, published
from celadon.scoring import Scorer
from celadon.scoring.batch import Batch
from celadon.scoring.cache.score_cache import CacheSettings
from celadon.scoring.scores import merged_reasons
from celadon.scoring.summary import GrowingHistogram, Summarizer, Summary


@dataclass(frozen=True)
class Number(Metric):
    """A metric whose scores are given."""

    info: ClassVar[MetricInfo] = MetricInfo("number", "a number", "as it is", low=-np.inf, high=np.inf)

    def score(self, batch: Batch) -> MetricScores:
        raise NotImplementedError

    def aggregate(self, statistics: np.ndarray) -> float | None:  # type: ignore[type-arg]
        return float(statistics[0] / max(statistics[1], 1.0))


values = st.lists(st.floats(-1e6, 1e6) | st.just(np.nan), min_size=1, max_size=60)


def _add(summarizer: Summarizer, numbers: np.ndarray, names: list[str | None]) -> None:  # type: ignore[type-arg]
    known = np.where(np.isnan(numbers), 0.0, numbers)
    statistics = np.stack([known, np.ones(len(numbers))], axis=1)
    scores = {"number": MetricScores("number", numbers, statistics=statistics)}
    summarizer.add([Sample("", system=name) for name in names], scores)


@settings(max_examples=30)
@given(values, st.integers(0, 60), st.integers(0, 60))
def test_parts_summed_up_apart_are_the_whole(numbers: list[float], cut: int, other: int) -> None:
    array = np.array(numbers)
    systems = ["a", None, "b\0", "\ud800"]
    names = [systems[i % 4] for i in range(len(array))]
    whole = Summarizer([Number()], resamples=7)
    _add(whole, array, names)
    merged = Summarizer([Number()], resamples=7)
    cuts = sorted({0, min(cut, len(array)), min(other, len(array)), len(array)})
    for start, end in pairwise(cuts):
        part = Summarizer([Number()], resamples=7, first_position=start)
        _add(part, array[start:end], names[start:end])
        file = BytesIO()
        np.savez(file, **part.state())
        file.seek(0)
        merged.merge(np.load(file, allow_pickle=False))
    one, two = whole.summary(), merged.summary()
    for row, again in zip(one.rows, two.rows, strict=True):
        assert (row.system, row.count, row.nulls, row.histogram) == (
            again.system,
            again.count,
            again.nulls,
            again.histogram,
        )
        assert (row.mean is None) == (again.mean is None) == (row.count == 0)
        if row.count:
            assert again.mean == pytest.approx(row.mean, rel=1e-9, abs=1e-6)
            for name in ("mean_interval", "corpus_interval"):
                expected, interval = getattr(row, name), getattr(again, name)
                assert (interval is None) == (expected is None)
                assert interval is None or interval == pytest.approx(expected, rel=1e-9, abs=1e-6)
    assert Summary.from_dict(json.loads(json.dumps(two.to_dict(histograms=True)))) == two


@given(
    st.lists(st.floats(-1e300, 1e300) | st.floats(-9, 9), max_size=40),
    st.lists(st.floats(-1e300, 1e300) | st.floats(-9, 9), max_size=40),
)
def test_two_histograms_are_one(first: list[float], second: list[float]) -> None:
    one, two, both = (GrowingHistogram(-np.inf, np.inf) for _ in range(3))
    one.add(np.array(first))
    two.add(np.array(second))
    both.add(np.array([*first, *second]))
    one.merge(*two.state())
    assert one.bins() == both.bins()


SPECS = ["slor", "slor[model=x,context=document]", "gruen", "gruen.redundancy"]
REASONS = ["the text has no words", "no tree; none at all", "x: y, z"]


@given(st.lists(st.dictionaries(st.sampled_from(SPECS), st.sampled_from(REASONS)), max_size=6))
def test_reasons_come_back_as_they_were(rows: list[dict[str, str]]) -> None:
    columns = {
        spec: MetricScores(
            spec,
            np.zeros(len(rows)),
            reasons={number: row[spec] for number, row in enumerate(rows) if spec in row},
        )
        for spec in SPECS
    }
    expected = {spec: dict(scores.reasons) for spec, scores in columns.items()}
    assert reasons_of(merged_reasons(columns, len(rows)), SPECS) == expected


def test_a_config_is_stored_without_secrets() -> None:
    scorer = Scorer(["rougeL"], fields=Fields(text="t"), cache=CacheSettings(max_bytes=5), max_text_chars=100)
    config = RunConfig(scorer.to_dict(), "s3://key:secret@bucket/out/", skip_bad=False, seed=1, resamples=10, threads=3)
    stored = json.loads(json.dumps(config.as_dict()))
    assert "secret" not in str(stored)
    again = RunConfig.from_dict(stored)
    assert again == replace(config, output="s3://bucket/out/")
    assert Scorer.from_dict(again.scorer).to_dict() == scorer.to_dict()
    assert again.fields == Fields(text="t")


def test_a_worker_with_other_weights_refuses() -> None:
    values = {**Scorer("rougeL").to_dict(), "signatures": ["rougeL|of another version"]}
    with pytest.raises(InputError, match="rougeL: this worker would make other scores than the run says"):
        Scorer.from_dict(values)


def test_workers_are_told_their_threads_unless_the_user_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CELADON_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    told = worker_environment(3)
    assert (told["CELADON_THREADS"], told["OMP_NUM_THREADS"], told["OPENBLAS_NUM_THREADS"]) == ("3", "7", "1")


def test_the_note_of_a_shard_is_put_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that cannot be put leaves a shard without its note, which is none."""
    monkeypatch.setenv("CELADON_HOME", str(tmp_path))
    folder = RunFolder("memory://parts/run/")
    folder.make()
    files = ["part-00000.parquet", "shards/part-00000.npz"]
    for name in files:
        (folder.staging / name).write_bytes(b"x")
    put: list[str] = []

    def put_file(_: object, local: str, path: str) -> None:
        if path.endswith(".npz") and len(put) == 1:
            raise OSError("full")
        put.append(path.removeprefix("/parts/run/"))

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.put_file", put_file)
    outcome = ShardRecord(0, files={name: {} for name in files})
    with pytest.raises(OutputError, match=r"memory://parts/run/shards/part-00000\.npz: cannot be written: full"):
        published(folder, outcome)
    assert put == files[:1]
    put.append("again")
    assert published(folder, outcome) is outcome
    assert put[2:] == [*files, "shards/part-00000.json"]
    assert not [path for path in folder.staging.rglob("*") if path.is_file()]
