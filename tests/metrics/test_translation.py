"""BLEU, chrF and TER against sacrebleu's public functions."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER

from celadon import score
from celadon.core import UsageError
from celadon.metrics.registry import load
from celadon.text.words import words

STOCK = (
    "The quick brown fox jumps over a lazy dog, and then (it) sleeps. Why? Nobody knows: naïve Ünïcode 天 นก".split()
)

PEERS = {
    "bleu": (BLEU(effective_order=True), BLEU()),
    "bleu1": (BLEU(max_ngram_order=1, effective_order=True), BLEU(max_ngram_order=1)),
    "bleu2": (BLEU(max_ngram_order=2, effective_order=True), BLEU(max_ngram_order=2)),
    "bleu3": (BLEU(max_ngram_order=3, effective_order=True), BLEU(max_ngram_order=3)),
    "bleu4": (BLEU(max_ngram_order=4, effective_order=True), BLEU()),
    "bleu[lowercase=true]": (BLEU(lowercase=True, effective_order=True), BLEU(lowercase=True)),
    "bleu[tokenize=char]": (BLEU(tokenize="char", effective_order=True), BLEU(tokenize="char")),
    "chrf": (CHRF(), CHRF()),
    "chrf[word_order=2]": (CHRF(word_order=2), CHRF(word_order=2)),
    "chrf[lowercase=true]": (CHRF(lowercase=True), CHRF(lowercase=True)),
    "ter": (TER(), TER()),
    "ter[case_sensitive=true]": (TER(case_sensitive=True), TER(case_sensitive=True)),
}


def corpus(count: int, references: int) -> tuple[list[str], list[list[str]]]:
    generator = random.Random(count)

    def text() -> str:
        return " ".join(generator.choices(STOCK, k=generator.randint(1, 12)))

    return [text() for _ in range(count)], [
        [text() for _ in range(generator.randint(1, references))] for _ in range(count)
    ]


@pytest.mark.parametrize("spec", PEERS)
@pytest.mark.parametrize("references", [1, 4])
def test_texts_and_corpus_equal_sacrebleu(spec: str, references: int) -> None:
    sentence, whole = PEERS[spec]
    texts, refs = corpus(80, references)
    scores = score(texts, refs, metrics=[spec])
    theirs = [sentence.sentence_score(text, several).score for text, several in zip(texts, refs, strict=True)]
    assert scores[spec].tolist() == pytest.approx(theirs, abs=1e-9)
    streams = [[several[at] if at < len(several) else None for several in refs] for at in range(references)]
    row = scores.summary(resamples=50).row(None, spec)
    assert row.corpus == pytest.approx(whole.corpus_score(texts, streams).score, abs=1e-9)
    assert row.mean == pytest.approx(sum(theirs) / len(theirs), abs=1e-9)
    assert row.corpus_interval is not None
    assert row.corpus_interval.low <= row.corpus_interval.high


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=30), st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=3))
def test_chrf_of_any_characters_equals_sacrebleu(text: str, references: list[str]) -> None:
    ours = score([text], [references], metrics=["chrf"])["chrf"][0]
    usable = [reference for reference in references if words(reference, "surface")]
    if words(text, "surface") and usable:
        assert ours == pytest.approx(CHRF().sentence_score(text, usable).score, abs=1e-9)
    else:
        assert math.isnan(ours)


def test_the_signature_is_that_of_sacrebleu() -> None:
    peer = BLEU()
    peer.corpus_score(["a"], [["a"]])
    facts = str(peer.get_signature()).split("|")
    ours = load("bleu").signature
    for fact in facts:
        if not fact.startswith(("nrefs", "version")):
            assert f"|{fact}|" in ours


def test_unknown_tokenizer() -> None:
    with pytest.raises(UsageError, match="unknown tokenizer 'klingon'"):
        load("bleu[tokenize=klingon]")
