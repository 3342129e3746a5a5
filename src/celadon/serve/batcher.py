"""Texts of many requests, scored together: gathered for a few milliseconds, taken in turns, never more than fit."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

# A batch of long texts is cut here, so that a short one need not wait for all of them.
BATCH_CHARACTERS = 100_000
# How fast the estimate of the pace forgets.
_FORGET = 0.1
_LONGEST_WAIT = 60


class Item(Protocol):
    """Something that waits to be worked on."""

    @property
    def characters(self) -> int:
        """How long it is."""
        ...


Kind = TypeVar("Kind", bound=Hashable)
Work = TypeVar("Work", bound=Item)
Result = TypeVar("Result")


class QueueFullError(Exception):
    """There is no room; ``retry_after`` is in whole seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("the queue is full")
        self.retry_after = retry_after


class Ticket(Generic[Kind, Work, Result]):
    """The items of one request, and their results as these come, in the order of the items."""

    def __init__(self, kind: Kind, items: Sequence[Work]) -> None:
        self.kind = kind
        self.items = tuple(items)
        self.waiting = deque(range(len(self.items)))
        self._done: list[Result | Exception] = []
        self._abandoned: Exception | None = None
        self._more = asyncio.Event()

    def add(self, result: Result | Exception) -> None:
        """Hand over the next result; what failed ends the ticket when its turn comes."""
        self._done.append(result)
        self._more.set()

    def abandon(self, error: Exception) -> None:
        """End the ticket: nobody wants it any more."""
        self._abandoned = error
        self._more.set()

    async def results(self, deadline: float) -> AsyncIterator[Result]:
        """Give the results as they come, until a moment of the loop's clock."""
        for at in range(len(self.items)):
            while at >= len(self._done):
                if self._abandoned is not None:
                    raise self._abandoned
                self._more.clear()
                async with asyncio.timeout_at(deadline):
                    await self._more.wait()
            result = self._done[at]
            if isinstance(result, Exception):
                raise result
            yield result


@dataclass
class _Group(Generic[Kind, Work, Result]):
    """Tickets of one kind that have items waiting, in turn."""

    kind: Kind
    since: float
    tickets: deque[Ticket[Kind, Work, Result]] = field(default_factory=deque)
    waiting: int = 0


class _Place(NamedTuple, Generic[Kind, Work, Result]):
    ticket: Ticket[Kind, Work, Result]
    item: Work


class Batcher(Generic[Kind, Work, Result]):
    """Gathers items of the same kind, whoever sent them, and works on them in one thread.

    ``work``: does the items of one kind; runs in the thread, one call at a time. Gives one result, or what went wrong,
        each.
    ``max_batch``: the most items of one call.
    ``wait``: seconds that an item may wait for others.
    ``room``: the most items that wait.
    ``on_batch``: told the size of each batch.
    """

    def __init__(
        self,
        work: Callable[[Kind, Sequence[Work]], Sequence[Result | Exception]],
        *,
        max_batch: int,
        wait: float,
        room: int,
        on_batch: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._work = work
        self._max_batch = max_batch
        self._wait = wait
        self._room = room
        self._on_batch = on_batch
        self._groups: OrderedDict[Kind, _Group[Kind, Work, Result]] = OrderedDict()
        self._arrival = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="scoring")
        self._seconds_per_item = 0.0
        self.waiting = 0

    def submit(self, kind: Kind, items: Sequence[Work]) -> Ticket[Kind, Work, Result]:
        """Put the items of a request into the queue, all or none."""
        if self.waiting + len(items) > self._room:
            raise QueueFullError(self.retry_after())
        ticket: Ticket[Kind, Work, Result] = Ticket(kind, items)
        if kind not in self._groups:
            self._groups[kind] = _Group(kind, asyncio.get_running_loop().time())
        group = self._groups[kind]
        group.tickets.append(ticket)
        group.waiting += len(items)
        self.waiting += len(items)
        self._arrival.set()
        return ticket

    def leave(self, ticket: Ticket[Kind, Work, Result]) -> None:
        """Take what still waits of a ticket out of the queue."""
        if not ticket.waiting:
            return
        group = self._groups[ticket.kind]
        group.tickets.remove(ticket)
        self._count(group, -len(ticket.waiting))
        ticket.waiting.clear()

    def retry_after(self) -> int:
        """Estimate in how many seconds the queue will be empty."""
        return min(max(math.ceil(self.waiting * self._seconds_per_item), 1), _LONGEST_WAIT)

    async def run(self) -> None:
        """Work until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            group = await self._ripe()
            places = self._take(group)
            begun = loop.time()
            try:
                results = await loop.run_in_executor(self._thread, self._work, group.kind, [p.item for p in places])
            except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
                results = [error] * len(places)
            self._learn((loop.time() - begun) / len(places))
            self._on_batch(len(places))
            for place, result in zip(places, results, strict=True):
                place.ticket.add(result)

    async def in_thread(self, act: Callable[[], None]) -> None:
        """Do something else in the thread that works."""
        await asyncio.get_running_loop().run_in_executor(self._thread, act)

    def close(self) -> None:
        """Let go of the thread, once it is done with what it does."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _ripe(self) -> _Group[Kind, Work, Result]:
        """The next group in turn that is full or has waited long enough."""
        loop = asyncio.get_running_loop()
        while True:
            now = loop.time()
            soonest = math.inf
            for group in self._groups.values():
                if group.waiting >= self._max_batch or group.since + self._wait <= now:
                    self._groups.move_to_end(group.kind)
                    return group
                soonest = min(soonest, group.since + self._wait)
            self._arrival.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(None if math.isinf(soonest) else soonest):
                    await self._arrival.wait()

    def _take(self, group: _Group[Kind, Work, Result]) -> list[_Place[Kind, Work, Result]]:
        """One item of each ticket in turn, until the batch is full."""
        taken: list[_Place[Kind, Work, Result]] = []
        characters = 0
        while group.tickets and len(taken) < self._max_batch:
            ticket = group.tickets.popleft()
            item = ticket.items[ticket.waiting[0]]
            characters += item.characters
            if taken and characters > BATCH_CHARACTERS:
                group.tickets.appendleft(ticket)
                break
            ticket.waiting.popleft()
            taken.append(_Place(ticket, item))
            if ticket.waiting:
                group.tickets.append(ticket)
        self._count(group, -len(taken))
        return taken

    def _count(self, group: _Group[Kind, Work, Result], change: int) -> None:
        group.waiting += change
        self.waiting += change
        if not group.tickets:
            del self._groups[group.kind]

    def _learn(self, seconds: float) -> None:
        known = self._seconds_per_item
        self._seconds_per_item = seconds if not known else known + _FORGET * (seconds - known)
