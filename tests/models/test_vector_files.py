"""Word vectors in files of others: GloVe's and word2vec's text, arrays of numpy, and GloVe as the store holds it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from celadon.core import InputError, UsageError
from celadon.models.store import load_catalog
from celadon.models.words.vector_files import open_vectors
from celadon.models.words.word_vectors import WordVectors, word_vectors

WORDS = ("the", ",", "river", "Paris", "naïve", "o'clock")
ROWS = np.array([[1, 2, 2], [0.5, 0, 0], [-3, 0, 4], [1e-3, 0, 0], [0, 0, 7], [1, 1, 1]])


def lines(ending: str = "\n") -> str:
    return "".join(f"{word} {' '.join(map(str, row))}{ending}" for word, row in zip(WORDS, ROWS, strict=True))


def check(vectors: WordVectors) -> None:
    assert vectors.words == WORDS
    assert vectors.size == 3
    assert vectors.cased
    numbers = vectors.numbers(["river", "unheard", "Paris", "paris", "naïve"])
    assert numbers.tolist() == [2, -1, 3, -1, 4]
    np.testing.assert_allclose(vectors.take(np.array([2, 0]), unit=False), ROWS[[2, 0]], rtol=1e-6)
    np.testing.assert_allclose(vectors.take(np.array([2, 0])), [[-0.6, 0, 0.8], [1 / 3, 2 / 3, 2 / 3]], rtol=1e-6)
    found = vectors.lookup(["unheard", "river"])
    assert found.known.tolist() == [False, True]
    np.testing.assert_allclose(found.vectors, [[0, 0, 0], [-0.6, 0, 0.8]], rtol=1e-6)


class TestText:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("glove.txt", lines()),
            ("word2vec.txt", f"{len(WORDS)} 3\n{lines()}"),
            ("fasttext.vec", f"{len(WORDS)} 3\n{lines(' ' + chr(10))}"),
            ("windows.txt", lines("\r\n")),
            ("no-last-break.txt", lines().rstrip("\n")),
            ("twice.txt", f"{lines()}river 9 9 9\n"),
        ],
    )
    def test_kinds(self, tmp_path: Path, name: str, text: str) -> None:
        (tmp_path / name).write_bytes(text.encode())
        check(word_vectors(str(tmp_path / name)))

    def test_words_with_spaces(self, tmp_path: Path) -> None:
        (tmp_path / "large.txt").write_text("a 1 2 3\n. . . 4 5 6\n")
        vectors = word_vectors(str(tmp_path / "large.txt"))
        assert vectors.words == ("a", ". . .")
        assert vectors.take(np.array([1]), unit=False).tolist() == [[4, 5, 6]]
        assert not vectors.cased

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("", "is empty"),
            ("\n \n", "no word"),
            ("river 1 2 3\nlake 1 2\n", ":2: a word and 3 numbers"),
            ("2 3\nriver 1 2\n", ":2: a word and 3 numbers"),
            ("river\n", ":1: a word"),
        ],
    )
    def test_damage_is_found_at_once(self, tmp_path: Path, text: str, told: str) -> None:
        (tmp_path / "bad.txt").write_text(text)
        with pytest.raises(InputError, match=told):
            word_vectors(str(tmp_path / "bad.txt"))

    @pytest.mark.parametrize("number", ["x", "nan", "inf", "1,5"])
    def test_what_is_no_number_is_found_where_it_is_used(self, tmp_path: Path, number: str) -> None:
        (tmp_path / "bad.txt").write_text(f"river 1 2\n\nlake 1 {number}\n")
        vectors = word_vectors(str(tmp_path / "bad.txt"))
        assert vectors.take(vectors.numbers(["river"]), unit=False).tolist() == [[1, 2]]
        with pytest.raises(InputError, match=r"bad\.txt:3: 2 numbers"):
            vectors.take(vectors.numbers(["lake"]))

    def test_the_digest_is_of_the_file(self, tmp_path: Path) -> None:
        for name, text in (("a.txt", lines()), ("b.txt", lines()), ("c.txt", lines().replace("7", "8"))):
            (tmp_path / name).write_text(text, encoding="utf-8")
        one, same, other = (word_vectors(str(tmp_path / name)).digest for name in ("a.txt", "b.txt", "c.txt"))
        assert one == same != other

    def test_a_name_without_slashes_may_be_a_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "mine.txt").write_text(lines(), encoding="utf-8")
        monkeypatch.chdir(tmp_path)
        check(word_vectors("mine.txt"))

    def test_what_cannot_be_read(self, tmp_path: Path) -> None:
        (tmp_path / "vectors.bin").write_bytes(b"\x00\x01")
        with pytest.raises(InputError, match="no file of word vectors"):
            word_vectors(str(tmp_path / "vectors.bin"))
        with pytest.raises(InputError, match="no such file"):
            word_vectors(str(tmp_path / "nowhere.txt"))
        with pytest.raises(UsageError, match="no model"):
            word_vectors("nowhere")


class TestArrays:
    def test_words_beside_it(self, tmp_path: Path) -> None:
        np.save(tmp_path / "v.npy", ROWS.astype(np.float32))
        (tmp_path / "v.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
        check(word_vectors(str(tmp_path / "v.npy")))

    def test_as_in_the_store(self, tmp_path: Path) -> None:
        np.save(tmp_path / "vectors.npy", ROWS.astype(np.float32))
        pyarrow.parquet.write_table(pyarrow.table({"index": list(WORDS)}), tmp_path / "words.parquet")
        check(word_vectors(str(tmp_path)))

    def test_no_pickles(self, tmp_path: Path) -> None:
        np.save(tmp_path / "v.npy", np.array([["a"], [{}]], dtype=object), allow_pickle=True)
        (tmp_path / "v.txt").write_text("a\nb\n")
        with pytest.raises(InputError, match="not an array of numbers"):
            word_vectors(str(tmp_path / "v.npy"))

    @pytest.mark.parametrize(
        ("rows", "words", "told"),
        [
            (ROWS, b"one\ntwo\n", "6 rows, but v.txt has 2 words"),
            (ROWS[0], b"one\n", "no vectors"),
            (ROWS.astype(str), b"one\n", "no vectors"),
            (ROWS, b"\xff\xfe\n", "not UTF-8"),
        ],
    )
    def test_damage_is_named(self, tmp_path: Path, rows: np.ndarray, words: bytes, told: str) -> None:
        np.save(tmp_path / "v.npy", rows)
        (tmp_path / "v.txt").write_bytes(words)
        with pytest.raises(InputError, match=told):
            word_vectors(str(tmp_path / "v.npy"))

    def test_missing_or_damaged_words(self, tmp_path: Path) -> None:
        np.save(tmp_path / "vectors.npy", ROWS)
        with pytest.raises(InputError, match=r"vectors\.txt: no such file"):
            word_vectors(str(tmp_path / "vectors.npy"))
        (tmp_path / "words.parquet").write_bytes(b"PAR1 but no more")
        with pytest.raises(InputError, match=r"words\.parquet: cannot be read"):
            open_vectors(tmp_path, "damaged")
        pyarrow.parquet.write_table(pyarrow.table({"index": range(6)}), tmp_path / "words.parquet")
        with pytest.raises(InputError, match="not all words"):
            open_vectors(tmp_path, "numbers")


class TestGlove:
    def test_the_catalog_pins_it(self) -> None:
        glove = load_catalog().get("glove")
        assert glove.kind == "word vectors"
        assert glove.license == "PDDL-1.0"
        assert glove.download is not None
        assert set(glove.download.files) == {"vectors.npy", "words.parquet"}
