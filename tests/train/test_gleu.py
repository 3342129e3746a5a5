"""Training GLEU: the hyperplane against its own objective, minimised by other means; examples; the whole way."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from celadon.cli.train import combinations as command
from celadon.core import CeladonError, Sample, UsageError
from celadon.metrics.gleu import Gleu, GleuPlus
from celadon.metrics.gleu_weights import FEATURES_OF
from celadon.parsing.brackets import parse_trees
from celadon.parsing.grammar_files import save_grammar
from celadon.parsing.loading import forget, parser, share_parser
from celadon.scoring.batch import Batch
from celadon.synth.tokens import number_sentences
from celadon.train.combinations.gleu import PENALTIES, GleuRecipe, fit, make_examples
from celadon.train.parsers.grammar import ParserRecipe, estimate
from tests.conftest import missing_part
from tests.parsing.small_dependencies import Remembering, make_dependencies, share_parsers

SUBJECTS = ("The committee", "My sister", "A small boat", "The old train", "Our teacher", "That company")
VERBS = ("found", "sold", "painted", "lost", "wanted", "saw")
OBJECTS = ("the green house", "a new bridge", "the last letter", "some fresh bread", "two long books", "the big dog")
CORPUS = [f"{s} {v} {o} ." for s in SUBJECTS for v in VERBS for o in OBJECTS]
PAPER_PLUS = {"metric": "gleu_plus", "variant": "paper"}


def test_the_hyperplane_has_the_least_loss() -> None:
    rng = np.random.default_rng(3)
    real = np.arange(200) < 100
    columns = {
        "logprob": -8 + 1.0 * real + rng.normal(0, 1, 200),
        "fragments": 1.0 + rng.integers(0, 3, 200) * ~real,
        "nulls": np.abs(rng.normal(0.05, 0.03, 200)) + 0.05 * ~real,
    }
    weights, penalty = fit(columns, real)
    shown = {
        "logprob": 1 - columns["logprob"] / columns["logprob"].min(),
        "fragments": columns["fragments"] / columns["fragments"].max(),
        "nulls": columns["nulls"],
    }
    table = np.stack(list(shown.values()), axis=1)
    table = (table - table.mean(axis=0)) / table.std(axis=0)
    table = np.hstack([table, np.ones((200, 1))])  # liblinear's bias is a weight like any other
    signs = np.where(real, 1, -1)

    def loss(w: np.ndarray) -> float:
        return 0.5 * w @ w + penalty * (np.maximum(0, 1 - signs * (table @ w)) ** 2).sum()

    wanted = table @ minimize(loss, np.zeros(4), method="BFGS", tol=1e-10).x
    found = weights.scores(weights.contributions(weights.normalised(columns)))
    np.testing.assert_allclose(found, wanted, atol=2e-3)


def test_the_penalty_is_the_least_that_does_as_well_as_the_best() -> None:
    rng = np.random.default_rng(7)
    real = np.arange(400) < 200
    # one feature tells all: every penalty is as good
    assert fit({"slor": 2.0 * real + rng.normal(0, 0.1, 400)}, real)[1] == PENALTIES[0]
    # two features whose difference alone tells, which a small penalty does not find
    base = rng.normal(0, 1, 400)
    columns = {"a": base + 0.1 * real, "b": base + rng.normal(0, 0.01, 400)}
    assert fit(columns, real)[1] > PENALTIES[0]


def test_examples_are_half_real_the_same_again_and_none_twice() -> None:
    corpus = number_sentences([sentence.split() for sentence in CORPUS])
    lengths = {len(sentence.split()) for sentence in CORPUS}
    recipe = GleuRecipe(length=min(lengths), count=20, held_out=5, seed=4)
    training, apart = make_examples(corpus, recipe)
    assert training.real.sum() == 20 == (~training.real).sum()
    assert apart.real.sum() == 5 == (~apart.real).sum()
    known = {sentence.replace(" .", ".") for sentence in CORPUS}
    for part in (training, apart):
        assert [text in known for text in part.texts] == part.real.tolist()
    assert not set(training.texts[:20]) & set(apart.texts[:5])
    again = make_examples(corpus, recipe)
    assert [part.texts for part in again] == [training.texts, apart.texts]


def test_gleu_plus_also_learns_from_damaged_sentences() -> None:
    corpus = number_sentences([sentence.split() for sentence in CORPUS])
    recipe = GleuRecipe("gleu_plus", length=7, count=40, held_out=10, seed=4)
    training, apart = make_examples(corpus, recipe)
    real = {sentence.replace(" .", ".") for sentence in CORPUS}
    words = {word.lower() for sentence in CORPUS for word in sentence.split()}
    for part in (training, apart):
        assert all(text in real for text in part.texts[: part.real.sum()])
        assert not any(text in real for text in part.texts[part.real.sum() :])
    others = [text for part in (training, apart) for text in part.texts[part.real.sum() :]]
    glued = [text for text in others if len(text.split()) == 6 and set(text.lower().rstrip(".").split()) <= words]
    assert len(others) > 40
    assert 15 <= len(glued) < len(others)


def test_a_fault_never_speaks_for_a_sentence() -> None:
    rng = np.random.default_rng(5)
    real = np.arange(200) < 100
    columns = {"slor": 1.0 * real + rng.normal(0, 1, 200), "repeated": 0.1 * real + rng.normal(0, 0.1, 200)}
    weights, _ = fit(columns, real)
    assert weights.terms["repeated"].weight == 0
    alone, _ = fit({"slor": columns["slor"]}, real)
    assert weights.terms["slor"].weight == pytest.approx(alone.terms["slor"].weight, rel=0.05)
    turned, _ = fit({**columns, "repeated": -columns["repeated"]}, real)
    assert turned.terms["repeated"].weight < 0


@pytest.mark.parametrize(
    "change", [{"metric": "bleu"}, {"count": 1}, {"held_out": 0}, {"rules": True}, {"variant": "other"}, PAPER_PLUS]
)
def test_a_recipe_that_cannot_be_is_told(change: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        GleuRecipe(**change)  # type: ignore[arg-type]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """The command on a small corpus, with parsers that have learnt nothing; called, it returns the weights' file."""
    share_parsers(make_dependencies(tmp_path / "dependencies"))
    corpus, output = tmp_path / "corpus.txt", tmp_path / "mine.json"
    corpus.write_text("\n".join(sentence.replace(" .", ".") for sentence in CORPUS) + "\n")
    kinds = argparse.ArgumentParser()
    command.add_parsers(kinds.add_subparsers())

    def run(*options: str) -> Path:
        given = ["gleu", str(corpus), "--output", str(output), "--length", "7", "--count", "12", "--held-out", "3"]
        arguments = kinds.parse_args([*given, *options])
        assert arguments.run(arguments) == 0
        assert str(tmp_path) not in output.read_text()
        return output

    yield run
    forget()


