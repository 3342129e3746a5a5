"""Ray: the same shards as the local engine makes, and the death of workers, nodes and drivers."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import pytest

from celadon.core import CeladonError, MissingExtraError, UsageError
from celadon.io import Fields
from celadon.io.pieces import plan_pieces
from celadon.runs import ray_engine
from celadon.runs.bad_rows import BadRowsError
from celadon.runs.local import Job
from celadon.runs.ray_engine import score_on_ray
from celadon.runs.resources import Resources
from celadon.runs.run import RunSettings, start_run
from celadon.runs.shards import ShardRecord
from celadon.scoring import Scorer
from tests.conftest import missing_part
from tests.runs.ray_nodes import Nodes, several_nodes
from tests.runs.run_parts import (
    METRICS,
    check_every_row_once,
    command,
    hashes,
    is_alive,
    kill,
    make_rows,
    run_of,
    started,
    wait_until,
    write_rows,
)

ROWS = make_rows(2400, seed=5)


@pytest.fixture(scope="module")
def _ray() -> None:
    try:
        import ray  # noqa: F401
    except ImportError:
        missing_part("Ray", "so no cluster is tried: ./celadon install ray")


@pytest.fixture(scope="module")
def nodes(_ray: None) -> Iterator[Nodes]:
    """Three nodes, one cluster for all tests here."""
    with several_nodes(3) as made:
        yield made


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The input of all runs here."""
    return write_rows(tmp_path_factory.mktemp("ray") / "in.jsonl", ROWS)


