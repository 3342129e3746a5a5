"""An encoder's network as it was trained, in one file: what further training goes on from."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import NamedTuple

from celadon.core import InputError
from celadon.io.atomic import output_errors
from celadon.train.encoder_network import EncoderNetwork, EncoderShape


class KeptNetwork(NamedTuple):
    """A network, its tokenizer as JSON, and what its card says so far."""

    network: EncoderNetwork
    tokenizer: str
    card: str


def save_network(path: Path, kept: KeptNetwork) -> None:
    """Write a network; the file appears whole or not at all."""
    from safetensors.torch import save_file

    facts = {
        "shape": json.dumps(dataclasses.asdict(kept.network.shape)),
        "tokenizer": kept.tokenizer,
        "card": kept.card,
    }
    weights = {name: weight.detach().contiguous() for name, weight in kept.network.named_parameters()}
    draft = path.with_name(path.name + ".part")
    with output_errors(str(path)):
        save_file(weights, draft, metadata=facts)
        draft.replace(path)


def load_network(path: Path) -> KeptNetwork:
    """Read what :func:`save_network` wrote.

    Raises
    ------
    InputError
        There is no such file, or it is something else.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            facts: dict[str, str] = file.metadata() or {}
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        network = EncoderNetwork(EncoderShape(**json.loads(facts["shape"])))
        network.load_state_dict(weights)
        return KeptNetwork(network, facts["tokenizer"], facts["card"])
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: is not a network that celadon train acceptability kept: {reason}") from error
