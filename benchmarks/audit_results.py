"""The tables of docs/results/audit.md: audits of four language models as judges of stories, and of metrics as judges.

    python benchmarks/audit_results.py --data JUDGEMENTS_FOLDER

Stories: hanna_llm_judges, 1,056 stories of 11 systems, three raters, four models with four prompts each. Metrics in the
place of judges, for biases of length: chaganty2018 (without the references that were judged) and usr_topicalchat.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

import celadon
import celadon.meta
from celadon.io import read_table_rows
from celadon.meta.judges import Audit, JudgeAudit

MODELS = ("beluga-13b", "mistral-7b", "llama-13b", "chatgpt")
QUESTIONS = ("coherence", "complexity", "relevance")
LEVELS = ("instance", "system")
FREE = ("text_length", "rougeL", "bertscore_f1", "bartscore_ps", "repetition3")


def stories(folder: Path) -> None:
    """Audit the four models on three questions."""
    rows = list(read_table_rows(str(folder / "hanna_llm_judges.jsonl.gz")))
    print("| question | judge | over texts | within items | over systems | as a rater | one rater ", end="")
    print("| ICC(2,1) of prompts | flips | accuracy | constant | one rater |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    audits: dict[str, Audit] = {}
    for question in QUESTIONS:
        audits[question] = result = celadon.meta.audit(
            rows,
            judge={model: f"{model}.{question}.*" for model in MODELS},
            human=f"rater*.{question}",
            gate=3.0,
            repeats="prompts",
            alternatives=FREE,
            covariates=["text_length"],
            lower_is_better=["repetition3"],
        )
        for one in result.judges:
            print(f"| {question} | {one.judge} | {' | '.join(story_cells(one))} |")
    print("\n| question | judge | text_length | rougeL | bertscore_f1 | bartscore_ps ", end="")
    print("| repetition3 (less is better) | all together |")
    print("|---|---|---|---|---|---|---|---|")
    for question, result in audits.items():
        for one in result.judges:
            cells = [f"{row.alternative:.2f} {mark(row.better)}".strip() for row in one.alternatives]
            together = f"{one.combination.correlation:.2f}" if one.combination else "-"
            print(f"| {question} | {one.judge} {one.agreement[0].value:.2f} | {' | '.join(cells)} | {together} |")
    print("\nraters: mean pairwise correlation, ICC of one rating, of the mean, ceiling")
    for question, result in audits.items():
        people = result.people
        assert people is not None
        print(
            f"{question}: {people.pairwise_mean:.3f} {people.icc_single:.3f} {people.icc_mean:.3f} {people.ceiling:.3f}"
        )
    print("\n| question | judge | bias | effect | 95% interval | shown |\n|---|---|---|---|---|---|")
    for question, result in audits.items():
        for one in result.judges:
            bias_lines(f"{question} | {one.judge}", one, ("text_length", "leniency", "compression", "clumping"))


def without_references(folder: Path) -> None:
    """Compare judges and metrics over texts and over systems, without the stories that are the metrics' references."""
    rows = list(read_table_rows(str(folder / "hanna_llm_judges.jsonl.gz")))
    rows = [row for row in rows if row["system"] != "Human"]
    print("\n| question | score | over texts | over systems |\n|---|---|---|---|")
    for question in QUESTIONS:
        result = celadon.meta.audit(
            rows,
            judge={**{model: f"{model}.{question}.*" for model in MODELS}, **{name: name for name in FREE}},
            human=f"rater*.{question}",
            lower_is_better=["repetition3"],
        )
        for one in result.judges:
            at = {row.level: row for row in one.agreement}
            cells = (f"{at[level].value:.2f} ({at[level].low:.2f} to {at[level].high:.2f})" for level in LEVELS)
            print(f"| {question} | {one.judge} | {' | '.join(cells)} |")


def story_cells(one: JudgeAudit) -> list[str]:
    """The figures of one judge of stories."""
    at = {row.level: row for row in one.agreement}
    cells = [
        f"{at[level].value:.2f} ({at[level].low:.2f} to {at[level].high:.2f})"
        for level in ("instance", "within_item", "system")
    ]
    cells += [f"{at['instance'].judge_as_rater:.2f}", f"{at['instance'].rater:.2f}"]
    assert one.repeatability is not None
    assert one.flips is not None
    assert one.gate is not None
    cells += [f"{one.repeatability.agreement.value:.2f}", f"{one.flips.rate.value:.1%}"]
    return [*cells, f"{one.gate.accuracy.value:.2f}", f"{one.gate.constant:.2f}", f"{one.gate.rater:.2f}"]


def mark(better: str) -> str:
    """A sign for which of two is shown to be better."""
    return {"judge": "-", "alternative": "+"}.get(better, "")


def bias_lines(start: str, one: JudgeAudit, wanted: tuple[str, ...] = ()) -> None:
    """Print the biases of a judge."""
    for bias in one.biases:
        if not wanted or bias.name in wanted:
            effect = bias.effect
            told = (
                f"{effect.value:+.3f} | {effect.low:+.3f} to {effect.high:+.3f}"
                if not effect.reason
                else f"{effect.reason} | "
            )
            print(f"| {start} | {bias.name} | {told} | {'yes' if bias.shown else 'no'} |")


def metrics_as_judges(folder: Path, name: str, human: str, metrics: list[str], item_field: str) -> None:
    """Score texts with metrics and audit these."""
    rows: list[dict[str, Any]] = [dict(row) for row in read_table_rows(str(folder / f"{name}.jsonl.gz"))]
    rows = [row for row in rows if row["system"] != "reference"]
    references = [[row["reference"]] for row in rows] if rows[0].get("reference") else None
    scores = celadon.score([row["output"] for row in rows], references=references, metrics=metrics)
    for metric in metrics:
        for row, value in zip(rows, scores[metric].tolist(), strict=True):
            row[metric] = None if math.isnan(value) else value
    result = celadon.meta.audit(rows, judge=metrics, human=human, item_field=item_field)
    for one in result.judges:
        first = one.agreement[0]
        bounds = f"{first.low:+.3f} to {first.high:+.3f}"
        print(f"| {name}, {human} | {one.judge} | correlation | {first.value:+.3f} | {bounds} | |")
        bias_lines(f"{name}, {human} | {one.judge}", one, ("length", "lists", "code", "headings"))


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    stories(options.data)
    without_references(options.data)
    print("\n| set and rating | metric | bias | effect | 95% interval | shown |\n|---|---|---|---|---|---|")
    metrics_as_judges(options.data, "chaganty2018_cnndm", "overall", ["rougeL", "chrf", "meteor"], "id")
    metrics_as_judges(options.data, "usr_topicalchat", "overall", ["slor"], "doc")


if __name__ == "__main__":
    main()
