"""What may be an acceptability classifier or an order head of transformers, what is refused and how that is said."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from celadon.core import CeladonError, InputError, MissingPartError, UsageError
from celadon.models.encoders.transformers_heads import acceptability_classifier, forget_heads, order_head
from tests import processes
from tests.models.tiny_checkpoints import make_heads, transformers


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    yield make_heads(tmp_path_factory.mktemp("heads"))
    forget_heads()


@pytest.fixture
def copy(folders: dict[str, Path], tmp_path: Path) -> Callable[..., Path]:
    def make(name: str, **config: object) -> Path:
        folder = Path(shutil.copytree(folders[name], tmp_path / f"{name}-copy"))
        stated = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**stated, **config}))
        return folder

    return make


def refusal(kind: type[CeladonError], load: Callable[[str], object], folder: Path | str) -> str:
    with pytest.raises(kind) as caught:
        load(f"hf:{folder}")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_classifier_must_have_two_labels(tmp_path: Path, folders: dict[str, Path]) -> None:
    for labels in (1, 3):
        config = transformers.AutoConfig.from_pretrained(folders["bert"], num_labels=labels)
        folder = tmp_path / str(labels)
        shutil.copytree(folders["bert"], folder)
        transformers.BertForSequenceClassification(config).save_pretrained(folder)
        message = refusal(UsageError, acceptability_classifier, folder)
        assert message.startswith(f"{folder} has {labels} labels; a classifier of acceptability has two")


def test_an_order_head_must_have_two_labels(tmp_path: Path, folders: dict[str, Path]) -> None:
    config = transformers.AutoConfig.from_pretrained(folders["albert"], num_labels=3)
    folder = Path(shutil.copytree(folders["albert"], tmp_path / "three"))
    transformers.AlbertForPreTraining(config).save_pretrained(folder)
    assert "has 3 labels; an order head has two" in refusal(UsageError, order_head, folder)


def test_other_kinds_are_no_classifiers(copy: Callable[..., Path]) -> None:
    message = refusal(UsageError, acceptability_classifier, copy("bert", architectures=["BertForMaskedLM"]))
    assert "is no classifier of texts: its config.json says BertForMaskedLM" in message
    assert "says AlbertForPreTraining" in refusal(UsageError, acceptability_classifier, copy("albert"))


@pytest.mark.parametrize("kind", ["BertForNextSentencePrediction", "BertForPreTraining"])
def test_a_next_sentence_head_is_no_order_head(folders: dict[str, Path], tmp_path: Path, kind: str) -> None:
    folder = Path(shutil.copytree(folders["bert"], tmp_path / "bert"))
    config = transformers.AutoConfig.from_pretrained(folder)
    getattr(transformers, kind)(config).save_pretrained(folder)
    message = refusal(UsageError, order_head, folder)
    assert "has no head for the order of sentences, which only ALBERT has; its config.json says bert" in message
    assert "next-sentence head" in message


@pytest.mark.parametrize("kind", ["AlbertForMaskedLM", "AlbertForSequenceClassification"])
def test_an_albert_without_its_order_head_is_refused(folders: dict[str, Path], tmp_path: Path, kind: str) -> None:
    folder = Path(shutil.copytree(folders["albert"], tmp_path / "albert"))
    config = transformers.AutoConfig.from_pretrained(folder)
    getattr(transformers, kind)(config).save_pretrained(folder)
    message = refusal(InputError, order_head, folder)
    assert "sop_classifier" in message or "albert.pooler" in message
    assert "saved without its order head" in message


def test_a_classifier_without_its_head_is_refused(folders: dict[str, Path], copy: Callable[..., Path]) -> None:
    folder = copy("bert")
    transformers.AutoModel.from_pretrained(folders["bert"]).save_pretrained(folder)
    stated = json.loads((folder / "config.json").read_text())
    for said in (["BertForSequenceClassification"], None):
        (folder / "config.json").write_text(json.dumps({**stated, "architectures": said}))
        message = refusal(InputError, acceptability_classifier, folder)
        assert "the weights lack classifier.bias and 1 more" in message
        assert "it was saved without its head that classifies" in message


def test_a_tokenizer_that_does_not_mark_two_parts_is_refused(copy: Callable[..., Path]) -> None:
    folder = copy("albert")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps({**tokenizer, "post_processor": None}))
    assert "does not mark two parts" in refusal(InputError, order_head, folder)


@pytest.mark.parametrize(("load", "name"), [(acceptability_classifier, "bert"), (order_head, "albert")])
def test_pickles_are_refused(copy: Callable[..., Path], load: Callable[[str], object], name: str) -> None:
    folder = copy(name)
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04N.")
    assert "pytorch_model.bin, a pickle, which is never loaded" in refusal(InputError, load, folder)


def test_a_pickle_named_by_the_configuration_is_refused(copy: Callable[..., Path]) -> None:
    folder = copy("bert", transformers_weights="adapter_model.bin")
    (folder / "adapter_model.bin").write_bytes(b"\x80\x04N.")
    assert "adapter_model.bin" in refusal(InputError, acceptability_classifier, folder)


@pytest.mark.parametrize(("load", "name"), [(acceptability_classifier, "bert"), (order_head, "albert")])
def test_code_of_a_checkpoint_is_never_run(
    copy: Callable[..., Path], tmp_path: Path, load: Callable[[str], object], name: str
) -> None:
    own = {"AutoConfig": "own.Own", "AutoModelForSequenceClassification": "own.Own"}
    folder = copy(name, model_type="own", auto_map=own)
    (folder / "own.py").write_text(f"import pathlib\npathlib.Path({str(tmp_path / 'ran')!r}).touch()\nclass Own: ...\n")
    assert "code of its own, which is never run" in refusal(UsageError, load, folder)
    assert not (tmp_path / "ran").exists()


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
def test_broken_files_are_told_in_one_line(
    copy: Callable[..., Path], file: str, content: bytes | None, words: str
) -> None:
    folder = copy("bert")
    if content is None:
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content)
    message = refusal(InputError, acceptability_classifier, folder)
    assert words in message
    assert message.startswith(str(folder))


@pytest.mark.parametrize("load", [acceptability_classifier, order_head])
def test_names_that_lead_nowhere(
    load: Callable[[str], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("CELADON_OFFLINE", "1")
    assert refusal(InputError, load, tmp_path / "nowhere").endswith("nowhere: there is no such folder")
    assert "fetch it with: hf download someone/some-model" in refusal(MissingPartError, load, "someone/some-model")
    for spec in ("hf:", "someone/some-model"):
        with pytest.raises(UsageError, match="hf:NAME_OR_FOLDER"):
            load(spec)


@pytest.mark.parametrize("absent", ["transformers", "torch"])
def test_a_missing_extra_is_told_in_one_line(folders: dict[str, Path], absent: str) -> None:
    program = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] == {absent!r}: raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from celadon.models.encoders.transformers_heads import acceptability_classifier, order_head\n"
        "from celadon.core import MissingExtraError\n"
        "print({'torch', 'transformers', 'tokenizers'} & set(sys.modules))\n"
        "for load, name in ((acceptability_classifier, 'bert'), (order_head, 'albert')):\n"
        "    try: load(f'hf:{sys.argv[1]}/{name}')\n"
        "    except MissingExtraError as error: print(error)\n"
    )
    command = [sys.executable, "-c", program, str(folders["bert"].parent)]
    done = processes.run(command, capture_output=True, text=True, check=True)
    told = "transformers is not installed; install it with: celadon install hf\n"
    assert done.stdout == f"set()\n{told}{told}"
