"""Pseudo-log-likelihood as a metric, against masking by hand with transformers alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from celadon.core import Sample, UsageError
from celadon.metrics.registry import load
from celadon.scoring.batch import Batch
from tests.models.tiny_checkpoints import make_checkpoints, network, torch

SENTENCES = ["The council approved the bridge.", "Unbelievably, nobody had read the report!"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_checkpoints(tmp_path_factory.mktemp("checkpoints"))


def by_hand(folder: Path, text: str, variant: str) -> list[float]:
    model, tokenizer = network(folder, masked=True)
    encoded = tokenizer(text)
    ids, words = encoded["input_ids"], encoded.word_ids()
    found = []
    for at, word in enumerate(words):
        if word is None:
            continue
        hidden = list(ids)
        for other in range(at, len(ids) if variant == "l2r" else at + 1):
            if words[other] == word:
                hidden[other] = tokenizer.mask_token_id
        with torch.no_grad():
            table = model(torch.tensor([hidden])).logits[0].double().log_softmax(-1)
        found.append(float(table[at, ids[at]]))
    return found


@pytest.mark.parametrize("variant", ["l2r", "original"])
def test_it_is_the_mean_over_tokens_then_over_sentences(folders: dict[str, Path], variant: str) -> None:
    metric = load(f"pll[model=hf:{folders['bert']},variant={variant}]")
    scores = metric.score(Batch([Sample(" ".join(SENTENCES)), Sample("🎉")]))
    expected = [np.mean(by_hand(folders["bert"], sentence, variant)) for sentence in SENTENCES]
    assert scores.values[0] == pytest.approx(np.mean(expected), abs=1e-4)
    assert scores.parts["worst"][0] == pytest.approx(min(expected), abs=1e-4)
    assert scores.reasons == {1: "the text has no words"}
    assert f"|variant:{variant}|" in metric.signature


def test_it_needs_a_masked_model_and_a_known_variant(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="needs a masked"):
        load(f"pll[model=hf:{folders['gpt2']}]").score(Batch([Sample("A text.")]))
    with pytest.raises(UsageError, match="unknown variant 'both'; known: l2r, original"):
        load("pll[variant=both]")


def test_slor_without_unigrams_names_the_command_that_makes_them(folders: dict[str, Path]) -> None:
    model = f"hf:{folders['gpt2']}"
    batch = Batch([Sample("The council approved the bridge.")])
    assert np.isfinite(load(f"nce[model={model}]").score(batch).values).all()
    for spec in (f"slor[model={model}]", f"morcela[model={model},beta=1,gamma=0]"):
        with pytest.raises(UsageError, match=f"celadon models unigrams {model} CORPUS"):
            load(spec).score(batch)


def test_a_model_of_ours_is_not_masked(tmp_path: Path) -> None:
    from tests.tiny_models import make_bigrams

    folder = make_bigrams(tmp_path / "bigrams").folder
    with pytest.raises(UsageError, match="needs a masked model"):
        load(f"pll[model={folder}]").score(Batch([Sample("The cat sat.")]))
