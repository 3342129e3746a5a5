"""What a checkpoint may be, what is refused and how that is said, and what is found beside one."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celadon.core import CeladonError, InputError, MissingPartError, UsageError
from celadon.models.language.transformers_lm import TransformersLanguageModel
from celadon.models.networks.transformers_network import Network, Row
from celadon.models.store.places import unigram_path
from tests import processes
from tests.models.tiny_checkpoints import CORPUS, make_checkpoints, network, torch, transformers

open_model = TransformersLanguageModel.open


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_checkpoints(tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))


@pytest.fixture
def copy(folders: dict[str, Path], tmp_path: Path) -> Any:
    def make(name: str, **config: object) -> Path:
        folder = Path(shutil.copytree(folders[name], tmp_path / f"{name}-copy"))
        stated = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**stated, **config}))
        return folder

    return make


def refusal(kind: type[CeladonError], folder: Path | str) -> str:
    with pytest.raises(kind) as caught:
        open_model(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_names_and_kinds(folders: dict[str, Path]) -> None:
    for name, folder in folders.items():
        model = open_model(folder)
        assert model.name == f"hf:{folder}"
        assert model.masked == (name in ("bert", "roberta"))
        assert model.scripts == ()


def test_a_digest_changes_with_any_of_the_files(copy: Any) -> None:
    folder = copy("gpt2")
    first = open_model(folder).digest
    assert len(bytes.fromhex(first)) == 32
    assert open_model(str(folder)).digest == first
    (folder / "README.md").write_text("about")
    assert open_model(folder).digest == first
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(bytes(weights))
    second = open_model(folder).digest
    (folder / "tokenizer.json").write_text((folder / "tokenizer.json").read_text() + " ")
    assert len({first, second, open_model(folder).digest}) == 3


def test_shards_are_one_model(folders: dict[str, Path], tmp_path: Path) -> None:
    model, tokenizer = network(folders["gpt2"], masked=False)
    model.save_pretrained(tmp_path / "shards", max_shard_size="20KB")
    tokenizer.save_pretrained(tmp_path / "shards")
    assert not (tmp_path / "shards" / "model.safetensors").exists()
    (one,), (other,) = (open_model(folder).score(CORPUS[:1]) for folder in (folders["gpt2"], tmp_path / "shards"))
    np.testing.assert_allclose(one.logprobs, other.logprobs, atol=1e-6)
    assert len(open_model(tmp_path / "shards").digest) == 64


def test_pickles_are_refused(copy: Any) -> None:
    folder = copy("gpt2")
    model, _ = network(folder, masked=False)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    assert "pytorch_model.bin, a pickle, which is never loaded" in refusal(InputError, folder)
    folder.joinpath("pytorch_model.bin").unlink()
    assert "no weights in safetensors" in refusal(InputError, folder)


def test_a_pickle_named_by_the_configuration_is_refused(copy: Any) -> None:
    folder = copy("gpt2", transformers_weights="adapter_model.bin")
    (folder / "adapter_model.bin").write_bytes(b"\x80\x04N.")
    assert "adapter_model.bin" in refusal(InputError, folder)


def test_code_of_a_checkpoint_is_never_run(copy: Any, tmp_path: Path) -> None:
    folder = copy("gpt2", model_type="own", auto_map={"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.Own"})
    (folder / "own.py").write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\nclass Own: ...\n")
    assert "code of its own, which is never run" in refusal(UsageError, folder)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"architectures": ["GPT2ForSequenceClassification"]}, "saved as GPT2ForSequenceClassification"),
        ({"architectures": None}, "does not say what it is saved as"),
        ({"architectures": ["BartForConditionalGeneration"], "is_encoder_decoder": True}, "neither a causal nor a"),
    ],
)
def test_other_kinds_are_refused(copy: Any, config: dict[str, object], words: str) -> None:
    assert words in refusal(UsageError, copy("gpt2", **config))


def test_a_model_without_its_head_is_refused(copy: Any, folders: dict[str, Path]) -> None:
    folder = copy("bert")
    transformers.AutoModel.from_pretrained(folders["bert"]).save_pretrained(folder)
    stated = json.loads((folder / "config.json").read_text())
    assert "saved as BertModel" in refusal(UsageError, folder)
    (folder / "config.json").write_text(json.dumps({**stated, "architectures": ["BertForMaskedLM"]}))
    assert "the weights lack cls.predictions" in refusal(InputError, folder)


def test_pretraining_with_a_head_for_masked_tokens_is_a_masked_model(copy: Any, folders: dict[str, Path]) -> None:
    (one,), (other,) = (
        open_model(folder).score(CORPUS[:1])
        for folder in (folders["bert"], copy("bert", architectures=["BertForPreTraining"]))
    )
    np.testing.assert_array_equal(one.logprobs, other.logprobs)


def test_a_model_that_looks_ahead_is_no_causal_one(copy: Any) -> None:
    assert "looks ahead" in refusal(UsageError, copy("roberta", architectures=["RobertaForCausalLM"]))
    folder = copy("bert", architectures=["BertLMHeadModel"], is_decoder=True)
    assert not open_model(folder).masked


def test_a_causal_model_has_no_pseudo_log_likelihood(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match="needs a masked one"):
        open_model(folders["gpt2"]).pseudo(["a"])
    with pytest.raises(UsageError, match="no variant 'r2l'"):
        open_model(folders["bert"]).pseudo(["a"], "r2l")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("model.safetensors", b"\x00" * 100, "transformers cannot load it"),
        ("config.json", b"{", "config.json cannot be read"),
        ("config.json", None, "there is no config.json"),
        ("tokenizer.json", None, "there is no tokenizer"),
        ("tokenizer.json", b"{}", "transformers cannot load it"),
    ],
)
def test_broken_files_are_told_in_one_line(copy: Any, file: str, content: bytes | None, words: str) -> None:
    folder = copy("gpt2")
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    message = refusal(InputError, folder)
    assert words in message
    assert message.startswith(str(folder))


def test_no_such_folder(tmp_path: Path) -> None:
    assert refusal(InputError, tmp_path / "nowhere").endswith("nowhere: there is no such folder")
    assert "neither a folder nor a name" in refusal(UsageError, "no/such/name")


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the hub's own library that holds nothing yet."""
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.mark.parametrize("setting", ["CELADON_OFFLINE", "HF_HUB_OFFLINE"])
@pytest.mark.usefixtures("hub_cache")
def test_offline_says_what_would_fetch_it(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(setting, "1")
    message = refusal(MissingPartError, "someone/some-model")
    assert message.startswith("the model someone/some-model is not on this machine")
    assert message.endswith("fetch it with: hf download someone/some-model")


def test_a_model_in_the_cache_of_the_hub_needs_no_network(
    folders: dict[str, Path], hub_cache: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CELADON_OFFLINE", "1")
    snapshot = hub_cache / "models--someone--some-model" / "snapshots" / ("0" * 40)
    (hub_cache / "models--someone--some-model" / "refs").mkdir(parents=True)
    (hub_cache / "models--someone--some-model" / "refs" / "main").write_text("0" * 40)
    shutil.copytree(folders["gpt2"], snapshot)
    capfd.readouterr()
    model, local = open_model("someone/some-model"), open_model(folders["gpt2"])
    assert model.name == "hf:someone/some-model"
    assert model.digest == local.digest
    np.testing.assert_array_equal(model.score(CORPUS)[0].logprobs, local.score(CORPUS)[0].logprobs)
    assert capfd.readouterr() == ("", "")
    (snapshot / "model.safetensors").unlink()
    assert "is not on this machine" in refusal(MissingPartError, "someone/some-model")


@pytest.mark.parametrize("absent", ["transformers", "torch"])
def test_a_missing_extra_is_told_in_one_line(folders: dict[str, Path], absent: str) -> None:
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] == {absent!r}: raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from celadon.models.language.transformers_lm import TransformersLanguageModel as T\n"
        "from celadon.core import MissingExtraError\n"
        "try: T.open(sys.argv[1])\n"
        "except MissingExtraError as error: print(error)\n"
    )
    command = [sys.executable, "-c", program, str(folders["gpt2"])]
    done = processes.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "transformers is not installed; install it with: celadon install hf\n"


