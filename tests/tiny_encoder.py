"""A tiny random encoder, as a network and as a folder of our format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
WORDS = (
    "the",
    "cat",
    "cats",
    "sat",
    "on",
    "a",
    "mat",
    "dog",
    "ran",
    "home",
    "he",
    "it",
    "un",
    "##happy",
    ".",
    ",",
    "!",
)
VOCABULARY = (*MARKS, *WORDS)
CLS, SEP = VOCABULARY.index("[CLS]"), VOCABULARY.index("[SEP]")


def tiny_network(seed: int = 0, **changes: Any) -> Any:
    """A network of two layers, 32 wide, whose every part matters; ``changes`` go into its shape."""
    import torch

    from celadon.train.encoders.network import EncoderNetwork, EncoderShape

    size: dict[str, Any] = {"vocabulary": len(VOCABULARY), "hidden": 32, "layers": 2, "heads": 4, "inner": 64}
    size |= {"positions": 64, "early": 1, "classifier": 16, "projection": 8, "epsilon": 1e-12}
    network = EncoderNetwork(EncoderShape(**size | changes), dropout=0.1, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in network.parameters():
            # biases and normalisations as well: at their first values, zero and one, a mistake would not show
            weight.add_(torch.randn(weight.shape, generator=generator) * 0.2)
    return network.eval()


def tiny_tokenizer() -> str:
    """The tokenizer's JSON; it pads and cuts, as that of MiniLM does."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    pieces = {piece: at for at, piece in enumerate(VOCABULARY)}
    made = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens(list(MARKS))
    made.enable_padding(length=8)
    made.enable_truncation(8)
    return made.to_str()


def make_encoder(
    folder: Path, *, window: int = 64, seed: int = 0, precision: str = "int8", findings: int = 0, **changes: Any
) -> Path:
    """Write a tiny encoder in the format ``celadon-encoder/1`` and return its folder.

    ``findings`` are the classes of words that it tells; ``changes`` are written over what ``model.json`` says.
    """
    from celadon.train.encoders.graph import write_encoder

    write_encoder(tiny_network(seed, findings=findings), tiny_tokenizer(), folder, window=window, precision=precision)
    if changes:
        path = folder / "model.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes), encoding="utf-8")
        (folder / "manifest.json").unlink()
    return folder
