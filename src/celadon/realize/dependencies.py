"""Elementary trees of words that hang together by named relations, as Universal Dependencies have them.

A word projects a node of its part of speech, and above that a node of its relation to its head. The places of its core
arguments (subjects, objects, clausal complements) are named by their relations and filled by substitution; all else is
adjoined, at the node of the head's part of speech and on the side where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from celadon.io.conllu import TreeSentence
from celadon.parsing.supertags import Attachment, Derivation, Host, Level, Side, Supertag

_ARGUMENTS = frozenset(("nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp", "expl"))
NOTHING_TOLD = "_"


def derive_dependencies(sentence: TreeSentence, kept: Sequence[int]) -> Derivation:
    """Take a dependency tree apart into supertags.

    Parameters
    ----------
    sentence
        A sentence whose words are a tree. Where that is not projective, each word stands with its head on the side
        where it stands in the sentence.
    kept
        The words to use, in order; they must be a tree.
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
