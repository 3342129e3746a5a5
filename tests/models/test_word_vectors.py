"""Word vectors as they lie in a folder, and the Word Mover's Distance against linear programs solved by scipy."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from celadon.core import CeladonError, InputError, UsageError
from celadon.models.store import load_catalog
from celadon.models.words.vector_files import open_vectors
from celadon.models.words.word_mover import STOP_WORDS, movers_distance, similarities, similarity
from celadon.models.words.word_vectors import FORMAT, WordVectors, word_vectors
from tests.conftest import ROOT, missing_part

WORDS = ("king", "queen", "water", "river", "the", "naïve")
ROWS = np.array([[127, 0, 0], [100, 100, 0], [0, 0, 127], [0, 30, 40], [1, 1, 1], [-127, 5, 2]], dtype=np.int8)


def write_folder(folder: Path, **changed: object) -> Path:
    folder.mkdir()
    described = {"format": FORMAT, "normalisation": "rouge", "scripts": ["Latin"], "threshold": 0.25} | changed
    (folder / "model.json").write_text(json.dumps(described))
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    np.save(folder / "vectors.npy", ROWS)
    return folder


def in_memory() -> WordVectors:
    return WordVectors("memory", "", WORDS, ROWS, "rouge", ("Latin",), 0.25)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows.astype(float), axis=1, keepdims=True)


class TestFolder:
    def test_rows_are_unit_vectors_in_the_order_asked(self, tmp_path: Path) -> None:
        vectors = word_vectors(str(write_folder(tmp_path / "v")))
        found = vectors.lookup(["river", "unheard", "king", "naïve"])
        assert found.known.tolist() == [True, False, True, True]
        assert found.vectors.shape == (4, 3)
        assert not found.vectors[1].any()
        np.testing.assert_allclose(found.vectors[[0, 2, 3]], unit(ROWS[[3, 0, 5]]), atol=1e-7)
        assert (vectors.threshold, vectors.scripts, vectors.size) == (0.25, ("Latin",), 3)
        assert "queen" in vectors
        assert "Queen" not in vectors

    def test_opened_once_however_the_path_is_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_folder(tmp_path / "v")
        monkeypatch.chdir(tmp_path)
        assert word_vectors("./v") is word_vectors(f"{tmp_path}/v")

    def test_the_digest_tells_other_vectors_apart(self, tmp_path: Path) -> None:
        one, same = (WordVectors.open(write_folder(tmp_path / name), name) for name in ("one", "same"))
        other = WordVectors.open(write_folder(tmp_path / "other", threshold=0.3), "other")
        assert one.digest == same.digest != other.digest

    @pytest.mark.parametrize(
        ("file", "content", "told"),
        [
            ("model.json", b"{", "model.json"),
            ("model.json", b'{"format": "celadon-lm/1"}', "celadon-vectors/1"),
            ("model.json", b'{"format": "celadon-vectors/1"}', "normalisation"),
            ("words.txt", b"king\nqueen\n", "2 words"),
            ("vectors.npy", b"no array", "vectors.npy"),
        ],
    )
    def test_damage_is_named(self, tmp_path: Path, file: str, content: bytes, told: str) -> None:
        folder = write_folder(tmp_path / "v")
        (folder / file).write_bytes(content)
        with pytest.raises(InputError, match=told):
            word_vectors(str(folder))

    @pytest.mark.parametrize("file", ["model.json", "words.txt", "vectors.npy"])
    def test_what_is_missing_is_named(self, tmp_path: Path, file: str) -> None:
        folder = write_folder(tmp_path / "v")
        (folder / file).unlink()
        with pytest.raises(InputError, match=file):
            word_vectors(str(folder))

    def test_unknown_names(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no-such"):
            word_vectors("no-such")
        with pytest.raises(InputError, match="no such folder"):
            word_vectors(str(tmp_path / "nowhere"))


def by_linear_program(left: Counter[int], right: Counter[int], vectors: np.ndarray) -> float:
    """The transport problem as the paper has it: all words of both sides, shares, and Euclidean costs."""
    sources, targets = list(left), list(right)
    costs = np.array([[np.linalg.norm(vectors[i] - vectors[j]) for j in targets] for i in sources])
    rows = [np.repeat(np.arange(len(sources)) == i, len(targets)) for i in range(len(sources))]
    columns = [np.tile(np.arange(len(targets)) == j, len(sources)) for j in range(len(targets))]
    shares = [left[i] / left.total() for i in sources] + [right[j] / right.total() for j in targets]
    solved = linprog(costs.ravel(), A_eq=np.array(rows + columns, dtype=float), b_eq=shares)
    assert solved.success
    return float(solved.fun)


bags = st.lists(st.integers(0, 11), min_size=1, max_size=9).map(Counter)


class TestDistance:
    vectors = unit(np.random.default_rng(7).standard_normal((12, 5))).astype(np.float32)

    @settings(max_examples=60)
    @given(bags, bags)
    def test_it_is_the_least_cost(self, left: Counter[int], right: Counter[int]) -> None:
        found = movers_distance(left, right, self.vectors)
        assert found == pytest.approx(by_linear_program(left, right, self.vectors), abs=1e-6)

    @settings(max_examples=60)
    @given(bags, bags, st.integers(1, 4))
    def test_both_ways_alike_and_shares_not_counts(self, left: Counter[int], right: Counter[int], times: int) -> None:
        found = movers_distance(left, right, self.vectors)
        assert found == pytest.approx(movers_distance(right, left, self.vectors), abs=1e-9)
        many = Counter({word: count * times for word, count in left.items()})
        assert found == pytest.approx(movers_distance(many, right, self.vectors), abs=1e-9)
        assert movers_distance(many, left, self.vectors) == 0.0

    def test_pot_on_the_whole_matrix_says_the_same(self) -> None:
        from celadon.text.transport import _network_simplex

        _network_simplex()  # loads POT without torch
        import ot

        rng = np.random.default_rng(3)
        vectors = unit(rng.standard_normal((300, 20))).astype(np.float32)
        for _ in range(20):
            left, right = (Counter(rng.integers(0, 300, size=60).tolist()) for _ in range(2))
            exact = vectors.astype(float)
            costs = ot.dist(exact[list(left)], exact[list(right)], metric="euclidean")
            shares = [np.array(list(bag.values())) / bag.total() for bag in (left, right)]
            assert movers_distance(left, right, vectors) == pytest.approx(ot.emd2(*shares, costs), abs=1e-6)


class TestSimilarity:
    def test_scale(self) -> None:
        assert similarity(0.0) == 1.0
        assert similarity(math.sqrt(2)) == 0.0
        assert similarity(2.0) == 0.0
        assert similarity(1.0) > similarity(1.1) > 0

    def test_stop_words_and_unknown_words_are_left_out(self) -> None:
        pairs = [("The king, the river!", "A KING was in xyzzy of the river"), ("the king", "it was"), ("", "king")]
        found = similarities(pairs, in_memory())
        assert found[0] == 1.0
        assert np.isnan(found[1:]).all()
        assert "the" in STOP_WORDS

    def test_by_hand(self) -> None:
        king, queen, water = unit(ROWS)[:3]
        # half of "king queen" is water's nearest, all of it has to go there
        distance = (np.linalg.norm(king - water) + np.linalg.norm(queen - water)) / 2
        assert similarities([("king queen", "water")], in_memory())[0] == pytest.approx(1 - distance / math.sqrt(2))

    def test_other_pairs_change_no_bit(self) -> None:
        rng = np.random.default_rng(0)
        words = tuple(f"w{number:03d}" for number in rng.permutation(200))
        rows = rng.integers(-127, 128, size=(200, 16)).astype(np.int8)
        vectors = WordVectors("many", "", words, rows, "rouge", (), None)
        sentences = [" ".join(rng.choice(words, size=rng.integers(1, 25))) for _ in range(40)]
        pairs = list(pairwise(sentences))
        whole = similarities(pairs, vectors)
        assert whole.tobytes() == np.concatenate([similarities([pair], vectors) for pair in pairs]).tobytes()
        assert whole[::-1].tobytes() == similarities(pairs[::-1], vectors).tobytes()


class TestBuiltin:
    @pytest.fixture(autouse=True)
    def _there(self) -> None:
        if not (ROOT / "src" / "celadon" / "weights" / "vectors" / "model.json").is_file():
            missing_part("builtin word vectors", "train them, or check out their weights")

    def test_small_enough_and_whole(self) -> None:
        folder = ROOT / "src" / "celadon" / "weights" / "vectors"
        assert sum(path.stat().st_size for path in folder.iterdir()) <= 12_000_000
        vectors = word_vectors()
        assert len(vectors.words) == len(set(vectors.words))
        assert vectors.threshold is not None
        assert np.abs(vectors.rows).max(axis=1).min() > 0

    @pytest.mark.parametrize(
        ("word", "near", "far"),
        [("hospital", "patients", "guitar"), ("river", "lake", "parliament"), ("bread", "butter", "algebra")],
    )
    def test_what_belongs_together_is_near(self, word: str, near: str, far: str) -> None:
        one, other, third = word_vectors().lookup([word, near, far]).vectors
        assert one @ other > one @ third + 0.2

    def test_errors_are_ours(self) -> None:
        with pytest.raises(CeladonError):
            word_vectors("")


TEXT_WORDS = ("the", ",", "river", "Paris", "naïve", "o'clock")
TEXT_ROWS = np.array([[1, 2, 2], [0.5, 0, 0], [-3, 0, 4], [1e-3, 0, 0], [0, 0, 7], [1, 1, 1]])


def lines(ending: str = "\n") -> str:
    return "".join(f"{word} {' '.join(map(str, row))}{ending}" for word, row in zip(TEXT_WORDS, TEXT_ROWS, strict=True))


def check(vectors: WordVectors) -> None:
    assert vectors.words == TEXT_WORDS
    assert vectors.size == 3
    assert vectors.cased
    numbers = vectors.numbers(["river", "unheard", "Paris", "paris", "naïve"])
    assert numbers.tolist() == [2, -1, 3, -1, 4]
    np.testing.assert_allclose(vectors.take(np.array([2, 0]), unit=False), TEXT_ROWS[[2, 0]], rtol=1e-6)
    np.testing.assert_allclose(vectors.take(np.array([2, 0])), [[-0.6, 0, 0.8], [1 / 3, 2 / 3, 2 / 3]], rtol=1e-6)
    found = vectors.lookup(["unheard", "river"])
    assert found.known.tolist() == [False, True]
    np.testing.assert_allclose(found.vectors, [[0, 0, 0], [-0.6, 0, 0.8]], rtol=1e-6)


class TestText:
    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("glove.txt", lines()),
            ("word2vec.txt", f"{len(TEXT_WORDS)} 3\n{lines()}"),
            ("fasttext.vec", f"{len(TEXT_WORDS)} 3\n{lines(' ' + chr(10))}"),
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
        np.save(tmp_path / "v.npy", TEXT_ROWS.astype(np.float32))
        (tmp_path / "v.txt").write_text("\n".join(TEXT_WORDS) + "\n", encoding="utf-8")
        check(word_vectors(str(tmp_path / "v.npy")))

    def test_as_in_the_store(self, tmp_path: Path) -> None:
        np.save(tmp_path / "vectors.npy", TEXT_ROWS.astype(np.float32))
        pyarrow.parquet.write_table(pyarrow.table({"index": list(TEXT_WORDS)}), tmp_path / "words.parquet")
        check(word_vectors(str(tmp_path)))

    def test_no_pickles(self, tmp_path: Path) -> None:
        np.save(tmp_path / "v.npy", np.array([["a"], [{}]], dtype=object), allow_pickle=True)
        (tmp_path / "v.txt").write_text("a\nb\n")
        with pytest.raises(InputError, match="not an array of numbers"):
            word_vectors(str(tmp_path / "v.npy"))

    @pytest.mark.parametrize(
        ("rows", "words", "told"),
        [
            (TEXT_ROWS, b"one\ntwo\n", "6 rows, but v.txt has 2 words"),
            (TEXT_ROWS[0], b"one\n", "no vectors"),
            (TEXT_ROWS.astype(str), b"one\n", "no vectors"),
            (TEXT_ROWS, b"\xff\xfe\n", "not UTF-8"),
        ],
    )
    def test_damage_is_named(self, tmp_path: Path, rows: np.ndarray, words: bytes, told: str) -> None:
        np.save(tmp_path / "v.npy", rows)
        (tmp_path / "v.txt").write_bytes(words)
        with pytest.raises(InputError, match=told):
            word_vectors(str(tmp_path / "v.npy"))

    def test_missing_or_damaged_words(self, tmp_path: Path) -> None:
        np.save(tmp_path / "vectors.npy", TEXT_ROWS)
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
