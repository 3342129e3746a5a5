"""Trees with the words of the Penn Treebank: forms as :func:`celadon.text.penn_words.penn_words` writes them.

Newer treebanks split words at hyphens and slashes and write quotes and dashes as the text does. The chart parser reads
a sentence in Penn words, so a grammar counted on such trees must be counted on Penn words too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from celadon.core import InputError
from celadon.io import Fields, Reader
from celadon.io.conllu import read_conllu
from celadon.parsing.brackets import TRACE, Tree, TreebankFile
from celadon.train.corpus import raise_bad_row

HYPHEN, SYMBOL = "HYPH", "SYM"
ADDRESS = "name@example.com"
"""What stands for e-mail addresses and names of users: a grammar that ships must not list people's."""

_FORMS = {"[": "-LRB-", "]": "-RRB-", "…": "...", "–": "--", "—": "--", "―": "--", "’s": "'s"}
_OPENING, _CLOSING = "``", "''"
_SINGLE = frozenset("'‘’`")
_PUNCTUATION = frozenset({":", ",", "."})
_NOUNS = frozenset({"NN", "NNS", "NNP", "NNPS"})
_NAMES = frozenset({"NNP", "NNPS"})
_AS_ADJECTIVE = frozenset({"VBN", "VBG", "VBD", "VB", "RB", "IN", "RP"})


def with_penn_words(tree: Tree) -> Tree:
    """Return a tree, without traces, whose words are those of the Penn Treebank."""
    if tree.is_tag:
        return _leaf(tree)
    children = _joined([_inner(tree.label, child) for child in tree.children], tree.label)
    if len(children) == 1 and children[0].label == tree.label and not children[0].is_tag:
        return children[0]
    return Tree(tree.label, tuple(children))


def _inner(parent: str, child: Tree) -> Tree:
    """A child with Penn words; an adjective phrase in a noun phrase that becomes a single word is a tag there."""
    found = with_penn_words(child)
    became_single = len(found.children) == 1 and found.children[0].is_tag and len(child.children) > 1
    return found.children[0] if became_single and found.label == "ADJP" and parent in ("NP", "NX") else found


def _leaf(tree: Tree) -> Tree:
    tag, word = tree.label, tree.word
    if tag in (_OPENING, _CLOSING):
        single = word in _SINGLE
        return Tree(tag, (), ("`" if single else "``") if tag == _OPENING else ("'" if single else "''"))
    if "@" in word and len(word) > 1:
        return Tree(tag, (), ADDRESS)
    word = _FORMS.get(word, word).replace("’", "'")
    return Tree(":" if tag == SYMBOL and word in ("--", "-") else tag, (), word)


def _joined(children: list[Tree], parent: str) -> list[Tree]:
    """Join words that a hyphen or a slash stands between, wherever it has single words on both sides."""
    joined: list[Tree] = []
    at = 0
    while at < len(children):
        end = at
        while end + 2 < len(children) and _joins(*children[end : end + 3]):
            end += 2
        if end > at:
            parts = [next(child.leaves()) for child in children[at : end + 1]]
            label = _joined_tag([part.label for part in parts[::2]], children[end + 1 :], parent)
            joined.append(Tree(label, (), "".join(part.word for part in parts)))
        elif children[at].label == HYPHEN:
            joined.append(Tree(":", (), children[at].word))
        else:
            joined.append(children[at])
        at = end + 1
    return joined


def _joins(left: Tree, middle: Tree, right: Tree) -> bool:
    ends = [_only_leaf(left), _only_leaf(right)]
    if not middle.is_tag or any(end is None or end.label in _PUNCTUATION for end in ends):
        return False
    return middle.label == HYPHEN or (middle.label == SYMBOL and middle.word == "/")


def _only_leaf(tree: Tree) -> Tree | None:
    """The one node over a word in a tree; None where it has more."""
    while tree.children:
        if len(tree.children) > 1:
            return None
        tree = tree.children[0]
    return tree


def _joined_tag(tags: Sequence[str], after: Sequence[Tree], parent: str) -> str:
    """The tag of a word made of several: as the Penn Treebank has it in most cases."""
    if set(tags) <= _NAMES or set(tags) == {"CD"}:
        return tags[-1]
    modifies = parent == "ADJP" or any(child.label in _NOUNS for child in after)
    return "JJ" if modifies or tags[-1] in _AS_ADJECTIVE else tags[-1]


def read_tagged(paths: Iterable[str]) -> Iterator[list[Tree]]:
    """Yield the sentences of CoNLL-U files as tags over Penn words, by the column XPOS.

    Parts of words that are split at hyphens are left out, for no tree tells what tag the whole has.
    """
    for path in paths:
        for sentence in read_conllu(path):
            leaves = [Tree(tag, (), word) for tag, word in zip(sentence.fine_tags, sentence.words, strict=True)]
            parts = {near for at, leaf in enumerate(leaves) if leaf.label == HYPHEN for near in (at - 1, at, at + 1)}
            yield [Tree("", (), "") if at in parts else _leaf(leaf) for at, leaf in enumerate(leaves)]


_WRITTEN = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def by_document(files: Sequence[TreebankFile], documents: str) -> list[TreebankFile]:
    """Divide trees into one file per document of a table with the columns ``id`` and ``text``.

    A tree whose words stand in one document only is of that document. Any other stays in the document of the tree
    before it if its words are there too, or in no document, and else goes to that of the next tree that is certain.
    Raises InputError where no tree stands in any document, or the trees of one are not one after another.
    """
    texts = _read_documents(documents)
    found: list[TreebankFile] = []
    for file in files:
        for name, trees in _runs(file.trees, texts):
            if any(name == other.name for other in found):
                raise InputError(f"{documents}: the trees of {name} are not one after another in {file.name}")
            found.append(TreebankFile(name, tuple(trees)))
    if not found:
        raise InputError(f"{documents}: none of the trees stands in these documents")
    return found


def _read_documents(path: str) -> dict[str, str]:
    rows = [sample for chunk in Reader([path], Fields(), on_bad=raise_bad_row) for sample in chunk.samples]
    return {str(at if row.id is None else row.id): "".join(row.text.split()) for at, row in enumerate(rows)}


def _runs(trees: Sequence[Tree], texts: dict[str, str]) -> list[tuple[str, list[Tree]]]:
    runs: list[tuple[str, list[Tree]]] = []
    waiting: list[Tree] = []
    for tree in trees:
        words = [leaf.word for leaf in tree.leaves() if leaf.label != TRACE]
        written = "".join(_WRITTEN.get(word, word) for word in words)
        holders = [name for name, text in texts.items() if written in text]
        here = runs[-1][0] if runs else ""
        if len(holders) == 1 and holders[0] != here:
            runs.append((holders[0], [*waiting, tree]))
            waiting = []
        elif runs and not waiting and (not holders or here in holders):
            runs[-1][1].append(tree)
        elif len(holders) == 1:
            runs[-1][1].extend([*waiting, tree])
            waiting = []
        else:
            waiting.append(tree)
    if runs:
        runs[-1][1].extend(waiting)
    return runs
