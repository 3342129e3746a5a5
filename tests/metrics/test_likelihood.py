"""NCE, PPL, SLOR and MORCELA against sums done by hand from a table of bigrams."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from celadon.core import InputError, Sample, UsageError
from celadon.metrics.registry import load
from celadon.models.language import language_model as language
from celadon.models.language.language_model import LanguageModel, TokenScores
from celadon.scoring.batch import Batch
from tests.tiny_models import Bigrams, make_bigrams

# a text, and the pieces of each of its sentences
ONE = ("The cat sat on a mat.", [["The", "cat", "sat", "on", "a", "mat", "."]])
TWO = (
    "The dog ran home! He left it unhappy.",
    [["The", "dog", "ran", "home", "!"], ["He", "left", "it", "un", "##happy", "."]],
)
LINES = ("the cats\n\nran home , cats", [["the", "cats"], ["ran", "home", ",", "cats"]])
ODD = ("The zebra sat.", [["The", "[UNK]", "sat", "."]])
ALL = (ONE, TWO, LINES, ODD)


@pytest.fixture(scope="module", params=[True, False], ids=["end counted", "end left out"])
def bigrams(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bigrams:
    return make_bigrams(tmp_path_factory.mktemp("models") / "bigrams", counts_end=request.param)


@pytest.fixture(scope="module")
def one_model(tmp_path_factory: pytest.TempPathFactory) -> Bigrams:
    return make_bigrams(tmp_path_factory.mktemp("models") / "bigrams")


def values(spec: str, *texts: str) -> list[float]:
    return load(f"{spec[:-1]},markup=plain]").score(Batch([Sample(text) for text in texts])).values.tolist()


def nce(model: Bigrams, pieces: Sequence[str]) -> float:
    return model.logprob(pieces) / model.length(pieces)


def slor(model: Bigrams, pieces: Sequence[str]) -> float:
    return (model.logprob(pieces) - model.unigram(pieces)) / model.length(pieces)


FORMULAS = {"nce": nce, "ppl": lambda model, pieces: math.exp(-nce(model, pieces)), "slor": slor}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_text_has_the_mean_of_its_sentences(bigrams: Bigrams, name: str) -> None:
    metric = load(f"{name}[model={bigrams.folder},markup=plain]")
    scores = metric.score(Batch([Sample(text) for text, _ in ALL]))
    for row, (_, sentences) in enumerate(ALL):
        by_hand = [FORMULAS[name](bigrams, pieces) for pieces in sentences]
        assert scores.values[row] == pytest.approx(sum(by_hand) / len(by_hand), abs=1e-5)
        assert scores.parts["sentences"][row] == len(sentences)
        assert scores.parts["tokens"][row] == sum(bigrams.length(pieces) for pieces in sentences)
        worst = max(by_hand) if name == "ppl" else min(by_hand)
        assert scores.parts["worst"][row] == pytest.approx(worst, abs=1e-5)
    assert scores.reasons == {}


@pytest.mark.parametrize("name", FORMULAS)
def test_a_document_is_read_as_a_whole(bigrams: Bigrams, name: str) -> None:
    found = values(f"{name}[model={bigrams.folder},context=document]", *(f"  {text}\n" for text, _ in ALL))
    for value, (_, sentences) in zip(found, ALL, strict=True):
        assert value == pytest.approx(
            FORMULAS[name](bigrams, [piece for pieces in sentences for piece in pieces]), abs=1e-5
        )


def test_a_sentence_alone_does_not_see_the_one_before(one_model: Bigrams) -> None:
    spec = f"slor[model={one_model.folder}]"
    both, first, second = values(spec, TWO[0], "The dog ran home!", "He left it unhappy.")
    assert both == pytest.approx((first + second) / 2)


def test_a_line_without_words_is_left_out(one_model: Bigrams) -> None:
    spec = f"nce[model={one_model.folder}]"
    assert values(spec, "The cat sat.\n* * *\nHe left.") == pytest.approx(values(spec, "The cat sat.\nHe left."))


class TestMorcela:
    def test_the_formula(self, bigrams: Bigrams) -> None:
        beta, gamma = 0.6, 2.5
        found = values(f"morcela[model={bigrams.folder},beta={beta},gamma={gamma}]", *(text for text, _ in ALL))
        for value, (_, sentences) in zip(found, ALL, strict=True):
            by_hand = [
                (bigrams.logprob(pieces) - beta * bigrams.unigram(pieces) + gamma) / bigrams.length(pieces)
                for pieces in sentences
            ]
            assert value == pytest.approx(sum(by_hand) / len(by_hand), abs=1e-5)

    def test_with_one_and_nothing_it_is_slor(self, one_model: Bigrams) -> None:
        texts = [text for text, _ in ALL]
        plain = values(f"morcela[model={one_model.folder},beta=1,gamma=0]", *texts)
        assert plain == pytest.approx(values(f"slor[model={one_model.folder}]", *texts))

    def test_options_stand_before_the_file_and_the_file_before_the_model(self, tmp_path: Path) -> None:
        model = make_bigrams(tmp_path / "fitted").folder
        (model / "morcela.json").write_text('{"beta": 0.25, "gamma": 3.0}')
        file = tmp_path / "mine.json"
        file.write_text(json.dumps({"beta": 0.75, "gamma": -1, "model": "fitted"}))
        given = {
            f"morcela[model={model}]": (0.25, 3.0),
            f"morcela[model={model},weights={file}]": (0.75, -1.0),
            f"morcela[model={model},beta=0.5,weights={file}]": (0.5, -1.0),
            f"morcela[model={model},gamma=2]": (0.25, 2.0),
        }
        for spec, (beta, gamma) in given.items():
            assert values(spec, ONE[0]) == pytest.approx(
                values(f"morcela[model={model},beta={beta},gamma={gamma}]", ONE[0])
            )
            assert f"|beta:{beta:g}|gamma:{gamma:g}|" in load(spec).signature

    def test_without_weights_it_says_what_to_do(self, one_model: Bigrams) -> None:
        with pytest.raises(UsageError, match="celadon train morcela"):
            values(f"morcela[model={one_model.folder}]", ONE[0])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("[]", "JSON object"),
            ('{"beta": 1}', "gamma"),
            ('{"beta": "x", "gamma": 1}', "beta"),
            ("{", "not valid JSON"),
        ],
    )
    def test_a_bad_file_is_named(self, tmp_path: Path, content: str, message: str) -> None:
        file = tmp_path / "bad.json"
        file.write_text(content)
        with pytest.raises(InputError, match=f"bad.json.*{message}"):
            load(f"morcela[weights={file}]")

    def test_options_are_numbers_or_nothing(self) -> None:
        assert load("morcela[beta=,gamma=None]") == load("morcela")
        with pytest.raises(UsageError, match="not a number"):
            load("morcela[beta=much]")
        with pytest.raises(UsageError, match="finite"):
            load("morcela[gamma=inf]")


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no words"),
        (" ... — !\n", "no words"),
        ("🎉🎉", "no words"),
        ("кот сидит", "less than half of the text's letters are Latin"),
        ("zebra quagga", "knows no piece"),
        ("42", "knows no piece"),
    ],
)
def test_what_it_cannot_read_has_no_score_but_a_reason(one_model: Bigrams, name: str, text: str, reason: str) -> None:
    metric = load(f"{name}[model={one_model.folder},markup=plain]")
    batch = Batch([Sample(text), Sample(ONE[0]), Sample(text)])
    scores = metric.score(batch)
    assert np.isnan(scores.values).tolist() == [True, False, True]
    assert reason in scores.reasons[0] == scores.reasons[2]
    assert all(math.isnan(column[0]) and not math.isnan(column[1]) for column in scores.parts.values())
    assert metric.evidence(Sample(text)) is None


def test_a_model_of_another_script_or_of_none(tmp_path: Path) -> None:
    cyrillic = make_bigrams(tmp_path / "cyrillic", scripts=["Cyrillic"]).folder
    any_script = make_bigrams(tmp_path / "any", scripts=[]).folder
    assert math.isnan(values(f"nce[model={cyrillic}]", ONE[0])[0])
    assert not math.isnan(values(f"nce[model={any_script}]", "кот sat")[0])


class Counting:
    """A model that keeps what it was asked."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.asked: list[list[str]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def score(self, texts: Sequence[str]) -> list[TokenScores]:
        self.asked.append(list(texts))
        return self._model.score(texts)


