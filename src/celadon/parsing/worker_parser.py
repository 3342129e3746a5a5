"""A parser whose library runs in processes of its own: what all such have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Generic, Self, TypeVar

from celadon.parsing import Failure, Reason
from celadon.parsing.worker_processes import Answer, Limits, Program, Workers
from celadon.text.scripts import is_in_scripts, is_wordless

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

    Parameters
    ----------
    program
        What the processes run.
    workers
        How many there are.
    time_limit
        Seconds of processor time that a sentence may take.
    patience
        Seconds by the clock that a process may take to answer before it is replaced; many times ``time_limit`` if
        None, since other work may slow it down.
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
        """Parse sentences; one entry per sentence, in their order.

        Raises
        ------
        MissingPartError
            Where something that the parser needs is not installed.
        """
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
