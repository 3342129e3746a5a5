"""Figures as two papers print them: facts, in the papers' own names.

GRUEN: Zhu and Bhat 2020, Tables 2, 3, 4, 8, 9 and, for the single versions of BLEU, ROUGE and WMD, 14 and 15. SLOR:
Kann, Rothe and Filippova 2018, Tables 3 and 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from celadon.meta.correlation import Kind

RHO: Kind = "spearman"
TAU: Kind = "kendall"
PEARSON: Kind = "pearson"
SYMBOLS = {RHO: "ρ", TAU: "τ", PEARSON: "r"}

Figures: TypeAlias = dict[tuple[str, str, str], float | None]
"""Published figures by the paper's name of the metric, the dimension and the coefficient; None where there is none."""

LABELS = {
    "BLEU-1": "bleu1",
    "BLEU-2": "bleu2",
    "BLEU-3": "bleu3",
    "BLEU-4": "bleu4",
    "ROUGE-1": "rouge1",
    "ROUGE-2": "rouge2",
    "ROUGE-3": "rouge3",
    "ROUGE-4": "rouge4",
    "ROUGE-L": "rougeL",
    "ROUGE-W": "rougeW",
    "METEOR": "meteor",
    "TER": "ter",
    "VecSim": "vecsim",
    "WMD": "wmd",
    "SMD": "smd",
    "S+WMD": "s_wmd",
    "MoverScore": "moverscore",
    "SUM-QE": "sumqe",
    "SARI": "sari",
    "GRUEN": "gruen",
}
"""The GRUEN paper's metrics and ours of the same kind."""

OVER_CHARACTERS = {f"bleu{n}[tokenize=char]": f"BLEU-{n}" for n in (1, 2, 3, 4)}
"""Run beside the metrics: the paper's figures for BLEU on summaries are those of n-grams of characters, not words."""

FAMILIES = {
    "BLEU-best": ("bleu1", "bleu2", "bleu3", "bleu4"),
    "ROUGE-best": ("rouge1", "rouge2", "rouge3", "rouge4", "rougeL", "rougeW"),
    "WMD-best": ("wmd", "smd", "s_wmd"),
}


def _figures(dimensions: Sequence[str], kinds: Sequence[str], text: str) -> Figures:
    places = [(dimension, kind) for dimension in dimensions for kind in kinds]
    found: Figures = {}
    for line in text.strip().splitlines():
        label, *numbers = line.split()
        for (dimension, kind), number in zip(places, numbers, strict=True):
            found[label, dimension, kind] = float(number)
    return found


_SUMMARIES = ("overall", "grammar", "redundancy", "hter")
_DIALOGUE = ("naturalness", "quality")

