"""Training a network to name faulty words, small: labels of tokens, losses, and the encoder that comes of it."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celadon.cli import main
from celadon.instrument.halves import Half, document_of, half_of
from celadon.models.encoders.encoder import open_sentence_encoder
from celadon.models.encoders.word_findings import CLASS_OF, FINDING_KINDS, FindingKind, word_spans
from celadon.train.encoders.recipes import AcceptabilityRecipe, Amounts
from tests.conftest import DATA, missing_part
from tests.train.test_acceptability import DOINGS, PEOPLE, files  # noqa: F401 (a fixture)

try:
    import onnx  # noqa: F401
    import torch
    from transformers import BertConfig, BertModel  # noqa: F401
except ImportError:
    missing_part("torch, onnx or transformers", "run: pip install 'celadon-text[train,hf]'")


def documents(half: Half, count: int) -> list[str]:
    """Names of documents of a half."""
    names = (f"document {number}" for number in range(10_000))
    return [name for _, name in zip(range(count), (name for name in names if half_of(name) is half), strict=False)]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[Half, Path]:
    """Files of sound texts and of corrections, all documents of a half in one."""
    made = {}
    for half in (Half.FIT, Half.TEST):
        folder = tmp_path_factory.mktemp(half)
        texts = [
            {"id": name, "genre": "tale", "text": f"{who.capitalize()} {does} in {half} {at}.\n\nThe {half} {at} river"}
            for at, name in enumerate(documents(half, 12))
            for who, does in [(PEOPLE[at % len(PEOPLE)], DOINGS[at % len(DOINGS)])]
        ]
        # what is measured on elsewhere may stand here too
        texts.append(texts[0] | {"text": "The doctor reads the test paper 1. Then the child sees the river."})
        edits = [
            {
                "file": f"{name}.md",
                "kind": "spelling",
                "before": f"The doctor reeds the {half} paper {at}.",
                "after": f"The doctor reads the {half} paper {at}.",
            }
            for at, name in enumerate(documents(half, 5))
        ]
        for name, of in (("genre", texts), ("edits", edits)):
            (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in of), encoding="utf-8")
        made[half] = folder
    return made


def sources_of(folder: Path, rows: dict[Half, Path]) -> Any:
    from celadon.train.encoders.examples import Sources

    genres, edits = ([each / name for each in rows.values()] for name in ("genre.jsonl", "edits.jsonl"))
    return Sources.of([folder / "corpus.txt"], [], [folder / "labels.tsv"], [], 0, genres, edits)


AMOUNTS = Amounts(pairs=60, labelled_passes=1, held_out=10, genre_pairs=20, fragments=12, edit_passes=2)


def test_only_the_fit_half_is_learned_from(files: Path, rows: dict[Half, Path]) -> None:  # noqa: F811
    from celadon.train.encoders.examples import make_units

    units, _ = make_units(sources_of(files, rows), AMOUNTS, [0])
    texts = [row.text.lower() for row in units.rows]
    assert sum("fit" in text for text in texts) > 30
    assert not any("test" in text for text in texts)
    before = [row for row in units.rows if row.kinds == ("edit",)]
    assert len(before) == 2 * 5
    assert all(row.target < 0.5 for row in before)


def test_labels_stand_at_the_first_token_of_each_word(files: Path, rows: dict[Half, Path]) -> None:  # noqa: F811
    from celadon.train.encoders.bases import encoder_tokenizer
    from celadon.train.encoders.examples import NO_LABEL, make_examples, make_units, row_labels

    sources, tokenizer = sources_of(files, rows), encoder_tokenizer(files / "base")
    examples, _ = make_examples(sources, AMOUNTS, tokenizer, [0])
    units, _ = make_units(sources, AMOUNTS, [0])
    assert len(examples.labels) == len(examples.sentences.ids)
    starts = examples.sentences.starts
    for at, (row, labels) in enumerate(zip(units.rows, row_labels(units), strict=True)):
        classes = examples.labels[starts[at] : starts[at + 1]]
        expected = [CLASS_OF[label.kind] for label in labels if label.kind is not None]
        assert classes[classes != NO_LABEL].tolist() == expected
        assert classes[0] == classes[-1] == NO_LABEL
        if row.target == 1:
            assert set(expected) == {CLASS_OF[FindingKind.OK]}
            assert len(expected) == len(word_spans(row.text))
    faulty = [labels for row, labels in zip(units.rows, row_labels(units), strict=True) if row.kinds == ("edit",)]
    assert all([label.kind for label in labels if label.kind != "ok"] for labels in faulty)


def test_the_loss_of_words_is_their_weighted_cross_entropy() -> None:
    from celadon.train.encoders.classifiers import findings_loss
    from celadon.train.encoders.examples import NO_LABEL

    logits = torch.tensor([[[2.0, 0.0], [0.5, 1.0], [9.0, 9.0]]])
    labels = torch.tensor([[0, 1, NO_LABEL]])
    sound, faulty = -np.log(np.exp(2) / (np.exp(2) + 1)), -np.log(np.exp(1) / (np.exp(0.5) + np.exp(1)))
    assert float(findings_loss(logits, labels, 0.25)) == pytest.approx((0.25 * sound + faulty) / 1.25, abs=1e-6)
    assert float(findings_loss(logits, torch.full_like(labels, NO_LABEL), 0.25)) == 0.0


def test_frozen_parts_stay_what_they_were(files: Path, rows: dict[Half, Path], tmp_path: Path) -> None:  # noqa: F811
    from celadon.train.encoders.acceptability import AcceptabilityTraining
    from celadon.train.encoders.bases import base_network, encoder_tokenizer
    from celadon.train.encoders.examples import prepare

    recipe = AcceptabilityRecipe(
        **AMOUNTS._asdict(), batch_tokens=256, passes=0.2, learning_rate=1e-3, frozen=2, head_rate=4.0, layers=2
    )
    material = prepare(sources_of(files, rows), recipe, encoder_tokenizer(files / "base"), tmp_path)
    training = AcceptabilityTraining(recipe, material, files / "base", tmp_path / "checkpoint")
    training.run(lambda progress: None)
    before = base_network(files / "base").state_dict()
    after = training.network.state_dict()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert {name.split(".")[0] for name in changed} >= {"layers", "classifier"}
    assert {name for name in changed if name.startswith(("tokens", "places", "embedded_norm", "layers.0."))} == set()
    assert {name for name in before if name.startswith("layers.1.") and name.endswith("weight")} <= changed
    again = AcceptabilityTraining(recipe, material, files / "base", tmp_path / "checkpoint")
    assert again.seen == training.seen
    for one, two in zip(again.network.parameters(), training.network.parameters(), strict=True):
        assert torch.equal(one, two)


def test_an_encoder_learns_which_word_is_wrong(files: Path, tmp_path: Path) -> None:  # noqa: F811
    numbers = ["--pairs=400", "--held-out=20", "--passes=5", "--batch-tokens=256", "--learning-rate=3e-3"]
    numbers += ["--slips=0.9", "--meaning=0.1", "--dropout=0"]
    command = ["train", "acceptability", str(files / "corpus.txt"), "--base", str(files / "base"), *numbers]
    assert main([*command, "--output", str(tmp_path / "one")]) == 0
    encoder = open_sentence_encoder(str(tmp_path / "one"))
    sentence = "Then the teacher opens the window with the others."
    texts = [sentence.replace("the window", "the the window"), sentence]
    faulty, sound = encoder.encode(texts).words or ()
    assert [texts[0][start:end] for start, end in faulty.spans] == texts[0].replace(".", " .").split()
    wrong = 1 - faulty.probabilities[:, 0]
    assert int(wrong.argmax()) in (4, 5)
    assert wrong.max() > (1 - sound.probabilities[:, 0]).max()
    assert faulty.probabilities.shape == (len(faulty), len(FINDING_KINDS))
    np.testing.assert_allclose(faulty.probabilities.sum(axis=1), 1, atol=1e-5)


def test_no_correction_of_the_test_half_is_learned_from(tmp_path: Path) -> None:
    """Neither the corrections themselves nor documents of the fit half that have the same sentence."""
    from celadon.train.encoders.examples import Sources, make_units

    edits, docs = DATA / "edits" / "edits_dev.jsonl.xz", DATA / "genres" / "docs_peps.jsonl.xz"
    if not (edits.is_file() and docs.is_file()):
        pytest.skip(f"no corrections and documents at {DATA}; set CELADON_DATA to the folder that holds them")
    reserved = [row for row in read_rows(edits) if half_of(document_of(row)) is Half.TEST]
    chosen = [row for row in read_rows(docs) if half_of(document_of(row)) is Half.FIT][:40]
    chosen += [{"id": chosen[0]["id"], "text": row["after"]} for row in reserved[:200]]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in chosen), encoding="utf-8")
    article = "\n".join(row["before"].replace("\n", " ") for row in reserved[:200])
    (tmp_path / "corpus.txt").write_text(f"{article}\n", encoding="utf-8")
    sources = Sources.of([tmp_path / "corpus.txt"], [], [], [], 0, [tmp_path / "docs.jsonl"], [edits])
    amounts = Amounts(pairs=10_000, held_out=100, genre_pairs=100_000, fragments=100_000, edit_passes=1, slips=0.0)
    units, apart = make_units(sources, amounts, [0])
    # slips=0 leaves a half of the sentences in their own format; those in another differ in marks and case alone
    learned = {folded(row.text) for part in (units, apart) for row in part.rows}
    assert len(learned) > 2_000
    for row in reserved:
        for text in (row["before"], row["after"]):
            assert folded(text) not in learned, text


def folded(text: str) -> str:
    """The letters and digits of a text, in small letters."""
    return "".join(character for character in text.casefold() if character.isalnum())


def read_rows(path: Path) -> list[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]
