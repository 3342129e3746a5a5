"""Dependency trees of references: from a CoNLL-U file, paired by id, or as Python users hold them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from celadon.core import InputError, Sample, Tree, UsageError
from celadon.io.conllu import TreeSentence, read_conllu, tree_fault

NOT_GIVEN = "no tree was given for the reference"


@dataclass(frozen=True)
class TreeFile:
    """The trees of a file.

    Attributes
    ----------
    name
        The file.
    trees
        By its ``sent_id`` each tree, or why it is none.
    digest
        A hash of the trees, however the file is written or compressed.
    """

    name: str
    trees: Mapping[str, Tree | str]
    digest: str

    def given_to(self, sample: Sample) -> Sample:
        """Return the sample with the trees of its references.

        The first reference of a row has the tree whose ``sent_id`` is the row's id, the second ``id#2`` and so on;
        ``id#1`` is the first as well.
        """
        count = len(sample.references)
        return replace(sample, trees=tuple(self._tree(sample.id, number) for number in range(1, count + 1)))

    def _tree(self, name: str | None, number: int) -> Tree | str:
        if name is None:
            return f"the row has no id, by which a tree of {self.name} could be found"
        wanted = f"{name}#{number}"
        if number == 1 and wanted not in self.trees:
            wanted = name
        return self.trees.get(wanted, f"{self.name} has no tree with the sent_id {wanted!r}")


def read_trees(path: str) -> TreeFile:
    """Read the trees of a CoNLL-U file (also .xz, .gz, .zst).

    Raises
    ------
    InputError
        The file is not CoNLL-U, or a sentence in it has no ``sent_id`` or that of another.
    """
    trees: dict[str, Tree | str] = {}
    origins: dict[str, str] = {}
    for sentence in read_conllu(path):
        if sentence.id is None:
            raise InputError(f"{sentence.origin}: the sentence has no sent_id, by which its row could be found")
        if sentence.id in trees:
            raise InputError(f"{sentence.origin}: sent_id {sentence.id!r} stands at {origins[sentence.id]} already")
        trees[sentence.id] = _tree_of(sentence)
        origins[sentence.id] = sentence.origin
    return TreeFile(path, trees, digest_of(trees.items()))


def trees_in_order(path: str) -> tuple[Tree | str, ...]:
    """Return the trees of a CoNLL-U file, whatever their ids, or why a sentence is none."""
    return tuple(map(_tree_of, read_conllu(path)))


def _tree_of(sentence: TreeSentence) -> Tree | str:
    if sentence.fault is None:
        return Tree(sentence.words, sentence.heads)
    return f"the tree {sentence.id or ''!r} at {sentence.origin} is none: {sentence.fault}"


def digest_of(trees: Iterable[tuple[str, Tree | str]]) -> str:
    """Return a hash of trees with their names, in their order."""
    found = hashlib.sha256()
    for name, tree in trees:
        # why there is none may say where the file is
        written = () if isinstance(tree, str) else (*tree.words, *map(str, tree.heads))
        found.update("\t".join([name, *written, "\n"]).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def with_trees(samples: Sequence[Sample], trees: Sequence[Any]) -> tuple[Sample, ...]:
    """Return the samples with trees from a list: for each a tree, or a list of them, one for each reference, or None.

    Raises
    ------
    UsageError
        There are more trees or fewer than texts.
    InputError
        A row's trees are not as many as its references, or something is no tree.
    """
    if len(trees) != len(samples):
        raise UsageError(f"there are {len(samples)} texts but {len(trees)} trees")
    return tuple(_with(sample, given) for sample, given in zip(samples, trees, strict=True))


def _with(sample: Sample, given: Any) -> Sample:
    if given is None:
        given = [NOT_GIVEN] * len(sample.references)
    # a tree is a tuple too, of words and heads
    elif isinstance(given, Tree) or not isinstance(given, list | tuple):
        given = [given]
    made = replace(sample, trees=tuple(NOT_GIVEN if tree is None else tree for tree in given))
    check_trees(made)
    return made


def check_trees(sample: Sample) -> None:
    """Refuse a sample whose trees cannot be used.

    Raises
    ------
    InputError
        They are not as many as its references, or one is no tree.
    """
    if len(sample.trees) != len(sample.references):
        raise InputError(f"{sample.origin}: has {len(sample.references)} references but {len(sample.trees)} trees")
    for number, tree in enumerate(sample.trees, 1):
        if isinstance(tree, str):
            continue
        if not isinstance(tree, Tree) or len(tree.words) != len(tree.heads):
            raise InputError(f"{sample.origin}: tree {number} must be a celadon.Tree with a head for each word")
        if (fault := tree_fault(tree.heads)) is not None:
            raise InputError(f"{sample.origin}: tree {number} is no tree: {fault}")