def test_the_command_writes_weights_that_the_metric_takes(run: Callable[..., Path]) -> None:
    output = run()
    first = output.read_bytes()
    written = json.loads(first)
    assert set(written["features"]) == set(FEATURES_OF["gleu"])
    assert 0 <= written["figures"]["accuracy"] <= 1
    assert "--rules" not in written["made_by"]
    assert "--variant" not in written["made_by"]
    assert run().read_bytes() == first
    scores = Gleu(weights=str(output)).score(Batch([Sample("My sister found a new bridge.")]))
    assert np.isfinite(scores.values[0])

    of_paper = json.loads(run("--variant", "paper").read_text())
    assert list(of_paper["features"]) == ["logprob", "fragments", "nulls", "invalid"]
    assert (of_paper["metric"], of_paper["damaged"]) == ("gleu[variant=paper]", {})
    assert of_paper["made_by"] == f"{written['made_by']} --variant paper"
    # of the same sentences
    assert of_paper["sentences"] == written["sentences"]
    assert of_paper["features"]["invalid"]["centre"] == written["features"]["invalid"]["centre"]
    scores = Gleu(weights=str(output), variant="paper").score(Batch([Sample("My sister found a new bridge.")]))
    assert np.isfinite(scores.values[0])


def test_the_command_takes_another_grammar(run: Callable[..., Path], tmp_path: Path) -> None:
    grammar = tmp_path / "one-tree"
    grammar.mkdir()
    tree = "(S (NP (DT the) (NN bridge)) (VP (VBD fell) (PP (IN into) (NP (DT the) (NN river)))) (. .))"
    save_grammar(grammar, estimate(parse_trees(tree), ParserRecipe(1, 0, ())))
    usual = json.loads(run("--variant", "paper").read_text())
    other = json.loads(run("--variant", "paper", "--grammar", str(grammar)).read_text())
    changed = [
        name for name in usual["features"] if usual["features"][name]["centre"] != other["features"][name]["centre"]
    ]
    assert changed == ["logprob"]
    assert other["made_by"].endswith(" --variant paper --grammar one-tree")


def test_the_command_asks_the_rule_checker_where_it_is_told_to(run: Callable[..., Path]) -> None:
    try:
        checker = Remembering(parser("lingotweaker"))
    except CeladonError as error:
        missing_part("lingotweaker", str(error))
    share_parser("lingotweaker", checker)
    output = run("--metric", "gleu_plus", "--rules")
    written = json.loads(output.read_text())
    assert list(written["features"]) == list(FEATURES_OF["gleu_plus[rules=true]"])
    assert written["metric"] == "gleu_plus[rules=true]"
    assert len(checker._known) >= sum(written["sentences"].values()) > 20
    assert written["made_by"].endswith(" --rules")
    scores = GleuPlus(weights=str(output), rules=True).score(Batch([Sample("My sister found a new bridge.")]))
    assert np.isfinite(scores.values[0])
