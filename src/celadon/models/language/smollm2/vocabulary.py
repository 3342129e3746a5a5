"""The tokenizer of SmolLM2, made from the vocabulary and the merges in its GGUF file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from celadon.core import InputError
from celadon.models.language.smollm2.gguf import Gguf

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# What SmolLM2 saw before every text in training; <|im_start|>, which the file names, makes every probability worse.
BEGIN = "<|endoftext|>"
# How GGUF marks tokens that stand for no text.
_CONTROL = 3


def build_tokenizer(file: Gguf) -> Tokenizer:
    """Return the tokenizer: pairs of bytes, every digit by itself."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    kind = (file.get("tokenizer.ggml.model"), file.get("tokenizer.ggml.pre"))
    if kind != ("gpt2", "smollm"):
        raise InputError(f"{file.path}: its tokenizer is {kind[0]} in the way of {kind[1]}, not that of SmolLM2")
    tokens, types = file.get("tokenizer.ggml.tokens"), file.get("tokenizer.ggml.token_type")
    vocabulary = {token: number for number, token in enumerate(tokens)}
    merges = [_pair(file, merge) for merge in file.get("tokenizer.ggml.merges")]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    # as in the model's own tokenizer.json
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    marks = [token for token, kind in zip(tokens, types, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    return tokenizer


def _pair(file: Gguf, merge: str) -> tuple[str, str]:
    left, _, right = merge.partition(" ")
    if not left or not right:
        raise InputError(f"{file.path}: {merge!r} is no pair of tokens; the file is damaged")
    return left, right
