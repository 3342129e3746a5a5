"""Training the encoder on acceptability and order, small: what is learnt, and that a killed run comes to the same."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from celadon.cli import main
from celadon.core import InputError, UsageError
from celadon.models.encoders.encoder import open_sentence_encoder, order_logits
from celadon.train.corpus import Corpus
from celadon.train.encoders.recipes import AcceptabilityRecipe, OrderRecipe
from tests.conftest import missing_part

try:
    import onnx  # noqa: F401
    import torch
    from transformers import BertConfig, BertModel
except ImportError:
    missing_part("torch, onnx or transformers", "run: pip install 'celadon-text[train,hf]'")

OPENINGS = ("Today", "First", "Once")
FOLLOWING = ("Then", "Later", "Afterwards")
PEOPLE = "the teacher,the child,the doctor,the farmer,the singer".split(",")
DOINGS = "opens the window,sees the river,reads the paper,finds the garden,hears the music".split(",")
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]

SMALL = AcceptabilityRecipe(
    pairs=300,
    treebank_passes=1,
    labelled_passes=1,
    held_out=80,
    passes=4,
    batch_tokens=256,
    learning_rate=3e-3,
    meaning=0.1,
    dropout=0.0,
    slips=0.0,
    findings=0.0,
)


def paragraph(random: np.random.Generator) -> str:
    made = []
    for words in (OPENINGS, FOLLOWING, FOLLOWING):
        made.append(f"{random.choice(words)} {random.choice(PEOPLE)} {random.choice(DOINGS)} with the others.")
    return " ".join(made)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    random = np.random.default_rng(0)
    lines = [line for _ in range(300) for line in (paragraph(random), "")]
    (folder / "corpus.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [f"made\t1\t\tThe doctor {doing}." for doing in DOINGS]
    rows += [f"made\t0\t*\tDoctor the {doing} the." for doing in DOINGS]
    (folder / "labels.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    tree = "".join(f"# text = {person.capitalize()} {DOINGS[0]} at home.\n1\tx\t_\n\n" for person in PEOPLE)
    (folder / "bank.conllu").write_text(tree, encoding="utf-8")
    base = folder / "base"
    _write_base(base, sorted({word for line in lines for word in line.lower().replace(".", " ").split()}))
    return folder


def _write_base(base: Path, words: list[str]) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    letters = list("abcdefghijklmnopqrstuvwxyz.,@<>-")
    pieces = [*MARKS, *dict.fromkeys([*words, *letters]), *(f"##{letter}" for letter in letters)]
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=len(pieces), max_position_embeddings=128, **size)).save_pretrained(base)
    tokenizer = Tokenizer(models.WordPiece({piece: at for at, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(base / "tokenizer.json"))


def _material(files: Path, work: Path):  # type: ignore[no-untyped-def]
    from celadon.train.encoders.bases import encoder_tokenizer
    from celadon.train.encoders.examples import Sources, prepare

    sources = Sources(Corpus((files / "corpus.txt",), 0.1), (files / "bank.conllu",), (files / "labels.tsv",))
    return prepare(sources, SMALL, encoder_tokenizer(files / "base"), work)


def test_units_keep_sentences_beside_their_copies(files: Path, tmp_path: Path) -> None:
    examples = _material(files, tmp_path).trained
    units = np.random.default_rng(1).permutation(len(examples.unit_lengths))
    rows = examples.rows(units)
    assert sorted(rows.numbers.tolist()) == list(range(len(examples.sentences)))
    good, copies = rows.numbers[: rows.good], rows.numbers[rows.good : 2 * rows.good]
    assert (copies == good + 1).all()
    assert (examples.targets[good] == 1).all()
    assert (examples.targets[copies] < 1).all()
    first, second = good[: rows.neighbours], good[rows.neighbours : 2 * rows.neighbours]
    assert (second == first + 2).all()
    lengths = examples.unit_lengths
    assert lengths.sum() >= examples.sentences.lengths.sum()


def test_made_sentences_are_learnt_as_bad_ones(files: Path, tmp_path: Path) -> None:
    from celadon.train.encoders.bases import encoder_tokenizer
    from celadon.train.encoders.examples import Sources, prepare

    made = tmp_path / "made.jsonl"
    corpus = str(files / "corpus.txt")
    assert (
        main(["synth", "glue", corpus, "--length", "6", "--sequence", "1", "--count", "7", "--output", str(made)]) == 0
    )
    texts = [json.loads(line)["text"] for line in made.read_text().splitlines()]
    sources = Sources(Corpus((files / "corpus.txt",), 0.1), disfluent=(made,))
    tokenizer = encoder_tokenizer(files / "base")
    material = prepare(sources, SMALL, tokenizer, tmp_path / "work")
    rows = [at for at, kind in enumerate(material.trained.kinds) if kind == "disfluent"]
    assert len(rows) == len(texts) == 7
    assert (material.trained.targets[rows] == 0).all()
    ids = material.trained.sentences
    shown = [material.tokenizer.decode(ids.ids[ids.starts[at] : ids.starts[at + 1]].tolist()) for at in rows]
    assert [mark_and_words.split()[1] for mark_and_words in shown] == [text.split()[0].lower() for text in texts]
    (tmp_path / "none.jsonl").write_text("")
    with pytest.raises(InputError, match=r"none\.jsonl"):
        prepare(sources._replace(disfluent=(tmp_path / "none.jsonl",)), SMALL, tokenizer, tmp_path / "other")


def test_a_run_that_was_stopped_comes_to_the_same(files: Path, tmp_path: Path) -> None:
    from celadon.train.encoders.acceptability import AcceptabilityTraining

    material = _material(files, tmp_path)
    recipe = AcceptabilityRecipe(**{**SMALL.__dict__, "passes": 0.3, "dropout": 0.1})

    class Stop(Exception):
        pass

    def run(name: str, stop_at: int | None) -> AcceptabilityTraining:
        training = AcceptabilityTraining(recipe, material, files / "base", tmp_path / name)

        def watch(progress: object) -> None:
            if training.step == stop_at:
                raise Stop

        training.run(watch, save_every=0.0)
        return training

    whole = run("whole", None)
    with pytest.raises(Stop):
        run("stopped", whole.step // 2)
    resumed = run("stopped", None)
    assert resumed.step == whole.step
    for one, other in zip(whole.network.parameters(), resumed.network.parameters(), strict=True):
        assert torch.equal(one, other)
    other_recipe = AcceptabilityRecipe(**{**recipe.__dict__, "seed": 1})
    with pytest.raises(UsageError, match="another run"):
        AcceptabilityTraining(other_recipe, material, files / "base", tmp_path / "whole")


def test_from_a_corpus_to_an_encoder(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    network = tmp_path / "network.safetensors"
    names = ("pairs", "held_out", "passes", "batch_tokens", "learning_rate", "meaning", "dropout", "slips")
    names += ("findings",)
    options = [f"--{name.replace('_', '-')}={getattr(SMALL, name)}" for name in names]
    given = ["--labelled", str(files / "labels.tsv"), "--test", str(files / "labels.tsv"), "--about", "made up, free"]
    command = ["train", "acceptability", str(files / "corpus.txt"), "--base", str(files / "base"), *given, *options]
    assert main([*command, "--output", str(tmp_path / "one"), "--network", str(network)]) == 0
    told = capsys.readouterr().out
    assert float(told.split("%")[0].split(" ")[-1]) > 70
    card = (tmp_path / "one" / "card.md").read_text()
    assert "made up, free" in card
    assert str(tmp_path) not in card
    assert not (tmp_path / "one.work").exists()

    order = ["train", "order", str(files / "corpus.txt"), "--network", str(network), "--paragraphs", "250"]
    assert main([*order, "--held-out", "30", "--passes", "30", "--batch", "64", "--output", str(tmp_path / "two")]) == 0
    encoder = open_sentence_encoder(str(tmp_path / "two"))
    read = encoder.encode(["Once the child sees the river.", "Then the singer reads the paper.", "the the sees the."])
    assert order_logits(read, [0], [1])[0] > 0
    assert read.acceptability[:2].min() > read.acceptability[2]
    assert "told in their right order" in (tmp_path / "two" / "card.md").read_text()


@pytest.mark.usefixtures("trapping_processor")
def test_cards_state_the_precision_that_was_used(
    files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    network, corpus = tmp_path / "network.safetensors", str(files / "corpus.txt")
    numbers = ["--pairs=30", "--held-out=8", "--batch-tokens=256", "--precision=bfloat16"]
    command = ["train", "acceptability", corpus, "--base", str(files / "base"), "--network", str(network), *numbers]
    assert main([*command, "--output", str(tmp_path / "one")]) == 0
    assert capsys.readouterr().err.count("SIGILL; training in float32\n") == 1
    order = ["train", "order", corpus, "--network", str(network), "--paragraphs=20", "--held-out=10", "--passes=1"]
    for name, option in (("two", "--bfloat16"), ("three", "--precision=bfloat16")):
        assert main([*order, option, "--output", str(tmp_path / name)]) == 0
        assert capsys.readouterr().err.count("SIGILL; training in float32\n") == 1
        card = (tmp_path / name / "card.md").read_text()
        assert card.count("--precision float32") == 2
        assert "bfloat16" not in card


def test_order_is_measured_on_splits_of_paragraphs() -> None:
    from celadon.train.encoders.sentence_order import _split_logits

    pairs, logits = np.array([[0, 1], [0, 2], [1, 2], [3, 4]]), np.array([1.0, 4.0, -2.0, 3.0])
    assert _split_logits(pairs, logits, np.array([0, 3, 5])).tolist() == [2.5, 1.0, 3.0]


def test_what_is_no_network_is_refused(tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad").write_text(json.dumps({}))
    order = ["train", "order", str(files / "corpus.txt"), "--output", str(tmp_path / "out")]
    assert main([*order, "--network", str(tmp_path / "bad")]) == 2
    assert "is not a network" in capsys.readouterr().err
    assert main([*order, "--network", str(tmp_path / "none")]) == 2
    assert "no such file" in capsys.readouterr().err
    with pytest.raises(UsageError, match="reach"):
        OrderRecipe(reach=0)
