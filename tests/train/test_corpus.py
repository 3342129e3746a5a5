"""Reading a corpus: files, articles kept apart, sentences as numbers."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from celadon.core import InputError, UsageError
from celadon.train.corpus import Corpus, EncodedSentences, TrainingTexts, encode_corpus
from celadon.train.language_models.vocabulary import train_tokenizer

ARTICLES = [f"Article {n} begins here. It has Dr. Smith in it.\nIts second paragraph says {n}.\n" for n in range(400)]


@pytest.fixture(params=["txt", "xz", "gz"])
def corpus_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    data = "\n".join(ARTICLES).encode()
    match request.param:
        case "xz":
            path, data = tmp_path / "c.txt.xz", lzma.compress(data)
        case "gz":
            path, data = tmp_path / "c.txt.gz", gzip.compress(data)
        case _:
            path = tmp_path / "c.txt"
    path.write_bytes(data)
    return path


def test_whole_articles_are_kept_apart(corpus_file: Path) -> None:
    read: list[int] = []
    corpus = Corpus((corpus_file,), hold_out=0.1)
    sides: dict[str, set[bool]] = {}
    for sentence in corpus.sentences(read.append):
        number = "".join(character for character in sentence.text if character.isdigit())
        if number:
            sides.setdefault(number, set()).add(sentence.held_out)
    assert len(sides) == 400
    assert all(len(side) == 1 for side in sides.values())
    assert 20 <= sum(True in side for side in sides.values()) <= 60
    assert sum(read) == corpus.size


def test_articles_are_what_stands_between_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("\none\ntwo\n\n\nthree\n\nfour\nfive\n", encoding="utf-8")
    corpus = Corpus((path,), hold_out=0.5)
    articles = [[paragraph.text for paragraph in article] for article in corpus.articles()]
    assert articles == [["one", "two"], ["three"], ["four", "five"]]
    assert [each for article in corpus.articles() for each in article] == list(corpus.paragraphs())


def test_which_articles_depends_on_the_seed_alone(corpus_file: Path) -> None:
    def apart(seed: int) -> list[bool]:
        return [p.held_out for p in Corpus((corpus_file,), 0.1, seed).paragraphs()]

    assert apart(0) == apart(0)
    assert apart(0) != apart(1)


def test_numbers_come_back_as_the_sentences(corpus_file: Path, tmp_path: Path) -> None:
    corpus = Corpus((corpus_file,), hold_out=0.1)
    tokenizer = train_tokenizer(TrainingTexts(corpus), "word", 1000)
    trained, held_out = encode_corpus(corpus.sentences(), tokenizer, batch=7)
    expected = [s for s in corpus.sentences() if not s.held_out]
    assert len(trained) == len(expected)
    assert trained.words == sum(len(s.text.split()) for s in expected)
    first = trained.ids[: trained.starts[1]].tolist()
    assert tokenizer.decode(first).replace(" .", ".") == expected[0].text
    trained.save(tmp_path, "part")
    again = EncodedSentences.load(tmp_path, "part")
    assert (again.ids == trained.ids).all()
    assert (again.starts == trained.starts).all()
    assert len(held_out) > 0


def test_ids_are_ranks_by_frequency(corpus_file: Path) -> None:
    for unit in ("word", "wordpiece"):
        corpus = Corpus((corpus_file,), hold_out=0)
        tokenizer = train_tokenizer(TrainingTexts(corpus), unit, 200)
        trained, _ = encode_corpus(corpus.sentences(), tokenizer)
        counts = [int((trained.ids == number).sum()) for number in range(3, tokenizer.get_vocab_size())]
        # the draft of a paragraph and of its sentences differ in nothing here, so the ranks must hold exactly
        assert counts == sorted(counts, reverse=True)


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"fine\n\xff\xfe\n")
    with pytest.raises(InputError, match=r"bad\.txt:2: not valid UTF-8"):
        list(Corpus((bad,)).paragraphs())
    cut = tmp_path / "cut.txt.xz"
    cut.write_bytes(lzma.compress(b"a line\n" * 10_000)[:-40])
    with pytest.raises(InputError, match="truncated or corrupt"):
        list(Corpus((cut,)).paragraphs())
    with pytest.raises(InputError, match="no such file"):
        Corpus((tmp_path / "none.txt",))
    with pytest.raises(UsageError, match="held out"):
        Corpus((bad,), hold_out=1.5)
