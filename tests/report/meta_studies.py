"""Tables of scores and ratings made from a known truth, and studies of them put together by hand."""

from __future__ import annotations

import math

import numpy as np

from celadon.core import FloatArray
from celadon.meta.study import (
    AblationRow,
    AccuracyRow,
    AgreementRow,
    ComparisonRow,
    CorrelationRow,
    DisagreementRow,
    LevelRow,
    ReferencesRow,
    Study,
)
from celadon.meta.table import Table

SYSTEMS = ("extractive", "pointer-generator", "transformer-large", "bottom-up", "human", "lead-3", "t5", "seq2seq")
DOMAINS = ("news", "dialogue", "simplification")
HUMANS = ("overall", "grammar", "focus", "coherence")
METRICS = (
    "gruen slor rougeL bleu chrf meteor rouge1 rouge2 rougeW ter wer bertscore moverscore perplexity parse_score "
    "simple_string_accuracy generation_string_accuracy tree_accuracy distinct_2 length self_bleu gleu nist cider "
    "slor[model=smollm2,context=document] rouge_lm ncd acceptability redundancy focus_score"
).split()
WORDS = "the cat which sat upon a mat was seen by people who walked along an old road to town".split()


def made_table(metrics: tuple[str, ...], humans: tuple[str, ...], rows: int, seed: int = 7) -> Table:
    """Every metric and rating is the row's quality with noise of its own; later metrics have more."""
    random = np.random.default_rng(seed)
    system = np.arange(rows) % len(SYSTEMS)
    quality = random.normal(size=rows) + system * 0.15
    columns: dict[str, FloatArray] = {}
    ratings: dict[str, FloatArray] = {}
    for human in humans:
        single = np.clip(np.round(3 + quality[:, None] + random.normal(size=(rows, 3))), 1, 5)
        ratings[human] = single
        columns[human] = single.mean(axis=1)
    for place, metric in enumerate(metrics):
        sign = -1 if metric in ("ter", "wer", "perplexity") else 1
        columns[metric] = sign * (quality + (0.4 + 0.22 * place) * random.normal(size=rows))
    columns[metrics[-1]][:7] = math.nan
    texts = tuple(" ".join(random.choice(WORDS, 25 + row % 30)) + "." for row in range(rows))
    return Table(
        columns=columns,
        metrics=metrics,
        humans=humans,
        lower_is_better=frozenset({"ter", "wer", "perplexity"} & set(metrics)),
        ratings=ratings,
        items=tuple(f"item-{row // len(SYSTEMS)}" for row in range(rows)),
        systems=tuple(SYSTEMS[place] for place in system),
        domains=tuple(DOMAINS[row % len(DOMAINS)] for row in range(rows)),
        texts=texts,
        references=tuple((text[::-1], text) for text in texts),
    )


def made_study(
    metrics: tuple[str, ...] = tuple(METRICS[:5]), humans: tuple[str, ...] = HUMANS[:2], rows: int = 120
) -> Study:
    """A study with every part there is; the intervals and p-values are made up, the correlations are true."""
    table = made_table(metrics, humans, rows)
    pairs = [(metric, human) for human in humans for metric in metrics]
    return Study(
        table=table,
        correlations=_correlations(table, pairs),
        comparisons=_comparisons(table),
        accuracies=tuple(AccuracyRow(m, h, 0.5 + 0.4 * _r(table, m, h), 0.01, 0.8, 0.75, "") for m, h in pairs),
        agreements=tuple(
            AgreementRow(h, 3.0, rows, 0.5, 0.45, 0.55, 0.05, 0.48, 0.51, 0.52, 0.5, 0.75, 0.866, "") for h in humans
        ),
        disagreements=_disagreements(table, pairs),
        levels=tuple(_level(table, m, h, level) for m, h in pairs for level in range(1, 6)),
        ablations=tuple(
            AblationRow(metrics[0], h, part, value, value - 0.6)
            for h in humans
            for part, value in (("", 0.6), ("grammar", 0.45), ("focus", 0.55), ("redundancy", 0.61))
        ),
        references=tuple(
            ReferencesRow(m, h, count, 0.3 + 0.1 * math.log(count) - 0.01 * place, 0.02)
            for h in humans
            for place, m in enumerate(metrics[:8])
            for count in (1, 2, 4, 8)
        ),
        notes=(
            f"{metrics[0]} agrees best with {humans[0]} of {len(metrics)} metrics.",
            "It is not shown to be better than the second.",
        ),
        between_metrics={(a, b): _r(table, a, b) for place, a in enumerate(metrics) for b in metrics[place + 1 :]},
        seed=11,
        resamples=500,
    )


