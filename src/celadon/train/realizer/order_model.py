"""Training of FERGUS's order model: the likelihood of whole orders of treelets, over all their orders."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray
from celadon.realize.order_model import BITS, Features, OrderModel
from celadon.train.training_run import import_torch

if TYPE_CHECKING:
    import torch

LARGEST = 9
"""Treelets of more items, the head counted, are not trained on: their orders are too many to sum over."""


class Treelet(NamedTuple):
    """A head with its daughters as it is trained on."""

    features: Features  # what :func:`celadon.realize.order_model.treelet_features` says of it
    order: tuple[int, ...]  # the numbers of its items in the order of the sentence


@dataclass(frozen=True)
class OrderRecipe:
    """How the order model is trained."""

    epochs: int = 10  # how often every treelet is seen
    rate: float = 0.03  # the step size of Adagrad
    batch: int = 256  # treelets at once
    decay: float = 0.0  # how strongly the weights of the features that a batch has are drawn to zero
    seed: int = 0  # which order the batches come in


class _Level(NamedTuple):
    """The partial orders of some length: which come before each, and what the last item adds."""

    earlier: IntArray
    last_earlier: IntArray
    last: IntArray
    placed: npt.NDArray[np.float32]


@lru_cache(maxsize=16)
def _levels(size: int) -> tuple[_Level, ...]:
    place = {(1 << item, item): item for item in range(size)}
    levels = []
    for length in range(2, size + 1):
        ends = [(mask, item) for mask in range(1 << size) if mask.bit_count() == length for item in _items(mask)]
        earlier, last_earlier = [], []
        for mask, item in ends:
            rest = mask ^ (1 << item)
            earlier.append([place[rest, each] for each in _items(rest)])
            last_earlier.append(_items(rest))
        placed = [[float((mask ^ (1 << item)) >> each & 1) for each in range(size)] for mask, item in ends]
        arrays = np.array(earlier), np.array(last_earlier), np.array([item for _, item in ends])
        levels.append(_Level(*arrays, np.array(placed, dtype=np.float32)))
        place = {end: number for number, end in enumerate(ends)}
    return tuple(levels)


def _items(mask: int) -> list[int]:
    return [item for item in range(mask.bit_length()) if mask >> item & 1]


def train_order_model(
    treelets: Sequence[Treelet], recipe: OrderRecipe, advance: Callable[[int], Any] = lambda done: None
) -> OrderModel:
    """Train the weights; ``advance`` is called with how many more treelets were seen."""
    torch = import_torch()
    by_size: defaultdict[int, list[Treelet]] = defaultdict(list)
    for treelet in treelets:
        if 2 <= len(treelet.order) <= LARGEST:
            by_size[len(treelet.order)].append(treelet)
    generator = np.random.default_rng(recipe.seed)
    weights, squares = np.zeros(1 << BITS, dtype=np.float32), np.full(1 << BITS, 1e-10, dtype=np.float32)
    for _ in range(recipe.epochs):
        for batch in _batches(by_size, recipe.batch, generator):
            used, where = np.unique(
                np.concatenate([treelet.features.numbers for treelet in batch]), return_inverse=True
            )
            touched = torch.tensor(weights[used], requires_grad=True)
            loss: Any = _loss(touched, torch.from_numpy(where), batch)
            loss.backward()
            slope = touched.grad.numpy() + recipe.decay * weights[used]
            squares[used] += slope * slope
            weights[used] -= recipe.rate * slope / np.sqrt(squares[used])
            advance(len(batch))
    return OrderModel(weights)


def _batches(by_size: dict[int, list[Treelet]], batch: int, generator: np.random.Generator) -> list[list[Treelet]]:
    found = []
    for size, treelets in sorted(by_size.items()):
        order = generator.permutation(len(treelets))
        step = max(16, batch >> max(0, size - 4))
        found += [[treelets[each] for each in order[at : at + step]] for at in range(0, len(order), step)]
    return [found[each] for each in generator.permutation(len(found))]


def _loss(weights: torch.Tensor, where: torch.Tensor, batch: Sequence[Treelet]) -> torch.Tensor:
    """How far the orders of the treelets, all of one size, are from having all the probability."""
    torch = import_torch()
    size = len(batch[0].order)
    sizes = np.concatenate([treelet.features.sizes for treelet in batch])
    offsets = torch.from_numpy(np.cumsum(sizes, dtype=np.int64) - sizes)
    sums = torch.nn.functional.embedding_bag(where, weights[:, None], offsets, mode="sum").reshape(len(batch), -1)
    rows, columns = np.nonzero(~np.eye(size, dtype=np.bool_))
    pairs = len(rows)
    places = (torch.arange(len(batch))[:, None], torch.tensor(rows)[None], torch.tensor(columns)[None])
    before, beside = (
        torch.zeros(len(batch), size, size).index_put(places, sums[:, start : start + pairs]) for start in (0, pairs)
    )
    first, last = sums[:, 2 * pairs : 2 * pairs + size], sums[:, 2 * pairs + size :]
    everything = _log_total(before, beside, first, last, size)
    order = torch.tensor([treelet.order for treelet in batch])
    row = torch.arange(len(batch))
    true = first[row, order[:, 0]] + last[row, order[:, -1]]
    for at in range(1, size):
        true = true + beside[row, order[:, at - 1], order[:, at]]
        for earlier in range(at):
            true = true + before[row, order[:, earlier], order[:, at]]
    return (everything - true).mean()  # type: ignore[no-any-return]


def _log_total(
    before: torch.Tensor, beside: torch.Tensor, first: torch.Tensor, last: torch.Tensor, size: int
) -> torch.Tensor:
    """The logarithm of the sum over all orders, by partial orders of growing length."""
    torch = import_torch()
    reached = first
    for level in _levels(size):
        ways = reached[:, torch.tensor(level.earlier)]
        ways = ways + beside[:, torch.tensor(level.last_earlier), torch.tensor(level.last)[:, None]]
        after = torch.einsum("pk,bkp->bp", torch.tensor(level.placed), before[:, :, torch.tensor(level.last)])
        reached = torch.logsumexp(ways, dim=2) + after
    ends = torch.tensor(_levels(size)[-1].last)
    return torch.logsumexp(reached + last[:, ends], dim=1)  # type: ignore[no-any-return]
