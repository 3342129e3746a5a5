"""Try bfloat16 on what is trained: ``python -m celadon.train.precision_probe``.

Run in a process of its own, because a processor that traps ends it. Exit code 0 if a step of each network comes near to
the same step in float32; 3, with a line on standard error, if it does not or if there is no kernel for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

import torch
from torch import nn

from celadon.train.encoders.network import EncoderNetwork, EncoderShape
from celadon.train.language_models.lstm import LstmLanguageModel, Shape

LARGEST_DIFFERENCE = 0.1
"""Largest relative difference of a loss or of its gradient. Eight bits come to less than 0.01 in these trials."""

Step = Callable[[], torch.Tensor]


def main() -> int:
    """Run every trial and return the exit code."""
    _no_core_dump()
    worst, where = 0.0, ""
    for name, network, step in trials():
        try:
            difference = step_difference(network, step)
        except RuntimeError as error:
            # what follows the first sentence is advice for debugging
            reason = " ".join(str(error).split()).partition(". ")[0].rstrip(".")
            print(f"{name} cannot be computed: {reason}", file=sys.stderr)  # noqa: T201
            return 3
        # so written that a difference which is not a number is the worst
        if not difference <= worst:
            worst, where = difference, name
        if not worst <= LARGEST_DIFFERENCE:
            break
    if not worst <= LARGEST_DIFFERENCE:
        print(f"{where} differs from float32 by {worst:.2g}", file=sys.stderr)  # noqa: T201
        return 3
    return 0


def trials() -> Iterator[tuple[str, nn.Module, Step]]:
    """Yield networks with a training step each, small and of the sizes in use: kernels are chosen by size."""
    draw = torch.Generator().manual_seed(0)
    for name, shape, rows, length in (
        ("a small encoder", EncoderShape(64, hidden=32, layers=2, heads=4, inner=64, positions=64), 4, 9),
        ("an encoder", EncoderShape(512, layers=2), 8, 48),
    ):
        yield name, *_encoder(shape, rows, length, draw)
    for name, lstm, rows, length in (
        ("a small LSTM", Shape(64, 16, 2, ()), 4, 9),
        ("an LSTM", Shape(3_000, 512, 2, (2_000,)), 16, 24),
    ):
        yield name, *_language_model(lstm, rows, length, draw)


def _encoder(shape: EncoderShape, rows: int, length: int, draw: torch.Generator) -> tuple[nn.Module, Step]:
    network = EncoderNetwork(shape, dropout=0.0)
    ids = torch.randint(shape.vocabulary, (rows, length), generator=draw)
    lengths = torch.randint(2, length + 1, (rows,), generator=draw)
    signs = torch.randn(rows, shape.hidden + 2 * shape.projection + 1, generator=draw)

    def step() -> torch.Tensor:
        heads = network(ids, lengths)
        every = torch.cat([heads.acceptability[:, None], heads.meaning, heads.before, heads.after], dim=1)
        return (every * signs).square().sum()

    return network, step


def _language_model(shape: Shape, rows: int, length: int, draw: torch.Generator) -> tuple[nn.Module, Step]:
    network = LstmLanguageModel(shape)
    network.initialise(torch.log_softmax(torch.randn(shape.vocabulary, generator=draw), 0), seed=0)
    tokens = torch.randint(shape.vocabulary, (length + 1, rows), generator=draw)

    def step() -> torch.Tensor:
        losses: torch.Tensor = network(tokens[:-1], tokens[1:])
        return losses.sum()

    return network, step


def step_difference(network: nn.Module, step: Step) -> float:
    """Return the larger of the relative differences of the loss and of all gradients, from those in float32."""
    expected, actual = (_loss_and_gradient(network, step, bfloat16=bfloat16) for bfloat16 in (False, True))
    parts = [float((one - other).norm() / one.norm()) for one, other in zip(expected, actual, strict=True)]
    return max(parts) if all(part == part for part in parts) else float("nan")  # noqa: PLR0124 - nan equals nothing


def _loss_and_gradient(network: nn.Module, step: Step, *, bfloat16: bool) -> tuple[torch.Tensor, torch.Tensor]:
    network.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
        loss = step()
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = [weight.grad.flatten() for weight in network.parameters() if weight.grad is not None]
    return loss.detach(), torch.cat(gradients)


def _no_core_dump() -> None:
    """Keep a trap from writing the process's memory to the disk."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


if __name__ == "__main__":
    sys.exit(main())
