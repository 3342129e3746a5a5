"""N-gram models as scoring sees them: a folder of ours, and ARPA files through kenlm."""

from __future__ import annotations

import gzip
import json
import math
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from celadon.core import InputError, MissingExtraError
from celadon.models.language.ngram_lm import open_ngram
from celadon.train.language_models.kneser_ney import train_ngrams
from celadon.train.language_models.ngrams import TrainedNgrams, write_model
from celadon.train.language_models.vocabulary import marks_of, train_tokenizer
from tests.kenlm_part import require_kenlm

ARPA = """\\data\\
ngram 1=5
ngram 2=2

\\1-grams:
-1.0\t<unk>
-99\t<s>\t-0.3
-0.5\t</s>
-0.7\tthe\t-0.2
-0.9\tcat\t-0.1

\\2-grams:
-0.2\t<s> the
-0.4\tthe cat

\\end\\
"""

TEXTS = [
    "The cat sat on the mat.",
    "A dog (of mine) sat on it, too!",
    "The mat is mine.",
    "Cats and dogs are on the mat; the dog sat.",
    "It was the café on the hill.",
]
STRANGE = ["", "  \t", "\u0000", "\ud800 cat", "[BOS] the", "名 the", "😀", "the\u00a0cat", "x" * 5000, "the " * 3000]


@pytest.fixture
def arpa(tmp_path: Path) -> Path:
    require_kenlm()
    path = tmp_path / "model.arpa"
    path.write_text(ARPA, encoding="utf-8")
    return path


def test_arpa_by_hand(arpa: Path) -> None:
    (scores,) = open_ngram(arpa).score([" the  cat dog"])
    # <s> the; the cat; cat and the unknown back off; the end after an unknown word
    tens = [-0.2, -0.4, -0.1 - 1.0, -0.5]
    assert scores.logprobs == pytest.approx([ten * math.log(10) for ten in tens], abs=1e-6)
    assert scores.unigrams == pytest.approx([ten * math.log(10) for ten in (-0.7, -0.9, -1.0, -0.5)], abs=1e-6)
    assert list(zip(scores.starts, scores.ends, strict=True)) == [(1, 4), (6, 9), (10, 13), (13, 13)]
    assert scores.known.tolist() == [True, True, False, True]


def test_arpa_facts(arpa: Path) -> None:
    model = open_ngram(arpa)
    assert model.name == f"ngram:{arpa}"
    assert model.facts == {"begin": "<s>", "end": "counted"}
    assert model.scripts == ()
    before = model.digest
    arpa.write_text(ARPA.replace("-0.9", "-0.8"), encoding="utf-8")
    assert open_ngram(arpa).digest != before


def test_arpa_compressed_is_the_same(arpa: Path) -> None:
    packed = arpa.with_suffix(".arpa.gz")
    packed.write_bytes(gzip.compress(ARPA.encode()))
    (plain,), (other,) = open_ngram(arpa).score(["the cat"]), open_ngram(packed).score(["the cat"])
    assert plain.logprobs.tolist() == other.logprobs.tolist()


@pytest.mark.parametrize("word", ["<s>", "</s>", "<unk>", "the\0x", "\ud800"], ids=ascii)
def test_arpa_marks_in_a_text_are_unknown_words(arpa: Path, word: str) -> None:
    model = open_ngram(arpa)
    (scores,), (plain,) = model.score([f"the {word} cat"]), model.score(["the dog cat"])
    assert scores.logprobs.tolist() == plain.logprobs.tolist()
    assert scores.known.tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "End of file"),
        ("no model\n", "is no ARPA file"),
        (ARPA[:120], "End of file"),
        (ARPA.replace("-0.7\tthe", "x\tthe"), 'Could not parse "x" into a float'),
        (ARPA.replace("-0.7\tthe", "0.7\tthe"), "Positive log probability"),
        (ARPA.replace("1=5", "1=9"), "is no ARPA file"),
    ],
    ids=["empty", "other", "cut", "no-number", "positive", "wrong-size"],
)
def test_arpa_damaged(arpa: Path, content: str, reason: str) -> None:
    arpa.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=reason) as caught:
        open_ngram(arpa)
    assert str(caught.value).startswith(f"{arpa}: ")
    assert ".cc:" not in str(caught.value)


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.arpa: there is no such"):
        open_ngram(tmp_path / "none.arpa")
    with pytest.raises(InputError, match=r"is no n-gram model: there is no model\.json"):
        open_ngram(tmp_path)


