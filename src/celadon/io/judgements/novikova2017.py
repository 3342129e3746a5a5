"""Novikova et al. 2017, "Why we need new evaluation metrics for NLG": outputs of dialogue systems, rated 1 to 6.

Three layouts. ``emnlp_data_medians.csv`` has a row per output with the columns dataset, system, mr, sys_ref and the
medians informativeness, naturalness, quality. ``emnlp_data_individual_hum_scores.csv`` has a row per judge (and per
reference, in orig_ref), and the column judge; its rows of one output become one. Ours is JSON lines, a file per set.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from celadon.io.judgements.files import json_lines, stem, table
from celadon.io.judgements.plain_jsonl import plain_row
from celadon.io.judgements.rows import Fields, Row, judgement, median

DIMENSIONS = ("informativeness", "naturalness", "quality")
PATTERN = "emnlp_data_individual_hum_scores.csv* emnlp_data_medians.csv* novikova2017_*.jsonl*"


def read(path: str) -> Iterator[Row]:
    """Rows of one file. Scores are medians, as in the paper; in CSV equal meaning representations share an id."""
    if ".csv" not in path.lower():
        domain = stem(path).rpartition("_")[2]
        for row in json_lines(path):
            yield plain_row(row, domain, prefix=f"{domain}-")
        return
    items: dict[tuple[str, str], str] = {}
    outputs: dict[tuple[str, ...], _Output] = {}
    for row in table(path, "dataset", "system", "mr", *DIMENSIONS):
        domain, mr = row.text("dataset"), row.text("mr")
        identity = items.setdefault((domain, mr), f"{domain}-{len(items)}")
        text = row.text("sys_ref", "system_ref")
        if not row.has("judge"):
            yield judgement(
                id=identity,
                system=row.text("system"),
                domain=domain,
                text=text,
                source=mr,
                references=row.texts("orig_ref"),
                scores={name: row.number(name) for name in DIMENSIONS},
            )
            continue
        key = (domain, row.text("system"), mr, text)
        outputs.setdefault(key, _Output(identity)).add(row)
    for (domain, system, mr, text), output in outputs.items():
        yield judgement(
            id=output.id,
            system=system,
            domain=domain,
            text=text,
            source=mr,
            references=output.references,
            scores={name: median(output.ratings(name)) for name in DIMENSIONS},
            ratings={name: output.ratings(name) for name in DIMENSIONS},
        )


@dataclass
class _Output:
    """All rows of one output: a rating per judge, each reference once."""

    id: str
    judges: dict[str, dict[str, float]] = field(default_factory=dict)
    references: list[str] = field(default_factory=list)

    def add(self, row: Fields) -> None:
        # a judge's rating is repeated with every reference
        self.judges.setdefault(row.text("judge"), {name: row.number(name) for name in DIMENSIONS})
        reference = row.optional_text("orig_ref")
        if reference and reference not in self.references:
            self.references.append(reference)

    def ratings(self, name: str) -> list[float]:
        return [ratings[name] for _, ratings in sorted(self.judges.items())]
