"""Words and unordered trees: what a word is looked up as, and trees whose order comes from their words alone."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property

_DIGIT = re.compile(r"\d")
_ENDINGS = ("ing", "ed", "ly", "tion", "ness", "ment", "ous", "able", "al", "er", "est", "ity", "ive", "s")
# what is written without letters and is no punctuation
_SYMBOLS = frozenset("$ % # & £ € ¥ + = @ < > US$ C$ A$".split())


def form(word: str) -> str:
    """A word with every digit as 9: numbers of one shape are alike."""
    return _DIGIT.sub("9", word)


def is_punctuation(word: str) -> bool:
    """Whether a token of plain text is a mark of punctuation; ``%``, ``$`` and the like are read as words."""
    return word in _BRACKETS or (not any(map(str.isalnum, word)) and word not in _SYMBOLS)


_BRACKETS = frozenset(("-LRB-", "-RRB-", "-LCB-", "-RCB-", "-LSB-", "-RSB-"))


def unknown_class(word: str) -> str:
    """The class of a word that is not known, by its shape and ending."""
    if any(map(str.isdigit, word)):
        return "<9>" if not any(map(str.isalpha, word)) else "<9a>"
    if not any(map(str.isalpha, word)):
        return "<.>"
    if word[:1].isupper():
        return "<AA>" if word.isupper() and len(word) > 1 else "<A>"
    lower = word.lower()
    ending = next((each for each in _ENDINGS if lower.endswith(each) and len(lower) > len(each) + 2), "")
    return f"<a-{'-' if '-' in lower else ''}{ending}>"


def known_form(word: str, known: Container[str]) -> str:
    """The form under which a word is known: as it is written, in small letters, or its class."""
    written = form(word)
    if written in known:
        return written
    small = written.lower()
    return small if small in known else unknown_class(word)


@dataclass(frozen=True)
class WordTree:
    """A dependency tree of fully inflected words, without any order."""

    words: tuple[str, ...]  # the words; the root is the first one, and a mother stands before her daughters
    mothers: tuple[int, ...]  # for each word the number of the word it depends on; -1 for the root
    relations: tuple[str, ...]  # for each word how it depends on its mother; empty where that is not told
    kinds: tuple[int, ...]  # equal numbers where whole subtrees are equal: such subtrees can change places

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def daughters(self) -> tuple[tuple[int, ...], ...]:
        """For each word those that depend on it."""
        below: list[list[int]] = [[] for _ in self.words]
        for word, mother in enumerate(self.mothers[1:], 1):
            below[mother].append(word)
        return tuple(map(tuple, below))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """For each word how many words its subtree has."""
        sizes = [1] * len(self.words)
        for word in range(len(self.words) - 1, 0, -1):
            sizes[self.mothers[word]] += sizes[word]
        return tuple(sizes)


@dataclass(frozen=True)
class Arranged:
    """A tree, and which word of the input each of its words is."""

    tree: WordTree
    origin: tuple[int, ...]


def arrange(words: Sequence[str], heads: Sequence[int], relations: Sequence[str] = ()) -> Arranged:
    """Make a tree of words whose order comes from its content alone.

    For each word, in any order, ``heads`` has the number of the one it depends on, -1 for the root; they must be a
    tree. ``relations`` are used if they are given.
    """
    below: list[list[int]] = [[] for _ in words]
    root = 0
    for word, head in enumerate(heads):
        if head < 0:
            root = word
        else:
            below[head].append(word)
    contents = _contents(words, relations, below, root)
    known: dict[str, int] = {}
    for content in sorted(set(contents)):
        known[content] = len(known)
    order: list[int] = []
    mothers: list[int] = []
    at: dict[int, int] = {}
    waiting = [root]
    while waiting:
        word = waiting.pop()
        at[word] = len(order)
        order.append(word)
        mothers.append(-1 if word == root else at[heads[word]])
        waiting.extend(sorted(below[word], key=lambda each: known[contents[each]], reverse=True))
    tree = WordTree(
        tuple(words[word] for word in order),
        tuple(mothers),
        tuple(relations[word] for word in order) if relations else ("",) * len(order),
        tuple(known[contents[word]] for word in order),
    )
    return Arranged(tree, tuple(order))


def _contents(words: Sequence[str], relations: Sequence[str], below: Sequence[Sequence[int]], root: int) -> list[str]:
    """Each subtree as a text that is the same for the same subtree."""
    contents = [""] * len(words)
    visited = [root]
    for word in visited:
        visited.extend(below[word])
    for word in reversed(visited):
        inside = sorted(contents[each] for each in below[word])
        name = f"{words[word]}\x1f{relations[word]}" if relations else words[word]
        # the size before the rest: small subtrees come first, and no text can be read in two ways
        contents[word] = f"{name}\x1d{len(inside)}\x1e{''.join(inside)}"
    return contents
