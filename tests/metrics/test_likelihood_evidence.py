"""Why a text is likely or not: bits by hand from a table of bigrams."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from celadon.core import Evidence, Sample, Span
from celadon.metrics.likelihood_evidence import END, LABELS, LEVELS, level
from celadon.metrics.registry import load
from celadon.scoring.batch import Batch
from tests.tiny_models import BEGIN, Bigrams, make_bigrams, number
from tests.tiny_models import END as END_MARK

TEXT = "  The dog ran home!\nHe left it unhappy."
SENTENCES = [["The", "dog", "ran", "home", "!"], ["He", "left", "it", "un", "##happy", "."]]


@pytest.fixture(scope="module")
def bigrams(tmp_path_factory: pytest.TempPathFactory) -> Bigrams:
    return make_bigrams(tmp_path_factory.mktemp("models") / "bigrams")


def why(spec: str, text: str = TEXT) -> Evidence:
    evidence = load(spec).evidence(Sample(text))
    assert evidence is not None
    return evidence


def words_of(evidence: Evidence) -> tuple[Span, ...]:
    return evidence.of_kind("list")[0].spans


def sentences_of(evidence: Evidence) -> tuple[Span, ...]:
    return evidence.of_kind("list")[1].spans


def bits(model: Bigrams, before: str, piece: str) -> float:
    return -model.table[number(before), number(piece)] / math.log(2)


def alone(model: Bigrams, piece: str) -> float:
    return -model.unigrams[number(piece)] / math.log(2)


def test_each_token_has_its_bits_and_its_level(bigrams: Bigrams) -> None:
    spans = why(f"nce[model={bigrams.folder}]").text_spans
    assert [TEXT[span.start : span.end] for span in spans] == "The dog ran home ! He left it un happy .".split()
    expected = [
        bits(bigrams, before, piece)
        for pieces in SENTENCES
        for before, piece in zip([BEGIN, *pieces], pieces, strict=False)
    ]
    for span, value in zip(spans, expected, strict=True):
        assert float(span.note.removesuffix(" bits")) == pytest.approx(value, abs=0.051)
        assert span.value == pytest.approx(value, abs=0.001)
        assert span.label == f"surprisal-{sum(value >= bound for bound in LEVELS)}"


def test_the_pieces_of_a_word_are_one_and_the_end_counts(bigrams: Bigrams) -> None:
    words: dict[str, tuple[float, float]] = {}
    for pieces in SENTENCES:
        path = [BEGIN, *pieces, END_MARK]
        for before, piece in pairwise(path):
            name = {"un": "unhappy", "##happy": "unhappy", END_MARK: f"end {pieces[0]}"}.get(piece, piece)
            here, frequency = words.get(name, (0.0, 0.0))
            words[name] = (here + bits(bigrams, before, piece), frequency + alone(bigrams, piece))

    def names(evidence: Evidence) -> list[str]:
        first = TEXT.index("\n")
        ends = {True: "end The", False: "end He"}
        return [ends[s.start <= first] if s.label == END else TEXT[s.start : s.end] for s in words_of(evidence)]

    by_surprisal = sorted(words, key=lambda word: -words[word][0])[:5]
    assert names(why(f"nce[model={bigrams.folder}]")) == by_surprisal
    by_excess = sorted(words, key=lambda word: words[word][1] - words[word][0])[:5]
    found = why(f"slor[model={bigrams.folder}]")
    assert names(found) == by_excess
    here, frequency = words[by_excess[0]]
    assert words_of(found)[0].note == f"{here:.1f} bits ({frequency:.1f} by frequency)"


def test_each_sentence_has_its_value(bigrams: Bigrams) -> None:
    for name, worse in (("slor", min), ("ppl", max)):
        metric = load(f"{name}[model={bigrams.folder}]")
        lines = TEXT.strip().split("\n")
        expected = metric.score(Batch([Sample(line) for line in lines])).values.tolist()
        spans = sentences_of(why(metric.spec))
        assert [TEXT[span.start : span.end] for span in spans] == lines
        assert [float(span.note) for span in spans] == pytest.approx(expected, abs=1e-4)
        assert [span.label == "worst" for span in spans] == [value == worse(expected) for value in expected]


def test_the_only_sentence_is_not_called_the_worst(bigrams: Bigrams) -> None:
    assert [s.label for s in sentences_of(why(f"slor[model={bigrams.folder}]", "The cat sat."))] == ["sentence"]
    document = why(f"slor[model={bigrams.folder},context=document]")
    assert [(s.start, s.end, s.label) for s in sentences_of(document)] == [(2, len(TEXT), "sentence")]


def test_levels_rise_with_the_bits() -> None:
    assert len(LABELS) == len(LEVELS) + 1
    assert [level(bits) for bits in (0.0, 3.99, 4.0, 9.9, 10.0, 99.0)] == [0, 0, 1, 2, 3, 5]


def test_a_batch_is_explained_as_its_samples_are(bigrams: Bigrams) -> None:
    metric = load(f"slor[model={bigrams.folder}]")
    texts = [TEXT, "...", "The cat sat.", TEXT]
    assert metric.evidences(Batch([Sample(text) for text in texts])) == [
        metric.evidence(Sample(text)) for text in texts
    ]
