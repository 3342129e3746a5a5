"""The vocabulary of a language model: word pieces or words, numbered by how often they are seen."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from celadon.core import InputError, IntArray, UsageError
from celadon.text.scripts import is_in_scripts
from celadon.train.corpus import Advance, Corpus, TrainingTexts

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNKNOWN, BEGIN, END = "[UNK]", "[BOS]", "[EOS]"
SPECIAL = (UNKNOWN, BEGIN, END)
UNITS = {"wordpiece": 16_000, "word": 128_000}
"""What a token can be, with the usual size of the vocabulary."""

# Letters and marks kept as pieces of their own; a rarer character is unknown.
_ALPHABET = 400
_COUNTED_AT_ONCE = 10_000
# what a piece begins with that does not begin a word
_INSIDE = "##"
PASSES = {"wordpiece": 3, "word": 1}
"""How often the texts are read."""


def train_tokenizer(texts: Iterable[str], unit: str, size: int) -> Tokenizer:
    """Make a tokenizer of words or word pieces, numbered by frequency after the special ones, ``size`` in all.

    The texts are read several times, so they must be an iterable that can be started again.
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
    stream = iter(texts)
    while some := list(islice(stream, _COUNTED_AT_ONCE)):
        for encoding in tokenizer.encode_batch_fast(some, add_special_tokens=False):
            counts.update(encoding.ids)
    vocabulary = tokenizer.get_vocab(with_added_tokens=True)
    return Counter({token: counts[number] for token, number in vocabulary.items() if token not in SPECIAL})


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


# A script with a smaller share of the corpus' letters is there by accident: names, quotations.
_SHARE = 0.05


def tokens_of(tokenizer: Tokenizer) -> list[str]:
    """The tokens by their ids."""
    tokens = [""] * tokenizer.get_vocab_size()
    for token, number in tokenizer.get_vocab().items():
        tokens[number] = token
    return tokens


def scripts_of(tokens: Sequence[str], counts: IntArray) -> list[str]:
    """Return the Unicode scripts with more than a twentieth of the letters, most frequent first."""
    letters: Counter[str] = Counter()
    for token, count in zip(tokens, counts.tolist(), strict=True):
        if token not in SPECIAL:
            for letter in filter(str.isalpha, token):
                letters[letter] += count
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        scripts[_script(letter)] += count
    total = sum(scripts.values())
    return [script for script, count in scripts.most_common() if script and count > _SHARE * total]


def _script(letter: str) -> str:
    """A letter's script, which is the first word of its name; empty where the name does not tell."""
    script = unicodedata.name(letter, "").split(" ")[0].split("-")[0].capitalize().replace("Cjk", "Han")
    try:
        return script if script and is_in_scripts(letter, (script,)) else ""
    except InputError:
        return ""


def lm_description(
    name: str, kind: str, unit: str, tokenizer: Tokenizer, counts: IntArray, window: int, **more: Any
) -> dict[str, Any]:
    """Return what ``model.json`` says of a language model."""
    marks = marks_of(tokenizer)
    return {
        "format": "celadon-lm/1",
        "kind": kind,
        "name": name,
        "unit": unit,
        **more,
        "begin": BEGIN,
        "begin_id": marks.begin,
        "end": END,
        "end_id": marks.end,
        "unknown_id": marks.unknown,
        "window": window,
        "scripts": scripts_of(tokens_of(tokenizer), counts),
    }


def choose_tokenizer(tokenizer_file: Path | None, corpus: Corpus, unit: str, size: int, advance: Advance) -> Tokenizer:
    """Load the tokenizer of another model, or make one from the articles of a corpus that are trained on."""
    from celadon.models.store.model_files import load_tokenizer

    tokenizer = (
        load_tokenizer(tokenizer_file)
        if tokenizer_file
        else train_tokenizer(TrainingTexts(corpus, advance), unit, size)
    )
    marks_of(tokenizer)
    return tokenizer
