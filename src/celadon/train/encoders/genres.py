"""Sound sentences of many genres, and corrections, as training takes them: documents of the fit half only."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from celadon.instrument.cells import in_dialect
from celadon.instrument.halves import Half, document_of, half_of
from celadon.io import read_table_rows
from celadon.synth.slips import Correction
from celadon.text.sentences import split_sentences
from celadon.text.structure import BlockKind, Markup, read_blocks
from celadon.text.structure.blocks import READABLE

_FEWEST_WORDS, _MOST_WORDS = 2, 45
_MOST_CORRECTED_WORDS = 60
# marks of code and of markup that was not understood
_CODE = re.compile(r"[{}<>|\\`_=#]|::|https?:|\*\*|\w\(\)")
_LETTERS = 0.7  # the least share of letters and spaces
# genres of GUM whose texts may be used for any purpose
_FREE_GUM = frozenset({"academic", "bio", "court", "interview", "news", "speech", "textbook", "vlog", "voyage"})
_FIELDS = ("text", "instruction", "response", "output")


class Paragraph(NamedTuple):
    """Sentences that follow each other; a heading, an item of a list or a turn has one or a few."""

    sentences: tuple[str, ...]


def read_genre(path: str | Path) -> Iterator[Paragraph]:
    """Yield the paragraphs of a file of sound texts, one JSON object a row: see :mod:`celadon.instrument.passages`."""
    for row in read_table_rows(str(path)):
        if half_of(document_of(row)) is Half.FIT and may_be_used(row):
            yield from _paragraphs(row)


def may_be_used(row: Mapping[str, Any]) -> bool:
    """Return whether weights that come with the package may be trained on a row."""
    if str(row.get("id", "")).startswith("GUM_"):
        return row.get("genre") in _FREE_GUM
    return not in_dialect(row)


def _paragraphs(row: Mapping[str, Any]) -> Iterator[Paragraph]:
    turns = row.get("turns")
    if turns:
        texts, markup = [str(turn) for turn in turns], Markup.PLAIN
    else:
        texts = [str(row[field]) for field in _FIELDS if row.get(field)]
        markup = Markup(row["format"]) if row.get("format") in tuple(Markup) else Markup.AUTO
    for text in texts:
        for block in _rendered_blocks(text, markup):
            sentences = [block[start:end].strip() for start, end in split_sentences(block)]
            usable = tuple(sentence for sentence in sentences if _is_readable(sentence))
            if len(usable) == len(sentences):
                yield Paragraph(usable)
            else:
                yield from (Paragraph((sentence,)) for sentence in usable)


def _rendered_blocks(text: str, markup: Markup) -> list[str]:
    kinds = READABLE | {BlockKind.HEADING}
    return [block.render(text).text.strip() for block in read_blocks(text, markup) if block.kind in kinds]


def _is_readable(sentence: str) -> bool:
    words = sentence.split()
    letters = sum(character.isalpha() or character == " " for character in sentence)
    return (
        _FEWEST_WORDS <= len(words) <= _MOST_WORDS
        and letters >= _LETTERS * len(sentence)
        and not _CODE.search(sentence)
    )


class Corrections(NamedTuple):
    """Corrections of a file: those to learn from, and all sentences of the other halves, which must not be seen."""

    fit: list[Correction]
    reserved: frozenset[str]


def read_corrections(paths: Iterable[str | Path]) -> Corrections:
    """Read sentences before and after a correction, without their markup; those of wording are not corrections."""
    fit, reserved = [], set[str]()
    for path in paths:
        for row in read_table_rows(str(path)):
            pair = rendered_correction(row)
            if half_of(document_of(row)) is not Half.FIT:
                reserved.update((str(row["before"]).strip(), str(row["after"]).strip(), *pair))
            elif row.get("kind") != "wording" and pair.before != pair.after:
                fit.append(pair)
    usable = [
        pair
        for pair in fit
        if not {pair.before, pair.after} & reserved and len(pair.before.split()) <= _MOST_CORRECTED_WORDS
    ]
    return Corrections(usable, frozenset(reserved))


def rendered_correction(row: Mapping[str, Any]) -> Correction:
    """Return a correction as a reader sees it, or as it is written where its markup cannot be read."""
    markup = Markup.RST if str(row.get("file", "")).endswith((".rst", ".txt")) else Markup.MARKDOWN
    before, after = (_rendered(str(row[name]), markup) for name in ("before", "after"))
    if not before or not after:
        return Correction(str(row["before"]).strip(), str(row["after"]).strip())
    return Correction(before, after)


def _rendered(text: str, markup: Markup) -> str:
    return " ".join(_rendered_blocks(text, markup))


def without(paragraphs: Iterable[Paragraph], reserved: frozenset[str]) -> Iterator[Paragraph]:
    """Leave out the paragraphs that have a reserved sentence."""
    return (each for each in paragraphs if reserved.isdisjoint(each.sentences))


def share_out(sizes: Sequence[int], total: int) -> list[int]:
    """Return how much is taken of each source: alike of all, all of the small ones, and never more than there is."""
    taken = [0] * len(sizes)
    left, open_sources = total, [at for at, size in enumerate(sizes) if size]
    while left > 0 and open_sources:
        share = max(1, left // len(open_sources))
        for at in list(open_sources):
            more = min(share, sizes[at] - taken[at], left)
            taken[at] += more
            left -= more
            if taken[at] == sizes[at]:
                open_sources.remove(at)
    return taken
