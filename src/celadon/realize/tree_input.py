"""Trees as users give them: CoNLL-U, or a JSON object a line; and what of them is realized.

A JSON object has ``words`` with ``heads`` (from 1, 0 for the root, as in CoNLL-U) and perhaps ``relations``; or a
``tree``, a node with its ``word``, perhaps its ``relation``, and its ``daughters``, a list of such nodes. An ``id``
names the sentence. The order of words and daughters does not matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from celadon.io.conllu import NO_HEAD, TreeSentence, read_conllu, tree_fault
from celadon.io.lines import decode, numbered_lines
from celadon.io.rows import chomp
from celadon.io.sources import endings, find_sources, open_stream
from celadon.realize.trees import Arranged, arrange, is_punctuation

MOST_WORDS = 250
"""Larger trees are refused: the table of their trigrams would be too large."""

_MARK_TAGS = frozenset(("PUNCT",))
_NAME_TAGS = ("PROPN", "NNP", "NNPS")
_NOTHING = "_"


def read_trees(path: str, kind: str | None = None) -> Iterator[TreeSentence]:
    """Yield the sentences of a file (- for the standard input), also compressed; what is no tree comes with its fault.

    ``kind`` is ``conllu`` or ``json``; by default JSON lines where the name ends in ``.jsonl`` or ``.json``.
    """
    if kind == "json" or (kind is None and endings(path)[0] in (".jsonl", ".json")):
        return _read_json(path)
    return map(_without_capital, read_conllu(path))


def _read_json(path: str) -> Iterator[TreeSentence]:
    for source in find_sources([path], "jsonl"):
        with open_stream(source) as stream:
            for number, raw, cut in numbered_lines(stream.buffer):
                origin = f"{source.name}:{number}"
                faults: list[str] = []
                line = decode(number, chomp(raw), cut, lambda _, what, *rest, told=faults: told.append(what))
                if faults:
                    yield _no_tree(origin, faults[0])
                elif line is not None and line.strip():
                    yield _of_json(line, origin)


def _no_tree(origin: str, fault: str, name: str | None = None) -> TreeSentence:
    return TreeSentence(name, (), (), (), (), (), origin=origin, fault=fault)


def _of_json(line: str, origin: str) -> TreeSentence:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return _no_tree(origin, f"it is not JSON: {error}")
    if not isinstance(row, dict):
        return _no_tree(origin, "it is not a JSON object")
    name = None if row.get("id") is None else str(row["id"])
    columns = _nested(row["tree"]) if "tree" in row else _flat(row)
    if isinstance(columns, str):
        return _no_tree(origin, columns, name)
    empty = (_NOTHING,) * len(columns.words)
    fault = tree_fault(columns.heads)
    return TreeSentence(name, columns.words, columns.heads, empty, empty, columns.relations, None, origin, fault)


class _Columns(NamedTuple):
    words: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]


def _flat(row: dict[str, Any]) -> _Columns | str:
    words, heads = row.get("words"), row.get("heads")
    relations = row.get("relations")
    if not isinstance(words, list) or not isinstance(heads, list):
        return "it has neither a tree nor lists of words and heads"
    if relations is None:
        relations = [_NOTHING] * len(words)
    if not isinstance(relations, list) or not len(words) == len(heads) == len(relations):
        return f"it has {len(words)} words and {len(heads)} heads; words, heads and relations must be equally many"
    if not all(isinstance(each, str) for each in (*words, *relations)):
        return "a word or a relation is not a text"
    numbers = tuple(each - 1 if type(each) is int and each >= 0 else NO_HEAD for each in heads)
    return _Columns(tuple(words), numbers, tuple(relations))


def _nested(tree: Any) -> _Columns | str:
    words: list[str] = []
    heads: list[int] = []
    relations: list[str] = []
    waiting: list[tuple[Any, int]] = [(tree, -1)]
    while waiting:
        node, head = waiting.pop()
        if not isinstance(node, dict) or not isinstance(node.get("word"), str):
            return "a node of its tree has no word"
        daughters = node.get("daughters", [])
        if not isinstance(daughters, list):
            return f"the daughters of {node['word']!r} are not a list"
        waiting.extend((each, len(words)) for each in daughters)
        words.append(node["word"])
        heads.append(head)
        relations.append(str(node.get("relation", _NOTHING)))
    return _Columns(tuple(words), tuple(heads), tuple(relations))


def _without_capital(sentence: TreeSentence) -> TreeSentence:
    """A sentence whose first word does not tell by its capital that it is the first."""
    first = next((at for at in range(len(sentence.words)) if not _is_mark(sentence, at)), None)
    if first is None:
        return sentence
    tags = sentence.tags[first], sentence.fine_tags[first]
    word = small_beginning(sentence.words[first], any(tag in _NAME_TAGS for tag in tags))
    return replace(sentence, words=(*sentence.words[:first], word, *sentence.words[first + 1 :]))


def small_beginning(word: str, is_name: bool) -> str:
    """The first word of a sentence as it is written within one."""
    if is_name or word == "I" or word[:2] == "I'" or (len(word) > 1 and word.isupper()):
        return word
    return word[:1].lower() + word[1:]


def _is_mark(sentence: TreeSentence, word: int) -> bool:
    tag = sentence.tags[word]
    return tag in _MARK_TAGS if tag != _NOTHING else is_punctuation(sentence.words[word])


def words_to_realize(sentence: TreeSentence) -> list[int]:
    """The words of a tree without marks of punctuation; a mark on which words depend stays."""
    needed = {-1}
    for word in range(len(sentence.words)):
        if not _is_mark(sentence, word):
            above = word
            while above not in needed:
                needed.add(above)
                above = sentence.heads[above]
    kept = sorted(needed - {-1})
    # a sentence of nothing but marks
    return kept or list(range(len(sentence.words)))


def refusal(sentence: TreeSentence) -> str | None:
    """Why a sentence cannot be realized; None where it can."""
    if sentence.fault is not None:
        return sentence.fault
    for number, word in enumerate(sentence.words, 1):
        if not word.strip():
            return f"word {number} is empty"
    if len(sentence.words) > MOST_WORDS:
        return f"it has {len(sentence.words)} words; at most {MOST_WORDS} can be put in order"
    return None


def arrange_sentence(sentence: TreeSentence, use_relations: bool = False) -> Arranged:
    """Make the unordered tree of a sentence that is not refused, without its marks of punctuation."""
    kept = words_to_realize(sentence)
    number = {word: at for at, word in enumerate(kept)}
    words = [sentence.words[word] for word in kept]
    heads = [number[sentence.heads[word]] if sentence.heads[word] >= 0 else -1 for word in kept]
    relations: Sequence[str] = ()
    if use_relations:
        told = (sentence.relations[word].partition(":")[0] for word in kept)
        relations = ["" if each == _NOTHING else each for each in told]
    return arrange(words, heads, relations)
