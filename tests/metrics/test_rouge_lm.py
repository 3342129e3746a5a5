"""ROUGE-LM against its definition: rouge_score's ROUGE-L, SLOR by hand, scipy's standard scores."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer
from scipy.stats import zscore

import celadon
from celadon import Sample
from celadon.core import UsageError
from celadon.metrics.registry import load
from celadon.models.language import language_model as language
from tests.tiny_models import WORDS, Bigrams, make_bigrams

PLAIN = [word for word in WORDS if not word.startswith("##") and word != "un"]


@pytest.fixture
def bigrams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bigrams]:
    """A model whose every number is known in the place of the one that the package ships."""
    made = make_bigrams(tmp_path / "bigrams")
    monkeypatch.setitem(language._loaded, "builtin", language.open_language_model(str(made.folder)))
    yield made
    language.recent_scores.clear()


def sentences(count: int) -> list[list[str]]:
    generator = random.Random(3)
    return [[*(generator.choice(PLAIN) for _ in range(generator.randint(2, 9))), "."] for _ in range(count)]


def written(words: list[str]) -> str:
    return " ".join(words[:-1]) + words[-1]


def test_it_is_the_sum_of_two_standard_scores(bigrams: Bigrams) -> None:
    texts, references = sentences(60), [sentences(90)[at + 20 : at + 21 + at % 3] for at in range(60)]
    scorer = RougeScorer(["rougeL"])
    rouge = [
        max(scorer.score(written(reference), written(text))["rougeL"].fmeasure for reference in several)
        for text, several in zip(texts, references, strict=True)
    ]
    slor = [(bigrams.logprob(text) - bigrams.unigram(text)) / bigrams.length(text) for text in texts]
    scores = celadon.score(
        list(map(written, texts)),
        [[written(reference) for reference in several] for several in references],
        metrics=["rouge_lm", "rougeL", "wpslor"],
    )
    np.testing.assert_allclose(scores["rouge_lm.rougeL"], rouge, atol=1e-9)
    np.testing.assert_allclose(scores["rouge_lm.wpslor"], slor, atol=1e-5)
    np.testing.assert_allclose(scores["rouge_lm"], zscore(rouge) + zscore(slor), atol=1e-4)
    parts = zscore(scores["rougeL"]) + zscore(scores["wpslor"])
    np.testing.assert_allclose(scores["rouge_lm"], parts, atol=1e-10)


def test_a_row_without_a_part_is_null_and_does_not_count(bigrams: Bigrams) -> None:
    texts = [written(text) for text in sentences(20)]
    references = [written(text) for text in sentences(30)[10:]]
    whole = celadon.score(texts, references, metrics="rouge_lm")
    # no words; no words in the reference; a script that the model does not know, although the overlap is perfect
    more = [*texts, " ", texts[0], "สวัสดีครับ วันนี้"]
    scores = celadon.score(more, [*references, "a cat", " ", "สวัสดีครับ วันนี้"], metrics="rouge_lm")
    np.testing.assert_array_equal(scores["rouge_lm"][:20], whole["rouge_lm"])
    assert scores.constants == whole.constants
    assert np.isnan(scores["rouge_lm"][20:]).all()
    assert set(scores.columns["rouge_lm"].reasons) == {20, 21, 22}
    assert scores["rouge_lm.rougeL"][22] == 1.0
    reasons = scores.columns["rouge_lm"].reasons
    assert (reasons[20], reasons[21]) == ("the text has no words", "no reference has words")


def test_how_it_was_made_is_signed(bigrams: Bigrams) -> None:
    texts = [written(text) for text in sentences(10)]
    scores = celadon.score(texts, texts[::-1], metrics=["rouge_lm", "rouge_lm[context=document]", "wpslor"])
    signature = scores.signatures["rouge_lm"]
    model = scores.signatures["wpslor"].split("|")[-2]
    assert "@" in model
    assert signature.split("|")[-2] == model
    assert signature.startswith("rouge_lm|context:sentence|")
    assert "|end:counted|" in signature
    assert "|fitted-on:set|" in signature
    assert scores.signatures["rouge_lm[context=document]"].startswith("rouge_lm|context:document|")


def test_evidence_is_that_of_the_overlap(bigrams: Bigrams) -> None:
    found = load("rouge_lm").evidence(Sample("the cat sat.", ("the dog sat.",)))
    assert found is not None
    assert found.metric == "rouge_lm"
    assert "the sat" in found.summary


def test_an_unknown_context() -> None:
    with pytest.raises(UsageError, match="unknown context 'page'"):
        load("rouge_lm[context=page]")
