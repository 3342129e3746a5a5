"""A run's pieces scored on a Ray cluster, or by Ray on this machine."""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import socket
import threading
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from celadon.core import CeladonError, MissingExtraError, UsageError
from celadon.io.pieces import Piece
from celadon.runs.manifest import RunConfig
from celadon.runs.resources import ONE_CORE, Resources, worker_environment
from celadon.runs.shards import ShardRecord

if TYPE_CHECKING:
    from celadon.runs.shards import OnDone

# One piece that is scored and one that waits, so that no worker idles and none hoards.
_PIECES_AT_A_WORKER = 2
_ANSWER_SECONDS = 10
_LISTEN_SECONDS = 0.5
# Of one worker in a run, by its own fault or that of its node; Ray Data would start it again for ever.
MOST_DEATHS = 5
_ADVICE = (
    "whole shards stay, and the same command goes on; "
    "where memory is short, take fewer --workers or smaller --batch-rows"
)
# Nothing is sent to anybody, the terminal is left to us, and workers are no guests; what the user has set stays.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
}


def score_on_ray(
    config: RunConfig,
    pieces: Sequence[Piece],
    workers: int | None,
    address: str | None,
    on_done: OnDone,
    needs: Resources = ONE_CORE,
) -> None:
    """Score pieces with Ray Data, by actors each of which loads its models once.

    Where an actor or its node dies, Ray starts it elsewhere and gives it its pieces again. All actors are gone when
    this returns or raises, and they die with this process.

    ``pieces``: what is to be scored. All nodes must reach their files, and the folder of the run.
    ``workers``: how many actors; None for as many as the cluster has cores and GPUs for.
    ``address``: of the cluster; None for the one that ``RAY_ADDRESS`` names, or else Ray is started on this machine,
        and stopped again.
    ``on_done``: told of each piece that is done, in the order in which they are.
    ``needs``: what an actor gets of the cluster.
    Raises MissingExtraError if Ray is not installed.
    Raises UsageError if there is no such cluster, or it has not what an actor needs.
    Raises CeladonError if a worker has died again and again.
    """
    ray = imported_ray()
    with _cluster(ray, address, workers and workers * int(needs.cpus)):
        most = _room(ray.cluster_resources(), needs)
        size = min(workers or most, len(pieces))
        listener = _Listener(ray, on_done)
        try:
            with listener:
                _carry_out(ray, config, pieces, size, needs, listener.reports)
        except ray.exceptions.RayError as error:
            # a shard that cannot be made ends the job, and its own words come before those of Ray
            raise listener.failure or _explained(error) from error
    if listener.failure:
        raise listener.failure


def _carry_out(
    ray: Any, config: RunConfig, pieces: Sequence[Piece], workers: int, needs: Resources, reports: Any
) -> None:
    """Read, score and write with Ray Data."""
    from celadon.runs.ray_data import PieceScorer, PiecesDatasource, ShardsDatasink

    environment = {"env_vars": worker_environment(config.threads)}
    # With what scores, if that is cores only: Ray Data then has one actor do both, and no row goes from one process to
    # another. A GPU is not to wait for a disk.
    together = not needs.gpus
    ray.data.read_datasource(
        PiecesDatasource(config, pieces),
        override_num_blocks=len(pieces),
        num_cpus=needs.cpus if together else 0,
        runtime_env=environment if together else None,
    ).map_batches(
        PieceScorer,
        fn_constructor_args=(config, reports),
        # a block, and that is a piece; with a GPU Ray Data wants a number
        batch_size=None if together else 1,
        batch_format="pandas",
        compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=_PIECES_AT_A_WORKER),
        num_cpus=needs.cpus,
        num_gpus=needs.gpus or None,
        runtime_env=environment,
    ).write_datasink(
        ShardsDatasink(config.output, reports),
        # to write is to wait for a disk or a server, and takes no core from those who score
        ray_remote_args={"num_cpus": 0},
        concurrency=workers,
    )


