"""The layers of BERT and its kin over rows of several lengths, without padding.

Rows lie one behind the other, so that nothing is computed for places where there is no token; only the attention,
which alone looks from one place to another, is done for rows of one length at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from celadon.core import IntArray

if TYPE_CHECKING:
    import torch

# their layers are the same but for the embeddings
_KINDS = frozenset({"bert", "roberta", "xlm-roberta", "camembert"})
# how far the last digits may be apart
_ROUNDING = 1e-4


class Padded:
    """Rows of ids, the short ones filled up.

    Attributes
    ----------
    ids, there
        [rows, longest row]: the ids, and where they are not filling.
    lengths
        The ids of each row.
    """

    def __init__(self, rows: Sequence[IntArray], pad_id: int) -> None:
        self.lengths = list(map(len, rows))
        self.there: npt.NDArray[np.bool_] = np.arange(max(self.lengths)) < np.array(self.lengths)[:, None]
        self.ids: IntArray = np.full(self.there.shape, pad_id, dtype=np.int64)
        self.ids[self.there] = np.concatenate(rows)


class PackedLayers:
    """A network of transformers whose layers are run without padding; get one with :meth:`of`."""

    def __init__(self, model: Any) -> None:
        self._embeddings, self._layers = model.embeddings, list(model.encoder.layer)

    @classmethod
    def of(cls, model: Any) -> PackedLayers | None:
        """Return a network in this form; None where that would give other states, which is tried out on a few ids."""
        import torch

        config = model.config
        if config.model_type not in _KINDS or getattr(config, "is_decoder", False):
            return None
        ids = np.arange(10, 21) % int(model.get_input_embeddings().weight.shape[0])
        rows = Padded([ids[:3], ids, ids[4:7]], 0)
        there = torch.from_numpy(rows.there)
        try:
            made = cls(model)
            with torch.inference_mode():
                (found,) = made.states(rows, [len(made._layers)])
                expected = model(input_ids=torch.from_numpy(rows.ids), attention_mask=there.long())
        except (RuntimeError, IndexError, ValueError, TypeError, AttributeError):
            return None
        whole = expected.last_hidden_state[there]
        same = found.shape == whole.shape and torch.allclose(found, whole, atol=_ROUNDING, rtol=_ROUNDING)
        return made if same else None

    def states(self, rows: Padded, layers: Sequence[int]) -> list[torch.Tensor]:
        """Return for each layer, 0 for the embeddings, the states of all tokens of all rows, [tokens, width]."""
        import torch

        places = torch.from_numpy(np.flatnonzero(rows.there))
        states = self._embeddings(input_ids=torch.from_numpy(rows.ids)).flatten(0, 1).index_select(0, places)
        groups = [(length, len(list(same))) for length, same in groupby(rows.lengths)]
        found = {0: states}
        for number, layer in enumerate(self._layers[: max(layers)], 1):
            attended = layer.attention.output(_attended(layer.attention.self, states, groups), states)
            states = layer.output(layer.intermediate(attended), attended)
            if number in layers:
                found[number] = states
        return [found[layer] for layer in layers]


def _attended(attention: Any, states: torch.Tensor, groups: Sequence[tuple[int, int]]) -> torch.Tensor:
    """What each token takes from those of its row; a group is the length of its rows, and how many there are."""
    import torch

    heads, width = attention.num_attention_heads, attention.attention_head_size
    sizes = [length * rows for length, rows in groups]
    sides = [made(states).split(sizes) for made in (attention.query, attention.key, attention.value)]
    found = []
    for (length, rows), *parts in zip(groups, *sides, strict=True):
        of_heads = (part.view(rows, length, heads, width).transpose(1, 2) for part in parts)
        mixed = torch.nn.functional.scaled_dot_product_attention(*of_heads)
        found.append(mixed.transpose(1, 2).reshape(rows * length, heads * width))
    return torch.cat(found)
