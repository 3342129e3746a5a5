"""The trees that FERGUS is trained on, as derivations: from Penn brackets or from CoNLL-U."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from celadon.core import InputError, UsageError
from celadon.io.conllu import TreeSentence
from celadon.io.sources import endings
from celadon.parsing.brackets import read_treebank
from celadon.parsing.supertags import Attachment, Derivation, Host, Level, Side, Supertag, derive, is_mark
from celadon.realize.tree_input import read_trees, small_beginning, words_to_realize
from celadon.realize.trees import Arranged, arrange

_ARGUMENTS = frozenset(("nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp", "expl"))
NOTHING_TOLD = "_"


def derive_dependencies(sentence: TreeSentence, kept: Sequence[int]) -> Derivation:
    """Take some words of a dependency tree, which must be a tree too, apart into supertags.

    Where the tree is not projective, each word stands with its head on the side where it stands in the sentence.
    """
    below: dict[int, list[int]] = {word: [] for word in kept}
    root = kept[0]
    for word in kept:
        if sentence.heads[word] < 0:
            root = word
        else:
            below[sentence.heads[word]].append(word)
    return _derived(sentence, below, root, None)


def _derived(sentence: TreeSentence, below: dict[int, list[int]], word: int, side: Side | None) -> Derivation:
    label, relation = _label(sentence, word), sentence.relations[word].partition(":")[0]
    slots: dict[Side, list[str]] = {"left": [], "right": []}
    attachments = []
    # each side from the word outwards
    for each in sorted(below[word], key=lambda other: abs(other - word)):
        where: Side = "left" if each < word else "right"
        filled = _is_argument(sentence, each)
        attachments.append(Attachment(_derived(sentence, below, each, where), 0, where, len(slots[where])))
        if filled:
            slots[where].append(sentence.relations[each].partition(":")[0])
    levels = [Level(label, tuple(slots["left"]), tuple(slots["right"]))]
    host = None
    if side is not None:
        if relation != NOTHING_TOLD:
            levels.append(Level(relation))
        host = None if _is_argument(sentence, word) else Host(side, _label(sentence, sentence.heads[word]))
    tag = sentence.fine_tags[word] if sentence.fine_tags[word] != NOTHING_TOLD else sentence.tags[word]
    return Derivation(sentence.words[word], Supertag(tag, tuple(levels), host), tuple(attachments))


def _label(sentence: TreeSentence, word: int) -> str:
    return sentence.tags[word] if sentence.tags[word] != NOTHING_TOLD else "X"


def _is_argument(sentence: TreeSentence, word: int) -> bool:
    return sentence.relations[word].partition(":")[0] in _ARGUMENTS


_LARGEST = 250
_NAME_TAGS = ("NNP", "NNPS")


class TreebankTree(NamedTuple):
    """A sentence of a treebank: its name, and its words taken apart into supertags."""

    id: str
    derivation: Derivation

    @property
    def words(self) -> list[str]:
        """The words in their order."""
        return [each.word for each in self.derivation.in_order()]


class Parts(NamedTuple):
    """A treebank, dealt out: to train on, and to choose settings by."""

    train: tuple[TreebankTree, ...]
    develop: tuple[TreebankTree, ...]


def read_derivations(path: Path | str) -> list[TreebankTree]:
    """Read a treebank without its punctuation, the first word of a sentence in small letters unless it is a name.

    It is CoNLL-U where the name ends in ``.conllu`` (also compressed), whose faulty trees are passed over; else trees
    in Penn brackets: a file, a folder or a zip archive. Raises InputError where there are none.
    """
    found = _of_conllu(str(path)) if endings(str(path))[0] == ".conllu" else _of_brackets(path)
    if not found:
        raise InputError(f"{path}: has no trees to train on")
    return found


def _of_conllu(path: str) -> list[TreebankTree]:
    found = []
    for number, sentence in enumerate(read_trees(path), 1):
        if sentence.fault is None and len(sentence.words) <= _LARGEST:
            name = sentence.id or str(number)
            found.append(TreebankTree(name, derive_dependencies(sentence, words_to_realize(sentence))))
    return found


def _of_brackets(path: Path | str) -> list[TreebankTree]:
    found = []
    for file in read_treebank(path):
        for number, tree in enumerate(file.trees, 1):
            derivation = derive(tree)
            if derivation is not None and not is_mark(derivation.supertag.tag):
                name = f"{Path(file.name).stem}.{number}"
                found.append(TreebankTree(name, _small(without_marks(derivation))))
    return found


def without_marks(derivation: Derivation) -> Derivation:
    """A derivation without marks of punctuation."""
    return replace(
        derivation,
        attachments=tuple(
            each._replace(derivation=without_marks(each.derivation))
            for each in derivation.attachments
            if not is_mark(each.derivation.supertag.tag)
        ),
    )


def _small(derivation: Derivation) -> Derivation:
    first = next(derivation.in_order())
    word = small_beginning(first.word, first.supertag.tag in _NAME_TAGS)
    return _with_word(derivation, first, word) if word != first.word else derivation


def _with_word(derivation: Derivation, changed: Derivation, word: str) -> Derivation:
    if derivation is changed:
        return replace(derivation, word=word)
    return replace(
        derivation,
        attachments=tuple(
            each._replace(derivation=_with_word(each.derivation, changed, word)) for each in derivation.attachments
        ),
    )


def part_trees(
    trees: Sequence[TreebankTree], hold_out: Collection[str] = (), develop: float = 0.08, seed: int = 0
) -> Parts:
    """Deal out a treebank: without the sentences to hold out, a share of the others to choose settings by.

    Raises UsageError where a name to hold out is not in the treebank, or nothing is left to train on.
    """
    if unknown := sorted(set(hold_out) - {tree.id for tree in trees}):
        raise UsageError(f"{len(unknown)} sentences to hold out are not in the treebank, the first is {unknown[0]!r}")
    left = [tree for tree in trees if tree.id not in set(hold_out)]
    count = round(develop * len(left))
    chosen = set(random.Random(seed).sample(range(len(left)), count))
    train = tuple(tree for at, tree in enumerate(left) if at not in chosen)
    if not train:
        raise UsageError("no trees are left to train on; hold out fewer")
    return Parts(train, tuple(tree for at, tree in enumerate(left) if at in chosen))


def held_out_names(trees: Sequence[TreebankTree], count: int, most_words: int, seed: int) -> list[str]:
    """The names of sentences chosen at random from those of 2 to so many words, in the treebank's order."""
    short = [tree.id for tree in trees if 1 < len(tree.words) <= most_words]
    chosen = set(random.Random(seed).sample(short, count))
    return [name for name in short if name in chosen]


def arrange_derivation(derivation: Derivation) -> Arranged:
    """The unordered tree of a derivation; the origin of a word is its place in the sentence."""
    order = list(derivation.in_order())
    place = {id(each): at for at, each in enumerate(order)}
    heads = [-1] * len(order)
    for each in order:
        for attachment in each.attachments:
            heads[place[id(attachment.derivation)]] = place[id(each)]
    return arrange([each.word for each in order], heads)