@pytest.fixture
def counting(one_model: Bigrams) -> Iterator[Counting]:
    language.forget()
    model = Counting(language.open_language_model(str(one_model.folder)))
    language.share_language_model(str(one_model.folder), model)
    yield model
    language.forget()


def test_each_sentence_is_read_once_for_all_metrics(one_model: Bigrams, counting: Counting) -> None:
    batch = Batch([Sample(TWO[0]), Sample(ONE[0]), Sample(TWO[0]), Sample("He left it unhappy.")])
    for name in FORMULAS:
        load(f"{name}[model={one_model.folder},markup=plain]").score(batch)
    assert counting.asked == [["The dog ran home!", "He left it unhappy.", "The cat sat on a mat."]]


def test_why_costs_no_second_reading_but_a_score_is_always_read(one_model: Bigrams, counting: Counting) -> None:
    metric = load(f"slor[model={one_model.folder}]")
    metric.score(Batch([Sample(TWO[0])]))
    assert metric.evidence(Sample(TWO[0])) is not None
    assert len(counting.asked) == 1
    metric.score(Batch([Sample(TWO[0])]))
    assert len(counting.asked) == 2
    assert metric.evidence(Sample(ONE[0])) is not None
    assert len(counting.asked) == 3


def test_the_signature_says_how(bigrams: Bigrams) -> None:
    model = language.language_model(str(bigrams.folder))
    signature = load(f"slor[model={bigrams.folder},markup=plain]").signature
    assert f"|{model.name}@{model.digest[:8]}|" in signature
    assert f"|end:{'counted' if bigrams.counts_end else 'left-out'}|" in signature
    assert "|context:sentence|" in signature
    assert "|begin:[BOS]|" in signature
    assert "|sentences:nupunkt-" in signature
    assert "nupunkt" not in load(f"slor[model={bigrams.folder},context=document,markup=plain]").signature
    assert "|prose:" in load(f"slor[model={bigrams.folder}]").signature


def test_prose_is_read_in_the_languages_that_the_model_knows(one_model: Bigrams) -> None:
    spanish = "El gato sat on a mat y mira por la ventana mientras llueve en la calle."
    own, builtin = (load(spec).score(Batch([Sample(spanish)])) for spec in (f"slor[model={one_model.folder}]", "slor"))
    assert not own.reasons
    assert builtin.reasons == {0: "language: text is Spanish; celadon supports English only"}


@pytest.mark.parametrize("name", [*FORMULAS, "wpslor", "wordslor", "pll", "morcela"])
def test_an_unknown_context_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"unknown context 'paragraph'; known: sentence, document"):
        load(f"{name}[context=paragraph]")


def test_the_papers_names_have_their_models() -> None:
    assert load("wpslor").model == load("slor").model == "builtin"
    assert load("wordslor").model == "builtin-word"
    with pytest.raises(UsageError, match="unknown option"):
        load("wpslor[model=smollm2]")
