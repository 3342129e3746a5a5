"""Training a language model on a small corpus made here: what comes out, and that a killed run comes to the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from celadon.cli import main
from celadon.core import UsageError
from celadon.train.corpus import Corpus, Plan
from celadon.train.language_models.lm import Recipe, Training, finish, measure_graph, prepare
from celadon.train.language_models.lstm import lstm_graph
from tests import processes

torch = pytest.importorskip("torch") if os.environ.get("CI") != "true" else __import__("torch")

SUBJECTS = "the cat,a dog,the old man,my sister,every child,the teacher".split(",")
VERBS = "sees,likes,finds,follows,hears".split(",")
OBJECTS = "the river,a red ball,the house,some bread,the moon".split(",")

SMALL = Recipe(
    vocabulary=80, layers=2, hidden=16, tokens=12_000, batch_tokens=128, learning_rate=1e-2, warm_up=500, hold_out=0.1
)


@pytest.fixture(scope="module")
def corpus_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    lines = []
    for _ in range(100):
        for _ in range(3):
            made = (f"{random.choice(SUBJECTS)} {random.choice(VERBS)} {random.choice(OBJECTS)}." for _ in range(3))
            lines.append(" ".join(sentence.capitalize() for sentence in made))
        lines.append("")
    path = tmp_path_factory.mktemp("corpus") / "small.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(corpus_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Training:
    work = tmp_path_factory.mktemp("work")
    material = prepare(Corpus((corpus_file,), SMALL.hold_out), SMALL, work)
    training = Training(SMALL, material, work / "checkpoint.safetensors")
    training.run(lambda progress: None)
    return training


def _command(corpus_file: Path, folder: Path, tokens: int = 12_000) -> list[str]:
    options = f"--threads 1 --hold-out 0.1 --vocab 80 --hidden 16 --tokens {tokens} --batch-tokens 128"
    options += " --learning-rate 0.01 --warm-up 500"
    return ["train", "lm", str(corpus_file), "--output", str(folder), *options.split()]


def test_beats_the_unigrams_it_began_with(trained: Training) -> None:
    result = finish(trained)
    assert result.measured is not None
    sentences, unigrams = trained.material.held_out, trained.material.unigrams
    ends = len(sentences) * unigrams[trained.material.tokenizer.token_to_id("[EOS]")]
    by_itself = -(unigrams[np.asarray(sentences.ids)].sum() + ends)
    assert result.measured.loss < 0.7 * by_itself
    assert result.measured.tokens == len(sentences.ids) + len(sentences)


def test_the_graph_says_what_torch_says(trained: Training) -> None:
    weights = {name: weight.detach().numpy() for name, weight in trained.model.named_parameters()}
    plan = trained.material.test_plan(trained.recipe)
    from_graph = measure_graph(lstm_graph(weights, trained.model.shape), plan, trained.material.held_out)
    total = 0.0
    with torch.inference_mode():
        for batch in plan.in_order():
            losses = trained.model(torch.from_numpy(batch.inputs), torch.from_numpy(batch.targets))
            total += float(losses.double().sum())
    assert from_graph.loss == pytest.approx(total, rel=2e-3)


@pytest.mark.parametrize("cutoffs", [(), (7,), (5, 9, 20)])
def test_the_adaptive_softmax_is_a_distribution(cutoffs: tuple[int, ...]) -> None:
    from onnxruntime import InferenceSession

    from celadon.train.language_models.lstm import LstmLanguageModel, Shape

    shape = Shape(vocabulary=30, hidden=8, layers=2, cutoffs=cutoffs)
    model = LstmLanguageModel(shape)
    model.initialise(torch.log_softmax(torch.linspace(0, -3, 30), 0), seed=1)
    session = InferenceSession(lstm_graph({n: p.detach().numpy() for n, p in model.named_parameters()}, shape))
    ids = np.array([[1, 5, 8, token] for token in range(30)], dtype=np.int64)
    third = np.arange(30, dtype=np.int64) * 3 + 2
    (logprobs,) = session.run(["logprobs"], {"ids": ids, "where": third})
    assert np.exp(np.asarray(logprobs, dtype=np.float64)).sum() == pytest.approx(1.0, abs=1e-5)


def test_the_graph_does_not_look_at_padding_or_neighbours(trained: Training) -> None:
    from onnxruntime import InferenceSession

    weights = {name: weight.detach().numpy() for name, weight in trained.model.named_parameters()}
    session = InferenceSession(lstm_graph(weights, trained.model.shape))
    alone = np.array([[1, 9, 12, 5]], dtype=np.int64)
    beside = np.array([[1, 9, 12, 5, 7, 7], [1, 3, 4, 5, 6, 8]], dtype=np.int64)
    (first,) = session.run(["logprobs"], {"ids": alone, "where": np.arange(3)})
    (second,) = session.run(["logprobs"], {"ids": beside, "where": np.arange(3)})
    np.testing.assert_allclose(first, second, atol=1e-5)


# three runs, which take ten times as long beside other busy processes
@pytest.mark.timeout(900)
def test_killed_and_started_again_it_comes_to_the_same(
    corpus_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert main(_command(corpus_file, whole, 4_000)) == 0
    # the bar of a slow machine, made slower: a checkpoint after every batch, and a kill after the first few
    command = [*_command(corpus_file, killed, 4_000), "--save-every", "0"]
    process = subprocess.Popen([sys.executable, "-m", "celadon", *command], stderr=subprocess.DEVNULL)
    checkpoint = tmp_path / "killed.work" / "checkpoint.safetensors"
    deadline = time.monotonic() + 120
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=processes.LIMIT) == -signal.SIGKILL, "it was done before it could be killed"
    assert not killed.exists()
    capsys.readouterr()
    assert main(command) == 0
    assert "going on from the checkpoint" in capsys.readouterr().err
    for name in ("model.onnx", "tokenizer.json", "unigrams.npy", "model.json"):
        expected = (whole / name).read_bytes().replace(b'"whole"', b'"killed"')
        assert (killed / name).read_bytes() == expected, name
    assert not checkpoint.parent.exists()


def test_the_folder_can_be_used_as_a_model(
    corpus_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from celadon.models.language.language_model import open_language_model

    assert main([*_command(corpus_file, tmp_path / "lm"), "--about", "made-up sentences, free"]) == 0
    assert "held-out perplexity" in capsys.readouterr().out
    described = json.loads((tmp_path / "lm" / "model.json").read_text())
    assert described["scripts"] == ["Latin"]
    card = (tmp_path / "lm" / "card.md").read_text()
    assert "made-up sentences, free" in card
    assert str(tmp_path) not in card
    good, bad = open_language_model(str(tmp_path / "lm")).score(["The cat sees the moon.", "Moon cat the the sees."])
    assert good.logprobs.mean() > bad.logprobs.mean()


def test_a_checkpoint_of_another_run_is_refused(trained: Training) -> None:
    other = Recipe(**{**SMALL.__dict__, "learning_rate": 1e-3})
    with pytest.raises(UsageError, match="another run"):
        Training(other, trained.material, trained.checkpoint)


def test_an_output_in_use_is_refused_before_any_work(corpus_file: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "mine.txt").write_text("mine")
    assert main(_command(corpus_file, tmp_path / "kept")) == 2
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["mine.txt"]


def test_words_as_units(corpus_file: Path, tmp_path: Path) -> None:
    command = _command(corpus_file, tmp_path / "words")
    assert main([*command, "--unit", "word", "--vocab", "40"]) == 0
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tmp_path / "words" / "tokenizer.json"))
    assert tokenizer.encode("The zebra sees.").tokens == ["The", "[UNK]", "sees", "."]


def test_every_sentence_once_an_epoch(trained: Training) -> None:
    sentences = trained.material.trained
    plan = Plan(sentences, tokens=64, longest=128, begin=1, end=2, seed=3)
    seen = 0
    columns: list[tuple[int, ...]] = []
    for batch in plan.batches():
        assert batch.inputs.size <= 64 or batch.inputs.shape[1] == 1
        columns += [tuple(column[column >= 0].tolist()) for column in batch.targets.T]
        seen += batch.inputs.shape[1]
        if seen >= len(sentences):
            break
    starts = sentences.starts
    every = [(*sentences.ids[a:b].tolist(), 2) for a, b in pairwise(starts.tolist())]
    assert sorted(columns) == sorted(every)


def test_batches_can_be_skipped(trained: Training) -> None:
    plan = trained.material.plan(SMALL)
    stream, later = plan.batches(), plan.batches(skip=7)
    for _ in range(7):
        next(stream)
    for _ in range(3):
        np.testing.assert_array_equal(next(stream).inputs, next(later).inputs)
