"""The file of MORCELA's weights: JSON with beta and gamma."""

from __future__ import annotations

from typing import NamedTuple

from celadon.io.json_file import number_of, read_json_object


class MorcelaWeights(NamedTuple):
    """What MORCELA was fitted to: the weight of the unigram log-probability and the constant.

    ``sha256`` is of the file's bytes; ``model`` is the language model that the file says it was fitted with.
    """

    beta: float
    gamma: float
    sha256: str = ""
    model: str = ""


def read_morcela(path: str) -> MorcelaWeights:
    """Read and check MORCELA's weights.

    Parameters
    ----------
    path
        A JSON file: ``{"beta": 0.71, "gamma": 1.9, "model": "builtin"}``, as ``celadon train morcela`` writes it.

    Raises
    ------
    InputError
        The file cannot be read or has no such weights; the message says where.
    """
    content, digest = read_json_object(path, "weights of MORCELA")
    model = content.get("model", "")
    return MorcelaWeights(
        beta=number_of(path, "beta", content.get("beta")),
        gamma=number_of(path, "gamma", content.get("gamma")),
        sha256=digest,
        model=model if isinstance(model, str) else "",
    )