GRUEN_2_CNNDM = _figures(
    _SUMMARIES,
    (RHO, PEARSON),
    """
    BLEU-best 0.17 0.18 0.11 0.12 0.17 0.20 -0.21 -0.29
    ROUGE-best 0.17 0.19 0.11 0.13 0.20 0.23 -0.24 -0.32
    METEOR 0.17 0.18 0.10 0.12 0.20 0.22 -0.25 -0.28
    TER -0.04 -0.03 0.03 0.02 -0.07 -0.08 0.08 0.08
    VecSim 0.16 0.19 0.09 0.12 0.18 0.22 -0.24 -0.34
    WMD-best 0.26 0.24 0.20 0.21 0.26 0.23 -0.29 -0.26
    MoverScore 0.24 0.26 0.15 0.17 0.28 0.32 -0.32 -0.40
    SUM-QE 0.46 0.48 0.41 0.41 0.45 0.44 -0.51 -0.43
    GRUEN 0.52 0.54 0.43 0.40 0.52 0.58 -0.60 -0.58
    """,
)
GRUEN_14_CNNDM = _figures(
    _SUMMARIES,
    (RHO, PEARSON),
    """
    BLEU-1 0.07 0.08 0.05 0.05 0.06 0.06 -0.08 -0.10
    BLEU-2 0.13 0.14 0.09 0.09 0.13 0.14 -0.16 -0.20
    BLEU-3 0.16 0.18 0.10 0.12 0.17 0.19 -0.21 -0.27
    BLEU-4 0.17 0.18 0.11 0.12 0.17 0.20 -0.21 -0.29
    ROUGE-1 0.17 0.19 0.11 0.13 0.20 0.23 -0.24 -0.32
    ROUGE-2 0.14 0.13 0.09 0.10 0.15 0.15 -0.18 -0.21
    ROUGE-3 0.12 0.10 0.08 0.09 0.13 0.11 -0.16 -0.16
    ROUGE-4 0.10 0.08 0.08 0.08 0.11 0.09 -0.14 -0.13
    ROUGE-L 0.12 0.13 0.10 0.12 0.11 0.12 -0.17 -0.19
    ROUGE-W 0.14 0.14 0.10 0.12 0.13 0.14 -0.18 -0.19
    WMD 0.18 0.11 0.12 0.10 0.19 0.11 -0.23 -0.15
    SMD 0.26 0.24 0.20 0.21 0.26 0.23 -0.29 -0.26
    S+WMD 0.21 0.17 0.15 0.15 0.22 0.17 -0.26 -0.21
    """,
)
GRUEN_2_TAC = _figures(
    ("readability",),
    (RHO, PEARSON),
    """
    BLEU-best 0.26 0.38
    ROUGE-best 0.25 0.36
    METEOR 0.24 0.32
    TER 0.21 0.34
    VecSim 0.16 0.33
    WMD-best 0.15 0.25
    MoverScore 0.29 0.40
    SUM-QE 0.40 0.41
    GRUEN 0.40 0.45
    """,
)
_DIALOGUE_SETS = [f"{name}:{dimension}" for name in ("bagel", "sfhotel", "sfrest") for dimension in _DIALOGUE]
_GRUEN_3 = _figures(
    _DIALOGUE_SETS,
    (RHO, PEARSON),
    """
    BLEU-best 0.03 0.04 0.02 0.05 0.00 0.07 -0.10 -0.02 0.03 0.03 -0.03 -0.02
    ROUGE-best 0.11 0.13 0.10 0.12 -0.02 0.02 -0.12 -0.07 0.02 0.03 -0.06 -0.04
    METEOR 0.02 0.03 0.05 0.05 -0.04 0.02 -0.14 -0.07 0.03 0.04 -0.01 0.00
    TER 0.11 0.15 0.11 0.15 -0.01 -0.02 -0.05 -0.03 0.01 -0.01 -0.06 -0.08
    VecSim 0.03 0.05 0.05 0.07 -0.03 0.04 -0.15 -0.06 0.02 0.02 -0.05 -0.05
    WMD-best 0.03 0.05 0.05 0.08 -0.02 0.00 -0.12 -0.07 0.03 0.05 -0.05 0.00
    MoverScore 0.07 0.10 0.06 0.10 -0.03 0.02 -0.12 -0.06 0.02 0.02 -0.04 -0.02
    SUM-QE 0.14 0.17 0.13 0.16 0.23 0.30 0.16 0.24 0.09 0.11 0.11 0.13
    GRUEN 0.22 0.32 0.19 0.26 0.44 0.48 0.44 0.51 0.24 0.25 0.27 0.27
    """,
)
_GRUEN_15 = _figures(
    _DIALOGUE_SETS,
    (RHO, PEARSON),
    """
    BLEU-1 -0.02 -0.02 -0.02 -0.01 0.03 0.11 -0.04 0.04 0.03 0.03 -0.03 -0.02
    BLEU-2 0.00 0.00 -0.01 0.01 0.01 0.09 -0.08 0.00 0.03 0.02 -0.03 -0.03
    BLEU-3 0.01 0.03 0.01 0.03 0.00 0.08 -0.10 -0.01 0.03 0.02 -0.03 -0.03
    BLEU-4 0.03 0.04 0.02 0.05 0.00 0.07 -0.10 -0.02 0.03 0.03 -0.03 -0.02
    ROUGE-1 0.10 0.12 0.10 0.12 -0.01 0.06 -0.11 -0.03 0.02 0.01 -0.05 -0.04
    ROUGE-2 0.11 0.13 0.10 0.12 -0.02 0.02 -0.12 -0.07 0.02 0.03 -0.06 -0.04
    ROUGE-3 0.08 0.10 0.07 0.09 -0.03 0.01 -0.12 -0.06 0.01 0.04 -0.06 -0.03
    ROUGE-4 0.04 0.09 0.04 0.08 -0.04 0.00 -0.12 -0.06 0.02 0.05 -0.04 -0.01
    ROUGE-L 0.08 0.10 0.09 0.11 -0.01 0.07 -0.11 -0.03 0.01 0.01 -0.06 -0.04
    ROUGE-W 0.08 0.10 0.08 0.10 -0.02 0.04 -0.12 -0.05 0.05 0.05 -0.03 -0.02
    WMD 0.03 0.05 0.05 0.08 -0.02 0.00 -0.12 -0.07 0.03 0.05 -0.05 0.00
    SMD 0.00 0.04 0.02 0.07 0.00 0.01 -0.09 -0.06 -0.01 0.03 -0.07 -0.01
    S+WMD 0.02 0.05 0.04 0.08 -0.01 0.00 -0.11 -0.07 0.02 0.05 -0.06 -0.01
    """,
)


def dialogue(name: str) -> Figures:
    """Tables 3 and 15 of the GRUEN paper for one of the dialogue sets."""
    return {
        (label, place.partition(":")[2], kind): figure
        for (label, place, kind), figure in (_GRUEN_3 | _GRUEN_15).items()
        if place.partition(":")[0] == name
    }


