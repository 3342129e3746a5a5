"""What the generators of graded sentences share: Penn tokens, a corpus of numbered tokens, drawing by weights."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from celadon.core import FloatArray, InputError, IntArray, UsageError
from celadon.io.lines import read_paragraphs
from celadon.text.penn_words import penn_words
from celadon.text.sentences import split_sentences

FULL_STOP = "."


class MadeText(NamedTuple):
    """A text that was made, and its tokens."""

    text: str
    tokens: tuple[str, ...]


_SHOWN = {"``": '"', "''": '"', "`": "'", "-LRB-": "(", "-RRB-": ")", "-LCB-": "{", "-RCB-": "}"}
_CLITICS = frozenset(("n't", "'s", "'re", "'ve", "'ll", "'d", "'m"))
_NO_SPACE_BEFORE = frozenset((",", FULL_STOP, ";", ":", "?", "!", "%", "-RRB-", "-RCB-", ">", "'", "''", *_CLITICS))
_NO_SPACE_AFTER = frozenset(("-LRB-", "-LCB-", "<", "``", "`"))
_MONEY = ("$", "#", "£", "€", "¥")


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a sentence."""
    return [word.form for word in penn_words(text)]


def text_of(tokens: Sequence[str]) -> str:
    """Return the tokens as a text, with spaces where a reader expects them.

    A full stop after an abbreviation's own is not written twice.
    """
    made: list[str] = []
    before = ""
    for token in tokens:
        if token == FULL_STOP and before.endswith(FULL_STOP):
            continue
        if made and not _meet(before, token):
            made.append(" ")
        made.append(_SHOWN.get(token, token))
        before = token
    return "".join(made)


def sentence_text(tokens: Sequence[str]) -> MadeText | None:
    """Return the tokens as a sentence that begins with a capital.

    None where it would begin with a clitic or a mark that leans on a word before it, and where the text, read again,
    would have other tokens.
    """
    if _leans(tokens[0]):
        return None
    shown = capitalised(tokens)
    text = text_of(shown)
    return MadeText(text, shown) if tuple(tokens_of(text)) == shown else None


def capitalised(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the tokens, the first with a capital."""
    return (tokens[0][:1].upper() + tokens[0][1:], *tokens[1:])


def is_word(token: str) -> bool:
    """Return whether the token is more than a mark or a clitic."""
    return token[0].isalnum() and not _leans(token)


def _leans(token: str) -> bool:
    return token in _NO_SPACE_BEFORE or token.lower() in _CLITICS


def _meet(before: str, token: str) -> bool:
    """Whether no space stands between two tokens."""
    if _leans(token) or before in _NO_SPACE_AFTER:
        return True
    if before.endswith(_MONEY):
        return token[:1].isdigit()
    return before.lower() == "can" and token == "not"


@dataclass(frozen=True)
class TokenCorpus:
    """Sentences one after another."""

    words: tuple[str, ...]  # the tokens that occur, by their numbers
    ids: IntArray  # the numbers of the tokens of all sentences
    starts: IntArray  # where each sentence begins, with one more entry at the end

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        """The number of tokens of each sentence."""
        return np.diff(self.starts)

    def sentence(self, number: int) -> tuple[str, ...]:
        """Return the tokens of one sentence."""
        return tuple(self.words[token] for token in self.ids[self.starts[number] : self.starts[number + 1]])

    def pairs(self) -> tuple[IntArray, IntArray]:
        """Return every token that has a next one in its sentence, and the next ones."""
        inside = np.ones(len(self.ids), dtype=bool)
        inside[self.starts[1:] - 1] = False
        at = np.flatnonzero(inside)
        return self.ids[at], self.ids[at + 1]


def number_sentences(sentences: Iterable[Sequence[str]]) -> TokenCorpus:
    """Number the tokens of sentences; those without tokens are left out."""
    numbers: dict[str, int] = {}
    ids, starts = array("q"), array("q", [0])
    for tokens in sentences:
        if tokens:
            ids.extend(numbers.setdefault(token, len(numbers)) for token in tokens)
            starts.append(len(ids))
    return TokenCorpus(tuple(numbers), np.array(ids, dtype=np.int64), np.array(starts, dtype=np.int64))


def read_token_corpus(
    paths: Sequence[str], advance: Callable[[int], None] = lambda size: None, most: float = float("inf")
) -> TokenCorpus:
    """Read text files (also .xz, .gz, .zst), a paragraph a line, until they have given so many tokens.

    ``advance`` is called with how many more bytes of the files, as they lie on disk, have been read.
    """

    def sentences() -> Iterator[list[str]]:
        seen = 0
        for paragraph in read_paragraphs(paths, advance):
            for start, end in split_sentences(paragraph):
                tokens = tokens_of(paragraph[start:end])
                seen += len(tokens)
                yield tokens
            if seen >= most:
                return

    corpus = number_sentences(sentences())
    if not len(corpus):
        raise InputError(f"{', '.join(paths)}: there are no words in it")
    return corpus


def check_request(length: int, count: int, seed: int, sequence: int | None = None) -> None:
    """Raise UsageError where the numbers do not go together."""
    if length < 2:
        raise UsageError(f"the length must be at least 2, a word and the full stop, not {length}")
    if count < 1:
        raise UsageError(f"the count must be at least 1, not {count}")
    if seed < 0:
        raise UsageError(f"the seed must be at least 0, not {seed}")
    if sequence is not None and sequence not in divisors(length):
        known = ", ".join(map(str, divisors(length)))
        raise UsageError(f"the sequence size {sequence} does not divide the length {length}; sizes that do: {known}")


def divisors(length: int) -> list[int]:
    """Return the sizes of sequences that a text of this length can be glued of."""
    return [size for size in range(1, length + 1) if not length % size]


def draw(weights: FloatArray, rng: np.random.Generator) -> int:
    """Draw a place by the weights, of which at least one is above zero."""
    return int(places_of(weights, rng.random(1))[0])


def places_of(weights: FloatArray, chances: FloatArray) -> IntArray:
    """Return where chances, each at least 0 and below 1, fall among the weights; never on a weight of zero."""
    totals = np.cumsum(weights)
    last = np.searchsorted(totals, totals[-1])  # rounding must not lead past the last that has a weight
    found: IntArray = np.minimum(np.searchsorted(totals, chances * totals[-1], side="right"), last)
    return found


def draw_sentences(
    count: int, tries: int, drawn: Callable[[], MadeText | None], advance: Callable[[int], None], complaint: str
) -> list[MadeText]:
    """Draw until there are enough sentences, with so many tries for each; raise InputError where that fails."""
    found: list[MadeText] = []
    for _ in range(count * tries):
        if made := drawn():
            found.append(made)
            advance(1)
            if len(found) == count:
                return found
    raise InputError(complaint)
