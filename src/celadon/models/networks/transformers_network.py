"""A loaded network of transformers: rows of token ids in, log-probabilities of the wanted tokens out.

It runs on the processor, or on a device that ``CELADON_DEVICE`` names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError, IntArray, MissingExtraError, UsageError
from celadon.models.networks.transformers_files import Checkpoint
from celadon.models.networks.windows import plan_batches

if TYPE_CHECKING:
    import torch


VARIABLE = "CELADON_DEVICE"
_KINDS = re.compile(r"cpu|mps|cuda(:\d+)?")


def device_name() -> str:
    """The device that was asked for; never one that nobody named, since scores differ in their last digits there."""
    name = os.environ.get(VARIABLE, "").strip() or "cpu"
    if not _KINDS.fullmatch(name):
        raise UsageError(f"{VARIABLE}: {name!r} is no device; choose cpu, cuda, cuda:0, cuda:1 ... or mps")
    return name


def device_facts() -> Mapping[str, str]:
    """What a signature says of the device: nothing of the processor."""
    name = device_name().partition(":")[0]
    return {} if name == "cpu" else {"device": name}


def moved(model: Any) -> Any:
    """A network on the device that was asked for; what is given to it goes there by itself.

    Asked for when it is first run, and not when it is loaded: whoever starts a run may have no such device.
    """
    name = device_name()
    if name == "cpu":
        return model
    try:
        model = model.to(name)
    except (AssertionError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise UsageError(
            f"{VARIABLE}: {name} cannot be used here ({reason}); leave it out to use the processor"
        ) from None

    def there(_: Any, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return tuple(map(_to, given)), {key: _to(value) for key, value in named.items()}

    def _to(value: Any) -> Any:
        return value.to(model.device) if hasattr(value, "to") else value

    model.register_forward_pre_hook(there, with_kwargs=True)
    return model


# Positions in one run of the network: enough to keep two cores busy, and bounded memory.
_POSITIONS = 2048
# Numbers in one table of logits: 256 MB.
_LOGITS = 1 << 26
# Longer windows cost more and change little; a model that states no length has this one.
_LONGEST_WINDOW = 1024


class Row(NamedTuple):
    """Ids that go through the network together.

    ``targets[i]`` is the token whose log-probability is read at position ``positions[i]``; it goes to ``slots[i]`` of
    the result.
    """

    ids: IntArray
    positions: IntArray
    targets: IntArray
    slots: IntArray


class Network:
    """A network in float32; it fills in masked tokens or reads from left to right."""

    def __init__(self, model: Any, masked: bool, pad_id: int, threads: int | None = None) -> None:
        self._model, self._placed = model.eval(), False
        self._threads = threads
        self._masked = masked
        self.vocabulary = int(model.get_input_embeddings().weight.shape[0])
        # padding that was added to the tokenizer alone has no embedding; any other id will do, for it is masked out
        self._pad_id = pad_id if pad_id < self.vocabulary else 0
        self._head = self._usable_head()

    @property
    def window(self) -> int:
        """The most ids that one row may have."""
        return window_of(self._model)

    def logprobs(self, lengths: Sequence[int], make_row: Callable[[int], Row], slots: int) -> FloatArray:
        """Run rows in batches of like length; the result has ``slots`` numbers.

        Rows are made when their batch is run, so they need not all fit in memory.
        """
        result = np.full(slots, np.nan)
        # where every position has its logits, the widest table of them bounds the batch
        dense = not self._masked or self._head is None
        positions = min(_POSITIONS, _LOGITS // self.vocabulary) if dense else _POSITIONS
        if not self._placed:
            self._model, self._placed = moved(self._model), True
        with _torch_threads(self._threads):
            for batch in plan_batches(lengths, positions):
                rows = [make_row(number) for number in batch]
                result[np.concatenate([row.slots for row in rows])] = self._run(rows)
        return result

    def _run(self, rows: Sequence[Row]) -> FloatArray:
        import torch

        longest = max(len(row.ids) for row in rows)
        ids = np.full((len(rows), longest), self._pad_id, dtype=np.int64)
        attention = np.zeros((len(rows), longest), dtype=np.int64)
        for number, row in enumerate(rows):
            ids[number, : len(row.ids)] = row.ids
            attention[number, : len(row.ids)] = 1
        if ids.max() >= self.vocabulary:
            raise InputError(f"the tokenizer made the token {ids.max()}, but the model has only {self.vocabulary}")
        owners = np.repeat(np.arange(len(rows)), [len(row.positions) for row in rows])
        columns = np.concatenate([row.positions for row in rows])
        targets = torch.from_numpy(np.concatenate([row.targets for row in rows]))
        with torch.inference_mode():
            wanted = (torch.from_numpy(owners), torch.from_numpy(columns))
            logits = self._logits(torch.from_numpy(ids), torch.from_numpy(attention), wanted, self._head)
            chosen = logits.gather(1, targets[:, None].to(logits.device))[:, 0] - logits.logsumexp(dim=1)
        return chosen.cpu().numpy().astype(np.float64)

    def _logits(
        self,
        ids: torch.Tensor,
        attention: torch.Tensor,
        wanted: tuple[torch.Tensor, torch.Tensor],
        head: torch.nn.Module | None,
    ) -> torch.Tensor:
        """Return the logits of the wanted positions only.

        The last layer is by far the widest, so where it can be, it is given nothing but the wanted positions: what
        flows into it is cut down on the way.
        """
        if head is None:
            everything: torch.Tensor = self._model(input_ids=ids, attention_mask=attention).logits
            return everything[wanted].float()
        hook = head.register_forward_pre_hook(lambda _, inputs: (inputs[0][wanted].unsqueeze(0), *inputs[1:]))
        try:
            chosen: torch.Tensor = self._model(input_ids=ids, attention_mask=attention).logits
        finally:
            hook.remove()
        return chosen[0].float()

    def _usable_head(self) -> torch.nn.Module | None:
        """Return the last layer if cutting down its input gives the same logits; tried out on a few ids."""
        import torch

        head: torch.nn.Module | None = self._model.get_output_embeddings()
        if head is None:
            return None
        ids = torch.arange(1, 13).reshape(2, 6) % self.vocabulary
        wanted = (torch.tensor([0, 1, 1]), torch.tensor([4, 0, 5]))
        with torch.inference_mode():
            plain = self._logits(ids, torch.ones_like(ids), wanted, None)
            try:
                cut = self._logits(ids, torch.ones_like(ids), wanted, head)
            except (RuntimeError, IndexError, ValueError, TypeError, AttributeError):
                return None
        return head if cut.shape == plain.shape and torch.allclose(cut, plain, atol=1e-4, rtol=1e-4) else None

    def looks_ahead(self) -> bool:
        """Tell whether what is predicted at a position depends on what comes after it; tried out on a few ids."""
        import torch

        ids = torch.arange(1, 7).repeat(2, 1) % self.vocabulary
        ids[1, -1] = 0
        with torch.inference_mode():
            one, other = self._model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[:, :-1].float()
        return not torch.allclose(one, other, atol=1e-3, rtol=1e-3)


def window_of(model: Any) -> int:
    """Return the most ids that one row of a model of transformers may have."""
    stated = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    longest = min(int(stated), _LONGEST_WINDOW) if stated and stated > 0 else _LONGEST_WINDOW
    for name, module in model.named_modules():
        # RoBERTa and its kin count positions from just after the padding's id
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            longest = min(longest, int(module.num_embeddings) - int(module.padding_idx) - 1)
    return longest


def load_model(name: str, folder: Path, kind: str, head: str, idle: str = "") -> Any:
    """Load a model in float32 with a class of transformers, ready to be run; refused where weights of it are missing.

    ``head`` says in messages what its head does; weights whose names begin with ``idle`` are not used, and may be
    missing.
    """
    try:
        import torch
        import transformers
    except ImportError:
        raise MissingExtraError("transformers", "hf") from None
    width = "dtype" if int(transformers.__version__.partition(".")[0]) >= 5 else "torch_dtype"
    options: dict[str, Any] = {width: torch.float32, "output_loading_info": True, "local_files_only": True}
    with quiet_transformers(), torch_failures(name):
        model, info = getattr(transformers, kind).from_pretrained(
            str(folder), use_safetensors=True, trust_remote_code=False, **options
        )
    if missing := sorted(key for key in info["missing_keys"] if not (idle and key.startswith(idle))):
        raise InputError(
            f"{name}: the weights lack {missing[0]}"
            + (f" and {len(missing) - 1} more" if missing[1:] else "")
            + f", so the model could only guess: it was saved without its {head}, as some copies on the hub are; "
            f"name a copy that was saved as {kind.removeprefix('AutoModel')} with it"
        )
    model.config.use_cache = False
    return model.eval()


def load_network(checkpoint: Checkpoint, pad_id: int, threads: int | None) -> Network:
    """Load the weights of a language model; refused where some are missing or it cannot be what it says."""
    kind = "AutoModelForMaskedLM" if checkpoint.masked else "AutoModelForCausalLM"
    model = load_model(checkpoint.name, checkpoint.folder, kind, "language model's head")
    with torch_failures(checkpoint.name):
        network = Network(model, checkpoint.masked, pad_id, threads)
        if not checkpoint.masked and network.looks_ahead():
            raise UsageError(
                f"{checkpoint.name} is saved as a causal language model but looks ahead; "
                'if it was trained from left to right, its config.json must say "is_decoder": true'
            )
    return network


@contextmanager
def torch_failures(name: str) -> Iterator[None]:
    """Turn what transformers raises over a bad checkpoint into one line."""
    from safetensors import SafetensorError

    try:
        yield
    except (SafetensorError, OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError) as error:
        if "trust_remote_code" in str(error):
            raise UsageError(f"{name} needs code of its own, which is never run") from None
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{name}: transformers cannot load it: {reason or type(error).__name__}") from None
    except ImportError as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{name}: it needs a library that is not installed: {reason}") from None


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Keep the reports and progress bars of loading off the terminal; what matters in them is checked."""
    from transformers.utils import logging as untyped

    logging: Any = untyped
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def _torch_threads(threads: int | None) -> Iterator[None]:
    """Set torch's threads, which are the whole process's, for as long as a run lasts."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
