"""The weights of MORCELA, learned from ratings and labels."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import matthews_corrcoef, roc_auc_score

from celadon.cli import main
from celadon.core import InputError, UsageError
from celadon.io.weight_files import read_morcela
from celadon.models.language.language_model import TokenScores
from celadon.train.combinations.morcela import Likelihoods, fit_morcela, interval, learn_weights, measure
from celadon.train.combinations.ratings import area_under_curve, best_threshold, matthews, read_ratings

WORDS = "the a cat dog sat ran on mat under tree away and then it was quick".split()


class Bigrams:
    """A language model of word pairs, counted in a few sentences, with one added to every count."""

    name, digest, scripts = "bigrams", "ab" * 32, ("Latin",)
    facts: Mapping[str, str] = {"begin": "<s>", "end": "left-out"}

    def __init__(self, sentences: Sequence[str]) -> None:
        words = [sentence.split() for sentence in sentences]
        self.single = Counter(word for sentence in words for word in sentence)
        self.pairs = Counter(pair for s in words for pair in zip(["<s>", *s], s, strict=False))
        self.before = Counter(first for first, _ in self.pairs.elements())
        self.total, self.kinds = sum(self.single.values()), len(self.single) + 1

    def score(self, texts: Sequence[str]) -> list[TokenScores]:
        return [self._one(text.split()) for text in texts]

    def _one(self, words: list[str]) -> TokenScores:
        pairs = list(zip(["<s>", *words], words, strict=False))
        joint = [math.log((self.pairs[p] + 1) / (self.before[p[0]] + self.kinds)) for p in pairs]
        alone = [math.log((self.single[word] + 1) / (self.total + self.kinds)) for word in words]
        places = np.arange(len(words))
        return TokenScores(np.array(joint), np.array(alone), places, places, np.ones(len(words), bool))


def sentences(count: int, seed: int) -> list[str]:
    """Walks through a ring of words; the more often a walk leaves the ring, the worse it reads."""
    generator = random.Random(seed)
    made = []
    for _ in range(count):
        at, words = generator.randrange(len(WORDS)), []
        for _ in range(generator.randint(3, 14)):
            at = (at + 1) % len(WORDS) if generator.random() < 0.7 else generator.randrange(len(WORDS))
            words.append(WORDS[at])
        made.append(" ".join(words))
    return made


@pytest.fixture(scope="module")
def model() -> Bigrams:
    return Bigrams(sentences(300, 1))


def likelihoods(count: int = 2000, seed: int = 2) -> Likelihoods:
    """Token scores drawn at random, summed text by text."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(3, 40, count)
    unigrams = np.array([generator.normal(-8, 2, n).sum() for n in lengths])
    joint = np.array([generator.normal(-4, 2, n).sum() for n in lengths]) + 0.3 * unigrams
    return Likelihoods(joint, unigrams, lengths.astype(float))


def design(of: Likelihoods) -> np.ndarray:
    rows = np.ones(len(of.lengths))
    return np.column_stack([rows, of.logprobs / of.lengths, of.unigrams / of.lengths, 1 / of.lengths])


@settings(max_examples=15, deadline=None)
@given(beta=st.floats(-1, 2), gamma=st.floats(-30, 30), slope=st.floats(0.01, 20), offset=st.floats(-9, 9))
def test_weights_without_noise_are_recovered(beta: float, gamma: float, slope: float, offset: float) -> None:
    given = likelihoods(60)
    found = learn_weights(given, offset + slope * given.morcela(beta, gamma))
    assert found.kind == "linear"
    assert found.beta == pytest.approx(beta, abs=1e-6)
    assert found.gamma == pytest.approx(gamma, abs=1e-5)
    assert found.coefficients[:2] == pytest.approx((offset, slope), rel=1e-6, abs=1e-6)


def test_noisy_labels_give_weights_within_their_intervals() -> None:
    inside = []
    for seed in range(40):
        given = likelihoods(800, seed)
        chances = 1 / (1 + np.exp(-3 * (given.morcela(0.6, 4.0) - np.median(given.morcela(0.6, 4.0)))))
        labels = (np.random.default_rng(100 + seed).random(800) < chances).astype(float)
        found = learn_weights(given, labels)
        assert found.kind == "logistic"
        for value, error, true in ((found.beta, found.beta_error, 0.6), (found.gamma, found.gamma_error, 4.0)):
            low, high = interval(value, error)
            inside.append(low <= true <= high)
    assert 0.87 <= np.mean(inside) <= 0.995  # 95% of 80


