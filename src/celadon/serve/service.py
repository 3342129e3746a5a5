"""The service itself: what is loaded, what waits, and whether it begins, serves or ends."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum

from celadon.serve.batcher import Batcher, QueueFullError, Ticket
from celadon.serve.meters import Meters
from celadon.serve.refusals import no_room, not_now, too_slow
from celadon.serve.scorer import Answer, Kind, RequestScorer, TextRequest
from celadon.serve.settings import ServeSettings
from celadon.web.security import read_api_keys

ScoreTicket = Ticket[Kind, TextRequest, Answer]


class State(StrEnum):
    """Whether requests are taken."""

    LOADING = "loading"
    READY = "ready"
    DRAINING = "draining"


class Service:
    """Scores requests.

    ``active``: how many requests are being answered.
    ``scored``: how many had all their scores.
    ``failure``, ``on_failure``: why it cannot go on, and who is called then: models may fail to load.
    """

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.scorer = RequestScorer(settings)
        self.keys = None if settings.api_keys is None else read_api_keys(settings.api_keys)
        self.meters = Meters(lambda: self.batcher.waiting)
        self.batcher: Batcher[Kind, TextRequest, Answer] = Batcher(
            self.scorer.work,
            max_batch=settings.max_batch,
            wait=settings.batch_wait,
            room=settings.queue,
            on_batch=self.meters.batch,
        )
        self.state = State.LOADING
        self.active = 0
        self.scored = 0
        self.failure: Exception | None = None
        self.on_failure: Callable[[], None] = lambda: None

    @asynccontextmanager
    async def running(self, app: object = None) -> AsyncIterator[None]:
        """Load the models and score until the end."""
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            task.cancel()
            self.batcher.close()
            self.scorer.close()

    async def _run(self) -> None:
        try:
            await self.batcher.in_thread(self.scorer.load)
            if self.state is State.LOADING:
                self.state = State.READY
            await self.batcher.run()
        except Exception as error:  # noqa: BLE001 - who started the service hears of it
            self.failure = error
            self.on_failure()

    def submit(self, kind: Kind, requests: Sequence[TextRequest]) -> ScoreTicket:
        """Put the texts of a request into the queue."""
        if self.state is not State.READY:
            raise not_now(self.state is State.DRAINING)
        try:
            return self.batcher.submit(kind, requests)
        except QueueFullError as error:
            raise no_room(error.retry_after) from None

    async def answers(self, ticket: ScoreTicket) -> AsyncGenerator[Answer, None]:
        """The answers as they come, until the time is over; whatever happens, nothing of the ticket waits after it."""
        deadline = asyncio.get_running_loop().time() + self.settings.timeout
        try:
            async for answer in ticket.results(deadline):
                yield answer
            self.scored += 1
        except TimeoutError:
            raise too_slow(self.settings.timeout) from None
        finally:
            self.batcher.leave(ticket)

    async def drain(self) -> None:
        """Take no more requests and wait until those that were taken are answered."""
        self.state = State.DRAINING
        patience = math.ceil(self.settings.timeout) + 5
        loop = asyncio.get_running_loop()
        end = loop.time() + patience
        while self.active and loop.time() < end:
            await asyncio.sleep(0.02)