class _Listener:
    """Hears of workers that begin and of finished shards while Ray Data is at work, which tells nothing before its end.

    ``reports``: the queue that workers and writers put their word in.
    ``failure``: why the run cannot go on.
    """

    def __init__(self, ray: Any, on_done: OnDone) -> None:
        from ray.util.queue import Queue
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # Where no other node's death ends it. Asked softly, Ray puts what needs no core anywhere.
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self.reports = Queue(actor_options={"num_cpus": 0, "scheduling_strategy": here})
        self.failure: BaseException | None = None
        self._ray = ray
        self._on_done = on_done
        self._begun: Counter[str] = Counter()
        self._done: set[int] = set()
        self._at_end = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exception: object) -> None:
        self._at_end.set()
        self._thread.join()
        self.reports.shutdown(force=True)

    def _listen(self) -> None:
        try:
            while self._hear(wait=not self._at_end.is_set()):
                pass
        except self._ray.exceptions.RayError:
            # the queue is gone, so that no shard can be told of: Ray Data will say so
            return
        except BaseException as error:  # noqa: BLE001  raised again where somebody waits for it
            self.failure = error
            # with nobody to tell, the next shard or the next worker ends the job
            self.reports.shutdown(force=True)

    def _hear(self, *, wait: bool) -> bool:
        """Take one word; whether there may be more."""
        from ray.util.queue import Empty

        try:
            message = json.loads(self.reports.get(block=wait, timeout=_LISTEN_SECONDS))
        except Empty:
            return wait
        if isinstance(message, str):
            self._begun[message] += 1
            if self._begun[message] > MOST_DEATHS:
                raise CeladonError(f"a Ray worker died {MOST_DEATHS} times; {_ADVICE}")
        # a shard whose writer died at the very end is written twice
        elif message["index"] not in self._done:
            self._done.add(message["index"])
            self._on_done(ShardRecord.from_dict(message))
        return True


def _room(cluster: Mapping[str, float], needs: Resources) -> int:
    """How many actors the cluster has room for."""
    room = math.inf
    for name, needed in (("CPU", needs.cpus), ("GPU", needs.gpus)):
        there = cluster.get(name, 0.0)
        if there < needed:
            raise UsageError(f"--resources: a worker needs {needed:g} {name}s, and the cluster has {there:g}")
        room = min(room, there / needed if needed else math.inf)
    return int(room)


def imported_ray() -> Any:
    """Import Ray and Ray Data, and keep them quiet."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray
            import ray.data
    except ImportError as error:
        raise MissingExtraError("Ray", "ray") from error
    for handler in logging.getLogger("ray.data").handlers:
        # its log file is Ray's own affair
        if type(handler) is not logging.FileHandler and not hasattr(handler, "baseFilename"):
            handler.setLevel(logging.CRITICAL)
    return ray


@contextmanager
def _cluster(ray: Any, address: str | None, workers: int | None) -> Iterator[None]:
    """Be connected to a cluster within the block; one that the caller is connected to already is left as it is."""
    if ray.is_initialized():
        yield
        return
    place = address or os.environ.get("RAY_ADDRESS") or "local"
    # on this machine there are to be as many workers as were asked for, be it on fewer cores
    options = {"num_cpus": workers, "include_dashboard": False} if place == "local" else {}
    _check_answers(place)
    in_main = threading.current_thread() is threading.main_thread()
    at_end = signal.getsignal(signal.SIGTERM) if in_main else None
    try:
        with warnings.catch_warnings(), _no_words_from_below():
            warnings.simplefilter("ignore")
            ray.init(address=place, log_to_driver=False, logging_level=logging.CRITICAL, **options)
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        if place == "local":
            raise CeladonError(f"Ray cannot be started: {_first_line(error)}") from error
        raise UsageError(f"--address {place}: no Ray cluster is there: {_first_line(error)}") from error
    finally:
        # Ray has put its own in the place of ours, which cleans up
        if in_main:
            signal.signal(signal.SIGTERM, at_end)
    try:
        yield
    finally:
        ray.shutdown()


def _check_answers(place: str) -> None:
    """Find out at once whether anybody is there; Ray would try for minutes."""
    host, colon, port = place.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS).close()
        except (OSError, OverflowError) as error:
            raise UsageError(f"--address {place}: no Ray cluster is there: {_first_line(error)}") from error


@contextmanager
def _no_words_from_below() -> Iterator[None]:
    """Keep from the terminal what Ray's C++ says of its log level; a failure is an exception."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _explained(error: Exception) -> CeladonError:
    if "No module named 'celadon'" in str(error):
        return CeladonError("a node of the Ray cluster has no celadon; install the same version on all of them")
    return CeladonError(f"the workers of Ray could not do it: {_first_line(error)}; {_ADVICE}")


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