def test_linear_is_what_statsmodels_fits() -> None:
    given = likelihoods()
    ratings = 2 + given.morcela(0.7, 3.0) + np.random.default_rng(3).normal(0, 1, 2000)
    found, theirs = learn_weights(given, ratings), sm.OLS(ratings, design(given)).fit()
    np.testing.assert_allclose(found.coefficients, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(found.errors, theirs.bse, rtol=1e-8)
    assert found.beta == pytest.approx(-theirs.params[2] / theirs.params[1])
    assert found.gamma == pytest.approx(theirs.params[3] / theirs.params[1])


def test_logistic_is_what_statsmodels_and_scikit_learn_fit() -> None:
    given = likelihoods()
    noise = np.random.default_rng(4).logistic(0, 0.8, 2000)
    score = given.morcela(0.7, 3.0)
    labels = (score + noise > np.median(score)).astype(float)
    found = learn_weights(given, labels)
    theirs = sm.Logit(labels, design(given)).fit(disp=False, method="newton", tol=1e-12)
    np.testing.assert_allclose(found.coefficients, theirs.params, rtol=1e-6)
    np.testing.assert_allclose(found.errors, theirs.bse, rtol=1e-5)
    also = LogisticRegression(C=np.inf, tol=1e-10, max_iter=5000, solver="newton-cholesky")
    also.fit(design(given)[:, 1:], labels)
    np.testing.assert_allclose(found.coefficients[1:], also.coef_[0], rtol=1e-4)


def test_errors_of_the_ratios_are_those_of_resampling() -> None:
    given = likelihoods(600)
    ratings = 2 + given.morcela(0.7, 3.0) + np.random.default_rng(3).normal(0, 1, 600)
    generator = np.random.default_rng(8)
    drawn = [learn_weights(given[rows], ratings[rows]) for rows in generator.integers(0, 600, (400, 600))]
    found = learn_weights(given, ratings)
    assert found.beta_error == pytest.approx(np.std([one.beta for one in drawn]), rel=0.15)
    assert found.gamma_error == pytest.approx(np.std([one.gamma for one in drawn]), rel=0.15)


def test_slor_and_nce_are_two_of_its_cases() -> None:
    given = likelihoods(5)
    np.testing.assert_allclose(given.morcela(1, 0), (given.logprobs - given.unigrams) / given.lengths)
    np.testing.assert_allclose(given.morcela(0, 0), given.logprobs / given.lengths)


def test_measures_each_text_as_one_sequence(model: Bigrams) -> None:
    seen: list[tuple[int, int]] = []
    texts = ["the a cat", "", *sentences(300, 5)]
    found = measure(model, texts, lambda done, total: seen.append((done, total)))
    tokens = model.score(["the a cat"])[0]
    assert found.logprobs[0] == pytest.approx(tokens.logprobs.sum())
    assert found.unigrams[0] == pytest.approx(tokens.unigrams.sum())
    assert found.lengths[0] == 3
    assert np.isnan(found.logprobs[1])
    assert seen == [(256, 302), (302, 302)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda of, r: (of, -r), "the ratings fall as the likelihood rises .* say --lower-is-better"),
        (lambda of, r: (of, np.ones_like(r)), "the ratings are all the same"),
        (lambda of, r: (of, (r > np.median(r)) * 1.0), "parted without an error"),
        (lambda of, r: (Likelihoods(of.logprobs, of.unigrams, np.full(60, 9.0)), r), "the same number of tokens"),
        (lambda of, r: (Likelihoods(of.unigrams * 2, of.unigrams, of.lengths), r), "go together"),
    ],
)
def test_what_cannot_be_learned(change: Any, message: str) -> None:
    given = likelihoods(60)
    with pytest.raises(InputError, match=message):
        learn_weights(*change(given, given.morcela(0.5, 1.0)))


def test_kinds_that_do_not_fit() -> None:
    given = likelihoods(60)
    with pytest.raises(UsageError, match="two labels; these ratings have 60 values"):
        learn_weights(given, given.morcela(0.5, 1.0), "logistic")
    with pytest.raises(UsageError, match="unknown kind 'cubic'"):
        learn_weights(given, given.morcela(0.5, 1.0), "cubic")
    labels = (np.random.default_rng(1).normal(given.morcela(0.5, 1.0)) > -3).astype(float)
    assert learn_weights(given, labels, "linear").kind == "linear"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-4, 4), st.booleans()), min_size=2, max_size=40))
def test_figures_of_labels_are_those_of_scikit_learn(rows: list[tuple[int, bool]]) -> None:
    scores = np.array([score for score, _ in rows], float)
    labels = np.array([label for _, label in rows])
    threshold = best_threshold(scores, labels)
    called = scores >= threshold
    if labels.all() or not labels.any():
        assert math.isnan(area_under_curve(scores, labels))
        return
    assert area_under_curve(scores, labels) == pytest.approx(roc_auc_score(labels, scores))
    assert matthews(called, labels) == pytest.approx(matthews_corrcoef(labels, called))
    best = max(matthews_corrcoef(labels, scores >= at) for at in np.unique(scores))
    assert matthews(called, labels) == pytest.approx(best)


