"""A run's pieces scored by processes of this machine."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from celadon.core import CeladonError
from celadon.io.pieces import Piece
from celadon.runs.manifest import RunConfig
from celadon.runs.resources import worker_environment

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from celadon.runs.shards import OnDone, ShardRecord

MOST_TRIES = 3
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_WATCH_SECONDS = 0.5


def score_in_processes(config: RunConfig, pieces: Sequence[Piece], workers: int, on_done: OnDone) -> None:
    """Score pieces in worker processes, each of which loads its models once.

    A worker that is killed costs the work on its piece, which another one does again. All workers are gone when this
    returns or raises, and they die with this process.

    ``on_done``: told of each piece that is done, in the order in which they are.
    Raises CeladonError if a piece has killed its worker again and again.
    """
    waiting = deque(pieces)
    tries: Counter[int] = Counter()
    team: list[_Worker] = []
    try:
        while waiting or any(worker.piece for worker in team):
            while len(team) < min(workers, len(waiting) + sum(worker.piece is not None for worker in team)):
                team.append(_Worker(config))
            for worker in team:
                if worker.piece is None and waiting:
                    worker.give(waiting.popleft())
            busy = {worker.pipe: worker for worker in team if worker.piece}
            for pipe in connection.wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                piece, record = worker.take()
                if record is not None:
                    on_done(record)
                    continue
                team.remove(worker)
                how = worker.end()
                tries[piece.index] += 1
                if tries[piece.index] >= MOST_TRIES:
                    raise _deadly(piece, how)
                waiting.appendleft(piece)
    finally:
        for worker in team:
            worker.end()


def _deadly(piece: Piece, how: str) -> CeladonError:
    from celadon.runs.shards import place_of

    return CeladonError(
        f"{place_of(piece)}: its worker {how}, {MOST_TRIES} times; "
        "where memory is short, take fewer --workers or smaller --batch-rows"
    )


class _Worker:
    """One process, and the piece it is at."""

    def __init__(self, config: RunConfig) -> None:
        context = get_context("spawn")
        self.piece: Piece | None = None
        self.pipe, theirs = context.Pipe()
        self._process: SpawnProcess = context.Process(target=_work, args=(theirs, config, os.getpid()), daemon=True)
        with _environment(worker_environment(config.threads)):
            self._process.start()
        theirs.close()

    def give(self, piece: Piece) -> None:
        self.piece = piece
        # a dead worker is found out when its answer is looked for
        with suppress(OSError):
            self.pipe.send(piece)

    def take(self) -> tuple[Piece, ShardRecord | None]:
        """The piece and what came of it; None where the worker is dead."""
        assert self.piece is not None
        piece, self.piece = self.piece, None
        try:
            return piece, self.pipe.recv()
        except (EOFError, OSError):
            return piece, None

    def end(self) -> str:
        """Stop the process at once, unless it has ended; tell how it did."""
        self._process.kill()
        self._process.join()
        self.pipe.close()
        code = self._process.exitcode or 0
        return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set what a process started meanwhile inherits: libraries look when they are loaded, before any code of ours."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(pipe: Connection, config: RunConfig, driver: int) -> None:
    """What a worker does until there is nothing left to do or nobody to do it for."""
    # an interrupt from the keyboard comes to all processes; the driver decides
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with(driver)
    from tqdm import tqdm

    from celadon.runs.shards import ShardScorer

    # the lock it would make for all processes outlives one that is killed
    tqdm.set_lock(threading.RLock())
    scorer = ShardScorer(config)
    with suppress(EOFError, OSError):
        while True:
            pipe.send(scorer(pipe.recv()))


def _die_with(driver: int) -> None:
    """Let the system kill this process when its driver dies, however that comes about."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(driver,), daemon=True).start()
    if os.getppid() != driver:
        os._exit(1)


def _watch(driver: int) -> None:
    while os.getppid() == driver:
        time.sleep(_WATCH_SECONDS)
    os._exit(1)
