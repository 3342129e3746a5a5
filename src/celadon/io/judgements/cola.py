"""Warstadt et al. 2019, CoLA: sentences of the linguistic literature, acceptable (1) or not (0).

Tab-separated without a header or quotes: source, label, the author's mark (``*``, ``?``), sentence.
"""

from __future__ import annotations

from collections.abc import Iterator

from celadon.core import InputError
from celadon.io.judgements.files import stem, text_lines
from celadon.io.judgements.rows import Row, judgement

DIMENSIONS = ("acceptability",)
PATTERN = "*_domain_*.tsv*"


def read(path: str) -> Iterator[Row]:
    """Rows of one file; the domain is the source, the id the file and the line."""
    for where, line in text_lines(path):
        cells = line.split("\t")
        if len(cells) != 4:
            raise InputError(f"{where}: four cells are expected (source, label, mark, sentence), not {len(cells)}")
        source, label, mark, sentence = cells
        if label not in ("0", "1"):
            raise InputError(f"{where}: the label must be 0 or 1, not {label[:20]!r}")
        yield judgement(
            id=f"{stem(path)}-{where.rpartition(':')[2]}",
            domain=source,
            text=sentence,
            scores={DIMENSIONS[0]: float(label)},
            mark=mark or None,
        )
