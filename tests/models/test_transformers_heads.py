"""Heads of transformers against the networks themselves, run on one text or pair at a time."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import CeladonError, InputError, MissingPartError, Sample, UsageError
from celadon.models.encoders.transformers_heads import (
    AcceptabilityClassifier,
    OrderHead,
    acceptability_classifier,
    forget_heads,
    order_head,
)
from celadon.models.networks.transformers_network import window_of
from celadon.scoring.batch import Batch
from tests import processes
from tests.models.tiny_checkpoints import CORPUS, make_heads, torch, transformers

CLASSIFIERS = ["bert", "roberta", "gpt2", "xlnet"]
TEXTS = [
    "The council approved the new bridge.",
    "Bridge the of approved council unexpectedly debating.",
    "Rebuilding   unbelievable libraries!",
    "Caf\u00e9s \U0001f600 and \u0e01\u0e32\u0e23",
    "the [SEP] bridge </s>",
    "x",
]
PAIRS = [(a, b) for a in TEXTS[:4] for b in TEXTS[1:] if a != b]
LONG = " ".join(CORPUS * 3)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


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


def by_transformers(folder: Path, order: bool = False) -> tuple[Any, Any]:
    """The network and the tokenizer as anybody would load them; special tokens in a text are plain characters."""
    kind: Any = transformers.AlbertForPreTraining if order else transformers.AutoModelForSequenceClassification
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(folder, split_special_tokens=True)
    return kind.from_pretrained(folder).eval(), tokenizer


def class_logits(folder: Path, texts: list[str]) -> Any:
    model, tokenizer = by_transformers(folder)
    found = []
    for text in texts:
        encoded = tokenizer(text, return_tensors="pt", return_token_type_ids=True)
        types = {"token_type_ids": encoded["token_type_ids"]} if model.config.model_type == "xlnet" else {}
        with torch.no_grad():
            found.append(model(input_ids=encoded["input_ids"], **types).logits[0].double().numpy())
    return np.array(found)


def order_logits(folder: Path, pairs: list[tuple[str, str]]) -> Any:
    model, tokenizer = by_transformers(folder, order=True)
    found = []
    for first, second in pairs:
        with torch.no_grad():
            encoded = tokenizer(first, second, return_tensors="pt", return_token_type_ids=True)
            logits = model(**encoded).sop_logits[0].double()
        found.append(float(logits[0] - logits[1]))
    return np.array(found)


def softmax(logits: Any) -> Any:
    return np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_probabilities_are_those_of_the_network_alone(folders: dict[str, Path], name: str) -> None:
    found = acceptability_classifier(f"hf:{folders[name]}").probabilities(TEXTS)
    np.testing.assert_allclose(found, softmax(class_logits(folders[name], TEXTS))[:, 1], atol=1e-4)
    assert np.ptp(found) > 0.05


def test_order_logits_are_those_of_the_network_alone(folders: dict[str, Path]) -> None:
    found = order_head(f"hf:{folders['albert']}").logits(PAIRS)
    np.testing.assert_allclose(found, order_logits(folders["albert"], PAIRS), atol=1e-4)
    assert np.ptp(found) > 0.05


def test_the_label_in_order_is_the_first(folders: dict[str, Path], copy: Callable[..., Path]) -> None:
    """By the loss of transformers itself: order label 0 is the original order."""
    folder = copy("albert")
    model, tokenizer = by_transformers(folder, order=True)
    optimizer = torch.optim.SGD(model.sop_classifier.parameters(), lr=1.0)
    encoded = tokenizer(*PAIRS[0], return_tensors="pt", return_token_type_ids=True)
    for _ in range(30):
        optimizer.zero_grad()
        loss = model(**encoded, labels=encoded["input_ids"], sentence_order_label=torch.tensor([0])).loss
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    assert OrderHead.open(str(folder)).logits(PAIRS[:1])[0] > 1


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_neither_neighbours_nor_order_matter_to_probabilities(folders: dict[str, Path], name: str) -> None:
    words = " ".join(CORPUS).split()
    texts = [" ".join(words[at : at + 1 + at % 9]) for at in range(18)] + [LONG, "", TEXTS[0], TEXTS[0]]
    classifier = acceptability_classifier(f"hf:{folders[name]}")
    alone = np.concatenate([classifier.probabilities([text]) for text in texts])
    np.testing.assert_allclose(classifier.probabilities(texts), alone, atol=1e-4)
    np.testing.assert_allclose(classifier.probabilities(texts[::-1])[::-1], alone, atol=1e-4)


def test_neither_neighbours_nor_order_matter_to_order_logits(folders: dict[str, Path]) -> None:
    head = order_head(f"hf:{folders['albert']}")
    pairs = [*PAIRS, (LONG, "x"), ("x", LONG), ("", ""), PAIRS[0]]
    alone = np.concatenate([head.logits([pair]) for pair in pairs])
    np.testing.assert_allclose(head.logits(pairs), alone, atol=1e-4)
    np.testing.assert_allclose(head.logits(pairs[::-1])[::-1], alone, atol=1e-4)


def test_equal_texts_are_run_once(folders: dict[str, Path]) -> None:
    classifier = AcceptabilityClassifier.open(str(folders["bert"]))
    seen: list[int] = []
    classifier._model.register_forward_pre_hook(
        lambda _, args, kwargs: seen.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    classifier.probabilities([TEXTS[0], TEXTS[1], TEXTS[0]] * 9)
    assert sum(seen) == 2


def test_rows_are_run_together_where_padding_changes_nothing(folders: dict[str, Path]) -> None:
    padded = {name: acceptability_classifier(f"hf:{folders[name]}")._padded for name in CLASSIFIERS}
    # GPT-2 without a filler refuses more than one row, and XLNet reads the last position
    assert padded == {"bert": True, "roberta": True, "gpt2": False, "xlnet": False}
    assert order_head(f"hf:{folders['albert']}")._padded


@pytest.mark.parametrize(("name", "window"), [("bert", 48), ("roberta", 48), ("gpt2", 64)])
def test_long_texts_are_read_in_overlapping_windows(folders: dict[str, Path], name: str, window: int) -> None:
    model, tokenizer = by_transformers(folders[name])
    assert window_of(model) == window
    ids = tokenizer(LONG, add_special_tokens=False)["input_ids"]
    framed = tokenizer("the")["input_ids"]
    marks = (framed[:1], framed[-1:]) if name != "gpt2" else ([], [])
    room = window - len(marks[0]) - len(marks[1])
    # the first window, then half a window at a time, each read with what stands before it
    ends = [room, *range(room + room // 2, len(ids), room // 2), len(ids)]
    probabilities, weights = [], []
    for before, end in zip([0, *ends], ends, strict=False):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([marks[0] + ids[end - room : end] + marks[1]])).logits[0].double()
        probabilities.append(softmax(logits.numpy())[1])
        weights.append(end - before)
    assert len(ends) > 5
    assert sum(weights) == len(ids)
    (found,) = acceptability_classifier(f"hf:{folders[name]}").probabilities([LONG])
    assert found == pytest.approx(np.average(probabilities, weights=weights), abs=1e-4)


def test_the_end_of_a_long_text_counts(folders: dict[str, Path]) -> None:
    classifier = acceptability_classifier(f"hf:{folders['bert']}")
    one, other = classifier.probabilities([LONG, f"{LONG} bridge bridge bridge"])
    assert abs(one - other) > 1e-5


@pytest.mark.parametrize(
    ("first", "second"), [(LONG, LONG), (LONG, "the bridge"), ("the bridge", LONG), (LONG, ""), ("", LONG)]
)
def test_of_long_parts_what_is_nearest_the_border_is_read(folders: dict[str, Path], first: str, second: str) -> None:
    model, tokenizer = by_transformers(folders["albert"], order=True)
    one, two = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in (first, second))
    # one token at a time off the longer part, at its far end, until both fit beside the three marks
    while len(one) + len(two) > 48 - 3:
        one, two = (one[1:], two) if len(one) >= len(two) else (one, two[:-1])
    ids = [2, *one, 3, *two, 3]
    types = [0] * (len(one) + 2) + [1] * (len(two) + 1)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types])).sop_logits[0].double()
    head = order_head(f"hf:{folders['albert']}")
    np.testing.assert_allclose(head.logits([(first, second)]), [float(logits[0] - logits[1])], atol=1e-4)
    assert head.facts["longer"] == "cut to what is nearest the border"


@pytest.mark.parametrize(
    ("labels", "acceptable"),
    [
        ({"0": "unacceptable", "1": "acceptable"}, 1),
        ({"0": "Acceptable", "1": "Unacceptable"}, 0),
        ({"0": "LABEL_0", "1": "LABEL_1"}, 1),
        ({"0": "LABEL_1", "1": "LABEL_0"}, 0),
        ({"0": "ungrammatical", "1": "grammatical"}, 1),
        ({"0": "yes", "1": "no"}, 1),
    ],
)
def test_the_configuration_says_which_label_is_acceptable(
    copy: Callable[..., Path], labels: dict[str, str], acceptable: int
) -> None:
    folder = copy("bert", id2label=labels, label2id={label: int(number) for number, label in labels.items()})
    classifier = AcceptabilityClassifier.open(str(folder))
    expected = softmax(class_logits(folder, TEXTS[:2]))[:, acceptable]
    np.testing.assert_allclose(classifier.probabilities(TEXTS[:2]), expected, atol=1e-4)
    assert classifier.facts == {"kind": "classifier", "label": labels[str(acceptable)], "window": "48"}


def test_a_model_is_loaded_once_however_it_is_spelled(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders["bert"].parent)
    classifier = acceptability_classifier(f"hf:{folders['bert']}")
    assert acceptability_classifier("hf:./bert") is classifier
    assert order_head("hf:./albert") is order_head(f"hf:{folders['albert']}")
    assert classifier.name == f"hf:{folders['bert']}"
    forget_heads()
    again = acceptability_classifier("hf:./bert")
    assert again is not classifier
    monkeypatch.chdir("/")
    assert again.digest == classifier.digest
    assert len(bytes.fromhex(again.digest)) == 32


def test_a_digest_changes_with_the_weights(copy: Callable[..., Path]) -> None:
    folder = copy("albert")
    first = OrderHead.open(str(folder)).digest
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(bytes(weights))
    assert OrderHead.open(str(folder)).digest != first


@settings(max_examples=20)
@given(texts=st.lists(st.text(max_size=30), max_size=4))
def test_any_text_has_a_probability_and_a_logit(folders: dict[str, Path], texts: list[str]) -> None:
    texts = [*texts, "a\ud800b", "\x00"]
    for name in ("bert", "gpt2"):
        found = acceptability_classifier(f"hf:{folders[name]}").probabilities(texts)
        assert len(found) == len(texts)
        assert ((found >= 0) & (found <= 1)).all()
    logits = order_head(f"hf:{folders['albert']}").logits(list(zip(texts, texts[::-1], strict=True)))
    assert np.isfinite(logits).all()


def test_nothing_gives_nothing(folders: dict[str, Path]) -> None:
    assert acceptability_classifier(f"hf:{folders['bert']}").probabilities([]).shape == (0,)
    assert order_head(f"hf:{folders['albert']}").logits([]).shape == (0,)


def test_batches_judge_by_these_heads(folders: dict[str, Path]) -> None:
    text = " ".join(CORPUS[:3])
    batch = Batch([Sample(id="a", text=text), Sample(id="b", text=" "), Sample(id="c", text=CORPUS[3])])
    accepted = batch.acceptability(f"hf:{folders['roberta']}")
    assert accepted.owner.tolist() == [0, 0, 0, 2]
    assert accepted.reasons == {1: "the text has no words"}
    logits = class_logits(folders["roberta"], CORPUS[:4])
    np.testing.assert_allclose(accepted.values, softmax(logits)[:, 1], atol=1e-4)
    orders = batch.order(f"hf:{folders['albert']}")
    head = order_head(f"hf:{folders['albert']}")
    parts = [(CORPUS[0], " ".join(CORPUS[1:3])), (" ".join(CORPUS[:2]), CORPUS[2])]
    np.testing.assert_allclose(orders.kept, head.logits(parts), atol=1e-4)
    np.testing.assert_allclose(orders.swapped, head.logits([part[::-1] for part in parts]), atol=1e-4)


def test_the_weights_and_not_the_stated_kind_decide_of_an_order_head(
    folders: dict[str, Path], copy: Callable[..., Path]
) -> None:
    """The hub's own ALBERTs are said to be masked language models whatever they hold."""
    import safetensors.torch

    folder = copy("albert", architectures=["AlbertForMaskedLM"])
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    kept = {name: tensor for name, tensor in tensors.items() if not name.startswith("predictions.")}
    assert len(kept) < len(tensors)
    safetensors.torch.save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    found = OrderHead.open(str(folder)).logits(PAIRS[:3])
    np.testing.assert_allclose(found, order_logits(folders["albert"], PAIRS[:3]), atol=1e-4)


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
