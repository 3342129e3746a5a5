"""Which document a tree is of, for treebanks that hold the trees of many documents in one file."""

from __future__ import annotations

from collections.abc import Sequence

from celadon.core import InputError
from celadon.io import BadRow, Fields, Reader
from celadon.parsing.brackets import TRACE, Tree, TreebankFile

_WRITTEN = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}


def by_document(files: Sequence[TreebankFile], documents: str) -> list[TreebankFile]:
    """Divide trees into one file per document.

    A tree whose words stand in one document only is of that document. Any other stays in the document of the tree
    before it if its words are there too, or in no document, and else goes to that of the next tree that is certain.

    Parameters
    ----------
    files
        Files of trees, the trees of a document one after another.
    documents
        A table with the columns ``id`` and ``text``, one document a row; blanks do not matter.

    Raises
    ------
    InputError
        No tree stands in any of the documents, or the trees of one are not one after another.
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
    rows = [sample for chunk in Reader([path], Fields(), on_bad=_refuse) for sample in chunk.samples]
    return {str(at if row.id is None else row.id): "".join(row.text.split()) for at, row in enumerate(rows)}


def _refuse(row: BadRow) -> None:
    raise InputError(str(row))


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