def cola(path: Path, model: Bigrams, count: int = 400, seed: int = 7) -> str:
    """Sentences that people take more often the better the bigrams like them, whatever their rare words."""
    texts = sentences(count, seed)
    score = measure(model, texts).morcela(0.5, 1.0)
    good = np.random.default_rng(seed).logistic(score, 0.15) > np.median(score)
    lines = [f"src\t{int(yes)}\t\t{text}\n" for yes, text in zip(good, texts, strict=True)]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def test_figures_are_of_texts_not_trained_on(tmp_path: Path, model: Bigrams) -> None:
    table = read_ratings(cola(tmp_path / "c.tsv", model), None)
    learned = fit_morcela(table, model, hold_out=150, seed=11)
    order = np.random.default_rng(11).permutation(400)
    training, rest = order[:250], order[250:]
    measured = measure(model, [str(row["text"]) for row in table.rows])
    labels = table.values == 1
    assert learned.weights == learn_weights(measured[training], table.values[training])
    assert [figure.name for figure in learned.held_out] == ["nce", "slor", "morcela"]
    for figure, beta, gamma in zip(
        learned.held_out, (0, 1, learned.weights.beta), (0, 0, learned.weights.gamma), strict=True
    ):
        scores = measured.morcela(beta, gamma)
        assert figure.n == 150
        assert figure.auc == pytest.approx(roc_auc_score(labels[rest], scores[rest]))
        assert figure.pearson == pytest.approx(stats.pearsonr(scores[rest], table.values[rest])[0])
        thresholds = np.unique(scores[training])
        of_training = [matthews_corrcoef(labels[training], scores[training] >= at) for at in thresholds]
        at = thresholds[np.flatnonzero(np.isclose(of_training, max(of_training)))]
        assert min(abs(matthews_corrcoef(labels[rest], scores[rest] >= one) - figure.mcc) for one in at) < 1e-9


def test_from_the_command_line_to_weights(
    tmp_path: Path, model: Bigrams, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("celadon.train.combinations.morcela.language_model", lambda spec: model)
    path, out = cola(tmp_path / "c.tsv", model), tmp_path / "weights.json"
    assert main(["train", "morcela", path, "--model", "bigrams", "--output", str(out)]) == 0
    said = capsys.readouterr()
    assert "logistic regression on 320 texts" in said.out
    assert "held out, 80 texts" in said.out
    assert "mcc" in said.out
    assert f"morcela[model=bigrams,weights={out}]" in said.err
    content = json.loads(out.read_text(encoding="utf-8"))
    assert content["beta_interval"][0] < content["beta"] < content["beta_interval"][1]
    assert (content["model"], content["model_sha256"]) == ("bigrams", model.digest)
    assert content["model_facts"] == {"begin": "<s>", "end": "left-out"}
    assert (content["trained_on"]["rows"], content["trained_on"]["held_out"]) == (320, 80)
    learned = fit_morcela(read_ratings(path, None), model, seed=content["trained_on"]["seed"])
    read = read_morcela(str(out))
    assert (read.beta, read.gamma, read.model) == (learned.weights.beta, learned.weights.gamma, "bigrams")

    assert main(["train", "morcela", path, "--output", str(out), "--json", "--train", "300"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text(encoding="utf-8"))


def test_ratings_of_which_less_is_better(
    tmp_path: Path, model: Bigrams, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("celadon.train.combinations.morcela.language_model", lambda spec: model)
    texts = ["", *sentences(200, 3)]
    score = np.nan_to_num(measure(model, texts).morcela(0.5, 1.0))
    path, out = tmp_path / "r.jsonl", str(tmp_path / "w.json")
    noise = np.random.default_rng(4).normal(0, 0.1, len(texts))
    rows = [{"text": t, "edits": float(e), "good": float(-e)} for t, e in zip(texts, noise - score, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked = ["train", "morcela", str(path), "--rating", "edits", "-o", out]
    assert main(asked) == 2
    assert "say --lower-is-better" in capsys.readouterr().err
    assert not Path(out).exists()
    assert main([*asked, "--lower-is-better"]) == 0
    assert "1 of 201 rows was left out" in capsys.readouterr().err
    content = json.loads(Path(out).read_text(encoding="utf-8"))
    assert content["kind"] == "linear"
    assert content["figures"]["held_out"][2]["pearson"] > content["figures"]["held_out"][0]["pearson"] > 0
    assert content["figures"]["held_out"][2]["auc"] is None
    assert main(["train", "morcela", str(path), "--rating", "good", "-o", out]) == 0
    turned = json.loads(Path(out).read_text(encoding="utf-8"))
    assert all(turned[key] == content[key] for key in ("beta", "gamma", "figures"))