def test_opening_the_module_imports_nothing_heavy() -> None:
    program = "import celadon.models.language.transformers_lm, sys; print({'torch', 'transformers'} & set(sys.modules))"
    done = processes.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_unigrams_beside_the_weights_come_first(copy: Any) -> None:
    folder = copy("gpt2")
    model = open_model(folder)
    assert not model.has_unigrams
    assert np.isnan(model.score(CORPUS[:1])[0].unigrams).all()
    table = np.random.default_rng(3).normal(-8, 1, model.vocabulary).astype(np.float32)
    kept = unigram_path(model.name)
    kept.parent.mkdir(parents=True)
    for path, shift in ((kept, 0.0), (folder / "unigrams.npy", 1.0)):
        np.save(path, table + np.float32(shift))
        again = open_model(folder)
        (scores,) = again.score(CORPUS[:1])
        assert again.has_unigrams
        np.testing.assert_allclose(scores.unigrams, table[again.token_ids(CORPUS[0])] + shift, atol=1e-5)


@pytest.mark.parametrize("table", [np.zeros(7, dtype=np.float32), np.full(400, -np.inf), np.array([{}], dtype=object)])
def test_a_table_of_unigrams_that_does_not_fit_is_refused(copy: Any, table: Any) -> None:
    folder = copy("gpt2")
    np.save(folder / "unigrams.npy", table, allow_pickle=True)
    with pytest.raises(InputError, match=r"unigrams\.npy"):
        open_model(folder).score(["a"])


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_a_head_whose_input_cannot_be_cut_down_gives_the_same(folders: dict[str, Path], name: str) -> None:
    model, _ = network(folders[name], masked=name == "bert")
    cut = Network(model, name == "bert", 0)
    assert cut._head is model.get_output_embeddings()
    model.get_output_embeddings = lambda: None
    plain = Network(model, name == "bert", 0)
    assert plain._head is None
    rng = np.random.default_rng(5)
    rows = [
        Row(
            rng.integers(5, 100, size), np.array([0, size - 2]), rng.integers(5, 100, 2), np.array([2 * at, 2 * at + 1])
        )
        for at, size in enumerate((3, 9, 4))
    ]
    one, other = (each.logprobs([3, 9, 4], rows.__getitem__, 6) for each in (cut, plain))
    np.testing.assert_allclose(one, other, atol=1e-5)
