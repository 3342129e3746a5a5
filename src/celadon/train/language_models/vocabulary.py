"""The vocabulary of a language model: word pieces or words, numbered by how often they are seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from celadon.core import InputError, UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNKNOWN, BEGIN, END = "[UNK]", "[BOS]", "[EOS]"
SPECIAL = (UNKNOWN, BEGIN, END)
UNITS = ("wordpiece", "word")

# Letters and marks kept as pieces of their own; a rarer character is unknown.
_ALPHABET = 400
_COUNTED_AT_ONCE = 10_000
# what a piece begins with that does not begin a word
_INSIDE = "##"
PASSES = {"wordpiece": 3, "word": 1}
"""How often the texts are read."""


def train_tokenizer(texts: Iterable[str], unit: str, size: int) -> Tokenizer:
    """Make a tokenizer whose numbers are the ranks of its tokens by frequency, after the special ones.

    Parameters
    ----------
    texts
        What it is to be made from; read several times, so an iterable that can be started again.
    unit
        ``wordpiece`` or ``word``.
    size
        The number of tokens, the special ones included.
    """
    from tokenizers import Tokenizer, models, trainers

    if unit not in UNITS:
        raise UsageError(f"unknown unit {unit!r}; known: {', '.join(UNITS)}")
    if size <= len(SPECIAL):
        raise UsageError(f"a vocabulary of {size} leaves nothing beside {', '.join(SPECIAL)}")
    if unit == "word":
        return _numbered(_word_counts(texts), unit, size)
    alphabet = _alphabet(texts)
    draft = Tokenizer(models.WordPiece(unk_token=UNKNOWN))
    _split_like_bert(draft)
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        # the trainer numbers letters inside words in the order in which it meets them, which differs from run to run,
        # and breaks ties between pieces by these numbers: given beforehand, they are always the same
        special_tokens=[*SPECIAL, *(f"{_INSIDE}{letter}" for letter in alphabet)],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    draft.train_from_iterator(texts, trainer)
    found = Tokenizer(models.WordPiece(vocab=draft.get_vocab(), unk_token=UNKNOWN))
    _split_like_bert(found)
    return _numbered(_piece_counts(texts, found), unit, size)


def _alphabet(texts: Iterable[str]) -> list[str]:
    """The most frequent characters, in their order in Unicode."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    seen = (character for character in counts if not character.isspace())
    return sorted(sorted(seen, key=lambda character: (-counts[character], character))[:_ALPHABET])


def _numbered(counts: Counter[str], unit: str, size: int) -> Tokenizer:
    """A tokenizer of the most frequent tokens; ties go by spelling, so that the result is always the same."""
    from tokenizers import Tokenizer, models

    ranked = sorted(counts, key=lambda token: (-counts[token], token))[: size - len(SPECIAL)]
    if not ranked:
        raise InputError("the corpus has no words")
    vocabulary = {token: number for number, token in enumerate((*SPECIAL, *ranked))}
    kind = models.WordPiece if unit == "wordpiece" else models.WordLevel
    tokenizer = Tokenizer(kind(vocab=vocabulary, unk_token=UNKNOWN))
    _split_like_bert(tokenizer)
    return tokenizer


def _split_like_bert(tokenizer: Tokenizer) -> None:
    """Cased text; words at white space, and every mark of punctuation by itself, so that "I 'm" is "I'm"."""
    from tokenizers import normalizers, pre_tokenizers

    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=False, lowercase=False
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()


def _word_counts(texts: Iterable[str]) -> Counter[str]:
    from tokenizers import Tokenizer, models

    plain = Tokenizer(models.WordLevel(vocab={UNKNOWN: 0}, unk_token=UNKNOWN))
    _split_like_bert(plain)
    counts: Counter[str] = Counter()
    for text in texts:
        normal = plain.normalizer.normalize_str(text)
        counts.update(word for word, _ in plain.pre_tokenizer.pre_tokenize_str(normal))
    return counts


def _piece_counts(texts: Iterable[str], tokenizer: Tokenizer) -> Counter[str]:
    counts: Counter[int] = Counter()
    for some in _groups(texts):
        for encoding in tokenizer.encode_batch_fast(some, add_special_tokens=False):
            counts.update(encoding.ids)
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    return Counter({token: counts[number] for token, number in vocabulary.items() if token not in SPECIAL})


def _groups(texts: Iterable[str]) -> Iterator[list[str]]:
    stream = iter(texts)
    while taken := list(islice(stream, _COUNTED_AT_ONCE)):
        yield taken


class Marks(NamedTuple):
    """The ids of the special tokens."""

    begin: int
    end: int
    unknown: int


def marks_of(tokenizer: Tokenizer) -> Marks:
    """The special tokens of a tokenizer that was made for training."""
    ids = [tokenizer.token_to_id(token) for token in (BEGIN, END, UNKNOWN)]
    found = [number for number in ids if number is not None]
    if len(found) < len(ids):
        raise UsageError(
            f"the tokenizer must have the tokens {BEGIN}, {END} and {UNKNOWN}; give one that `celadon train` made"
        )
    return Marks(*found)