@pytest.fixture(scope="module")
def expected(source: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The shards that the local engine makes."""
    out = tmp_path_factory.mktemp("local") / "out"
    run_of(source, out)
    return hashes(out)


def test_three_nodes_make_the_same_bytes_though_one_is_killed_in_the_middle(
    nodes: Nodes, source: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    asked = command(source, out, "--engine", "ray", "--address", nodes.address, "--workers", "3")
    with started(asked, {}) as driver:
        # three nodes start slowly on a busy machine
        wait_until(lambda: len(whole(out)) >= 5, seconds=150)
        nodes.kill_one()
        assert driver.poll() is None
        _, said = driver.communicate(timeout=90)
    lines = said.decode().splitlines()
    assert driver.returncode == 0, lines
    assert hashes(out) == expected
    check_every_row_once(out, ROWS)
    # no word but ours
    assert [line for line in lines if not line.startswith(("2,400 rows scored", "wrote "))] == []


def test_a_driver_killed_takes_its_workers_along_and_another_engine_goes_on(
    source: Path, expected: dict[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with started(command(source, out, "--engine", "ray", "--workers", "1"), {}) as driver:
        wait_until(lambda: len(whole(out)) >= 5)
        workers = [process for process in descendants(driver.pid) if b"MapWorker" in command_line(process)]
        assert len(workers) == 1
        # Ray Data reads, in the actor that scores
        assert b"ReadPieces->MapBatches(PieceScorer)" in command_line(workers[0])
        kill(driver.pid)
    # what else Ray has started goes by itself, in a minute
    wait_until(lambda: not any(map(is_alive, workers)), seconds=30)
    before = whole(out)
    assert len(before) < len(ROWS) / 40
    run_of(source, out)
    # nothing that was whole was made a second time
    assert before.items() <= whole(out).items()
    assert hashes(out) == expected
    check_every_row_once(out, ROWS)


def test_a_worker_gets_what_it_needs_and_what_cannot_be_is_given_up(
    nodes: Nodes, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Deadly:
        """The config of a run that no worker survives; defined here so that it is sent along."""

        threads = 1
        output = str(tmp_path)
        scorer: ClassVar = Scorer("rougeL").to_dict()
        fields = Fields()

        @property
        def skip_bad(self) -> None:
            import ray

            given = ray.get_runtime_context().get_assigned_resources()
            Path(self.output, "given.json").write_text(json.dumps(given), encoding="utf-8")
            os._exit(9)

    pieces = plan_pieces([str(source)], None, len(ROWS), work_folder=tmp_path).pieces
    deadly: Any = Deadly()
    handler = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("celadon.runs.ray_engine.MOST_DEATHS", 2)
    said: list[str] = []
    plans = logging.getLogger("ray.data._internal.execution.streaming_executor")
    monkeypatch.setattr(plans, "filters", [lambda record: said.append(record.getMessage())])
    with pytest.raises(CeladonError, match="died 2 times"):
        score_on_ray(deadly, pieces, 1, nodes.address, pytest.fail, Resources(gpus=0.5))
    given = json.loads((tmp_path / "given.json").read_text(encoding="utf-8"))
    assert {name: given[name] for name in ("CPU", "GPU")} == {"CPU": 1.0, "GPU": 0.5}
    # a GPU does not wait for who reads and who writes
    plan = "MapOperator[ReadPieces] -> ActorPoolMapOperator[MapBatches(PieceScorer)] -> TaskPoolMapOperator[Write]"
    assert plan in "\n".join(said)
    with pytest.raises(UsageError, match="--resources: a worker needs 2 GPUs, and the cluster has 1"):
        score_on_ray(deadly, pieces, 1, nodes.address, pytest.fail, Resources(gpus=2))
    import ray

    assert not ray.is_initialized()
    assert signal.getsignal(signal.SIGTERM) is handler


def test_who_listens_is_where_the_driver_is(nodes: Nodes) -> None:
    """So that the death of another node does not end the run, not even before the first shard."""
    ray = ray_engine.imported_ray()
    with ray_engine._cluster(ray, nodes.address, None):
        listeners = [ray_engine._Listener(ray, pytest.fail) for _ in range(3)]
        places = [
            listener.reports.actor.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id())
            for listener in listeners
        ]
        assert set(ray.get(places)) == {ray.get_runtime_context().get_node_id()}


def whole(out: Path) -> dict[str, int]:
    """The shards that are whole, and when they were."""
    return {path.name: path.stat().st_mtime_ns for path in out.glob("shards/part-*.json")}


def command_line(process: int) -> bytes:
    """What a process calls itself; nothing where it is gone."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def descendants(process: int) -> list[int]:
    """The children of a process, and theirs."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [process]
    for parent in found:
        found.extend(child for child, its in parents.items() if its == parent)
    return found[1:]


class Heard(list[str]):
    """A queue to which the sink tells what came of a piece."""

    put = list.append


@pytest.mark.usefixtures("_ray")
def test_what_ray_data_reads_scores_and_writes(tmp_path: Path) -> None:
    from celadon.runs.ray_data import PieceScorer, PiecesDatasource, ShardsDatasink

    source = write_rows(tmp_path / "in.jsonl", ["[1]", *ROWS[:3]])
    out, heard = tmp_path / "out", Heard()

    def score_here(order: Any, pieces: Any, workers: Any, address: Any, on_done: Any, needs: Any) -> None:
        scorer, sink = PieceScorer(order), ShardsDatasink(order.output, heard)
        blocks = [block for task in PiecesDatasource(order, pieces).get_read_tasks(1) for block in task()]
        shards = [scorer(block) for block in blocks]
        assert not [*out.rglob("part-*")]
        sink.write(shards[1:], None)
        with pytest.raises(CeladonError, match=r"part-00000: .*in\.jsonl:1: "):
            sink.write(shards[:1], None)
        with pytest.raises(RuntimeError, match="2 pieces in one batch"):
            scorer(type(blocks[0])({"rows": [*blocks[0]["rows"], *blocks[1]["rows"]]}))
        on_done(ShardRecord.from_dict(json.loads(heard[1])))

    job = Job([str(source)], metrics=METRICS, output=f"{out}/", resamples=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("celadon.runs.ray_engine.score_on_ray", score_here)
        with pytest.raises(BadRowsError, match=r"in\.jsonl:1: "):
            start_run(job, RunSettings(engine="ray", shard_rows=2))
    outcomes = [json.loads(said) for said in heard]
    assert [outcome["index"] for outcome in outcomes] == [1, 0]
    assert (outcomes[0]["rows_scored"], outcomes[0]["bad"]) == (2, [])
    assert [*whole(out)] == ["part-00001.json"]
    # the local engine goes on, to the same bytes
    made = hashes(out)
    run_of(source, out, shard_rows=2, skip_bad=True)
    assert made.items() <= hashes(out).items()
    run_of(source, tmp_path / "local", shard_rows=2, skip_bad=True)
    assert hashes(out) == hashes(tmp_path / "local")


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    nothing: Any = None
    with pytest.raises(MissingExtraError, match="Ray is not installed; install it with: celadon install ray"):
        score_on_ray(nothing, [], 1, None, pytest.fail)


def test_no_cluster_at_the_address() -> None:
    nothing: Any = None
    with pytest.raises(UsageError, match=r"--address 127\.0\.0\.1:1: no Ray cluster is there"):
        score_on_ray(nothing, [], 1, "127.0.0.1:1", pytest.fail)
