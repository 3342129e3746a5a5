"""The treelets that went wrong, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from celadon.cli.explain_aspects import Screen, one_line

if TYPE_CHECKING:
    from celadon.metrics.tree_evidence import TreeEvidence

_TREELETS = 12
_MARGIN = "    "


def tree_lines(evidence: TreeEvidence, screen: Screen) -> Iterator[str]:
    """Show each treelet that went wrong, in the reference's order and in the text's, and words that belong to none.

    Parameters
    ----------
    evidence
        The tree, and what is wrong with it.
    screen
        Where the lines are to be shown.
    """
    from celadon.metrics.tree_evidence import ROOTS

    def written(words: Iterable[int]) -> str:
        return one_line(" ".join(evidence.words[word] for word in words))

    for treelet in evidence.treelets[:_TREELETS]:
        of = "several roots" if treelet.head == ROOTS else one_line(evidence.words[treelet.head])
        yield f"{_MARGIN}{of}: {treelet.note}"
        yield from _wrapped(f"reference  {written(treelet.expected)}", screen)
        yield from _wrapped(f"text       {written(treelet.found)}", screen)
    if len(evidence.treelets) > _TREELETS:
        yield f"{_MARGIN}and {len(evidence.treelets) - _TREELETS:,} more"
    paired = set(evidence.place)
    new = [word for at, word in enumerate(evidence.text_words) if at not in paired]
    if new:
        yield from _wrapped(f"in no treelet: {one_line(' '.join(new))}", screen)


def _wrapped(line: str, screen: Screen) -> list[str]:
    indent = _MARGIN + "  "
    return wrap(line, screen.room(0), initial_indent=indent, subsequent_indent=indent + " " * 11)
