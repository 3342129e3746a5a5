"""The tokens of texts in which words come again and again: each word is cut once.

A tokenizer of BERT's kin cuts a text at its spaces before all else, and looks at no word beside the one it cuts; so a
text's tokens are those of its words, one after the other. A word of plain letters that is in the vocabulary is a token
itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from celadon.core import IntArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# characters of the words that are kept: some 20 MB
_MOST_CHARACTERS = 1 << 19
_STOPS = frozenset(".,;:!?")


class WordPieces:
    """Cuts texts, and keeps what it made of their words.

    Parameters
    ----------
    tokenizer
        What cuts them, without marks.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._known = _Words(tokenizer) if cuts_at_spaces(tokenizer) else None

    def of(self, texts: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Return the numbers of the tokens of all texts, one text behind the other, and how many each has."""
        if self._known is None:
            read = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
            return _joined([one.ids for one in read])
        if self._known.characters > _MOST_CHARACTERS:
            # another thread may still read the old ones
            self._known = _Words(self._tokenizer)
        # at this one character only: what else is a space is for the tokenizer to say
        words = [text.split(" ") for text in texts]
        tokens, of_words = _joined(list(map(self._known.__getitem__, chain.from_iterable(words))))
        ends = np.cumsum(of_words)[np.cumsum(list(map(len, words)), dtype=np.int64) - 1]
        return tokens, np.diff(ends, prepend=0)


class _Words(dict[str, list[int]]):
    """The tokens of words, found out where a word is asked for the first time."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__()
        self.characters = 0
        self._tokenizer, self._numbers = tokenizer, tokenizer.get_vocab(with_added_tokens=False)
        self._longest = int(getattr(tokenizer.model, "max_input_chars_per_word", 0))
        self._small = bool(getattr(tokenizer.normalizer, "lowercase", False))

    def __missing__(self, word: str) -> list[int]:
        found = self._in_vocabulary(word) or self._tokenizer.encode(word, add_special_tokens=False).ids
        self[word] = found
        self.characters += len(word)
        return found

    def _in_vocabulary(self, word: str) -> list[int] | None:
        """The tokens of a plain word, with what stands behind it; None where that is for the tokenizer to say."""
        stop = word[-1:] if word[-1:] in _STOPS else ""
        letters = word.removesuffix(stop)
        if not (letters.isalnum() and letters.isascii()) or len(letters) > self._longest:
            return None
        first = self._numbers.get(letters.lower() if self._small else letters)
        if first is None or not stop:
            return None if first is None else [first]
        last = self._numbers.get(stop)
        return None if last is None else [first, last]


def _joined(parts: Sequence[Sequence[int]]) -> tuple[IntArray, IntArray]:
    """Numbers one part behind the other, and how many each part has."""
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    return np.fromiter(chain.from_iterable(parts), np.int64, int(lengths.sum())), lengths


def cuts_at_spaces(tokenizer: Tokenizer) -> bool:
    """Tell whether the tokens of a text are surely those of its words, one after the other."""
    from tokenizers import models, normalizers, pre_tokenizers

    added: list[Any] = list(tokenizer.get_added_tokens_decoder().values())
    return (
        isinstance(tokenizer.model, models.WordPiece)
        and isinstance(tokenizer.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
        and isinstance(tokenizer.normalizer, normalizers.BertNormalizer | None)
        # one that was added by a user may be any part of a text
        and all(re.fullmatch(r"\[\S+\]", token.content) for token in added)
    )
