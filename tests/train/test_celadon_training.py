"""Fitting the weights of `celadon`."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from celadon.core import InputError, Sample
from celadon.instrument.halves import Half, half_of
from celadon.instrument.passages import Passage, passages
from celadon.metrics.reading.features import ReadingModels
from celadon.metrics.reading.rates import reading_rates
from celadon.metrics.reading.weights import ASPECTS, read_weights
from celadon.scoring.batch import Batch
from celadon.synth.document_damage import DOCUMENT_KINDS
from celadon.train.combinations.celadon import (
    FALSE_ALARMS,
    FITTED,
    GATE,
    FittedCeladon,
    fit_celadon,
    fit_passages,
)
from celadon.train.combinations.damaged_documents import CIRCLED, SEVERAL, articles_apart, extracts_of, make_documents
from celadon.train.corpus import Corpus
from tests.conftest import missing_part
from tests.tiny_encoder import make_encoder
from tests.tiny_models import make_bigrams

try:
    import onnx  # noqa: F401
    import torch  # noqa: F401
except ImportError:
    missing_part("torch or onnx", "run: pip install 'celadon-text[train]'")


def corpus(folder: Path, articles: int = 60) -> Corpus:
    random = np.random.default_rng(1)
    words = "cat dog mat home bird tree garden river house road".split()
    lines = []
    for number in range(articles):
        for _ in range(2):
            openings = ["The cat", *random.choice(["He", "The dog", "The bird"], 4)]
            sentences = [f"{opening} sat on a {random.choice(words)} {number}." for opening in openings]
            lines.append(" ".join(sentences))
        lines.append("")
    path = folder / "corpus.txt.xz"
    path.write_bytes(lzma.compress("\n".join(lines).encode()))
    return Corpus((path,), hold_out=0.9)


def test_documents_are_of_articles_kept_apart_and_say_what_was_done(tmp_path: Path) -> None:
    text = corpus(tmp_path)
    documents = make_documents(text, 100, 3)
    apart = {paragraph.text for paragraph in text.paragraphs() if paragraph.held_out}
    sound = [document for document in documents if not document.kind]
    assert len(sound) == 100
    # one in three is the beginning of a paragraph, and the format of half is another
    kept = [document.text for document in sound if any(each.startswith(document.text) for each in apart)]
    assert 40 <= len(kept) < 100
    assert 20 <= len({document.text for document in sound} & apart) < len(kept)
    assert {document.kind for document in documents} == {"", CIRCLED, SEVERAL, *DOCUMENT_KINDS}
    assert all(0 < document.amount <= 1 for document in documents if document.kind)
    assert documents == make_documents(text, 100, 3)
    for document in documents:
        assert bool(document.broken) == (document.kind in ("broken", "looped", "cut", CIRCLED))
        assert all(not document.text[start:end].startswith(" ") for start, end in document.broken)
    with_five = [each for each in documents if each.kind == "broken" and each.text.count(".") >= 5]
    assert with_five
    for document in with_five:
        assert len(document.broken) / 5 == pytest.approx(document.amount)
    with pytest.raises(InputError, match="give more text"):
        make_documents(Corpus(text.paths, hold_out=0.0), 10, 0)


def test_extracts_are_sentences_of_one_article_in_their_order(tmp_path: Path) -> None:
    articles = articles_apart(corpus(tmp_path))
    extracts = extracts_of(articles, 300, np.random.default_rng(2))
    assert len(extracts) == 300
    gaps = set()
    for extract in extracts:
        number = extract[0].split()[-1]
        [article] = [each for each in articles if each[0][0].split()[-1] == number]
        left = [sentence for sentences in article for sentence in sentences]
        assert 2 <= len(extract) <= 6
        at = 0
        for sentence in extract:  # each is found after the one before it
            gaps.add(left[at:].index(sentence))
            at += left[at:].index(sentence) + 1
    assert max(gaps) > 1
    assert extracts == extracts_of(articles, 300, np.random.default_rng(2))
    assert extracts_of([], 10, np.random.default_rng(2)) == []


def test_extracts_are_sound_and_damaged_like_other_documents(tmp_path: Path) -> None:
    text = corpus(tmp_path)
    more = make_documents(text, 30, 3, extracts=20)
    assert sum(not document.kind for document in more) == 50
    assert sum(not document.kind for document in make_documents(text, 30, 3)) == 30


def test_what_a_reader_loses_is_what_gruen_takes_off(tmp_path: Path) -> None:
    documents = make_documents(corpus(tmp_path), 200, 5)
    assert {document.cost for document in documents if not document.kind} == {0.0}
    assert all(document.cost > 0 for document in documents if document.kind)
    of_kind = {kind: [each for each in documents if each.kind == kind] for kind in (*DOCUMENT_KINDS, CIRCLED)}
    for kind in ("broken", "looped", "cut", CIRCLED):
        assert all(document.cost == document.amount for document in of_kind[kind])
    for kind, each in (("repeated", 0.4), ("repeated_changed", 0.25), ("repeated_beginning", 0.15), ("mixed", 0.2)):
        sentences = [round(document.cost / each / document.amount, 6) for document in of_kind[kind]]
        assert sentences == [int(size) for size in sentences]
        assert max(sentences) >= 5
    assert all(document.cost == pytest.approx(0.1 * document.amount) for document in of_kind["reordered"])
    assert {document.cost for document in of_kind["beheaded"]} == {0.1}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> ReadingModels:
    folder: Path = tmp_path_factory.mktemp("models")
    return ReadingModels(str(make_bigrams(folder / "lm").folder), str(make_encoder(folder / "encoder")))


def sound_passages(folder: Path) -> list[Passage]:
    articles = list(corpus(folder).articles())
    rows = [
        {"id": str(number), "genre": "cats", "text": "\n\n".join(f"{text}" * 3 for text, _ in article)}
        for number, article in enumerate(articles)
    ]
    return list(passages(rows, frozenset(Half)))


def test_a_fit_can_be_read_back_and_is_the_same_again(tmp_path: Path, models: ReadingModels) -> None:
    sound = sound_passages(tmp_path)
    assert len(sound) > 20
    seen: list[tuple[int, int]] = []
    corrections = [{"id": "1", "file": "a.md", "before": "The cat sat on on a mat.", "after": "The cat sat on a mat."}]
    fitted = fit_passages(sound, corrections, models, progress=lambda done, total: seen.append((done, total)))
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(fitted.content))
    weights = read_weights(str(path))
    assert set(weights.costs) == set(ASPECTS)
    assert set(fitted.figures) == set(FITTED)
    assert min(fitted.figures[kind] for kind in ("cut", "looped")) > 0.6
    # faults never help
    assert min(weights.repetition.values()) >= 0
    assert all(min(cost.slope, cost.steepness) >= 0 for cost in weights.costs.values())
    assert seen[-1][0] == seen[-1][1] == sum(fitted.content["passages"].values()) + 2
    assert fit_passages(sound, corrections, models) == fitted


def test_as_many_sound_passages_are_below_the_gate_as_should_be(tmp_path: Path, models: ReadingModels) -> None:
    sound = sound_passages(tmp_path)
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(fit_passages(sound, [], models).content))
    weights = read_weights(str(path))
    scores = weights.score(weights.aspects(reading_rates(Batch([Sample(each.text) for each in sound]).prose(), models)))
    assert np.mean(scores < GATE) == pytest.approx(FALSE_ALARMS, abs=1.5 / len(sound))


def test_nothing_of_the_test_half_and_no_restricted_text_is_fitted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [
        {"id": str(number), "genre": "pep", "text": f"The cat {number} sat on a mat. " * 14} for number in range(40)
    ]
    rows.append({"id": "GUM_whow_cats", "genre": "whow", "text": "The dog sat on a mat. " * 14})
    path = tmp_path / "genres.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    used: list[Passage] = []

    def remember(sound: list[Passage], *rest: object, **options: object) -> FittedCeladon:
        used.extend(sound)
        return FittedCeladon({}, {})

    monkeypatch.setattr("celadon.train.combinations.celadon.fit_passages", remember)
    text = Corpus(corpus(tmp_path, 2_000).paths)
    fit_celadon(text.paths, tmp_path / "weights.json", genres=[str(path)])
    extracts = [each for each in used if each.cell == "extract"]
    assert extracts
    assert {half_of(each.document) for each in used if each.cell != "extract"} == {Half.FIT}
    apart = [article for article in text.articles() if article[0].held_out]
    numbers = [article[0].text.split()[-1] for article in apart]
    for each in extracts:
        assert half_of(f"article {numbers.index(each.text.split()[-1])}") is Half.FIT
    assert not [each for each in used if "dog" in each.text and each.cell == "whow"]


def test_too_little_text_is_told(models: ReadingModels) -> None:
    with pytest.raises(InputError, match="give more text"):
        fit_passages([], [], models)