GRUEN_4 = _figures(
    ("grammar",),
    (RHO, TAU, PEARSON),
    """
    BLEU-best 0.55 0.40 0.58
    ROUGE-best 0.61 0.45 0.64
    METEOR 0.63 0.47 0.67
    TER 0.55 0.40 0.56
    VecSim 0.47 0.34 0.53
    WMD-best 0.43 0.31 0.33
    MoverScore 0.62 0.46 0.65
    SUM-QE 0.62 0.45 0.64
    SARI 0.35 0.25 0.40
    GRUEN 0.65 0.49 0.65
    """,
)
GRUEN_9 = _figures(
    _SUMMARIES,
    (RHO, TAU, PEARSON),
    """
    BLEU-best 0.17 0.14 0.20 0.12 0.09 0.15 0.20 0.15 0.23 -0.23 -0.16 -0.33
    ROUGE-best 0.17 0.14 0.19 0.13 0.09 0.15 0.20 0.15 0.23 -0.26 -0.18 -0.34
    METEOR 0.17 0.13 0.17 0.11 0.09 0.13 0.20 0.15 0.21 -0.26 -0.18 -0.31
    TER -0.01 -0.00 0.01 0.03 0.02 0.04 -0.05 -0.04 -0.04 0.06 0.04 0.07
    VecSim 0.17 0.13 0.21 0.11 0.08 0.15 0.20 0.15 0.26 -0.27 -0.18 -0.40
    WMD-best 0.27 0.21 0.26 0.24 0.18 0.25 0.27 0.20 0.25 -0.31 -0.21 -0.29
    MoverScore 0.23 0.18 0.25 0.17 0.13 0.20 0.28 0.21 0.32 -0.33 -0.23 -0.41
    SUM-QE 0.53 0.43 0.54 0.49 0.38 0.49 0.47 0.36 0.46 -0.54 -0.38 -0.45
    GRUEN 0.58 0.47 0.58 0.50 0.37 0.48 0.62 0.48 0.66 -0.68 -0.50 -0.64
    """,
)
GRUEN_9_ROWS = 1323
GRUEN_2_ROWS = 2086

GRUEN_8 = {
    ("cnndm", "overall"): ("***", "***", "***"),
    ("cnndm", "grammar"): ("*", "—", "—"),
    ("cnndm", "redundancy"): ("***", "***", "***"),
    ("cnndm", "hter"): ("***", "***", "***"),
    ("TAC-2011", "Readability"): ("*", "**", "**"),
    ("bagel", "naturalness"): ("0.01", "0.07", "**"),
    ("bagel", "quality"): ("0.06", "0.17", "*"),
    ("sfhotel", "naturalness"): ("***", "***", "***"),
    ("sfhotel", "quality"): ("***", "***", "***"),
    ("sfrest", "naturalness"): ("***", "***", "***"),
    ("sfrest", "quality"): ("***", "***", "***"),
    ("Xu et al. (2016)", "Grammar"): ("0.33", "0.46", "—"),
    ("toutanova", "grammar"): ("***", "***", "***"),
}
"""Williams' test of GRUEN against the best baseline, for ρ, τ and r."""


class SlorRow(NamedTuple):
    """A row of the SLOR paper: its metric, ours of the same kind, references used, trained, Pearson's r, error.

    A star marks a figure that is worse than the best of its column (p < 0.05).
    """

    label: str
    ours: str | None
    references: str
    pearson: str
    error: str
    trained: bool = False


SLOR_3 = (
    SlorRow("WordSLOR", "wordslor", "0", "0.454", "0.261"),
    SlorRow("WPSLOR", "wpslor", "0", "0.437", "0.267"),
    SlorRow("WordNCE", None, "0", "0.403*", "0.276*"),
    SlorRow("WPNCE", "nce", "0", "0.413*", "0.273*"),
    SlorRow("WordPPL", None, "0", "0.325*", "0.295*"),
    SlorRow("WPPPL", "ppl", "0", "0.344*", "0.290*"),
    SlorRow("ROUGE-L-mult", "rougeL", "3 – 5", "0.429*", "0.269"),
    SlorRow("LR3-F-mult", "lr3_f", "3 – 5", "0.405*", "0.275*"),
    SlorRow("LR2-F-mult", "lr2_f", "3 – 5", "0.375*", "0.283*"),
    SlorRow("LR3-R-mult", "lr3_r", "3 – 5", "0.412*", "0.273*"),
    SlorRow("ROUGE-L-single", "rougeL (first reference)", "1", "0.406*", "0.275*"),
)
SLOR_7 = (
    SlorRow("SVR: ROUGE+WPSLOR", None, "3 – 5", "0.594", "0.217", trained=True),
    SlorRow("ROUGE-LM", "rouge_lm", "3 – 5", "0.496", "0.252"),
    SlorRow("ROUGE-L-mult", "rougeL", "3 – 5", "0.430", "0.273"),
    SlorRow("WPSLOR", "wpslor", "0", "0.439", "0.270"),
)