def test_without_kenlm(arpa: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kenlm", None)
    with pytest.raises(MissingExtraError, match="celadon install ngram"):
        open_ngram(arpa)


@pytest.fixture(scope="module")
def trained() -> TrainedNgrams:
    tokenizer = train_tokenizer(TEXTS, "wordpiece", 90)
    marks = marks_of(tokenizer)
    encoded = [tokenizer.encode(text).ids for text in TEXTS]
    ids, starts = np.concatenate(encoded), np.cumsum([0, *map(len, encoded)])
    counts = np.bincount(ids, minlength=tokenizer.get_vocab_size())
    counts[marks.end] = len(TEXTS)
    return TrainedNgrams(
        tokenizer, train_ngrams(ids, starts, tokenizer.get_vocab_size(), marks.begin, marks.end), counts
    )


@pytest.fixture(scope="module")
def folder(trained: TrainedNgrams, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ngram") / "model"
    write_model(path, trained, "# a card\n")
    return path


def test_folder_scores_are_those_of_the_tables(trained: TrainedNgrams, folder: Path) -> None:
    texts = [*TEXTS, "The dog is on the café."]
    total = trained.counts.sum() + len(trained.counts)
    for text, scores in zip(texts, open_ngram(folder).score(texts), strict=True):
        encoded = trained.tokenizer.encode(text)
        ids = np.array(encoded.ids)
        exact = trained.tables.score(ids, np.array([0, len(ids)]))
        assert np.abs(scores.logprobs - exact).max() < 1e-5
        share = np.log((trained.counts[[*ids, trained.tables.end]] + 1) / total)
        assert scores.unigrams == pytest.approx(share, abs=1e-5)
        assert [text[a:b] for a, b in zip(scores.starts, scores.ends, strict=True)] == [
            *(token.removeprefix("##") for token in encoded.tokens),
            "",
        ]
        assert scores.starts[-1] == len(text)
        assert scores.known.all()


def test_folder_facts(folder: Path, tmp_path: Path) -> None:
    model = open_ngram(folder)
    assert model.facts == {"begin": "[BOS]", "end": "counted"}
    assert model.scripts == ("Latin",)
    assert model.name == f"ngram:{folder}"
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    assert open_ngram(copy).digest == model.digest
    table = np.load(copy / "order3.logprobs.npy")
    table[0] -= 0.5
    np.save(copy / "order3.logprobs.npy", table)
    assert open_ngram(copy).digest != model.digest


@pytest.mark.parametrize("kind", ["arpa", "folder"])
def test_neighbours_do_not_change_scores_and_strange_texts_do_not_crash(kind: str, arpa: Path, folder: Path) -> None:
    model = open_ngram(arpa if kind == "arpa" else folder)
    texts = [*STRANGE, *TEXTS]
    together = model.score(texts)
    assert model.score([]) == []
    for text, scores in zip(texts, together, strict=True):
        (alone,) = model.score([text])
        assert alone.logprobs.tolist() == scores.logprobs.tolist()
        assert np.isfinite(scores.logprobs).all()
        assert np.isfinite(scores.unigrams).all()
        assert len(scores) == len(scores.unigrams) == len(scores.starts) == len(scores.ends) == len(scores.known)
        assert (scores.starts <= scores.ends).all()
        assert (scores.ends <= len(text)).all()
    assert [len(scores) for scores in together[:2]] == [0, 0]


def test_what_has_no_piece_is_not_known(folder: Path) -> None:
    (scores,) = open_ngram(folder).score(["the 名 cat"])
    where = scores.known.tolist().index(False)
    assert (scores.starts[where], scores.ends[where]) == (4, 5)
    assert scores.known.sum() == len(scores) - 1


def _describe(change: Callable[[dict[str, object]], object]) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        described = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        change(described)
        (folder / "model.json").write_text(json.dumps(described), encoding="utf-8")

    return damage


def _cut(folder: Path) -> None:
    path = folder / "order3.keys.npy"
    path.write_bytes(path.read_bytes()[:-100])


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no-description": (lambda folder: (folder / "model.json").unlink(), r"there is no model\.json"),
    "not-json": (lambda folder: (folder / "model.json").write_text("{"), r"model\.json: cannot be read"),
    "not-ngram": (_describe(lambda facts: facts.update(kind="onnx")), "does not describe an n-gram model"),
    "no-order": (_describe(lambda facts: facts.pop("order")), "'order' is None"),
    "higher-order": (_describe(lambda facts: facts.update(order=4)), r"order4\.logprobs\.npy: is missing"),
    "mark": (_describe(lambda facts: facts.update(begin_id=10_000)), "are not among its"),
    "no-tokenizer": (lambda folder: (folder / "tokenizer.json").unlink(), r"tokenizer\.json: there is no such file"),
    "bad-tokenizer": (lambda folder: (folder / "tokenizer.json").write_text("{}"), "cannot be read as a tokenizer"),
    "no-table": (lambda folder: (folder / "order2.keys.npy").unlink(), r"order2\.keys\.npy: is missing"),
    "cut-table": (_cut, r"order3\.keys\.npy: cannot be read as an array"),
    "no-array": (lambda folder: (folder / "unigrams.npy").write_text("x"), r"unigrams\.npy: cannot be read"),
    "other-type": (
        lambda folder: np.save(folder / "order2.keys.npy", np.zeros(3)),
        r"order2\.keys\.npy: float64\[3\] is not what belongs there",
    ),
    "other-length": (
        lambda folder: np.save(folder / "unigrams.npy", np.zeros(3, dtype=np.float32)),
        r"unigrams\.npy: float32\[3\]",
    ),
}


@pytest.mark.parametrize("what", sorted(DAMAGE))
def test_damaged_folder(folder: Path, tmp_path: Path, what: str) -> None:
    damage, reason = DAMAGE[what]
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    damage(copy)
    with pytest.raises(InputError, match=reason):
        open_ngram(copy)


def test_tokenizer_of_another_model(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    words = [f"w{chr(97 + a)}{chr(97 + b)}" for a in range(20) for b in range(20)]
    train_tokenizer(words, "word", 300).save(str(copy / "tokenizer.json"))
    with pytest.raises(InputError, match="has 300 tokens, but the model only"):
        open_ngram(copy)


def test_a_failed_write_leaves_nothing(trained: TrainedNgrams, tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_model(tmp_path / "model", trained, "\ud800")
    assert list(tmp_path.iterdir()) == []
