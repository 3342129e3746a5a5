"""A training run: steps until enough was seen, with checkpoints that a killed run goes on from to the same result."""

from __future__ import annotations

import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from celadon.core import InputError, MissingExtraError, UsageError
from celadon.io.atomic import output_errors
from celadon.train.reporting import Report

if TYPE_CHECKING:
    import torch


class TensorFile(NamedTuple):
    """Weights by their names, and facts by theirs."""

    weights: dict[str, torch.Tensor]
    facts: dict[str, str]


def write_tensors(path: Path, weights: Mapping[str, torch.Tensor], facts: Mapping[str, str]) -> None:
    """Write weights and facts; the file appears whole or not at all."""
    from safetensors.torch import save_file

    draft = path.with_name(path.name + ".part")
    with output_errors(str(path)):
        save_file({name: each.detach().contiguous() for name, each in weights.items()}, draft, metadata=dict(facts))
        draft.replace(path)


def read_tensors(path: Path, what: str) -> TensorFile:
    """Read what :func:`write_tensors` wrote; raise InputError where it is something else than ``what``."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
            return TensorFile(weights, file.metadata() or {})
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, SafetensorError) as error:
        raise is_not(path, what, error) from error


def is_not(path: Path, what: str, error: Exception) -> InputError:
    """The error that says that a file is not what it was taken for, and why."""
    return InputError(f"{path}: is not {what}: {' '.join(str(error).split())[:200]}")


Batch = TypeVar("Batch")
_MEMORY = ("exp_avg", "exp_avg_sq")
_CLIP = 1.0
_SMOOTHING = 0.98


class Progress(NamedTuple):
    """What a run tells after each batch; the loss is a moving average."""

    seen: int
    loss: float


class TrainingRun(ABC, Generic[Batch]):
    """A network, its optimiser (one of Adam's kind), how far it has come.

    ``total`` is how much is to be seen, in the unit in which :meth:`loss` counts; the seed is for dropout; ``run`` is
    what must be the same for a checkpoint to be gone on from.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimiser: torch.optim.Optimizer,
        total: int,
        seed: int,
        run: Mapping[str, str],
        checkpoint: Path,
    ) -> None:
        self._network, self._optimiser = model, optimiser
        self._total, self._seed, self._identity, self.checkpoint = total, seed, dict(run), checkpoint
        self.step, self.seen, self.seconds = 0, 0, 0.0
        if checkpoint.is_file():
            facts = _restore(checkpoint, model, optimiser, self._identity)
            self.step, self.seen, self.seconds = int(facts["step"]), int(facts["seen"]), float(facts["seconds"])

    @abstractmethod
    def batches(self, skip: int) -> Iterator[Batch]:
        """Yield batches without end, from the batch numbered ``skip`` on."""

    @abstractmethod
    def loss(self, batch: Batch) -> tuple[torch.Tensor, int]:
        """Return the loss of a batch, and how much more has been seen with it."""

    @abstractmethod
    def rate(self, seen: int) -> float:
        """Return the learning rate; a group of the optimiser that has a ``scale`` learns by so many times of it."""

    def run(self, progress: Callable[[Progress], None], save_every: float = 120.0) -> None:
        """Train to the end, or on from the checkpoint; one is taken every ``save_every`` seconds."""
        torch = import_torch()
        self._network.train()
        saved = last = time.monotonic()
        average = 0.0
        for number, batch in enumerate(self.batches(self.step)):
            if self.seen >= self._total:
                break
            # dropout must not depend on whether the run was interrupted
            torch.manual_seed(self._seed * 1_000_003 + self.step)
            loss = self._learn(batch)
            average = loss if number == 0 else _SMOOTHING * average + (1 - _SMOOTHING) * loss
            now = time.monotonic()
            self.seconds += now - last
            last = now
            progress(Progress(self.seen, average))
            if now - saved > save_every:
                self.save()
                saved = time.monotonic()
        self.save()

    def run_with_bar(
        self,
        report: Report,
        unit: str = "unit",
        describe: Callable[[float], str] = lambda loss: f"loss {loss:.3f}",
        save_every: float = 120.0,
    ) -> None:
        """Train to the end, and show how far it is."""
        if self.seen:
            report.note(f"going on from the checkpoint after {self.seen:,} of {self._total:,} {unit}s")
        with report.bar("training", self._total, unit=unit) as bar:
            bar.update(self.seen)

            def advance(progress: Progress) -> None:
                bar.set_postfix_str(describe(progress.loss), refresh=False)
                bar.update(progress.seen - bar.n)

            self.run(advance, save_every)

    def _learn(self, batch: Batch) -> float:
        torch = import_torch()
        for group in self._optimiser.param_groups:
            group["lr"] = self.rate(self.seen) * group.get("scale", 1.0)
        loss, seen = self.loss(batch)
        self._optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), _CLIP)
        self._optimiser.step()
        self.step += 1
        self.seen += seen
        return float(loss.detach())

    def save(self) -> None:
        """Take a checkpoint."""
        facts = {"step": str(self.step), "seen": str(self.seen), "seconds": str(self.seconds)}
        _save(self.checkpoint, self._network, self._optimiser, self._identity | facts)


def import_torch(threads: int | None = None) -> Any:
    """Return torch, set to use some threads, or raise the error that says how to get it."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "train") from None
    if threads:
        torch.set_num_threads(threads)
    return torch


@contextmanager
def work_folder(output: Path, work: str | Path | None, *, fresh: bool) -> Iterator[Path]:
    """Yield the checkpoint of a run, in its work folder: by default beside the output, and removed at the end.

    Another folder (``work``) stays. With ``fresh`` an earlier checkpoint is removed first.
    """
    folder = Path(work) if work else output.with_name(output.name + ".work")
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "checkpoint.safetensors"
    if fresh:
        checkpoint.unlink(missing_ok=True)
    yield checkpoint
    if not work:
        shutil.rmtree(folder)


def _save(path: Path, model: torch.nn.Module, optimiser: torch.optim.Optimizer, facts: Mapping[str, str]) -> None:
    learning = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    tensors = {f"model.{name}": weight for name, weight in learning.items()}
    for name, weight in learning.items():
        state = optimiser.state[weight]
        tensors |= {f"{key}.{name}": state[key] for key in _MEMORY if key in state}
    write_tensors(path, tensors, facts)


def _restore(
    path: Path, model: torch.nn.Module, optimiser: torch.optim.Optimizer, run: Mapping[str, str]
) -> dict[str, str]:
    """Load a checkpoint of the same run, and return its facts."""
    import torch
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        facts: dict[str, str] = file.metadata()
        if any(facts.get(name) != value for name, value in run.items()):
            raise UsageError(
                f"{path} is of another run (other options or data); give another --work, or start anew with --fresh"
            )
        there = set(file.keys())
        for name, weight in model.named_parameters():
            if not weight.requires_grad:
                continue
            weight.data.copy_(file.get_tensor(f"model.{name}"))
            if f"{_MEMORY[0]}.{name}" in there:
                state: dict[str, Any] = {"step": torch.tensor(float(facts["step"]))}
                optimiser.state[weight] = state | {key: file.get_tensor(f"{key}.{name}") for key in _MEMORY}
    return facts
