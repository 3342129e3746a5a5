"""The queue: fair, bounded, and every item exactly once, whatever comes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.serve.batcher import BATCH_CHARACTERS, Batcher, QueueFullError
from tests.serve.conftest import run


class Item(NamedTuple):
    name: str
    characters: int = 1


class Recorder:
    """Does items by naming them, and remembers what it did together."""

    def __init__(self, **limits: Any) -> None:
        self.batches: list[tuple[str, list[str]]] = []
        options = {"max_batch": 4, "wait": 0.0, "room": 10_000, **limits}
        self.batcher: Batcher[str, Item, str] = Batcher(self._work, **options)

    def _work(self, kind: str, items: Sequence[Item]) -> list[str | Exception]:
        self.batches.append((kind, [item.name for item in items]))
        return [ValueError(item.name) if "bad" in item.name else f"{kind} {item.name}" for item in items]

    async def asked(self, kind: str, names: Sequence[str], characters: int = 1) -> list[str]:
        order = self.batcher.submit(kind, [Item(name, characters) for name in names])
        later = asyncio.get_running_loop().time() + 10
        return [result async for result in order.results(later)]

    async def served(self, *orders: tuple[str, Sequence[str]]) -> list[Any]:
        """All orders put in at once, then worked on."""
        asked = [asyncio.create_task(self.asked(*order)) for order in orders]
        await asyncio.sleep(0)
        worker = asyncio.create_task(self.batcher.run())
        try:
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            worker.cancel()
            self.batcher.close()


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.integers(1, 12)), min_size=1, max_size=8), st.integers(1, 7))
def test_every_item_once_in_order_and_in_batches_of_its_kind(orders: list[tuple[str, int]], most: int) -> None:
    given = [(kind, [f"{number}.{at}" for at in range(many)]) for number, (kind, many) in enumerate(orders)]
    recorder = Recorder(max_batch=most)
    found = run(recorder.served(*given))
    assert found == [[f"{kind} {name}" for name in names] for kind, names in given]
    assert sorted(name for _, names in recorder.batches for name in names) == sorted(n for _, ns in given for n in ns)
    assert max(len(names) for _, names in recorder.batches) <= most
    kinds = {name: kind for kind, names in given for name in names}
    assert all(kinds[name] == kind for kind, names in recorder.batches for name in names)
    assert recorder.batcher.waiting == 0


def test_a_short_request_does_not_wait_for_a_long_one() -> None:
    recorder = Recorder()
    run(recorder.served(("x", [f"long {at}" for at in range(1000)]), ("x", ["short"])))
    assert "short" in recorder.batches[0][1]


def test_kinds_take_turns() -> None:
    recorder = Recorder()
    run(recorder.served(("x", list("abcdefgh")), ("y", list("ijklmnop"))))
    assert [kind for kind, _ in recorder.batches] == ["x", "y", "x", "y"]


def test_long_texts_are_not_batched_beyond_a_bound() -> None:
    recorder = Recorder(max_batch=100)

    async def work() -> list[str]:
        asked = asyncio.create_task(recorder.asked("x", list("abcde"), BATCH_CHARACTERS // 2))
        worker = asyncio.create_task(recorder.batcher.run())
        found = await asked
        worker.cancel()
        recorder.batcher.close()
        return found

    assert run(work()) == ["x a", "x b", "x c", "x d", "x e"]
    assert [names for _, names in recorder.batches] == [["a", "b"], ["c", "d"], ["e"]]


def test_items_that_come_soon_after_each_other_are_done_together() -> None:
    recorder = Recorder(max_batch=100, wait=0.2)

    async def work() -> None:
        worker = asyncio.create_task(recorder.batcher.run())
        asked = []
        for name in "abcd":
            asked.append(asyncio.create_task(recorder.asked("x", [name])))
            await asyncio.sleep(0.01)
        await asyncio.gather(*asked)
        worker.cancel()
        recorder.batcher.close()

    run(work())
    assert recorder.batches == [("x", ["a", "b", "c", "d"])]


def test_what_fails_fails_alone() -> None:
    recorder = Recorder()
    one, two, three = run(recorder.served(("x", ["a"]), ("x", ["bad"]), ("x", ["b", "c"])))
    assert (one, three) == (["x a"], ["x b", "x c"])
    assert isinstance(two, ValueError)


def test_there_is_room_for_so_many_and_no_more_and_who_leaves_makes_room() -> None:
    recorder = Recorder(room=5)

    async def work() -> None:
        first = recorder.batcher.submit("x", [Item("a")] * 3)
        with pytest.raises(QueueFullError) as refused:
            recorder.batcher.submit("y", [Item("b")] * 3)
        assert refused.value.retry_after >= 1
        recorder.batcher.submit("y", [Item("c")] * 2)
        assert recorder.batcher.waiting == 5
        recorder.batcher.leave(first)
        recorder.batcher.leave(first)
        assert recorder.batcher.waiting == 2
        recorder.batcher.submit("x", [Item("d")] * 3)
        assert recorder.batcher.waiting == 5

    run(work())
    recorder.batcher.close()


def test_an_order_ends_at_its_deadline() -> None:
    recorder = Recorder()

    async def work() -> None:
        order = recorder.batcher.submit("x", [Item("a")])
        with pytest.raises(TimeoutError):
            await anext(order.results(asyncio.get_running_loop().time() + 0.02))

    run(work())
    recorder.batcher.close()
