"""Parsers whose library runs in processes of its own: what goes wrong inside it costs a sentence, never the run."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar

from celadon.core import CeladonError, MissingExtraError
from celadon.parsing import Failure, Reason
from celadon.text.scripts import is_in_scripts, is_wordless

_LOOP = Path(__file__).with_name("worker_loop.py")

# Seconds by the clock: it takes two at most where nothing else is going on
_TIME_TO_START = 120

Answer: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """What a process runs, under its name for messages.

    ``script`` is a file with a class ``Library`` that has ``versions``, ``parse`` for a sentence, and imports only the
    standard library; it raises ImportError with the name of what is not installed. ``options`` are what it is called
    with.
    """

    name: str
    script: Path
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """What one sentence may take.

    ``seconds`` are processor time, which does not depend on what else the machine does; ``bytes`` the memory of a
    process; ``patience`` is in seconds by the clock, after which a process that does not answer is ended and replaced.
    """

    seconds: int
    bytes: int
    patience: float


class _NotStartedError(CeladonError):
    pass


class _Worker:
    """One process, and one sentence at a time."""

    def __init__(self, program: Program, limits: Limits) -> None:
        self._limits = limits
        self._late = False
        told: dict[str, Any] = {"script": str(program.script), "options": dict(program.options)}
        told |= {"seconds": limits.seconds, "bytes": limits.bytes}
        # Link Grammar looks for its dictionary in the working folder first, so that must not be the user's.
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_LOOP), json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=program.script.parent,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
        self.versions = self._exchange(b"", max(_TIME_TO_START, limits.patience))
        if self.versions is None:
            self.end()
            raise _NotStartedError(f"a process for {program.name} did not start; is there memory for it?")
        if "absent" in self.versions:
            self.end()
            raise MissingExtraError(self.versions["absent"], "parse")

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def ask(self, sentence: str) -> Answer | None:
        """Return the answer; None where there is none, and then the process has ended."""
        answer = self._exchange(json.dumps(sentence).encode() + b"\n", self._limits.patience)
        if answer is None:
            self.end()
        return answer

    @property
    def ended_by_its_own_clock(self) -> bool:
        """Whether a sentence took all of its processor time, so that another try would end the same way."""
        return self.process.returncode == -signal.SIGPROF

    @property
    def failure(self) -> str:
        """Why the process that gave no answer ended: the name of a reason."""
        return "TIME_LIMIT" if self._late or self.ended_by_its_own_clock else "CRASHED"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(OSError):  # a sentence that nobody has read
                pipe.close()

    def _exchange(self, message: bytes, patience: float) -> Answer | None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        watch = threading.Timer(patience, self._stop)
        watch.daemon = True
        watch.start()
        try:
            self.process.stdin.write(message)
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            return None
        finally:
            watch.cancel()
        if not line.endswith(b"\n"):
            return None
        answer: Answer = json.loads(line)
        return answer

    def _stop(self) -> None:
        self._late = True
        self.process.kill()


class Workers:
    """A number of processes that answer sentences, started when they are first needed.

    Any thread may ask. A process that ends while it has a sentence, for whatever reason, is replaced, and the sentence
    is tried once more. The processes end with this one, however it ends.
    """

    def __init__(self, count: int, program: Program, limits: Limits) -> None:
        self.count = count
        self._program, self._limits = program, limits
        self._owner = os.getpid()
        self._started: set[_Worker] = set()
        self._idle = self._empty_places()
        weakref.finalize(self, _end, self._started, self._owner)

    @property
    def versions(self) -> dict[str, str]:
        """The versions of the library and of its data."""
        worker = self._take()
        self._idle.put(worker)
        return worker.versions or {}

    @property
    def process_ids(self) -> list[int]:
        """The processes that run now."""
        return [worker.process.pid for worker in list(self._started) if worker.alive]

    def ask(self, sentences: Sequence[str]) -> list[Answer]:
        """Return what the library says of each sentence, in their order, or why it says nothing."""
        with ThreadPoolExecutor(self.count) as threads:
            waiting = [threads.submit(self._answer, sentence) for sentence in sentences]
            try:
                return [answer.result() for answer in waiting]
            except BaseException:
                for answer in waiting:
                    answer.cancel()
                raise

    def close(self) -> None:
        """End the processes; a later question starts new ones."""
        _end(self._started, self._owner)
        self._idle = self._empty_places()

    def _answer(self, sentence: str) -> Answer:
        worker = self._take()
        try:
            answer = worker.ask(sentence)
            if answer is None and not worker.ended_by_its_own_clock:
                self._started.discard(worker)
                worker = self._start()
                answer = worker.ask(sentence)
            return answer or {"failure": worker.failure}
        finally:
            self._idle.put(worker)

    def _take(self) -> _Worker:
        """Return a process that nobody else has, which may be a new one."""
        if self._owner != os.getpid():  # a fork has copied this object, but the processes are its parent's
            self._owner = os.getpid()
            self._started.clear()
            self._idle = self._empty_places()
        worker = self._idle.get()
        if worker is not None and worker.alive:
            return worker
        if worker is not None:
            worker.end()
            self._started.discard(worker)
        try:
            return self._start()
        except BaseException:
            self._idle.put(None)
            raise

    def _start(self) -> _Worker:
        try:
            worker = _Worker(self._program, self._limits)
        except _NotStartedError:  # somebody may have ended it just then
            worker = _Worker(self._program, self._limits)
        self._started.add(worker)
        return worker

    def _empty_places(self) -> queue.SimpleQueue[_Worker | None]:
        places: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()
        for _ in range(self.count):
            places.put(None)
        return places


def _end(started: set[_Worker], owner: int) -> None:
    if owner != os.getpid():
        return
    while started:
        started.pop().end()


SCRIPTS = ("Latin",)

FOREIGN = {0: " "} | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
"""What stands for characters that a library in another language cannot be given."""

_MEMORY = 2 << 30

# A process that has not answered after so many times its processor time is not at work but stopped, however busy the
# machine is.
_PATIENCE = 20

Result = TypeVar("Result")


class WorkerParser(ABC, Generic[Result]):
    """A parser of English that runs in processes.

    A sentence may take ``time_limit`` seconds of processor time. A process that does not answer within ``patience``
    seconds by the clock is replaced; by default many times ``time_limit``, since other work may slow it down.
    """

    max_words: int

    def __init__(self, program: Program, workers: int, time_limit: int, patience: float | None) -> None:
        limits = Limits(time_limit, _MEMORY, _PATIENCE * time_limit if patience is None else patience)
        self._workers = Workers(workers, program, limits)

    @property
    def process_ids(self) -> list[int]:
        """The processes that run the parser now."""
        return self._workers.process_ids

    def parse(self, sentences: Sequence[str]) -> list[Result | Failure]:
        """Parse sentences; one entry per sentence, in their order."""
        refusals = [self._refusal(sentence) for sentence in sentences]
        asked = [s.translate(FOREIGN) for s, refusal in zip(sentences, refusals, strict=True) if refusal is None]
        answers = iter(zip(asked, self._workers.ask(asked), strict=True))
        return [self._result(*next(answers)) if refusal is None else Failure(refusal) for refusal in refusals]

    def close(self) -> None:
        """End the processes."""
        self._workers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _refusal(self, sentence: str) -> Reason | None:
        if is_wordless(sentence):
            return Reason.NO_WORDS
        if not is_in_scripts(sentence, SCRIPTS):
            return Reason.UNKNOWN_SCRIPT
        return Reason.TOO_LONG if len(sentence.split()) > self.max_words else None

    def _result(self, sentence: str, answer: Answer) -> Result | Failure:
        return Failure(Reason[answer["failure"]]) if "failure" in answer else self._read(sentence, answer)

    @abstractmethod
    def _read(self, sentence: str, answer: Answer) -> Result:
        """Return what an answer says of a sentence."""
