"""A small language model as a judge of sentences: its states against transformers, what it learns and teaches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celadon.cli import main
from celadon.core import InputError, UsageError
from celadon.models.encoders.encoder import open_sentence_encoder
from celadon.models.language.smollm2.layout import Precision, no_smoothing
from celadon.train.combinations.ratings import area_under_curve
from celadon.train.corpus import Corpus
from celadon.train.encoders.recipes import TeacherRecipe
from tests.conftest import missing_part
from tests.models import tiny_llama
from tests.models.tiny_llama import SHAPE
from tests.train.test_acceptability import DOINGS, PEOPLE, SMALL, files  # noqa: F401 (a fixture)

try:
    import gguf  # noqa: F401
    import torch
    from transformers import LlamaModel
except ImportError:
    missing_part("torch, gguf or transformers", "run: pip install 'celadon-text[train,hf]' gguf")

RECIPE = TeacherRecipe(
    pairs=200, treebank_passes=1, held_out=60, passes=6, batch_tokens=512, longest=48, learning_rate=3e-3, layers=1
)
GOOD = [
    f"{opening} {who} {doing} with the others." for opening in ("Once", "Then") for who in PEOPLE for doing in DOINGS
]
BAD = [" ".join(words[1:4] + words[:1] + words[2:]) for words in map(str.split, GOOD)]


def _told(scores: np.ndarray) -> float:
    """How often a good sentence is above a bad one, of the scores of all good and all bad ones."""
    return area_under_curve(np.asarray(scores), np.arange(len(GOOD) + len(BAD)) < len(GOOD))


@pytest.fixture(scope="module")
def weights() -> dict[str, np.ndarray]:
    return tiny_llama.random_weights()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory, weights: dict[str, np.ndarray]) -> Path:
    folder = tmp_path_factory.mktemp("base")
    tiny_llama.write_gguf(folder / "tiny.gguf", weights, {})
    return tiny_llama.converted(folder / "tiny.gguf", folder / "tiny", Precision.FP32, no_smoothing(SHAPE))


def _training(files: Path, base: Path, work: Path, recipe: TeacherRecipe = RECIPE) -> Any:  # noqa: F811
    from celadon.train.encoders.examples import TEACHER_STREAM, Sources, prepare
    from celadon.train.encoders.teacher import TeacherTraining, teacher_tokenizer

    sources = Sources(Corpus((files / "corpus.txt",), 0.1), (files / "bank.conllu",), (files / "labels.tsv",))
    material = prepare(sources, recipe, teacher_tokenizer(base), work, stream=TEACHER_STREAM)
    return TeacherTraining(recipe, material, base, work / "checkpoint", SHAPE)


@pytest.fixture(scope="module")
def taught(files: Path, base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """A trained teacher's file."""
    folder = tmp_path_factory.mktemp("teacher")
    training = _training(files, base, folder / "work")
    training.run(lambda progress: None)
    training.save_teacher(folder / "teacher.safetensors", str(base))
    return folder / "teacher.safetensors"


def test_states_are_those_of_transformers(base: Path, weights: dict[str, np.ndarray]) -> None:
    from celadon.train.encoders.teacher import TeacherNetwork

    theirs = LlamaModel(tiny_llama.their_config()).eval()
    theirs.load_state_dict({name.removeprefix("model."): torch.tensor(each) for name, each in weights.items()})
    ours = TeacherNetwork(SHAPE, trained=1).eval()
    ours.read_language_model(base / "weights.bin")
    ids = torch.from_numpy(np.random.default_rng(0).integers(0, SHAPE.vocabulary, (3, 17)))
    shallow = TeacherNetwork(SHAPE, trained=1, depth=1).eval()
    shallow.read_language_model(base / "weights.bin")
    with torch.no_grad():
        after_one = theirs(ids, use_cache=False, output_hidden_states=True).hidden_states[1]
        torch.testing.assert_close(shallow.states(ids), theirs.norm(after_one), atol=1e-4, rtol=1e-4)
        expected = theirs(ids, use_cache=False).last_hidden_state
        torch.testing.assert_close(ours.states(ids), expected, atol=1e-4, rtol=1e-4)
        # what stands behind a row is not looked at
        lengths = torch.tensor([17, 9, 4])
        changed = torch.where(torch.arange(17) < lengths[:, None], ids, 7)
        torch.testing.assert_close(ours(ids, lengths), ours(changed, lengths))