def _good(table: Table, name: str) -> FloatArray:
    return table.columns[name] * (-1.0 if name in table.lower_is_better else 1.0)


def _r(table: Table, first: str, second: str, rows: slice = slice(None)) -> float:
    x, y = _good(table, first)[rows], _good(table, second)[rows]
    both = np.isfinite(x) & np.isfinite(y)
    return float(np.corrcoef(x[both], y[both])[0, 1])


def _correlations(table: Table, pairs: list[tuple[str, str]]) -> tuple[CorrelationRow, ...]:
    found = []
    for metric, human in pairs:
        nulls = int(np.isnan(table.columns[metric]).sum())
        whole = _r(table, metric, human)

        def row(
            level: str,
            group: str,
            value: float,
            reason: str = "",
            metric: str = metric,
            human: str = human,
            nulls: int = nulls,
        ) -> CorrelationRow:
            bounds = (value - 0.06, value + 0.06)
            return CorrelationRow(
                metric,
                human,
                level,
                "pearson",
                group,
                value,
                *bounds,
                0.0004,
                0.7312,
                table.rows - nulls,
                nulls,
                reason,
            )

        found += [row("instance", "", whole), row("system", "", whole / 2), row("within_item", "", whole / 3)]
        found += [
            row("instance", f"system={name}", _r(table, metric, human, slice(place, None, len(SYSTEMS))))
            for place, name in enumerate(SYSTEMS)
        ]
        found += [row("instance", f"domain={name}", whole * 0.9) for name in DOMAINS]
        found.append(row("instance", "reliable", min(1.0, whole * 1.1)))
    return tuple(found)


def _comparisons(table: Table) -> tuple[ComparisonRow, ...]:
    found = []
    for human in table.humans:
        values = {metric: _r(table, metric, human) for metric in table.metrics}
        for place, first in enumerate(table.metrics):
            for second in table.metrics[place + 1 :]:
                gap = values[first] - values[second]
                p = min(1.0, math.exp(-60 * abs(gap)))
                found.append(
                    ComparisonRow(
                        human, first, second, "williams", "instance", "pearson", values[first], values[second],
                        40 * gap, p, min(1.0, 3 * p), 3 * p < 0.05, "",
                    )
                )  # fmt: skip
    return tuple(found)


def _disagreements(table: Table, pairs: list[tuple[str, str]]) -> tuple[DisagreementRow, ...]:
    found = []
    for metric, human in pairs:
        x, y = (np.nan_to_num(_good(table, name)).argsort().argsort() / (table.rows - 1) for name in (metric, human))
        for row in np.argsort(-abs(x - y))[:10]:
            found.append(
                DisagreementRow(
                    metric, human, int(row), float(x[row]), float(y[row]),
                    float(table.columns[metric][row]), float(table.columns[human][row]),
                )
            )  # fmt: skip
    return tuple(found)


def _level(table: Table, metric: str, human: str, level: int) -> LevelRow:
    values = table.columns[metric][np.round(table.columns[human]) == level]
    values = values[np.isfinite(values)]
    if not len(values):
        return LevelRow(metric, human, str(level), 0, math.nan, (math.nan,) * 5)
    ends = np.quantile(values, [0, 0.25, 0.5, 0.75, 1])
    low, first, middle, third, high = (float(end) for end in ends)
    return LevelRow(metric, human, str(level), len(values), float(values.mean()), (low, first, middle, third, high))
