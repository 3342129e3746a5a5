"""ROUGE against rouge_score; LR2 and LR3 against plain sets."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from celadon import Sample, score
from celadon.io.judgements import load as load_judgements
from celadon.metrics.registry import load
from celadon.scoring.batch import Batch
from tests.text.test_subsequences import plain_weighted

TYPES = ["rouge1", "rouge2", "rouge3", "rouge4", "rougeL", "rougeLsum"]
TOLERANCE = 1e-6


def ascii_pairs(count: int) -> list[tuple[str, str]]:
    """Pairs that share much, little or nothing, with lines, punctuation and repeated words."""
    generator = random.Random(1000)
    words = [f"{a}{b}" for a in ("re", "un", "con", "pre", "de") for b in ("port", "fold", "view", "cede", "mark", "s")]
    marks = [" ", " ", " ", " ", ", ", ". ", ".\n", "\n", " - ", "'s ", " $4.50 "]

    def text(stock: list[str]) -> str:
        return "".join(generator.choice(stock) + generator.choice(marks) for _ in range(generator.randint(4, 40)))

    pairs = []
    for _ in range(count):
        stock = generator.sample(words, generator.randint(3, 20))
        pairs.append((text(stock).title() if generator.random() < 0.3 else text(stock), text(stock)))
    return pairs


def compare(pairs: list[tuple[str, str]]) -> float:
    """The largest difference between rouge_score and us, in precision, recall and F."""
    scorer = rouge_scorer.RougeScorer(TYPES)
    theirs = [scorer.score(reference, text) for text, reference in pairs]
    ours = score([text for text, _ in pairs], [reference for _, reference in pairs], metrics=TYPES)
    worst = 0.0
    for name in TYPES:
        columns = {"fmeasure": ours[name], "precision": ours[f"{name}.precision"], "recall": ours[f"{name}.recall"]}
        for attribute, column in columns.items():
            for row, value in enumerate(column.tolist()):
                worst = max(worst, abs(value - getattr(theirs[row][name], attribute)))
    return worst


def test_a_thousand_ascii_pairs_equal_rouge_score() -> None:
    assert compare(ascii_pairs(1000)) < TOLERANCE


def test_real_summaries_equal_rouge_score(judgements: Path) -> None:
    plain = [
        tuple(re.sub(r"[^\x00-\x7f]", "", text).replace(" . ", " .\n") for text in (row["text"], *row["references"]))
        for row in load_judgements("chaganty2018", str(judgements))
    ]
    assert compare([(text, reference) for text, reference in plain[:1000]]) < TOLERANCE


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from("a b c d e".split()), min_size=2, max_size=10).map(" ".join), min_size=2, max_size=5
    )
)
def test_the_best_of_several_references_has_the_highest_f(texts: list[str]) -> None:
    text, references = texts[0], texts[1:]
    scorer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"])
    best = scorer.score_multi(references, text)
    ours = score([text], [references], metrics=["rouge1", "rouge2", "rougeL"])
    for name in best:
        assert ours[name][0] == pytest.approx(best[name].fmeasure)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from("a b c d".split()), min_size=3, max_size=12),
    st.lists(st.lists(st.sampled_from("a b c d".split()), min_size=3, max_size=12), min_size=1, max_size=3),
    st.sampled_from([2, 3]),
)
def test_union_overlap(text: list[str], references: list[list[str]], n: int) -> None:
    def grams(words: list[str]) -> set[tuple[str, ...]]:
        return {tuple(words[at : at + n]) for at in range(len(words) - n + 1)}

    union = set().union(*map(grams, references))
    shared = len(grams(text) & union)
    precision, recall = shared / len(grams(text)), shared / len(union)
    f = 2 * precision * recall / (precision + recall) if shared else 0.0
    ours = score([" ".join(text)], [[" ".join(r) for r in references]], metrics=[f"lr{n}_f", f"lr{n}_r"])
    assert ours[f"lr{n}_f"][0] == pytest.approx(f)
    assert ours[f"lr{n}_r"][0] == pytest.approx(recall)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=10),
    st.lists(st.integers(0, 3), min_size=1, max_size=10),
    st.sampled_from([1.2, 2.0]),
)
def test_rouge_w(text: list[int], reference: list[int], weight: float) -> None:
    common = plain_weighted(reference, text, weight)
    recall = (common / len(reference) ** weight) ** (1 / weight)
    precision = (common / len(text) ** weight) ** (1 / weight)
    f = 2 * precision * recall / (precision + recall) if common else 0.0
    spec = "rougeW" if weight == 1.2 else f"rougeW[weight={weight:g}]"
    ours = score([" ".join(map(str, text))], [" ".join(map(str, reference))], metrics=[spec])
    assert ours[spec][0] == pytest.approx(f)


def test_runs_count_for_more_in_rouge_w() -> None:
    """The example of Lin (2004): the same LCS, once in a run and once scattered."""
    reference = "A B C D E F G"
    ours = score(["A B C D H I K", "A H B K C I D"], [reference, reference], metrics=["rougeL", "rougeW"])
    assert ours["rougeL"][0] == ours["rougeL"][1]
    assert ours["rougeW"][0] > ours["rougeW"][1]


def test_a_reference_shorter_than_the_n_gram_says_nothing() -> None:
    result = load("rouge2").score(Batch([Sample("yes", ("yes",)), Sample("yes", ("yes it is",))]))
    assert result.reasons == {0: "no reference has 2 words"}
    assert result.values[1] == 0.0