def test_only_upper_layers_learn_and_a_stopped_run_comes_to_the_same(files: Path, base: Path, tmp_path: Path) -> None:  # noqa: F811
    from celadon.train.encoders.teacher import TeacherNetwork

    recipe = TeacherRecipe(**{**RECIPE.__dict__, "passes": 0.5})
    whole = _training(files, base, tmp_path / "whole", recipe)
    whole.run(lambda progress: None)

    class Stop(Exception):
        pass

    stopped = _training(files, base, tmp_path / "stopped", recipe)

    def stop(progress: object) -> None:
        if stopped.step == whole.step // 2:
            raise Stop

    with pytest.raises(Stop):
        stopped.run(stop, save_every=0.0)
    resumed = _training(files, base, tmp_path / "stopped", recipe)
    assert 0 < resumed.step < whole.step
    resumed.run(lambda progress: None)
    before = TeacherNetwork(SHAPE, trained=1)
    before.read_language_model(base / "weights.bin")
    for name, weight in whole.network.named_parameters():
        assert torch.equal(weight, resumed.network.get_parameter(name)), name
        frozen = name.startswith(("embedding", "layers.0"))
        if not name.startswith("head"):
            assert torch.equal(weight, before.get_parameter(name)) == frozen, name


def test_a_teacher_learns_to_tell_sound_sentences(taught: Path) -> None:
    from celadon.train.encoders.teacher import open_teacher

    judge = open_teacher(taught).judge
    assert _told(judge([*GOOD, *BAD])) > 0.8
    # neighbours change nothing
    assert judge(GOOD[:1])[0] == pytest.approx(judge([BAD[3], *GOOD])[1], abs=1e-4)


def test_what_was_said_is_not_asked_again(taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from celadon.train.encoders import teacher

    monkeypatch.setattr(teacher, "_KEPT_EVERY", 2)
    texts, told = [*GOOD[:2], *BAD[:2], GOOD[0]], []

    class Stop(Exception):
        pass

    def stop(many: int) -> None:
        told.append(many)
        if len(told) == 3:
            raise Stop

    opened = teacher.open_teacher(taught)
    with pytest.raises(Stop):
        opened.kept_in(tmp_path, stop)(texts)
    assert told == [0, 2, 2]
    again: list[int] = []
    said = opened.kept_in(tmp_path, again.append)(texts)
    assert again == [4, 1]
    np.testing.assert_allclose(said, opened.judge(texts), atol=1e-4)
    assert len(opened.kept_in(tmp_path)(texts[:3])) == 3


def test_an_encoder_learns_what_its_teacher_says(taught: Path, files: Path, tmp_path: Path) -> None:  # noqa: F811
    from safetensors import safe_open
    from safetensors.torch import save_file

    names = ("pairs", "held_out", "passes", "batch_tokens", "learning_rate", "dropout")
    options = [f"--{name.replace('_', '-')}={getattr(SMALL, name)}" for name in names]
    options += ["--taught=300", "--ranking=0", "--meaning=0", "--order=0"]
    command = ["train", "acceptability", str(files / "corpus.txt"), "--base", str(files / "base"), *options]
    with safe_open(taught, framework="pt") as file:
        learnt, facts = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()  # noqa: SIM118
    # a teacher that says the contrary: nothing else in the examples could teach that
    contrary = {name: -weight if name.startswith("head") else weight for name, weight in learnt.items()}
    save_file(contrary, tmp_path / "contrary.safetensors", metadata=facts)
    for teacher, sign in ((taught, 1), (tmp_path / "contrary.safetensors", -1)):
        output = tmp_path / f"encoder{sign}"
        assert main([*command, "--teacher", str(teacher), "--output", str(output)]) == 0
        assert f"--teacher {teacher.name}" in (output / "card.md").read_text()
        assert _told(sign * open_sentence_encoder(str(output)).encode([*GOOD, *BAD]).acceptability) > 0.8


def test_what_is_no_teacher_is_refused(tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    from celadon.train.encoders.teacher import TeacherNetwork, open_teacher

    with pytest.raises(InputError, match="no such file"):
        open_teacher(tmp_path / "none")
    (tmp_path / "bad").write_text("{}")
    with pytest.raises(InputError, match="is not a teacher"):
        open_teacher(tmp_path / "bad")
    (tmp_path / "weights.bin").write_bytes(b"too short")
    with pytest.raises(InputError, match=r"weights\.bin"):
        TeacherNetwork(SHAPE, 1).read_language_model(tmp_path / "weights.bin")
    with pytest.raises(UsageError, match="of 2 layers, 2 cannot be used and 3"):
        TeacherNetwork(SHAPE, 3)
    assert main(["train", "teacher", str(files / "corpus.txt"), "--output", str(tmp_path / "bad")]) == 2
    assert "is there already" in capsys.readouterr().err
