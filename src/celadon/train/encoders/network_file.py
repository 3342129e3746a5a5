"""An encoder's network as it was trained, in one file: what further training goes on from."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import NamedTuple

from celadon.train.encoders.encoder_network import EncoderNetwork, EncoderShape
from celadon.train.tensor_file import is_not, read_tensors, write_tensors

_WHAT = "a network that celadon train acceptability kept"


class KeptNetwork(NamedTuple):
    """A network, its tokenizer as JSON, and what its card says so far."""

    network: EncoderNetwork
    tokenizer: str
    card: str


def save_network(path: Path, kept: KeptNetwork) -> None:
    """Write a network; the file appears whole or not at all."""
    facts = {
        "shape": json.dumps(dataclasses.asdict(kept.network.shape)),
        "tokenizer": kept.tokenizer,
        "card": kept.card,
    }
    write_tensors(path, dict(kept.network.named_parameters()), facts)


def load_network(path: Path) -> KeptNetwork:
    """Read what :func:`save_network` wrote.

    Raises
    ------
    InputError
        There is no such file, or it is something else.
    """
    weights, facts = read_tensors(path, _WHAT)
    try:
        network = EncoderNetwork(EncoderShape(**json.loads(facts["shape"])))
        network.load_state_dict(weights)
        return KeptNetwork(network, facts["tokenizer"], facts["card"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise is_not(path, _WHAT, error) from error
