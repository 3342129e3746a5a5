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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from celadon.core import CeladonError, MissingExtraError, UsageError
from celadon.engine.runs.order import RunOrder
from celadon.engine.runs.processes import outcome_of
from celadon.engine.runs.resources import ONE_CORE, Resources
from celadon.io.pieces import Piece

if TYPE_CHECKING:
    from celadon.engine.runs.shards import OnDone

# One piece that is scored and one that waits, so that no worker idles and none hoards.
_PIECES_AT_A_WORKER = 2
_ANSWER_SECONDS = 10
# Of one worker in a run, by its own fault or that of its node.
MOST_DEATHS = 5
# Nothing is sent to anybody, the terminal is left to us, and workers are no guests; what the user has set stays.
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",
}


def score_on_ray(
    order: RunOrder,
    pieces: Sequence[Piece],
    workers: int | None,
    address: str | None,
    on_done: OnDone,
    needs: Resources = ONE_CORE,
) -> None:
    """Score pieces with Ray Data, by actors each of which loads its models once.

    Where an actor or its node dies, Ray starts it elsewhere and gives it its pieces again. All actors are gone when
    this returns or raises, and they die with this process.

    Parameters
    ----------
    order
        What is to be done.
    pieces
        What is to be scored. All nodes must reach their files, and the folder of the run.
    workers
        How many actors; None for as many as the cluster has cores and GPUs for.
    address
        Of the cluster; None for the one that ``RAY_ADDRESS`` names, or else Ray is started on this machine, and
        stopped again.
    on_done
        Told of each piece that is done, in the order in which they are.
    needs
        What an actor gets of the cluster.

    Raises
    ------
    MissingExtraError
        Ray is not installed.
    UsageError
        There is no such cluster, or it has not what an actor needs.
    CeladonError
        A worker has died again and again.
    """
    ray = imported_ray()
    with _cluster(ray, address, workers and workers * int(needs.cpus)):
        most = _room(ray.cluster_resources(), needs)
        try:
            for row in _scored(ray, order, pieces, workers or most, needs).iter_rows():
                on_done(_outcome(row))
        except ray.exceptions.RayError as error:
            raise _explained(error) from error


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


def _scored(ray: Any, order: RunOrder, pieces: Sequence[Piece], workers: int, needs: Resources) -> Any:
    """The dataset of outcomes, one of each piece; nothing is done before it is gone through."""
    with warnings.catch_warnings():
        # of max_restarts, which has no other name as yet
        warnings.simplefilter("ignore")
        # a block a piece, because a block is told of when all of it is done
        waiting = ray.data.from_items([{"piece": _packed(piece)} for piece in pieces], override_num_blocks=len(pieces))
        return waiting.map_batches(
            PieceScorer,
            fn_constructor_args=(order,),
            batch_size=1,
            batch_format="numpy",
            compute=ray.data.ActorPoolStrategy(
                size=min(workers, len(pieces)), max_tasks_in_flight_per_actor=_PIECES_AT_A_WORKER
            ),
            num_cpus=needs.cpus,
            num_gpus=needs.gpus or None,
            runtime_env={"env_vars": order.environment},
            max_restarts=MOST_DEATHS - 1,
            # every attempt to reach a node that is gone counts as one, so it is deaths that are counted
            max_task_retries=-1,
        )


class PieceScorer:
    """What a Ray actor holds: a scorer of pieces, with its models."""

    def __init__(self, order: RunOrder) -> None:
        from celadon.engine.runs.shards import ShardScorer

        self._scorer = ShardScorer(order)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        """Score the pieces of a batch and tell of each what came of it."""
        pieces = [Piece(**json.loads(packed)) for packed in batch["piece"]]
        return {"outcome": [json.dumps(outcome_of(self._scorer, piece).as_dict()) for piece in pieces]}


def _packed(piece: Piece) -> str:
    # not as_dict, which leaves out what an address needs to be read
    return json.dumps(asdict(piece))


def _outcome(row: dict[str, str]) -> Any:
    from celadon.engine.runs.shards import ShardOutcome

    return ShardOutcome.from_dict(json.loads(row["outcome"]))


def _explained(error: Exception) -> CeladonError:
    if "No module named 'celadon'" in str(error):
        return CeladonError("a node of the Ray cluster has no celadon; install the same version on all of them")
    return CeladonError(
        f"a Ray worker could not be started, or died {MOST_DEATHS} times: {_first_line(error)}; whole shards stay, "
        "and the same command goes on; where memory is short, take fewer --workers or smaller --batch-rows"
    )


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
