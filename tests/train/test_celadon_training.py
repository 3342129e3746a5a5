"""Fitting the weights of `celadon`."""

from __future__ import annotations

import lzma
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from celadon.core import InputError
from celadon.metrics.reading.features import LIKELIHOODS, ReadingModels
from celadon.metrics.reading.weights import ASPECTS, read_weights
from celadon.synth.document_damage import DOCUMENT_KINDS
from celadon.train.combinations.celadon import Rated, _Fit, _logistic, _see, fit_documents
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


def test_weights_are_those_of_logistic_regression_where_the_signs_allow() -> None:
    random = np.random.default_rng(0)
    features = {"likeness": random.normal(size=3000), "least_likeness": 2 + 3 * random.normal(size=3000)}
    logits = 0.5 + 1.5 * features["likeness"] + 0.4 * features["least_likeness"]
    label = (random.random(3000) < 1 / (1 + np.exp(-logits))).astype(np.float64)
    found = _logistic(features, label)
    peer = LogisticRegression(C=1e9).fit(np.stack(list(features.values()), axis=1), label)
    assert found["likeness"] == pytest.approx(peer.coef_[0, 0], rel=0.05)
    assert found["least_likeness"] == pytest.approx(peer.coef_[0, 1], rel=0.05)
    turned = _logistic({"bigrams": features["likeness"]}, label)
    assert turned["bigrams"] == 0  # repetition never makes a text better


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


def test_a_fit_can_be_read_back_and_tells_repetition(tmp_path: Path, models: ReadingModels) -> None:
    import json

    documents = make_documents(corpus(tmp_path), 60, 0)
    seen: list[tuple[int, int]] = []
    rated = Rated("mine", ["The cat sat on a mat.", "mat a on", "The dog ran home."], np.array([3.0, 1.0, 3.0]))
    fitted = fit_documents(documents, models, [rated], lambda done, total: seen.append((done, total)))
    path = tmp_path / "weights.json"
    path.write_text(json.dumps(fitted.content))
    weights = read_weights(str(path))
    assert set(weights.overall) == set(ASPECTS)
    assert all(standing.weight > 0 for standing in weights.overall.values())
    assert fitted.figures["overall"] > 0.3
    assert all(weight <= 0 for name, weight in weights.aspects["redundancy"].items() if name != "bias")
    assert seen[-1][0] == seen[-1][1] == len(documents) + 3
    assert fitted.figures["redundancy"] > 0.4
    again = fit_documents(documents, models, [rated])
    assert again == fitted


def test_likelihood_counts_only_as_far_as_it_tells(tmp_path: Path, models: ReadingModels) -> None:
    """Where it is the same for all sentences every share agrees alike, and the least is taken."""
    documents = make_documents(corpus(tmp_path), 40, 0)
    rated = Rated("mine", ["The cat sat on a mat.", "mat a on", "The dog ran home."], np.array([3.0, 1.0, 3.0]))
    seen, seen_rated = (
        _see(texts, models, lambda done, total: None) for texts in ([each.text for each in documents], rated.texts)
    )
    same = [
        replace(each, of_sentences={**each.of_sentences, **dict.fromkeys(LIKELIHOODS, np.zeros(len(each.owner)))})
        for each in (seen, seen_rated)
    ]
    fitted = _Fit(documents, same[0], [(rated, same[1])]).content(models).content
    assert fitted["likelihood_share"] == 0
    assert all(fitted["aspects"]["grammaticality"][name] == 0 for name in LIKELIHOODS)


def test_only_what_was_fitted_on_matters(tmp_path: Path, models: ReadingModels) -> None:
    documents = make_documents(corpus(tmp_path), 40, 0)
    changed = [
        document._replace(amount=1 - document.amount, cost=1 - document.cost) if document.apart else document
        for document in documents
    ]
    one, other = (fit_documents(each, models) for each in (documents, changed))
    assert one.content == other.content
    assert other.figures["overall"] < 0 < one.figures["overall"]
