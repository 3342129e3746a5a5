"""Weights in one safetensors file, with facts about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from celadon.core import InputError
from celadon.io.atomic import output_errors

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
    """Read what :func:`write_tensors` wrote.

    Raises
    ------
    InputError
        There is no such file, or it is something else than ``what``.
    """
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
