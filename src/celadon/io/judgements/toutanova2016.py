"""Toutanova et al. 2016, abstractive compression: compressions of sentences and paragraphs, meaning and grammar 1 to 3.

``test_output.{ilp,namas,seq2seq,t3}.tsv`` hold the outputs of four systems, ``train.tsv``, ``valid.tsv`` and
``test.tsv`` compressions that people wrote, in one layout. A line is a source and one or more compressions, with
`` ||| `` between them. The source has three cells separated by tabs: its id, the domain, the text. A compression has
its text, who made it (in an output file the system), how many ratings it got, and for every rating three cells: a code,
and the same in words for meaning and for grammar. Only the code is read: 6, 7, 9 are meaning 3 with grammar 3, 2, 1;
11, 12, 14 meaning 2; 21, 22, 24 meaning 1. A file with ratings of the code alone is read too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from celadon.core import InputError
from celadon.io.judgements.files import text_lines
from celadon.io.judgements.rows import Row, judgement, mean

DIMENSIONS = ("meaning", "grammar")
PATTERN = "test_output.*.tsv* RawData/test_output.*.tsv*"
SEPARATOR = "|||"

_CODES = {6: (3, 3), 7: (3, 2), 9: (3, 1), 11: (2, 3), 12: (2, 2), 14: (2, 1), 21: (1, 3), 22: (1, 2), 24: (1, 1)}


def read(path: str) -> Iterator[Row]:
    """Rows of one file.

    The references of a system's output are the compressions in ``test.tsv`` of the same folder, where it is there. In
    a file of people's compressions, those of the other people are the references, and the system is ``human``.
    """
    parts = Path(path).name.split(".")
    output = parts[0] == "test_output" and len(parts) > 2
    beside = Path(path).with_name("test.tsv")
    written = dict(_written(str(beside))) if output and beside.is_file() else {}
    for where, line in text_lines(path):
        (id, domain, source), compressions = _parts(where, line)  # noqa: A001
        texts = [compression[0] for compression in compressions]
        for at, (text, _, *ratings) in enumerate(compressions):
            codes = _codes(where, ratings)
            dimensions = {name: [float(code[which]) for code in codes] for which, name in enumerate(DIMENSIONS)}
            yield judgement(
                id=id,
                system=parts[1] if output else "human",
                domain=domain,
                text=text,
                source=source,
                references=written.get(id, ()) if output else [*texts[:at], *texts[at + 1 :]],
                scores={name: mean(values) for name, values in dimensions.items()},
                ratings=dimensions,
            )


def _written(path: str) -> Iterator[tuple[str, list[str]]]:
    for where, line in text_lines(path):
        (id, _, _), compressions = _parts(where, line)  # noqa: A001
        yield id, [compression[0] for compression in compressions]


def _parts(where: str, line: str) -> tuple[Sequence[str], list[list[str]]]:
    first, *rest = (part.strip(" ").split("\t") for part in line.split(SEPARATOR))
    # a tab may stand beside the separator
    head = [cell.strip() for cell in first if cell.strip()]
    compressions = [[cell.strip() for cell in part if cell.strip()] for part in rest]
    if len(head) != 3:
        raise InputError(f"{where}: the source must have three cells (id, domain, text), not {len(head)}")
    if not compressions or any(len(part) < 3 for part in compressions):
        raise InputError(f"{where}: a compression must have a text, who made it and the number of its ratings")
    return head, compressions


def _codes(where: str, cells: Sequence[str]) -> list[tuple[int, int]]:
    count, *rest = cells
    if not count.isdecimal():
        raise InputError(f"{where}: the number of ratings is not a number: {count[:20]!r}")
    step = 3 if len(rest) == 3 * int(count) else 1
    if len(rest) != step * int(count):
        raise InputError(f"{where}: {count} ratings are announced, and {len(rest)} cells follow")
    codes = [int(cell) if cell.isdecimal() else -1 for cell in rest[::step]]
    unknown = next((cell for cell, code in zip(rest[::step], codes, strict=True) if code not in _CODES), None)
    if unknown is not None:
        raise InputError(f"{where}: unknown rating code {unknown[:20]!r}; known: {', '.join(map(str, _CODES))}")
    return [_CODES[code] for code in codes]
