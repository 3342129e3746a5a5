"""Word vectors of small corpora made here: the counts, the weights and the vectors against plain arithmetic."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from celadon.cli import main
from celadon.core import InputError, UsageError
from celadon.models.words.word_vectors import word_vectors
from celadon.train.corpus import Corpus
from celadon.train.language_models.word_vectors import (
    CHARGED,
    VectorRecipe,
    Vocabulary,
    count_pairs,
    in_memory,
    judge_transitions,
    leading_vectors,
    positive_information,
    read_vocabulary,
    rounded,
    sentence_pairs,
)

TOPICS = (
    "anchor harbour sailor mast tide deck keel voyage rudder wharf".split(),
    "oven flour butter recipe dough yeast pastry crust sugar kitchen".split(),
    "orbit comet planet rocket crater galaxy eclipse lunar probe meteor".split(),
)
GLUE = "the of and in with a on".split()
OPTIONS = "--words 40 --size 8 --window 4 --thin 1 --hold-out 0.2 --seed 3".split()


def sentence(rng: np.random.Generator, topic: list[str]) -> str:
    words = [word for _ in range(5) for word in (str(rng.choice(GLUE)), str(rng.choice(topic)))]
    return " ".join(words).capitalize() + "."


@pytest.fixture(scope="module")
def corpus_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    lines: list[str] = []
    for _ in range(150):
        topic = TOPICS[rng.integers(len(TOPICS))]
        lines += [" ".join(sentence(rng, topic) for _ in range(4)) for _ in range(2)] + [""]
    path = tmp_path_factory.mktemp("corpus") / "topics.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(corpus_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("made") / "vectors"
    assert main(["train", "vectors", str(corpus_file), "--output", str(made), *OPTIONS]) == 0
    return made


def plain_pairs(paragraphs: list[str], window: int) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for paragraph in paragraphs:
        words = "".join(c if c.isalnum() else " " for c in paragraph.lower()).split()
        for at, word in enumerate(words):
            for distance in range(1, window + 1):
                if at + distance < len(words):
                    pair = sorted((word, words[at + distance]))
                    found[pair[0], pair[1]] += window - distance + 1
    return found


class TestSteps:
    def test_counts_of_pairs(self, tmp_path: Path) -> None:
        paragraphs = ["A b c, a d! B-b e a.", "c a", "f", "a b a b a b c d e f g"]
        path = tmp_path / "few.txt"
        path.write_text("\n".join(paragraphs))
        corpus, recipe = Corpus((path,), hold_out=0), VectorRecipe(window=3, thin=1.0)
        vocabulary, apart = read_vocabulary(corpus, 100)
        assert apart == ()
        assert vocabulary.words[:2] == ("a", "b")
        assert vocabulary.counts.sum() == vocabulary.total == 23
        table = count_pairs(corpus, vocabulary, recipe).tocoo()
        found: Counter[tuple[str, str]] = Counter()
        for row, column, count in zip(table.row, table.col, table.data, strict=True):
            assert row <= column
            pair = sorted((vocabulary.words[row], vocabulary.words[column]))
            found[pair[0], pair[1]] += int(count)
        assert found == plain_pairs(paragraphs, 3)

    def test_rare_words_are_left_out_before_distances_are_taken(self, tmp_path: Path) -> None:
        path = tmp_path / "few.txt"
        path.write_text("a x b a y b")
        corpus, recipe = Corpus((path,), hold_out=0), VectorRecipe(window=1, thin=1.0)
        vocabulary, _ = read_vocabulary(corpus, 2)
        assert vocabulary.words == ("a", "b")
        assert count_pairs(corpus, vocabulary, recipe).toarray().tolist() == [[0, 3], [0, 0]]

    def test_information_by_the_formula(self) -> None:
        rng = np.random.default_rng(1)
        upper = np.triu(rng.integers(0, 30, size=(12, 12)) * (rng.random((12, 12)) < 0.6))
        both = upper + upper.T
        beside = both.sum(axis=1)
        smoothed = beside**0.75 / (beside**0.75).sum()
        with np.errstate(divide="ignore"):
            one_way = np.log(both / both.sum()) - np.log(beside / both.sum())[:, None] - np.log(smoothed)[None, :]
        expected = np.maximum((one_way + one_way.T) / 2, 0)
        found = positive_information(csr_array(upper.astype(np.int32))).toarray()
        np.testing.assert_allclose(found, expected, atol=1e-5)

    def test_vectors_are_the_eigenvectors(self) -> None:
        rng = np.random.default_rng(2)
        turned = np.linalg.qr(rng.standard_normal((60, 60)))[0]
        table = turned * (100.0 * 0.7 ** np.arange(60)) @ turned.T
        vectors = leading_vectors(csr_array(table), VectorRecipe(size=5, power=0.5))
        np.testing.assert_allclose(vectors.T @ vectors, np.diag(100.0 * 0.7 ** np.arange(5)), atol=1e-2)
        np.testing.assert_allclose(
            np.abs(turned[:, :5].T @ vectors), np.diag(10.0 * 0.7 ** (np.arange(5) / 2)), atol=1e-2
        )

    def test_rounding_keeps_directions(self) -> None:
        vectors = np.random.default_rng(3).standard_normal((50, 30)) * np.logspace(-6, 6, 50)[:, None]
        rows = rounded(vectors).astype(float)
        cosines = (rows * vectors).sum(axis=1) / np.linalg.norm(rows, axis=1) / np.linalg.norm(vectors, axis=1)
        assert cosines.min() > 0.999
        assert rounded(np.zeros((1, 4))).tolist() == [[0, 0, 0, 0]]

    @pytest.mark.parametrize("wrong", [{"words": 0}, {"size": 0}, {"window": 0}, {"thin": 0.0}])
    def test_recipes_that_cannot_be(self, wrong: dict[str, int]) -> None:
        with pytest.raises(UsageError):
            VectorRecipe(**wrong)  # type: ignore[arg-type]


class TestCommand:
    def test_words_of_a_topic_are_together(self, folder: Path) -> None:
        vectors = word_vectors(str(folder))
        words = [word for topic in TOPICS for word in topic]
        found = vectors.lookup(words)
        assert found.known.all()
        cosines = found.vectors @ found.vectors.T
        topic = np.repeat(np.arange(len(TOPICS)), [len(each) for each in TOPICS])
        alike = topic[:, None] == topic[None, :]
        off = ~np.eye(len(words), dtype=bool)
        assert cosines[alike & off].mean() > cosines[~alike].mean() + 0.3
        np.fill_diagonal(cosines, -1)
        assert (topic[cosines.argmax(axis=1)] == topic).mean() == 1.0

    def test_two_runs_write_the_same_bytes(self, folder: Path, corpus_file: Path, tmp_path: Path) -> None:
        again = tmp_path / "vectors"
        assert main(["train", "vectors", str(corpus_file), "--output", str(again), *OPTIONS]) == 0
        names = sorted(path.name for path in folder.iterdir())
        assert names == ["card.md", "manifest.json", "model.json", "vectors.npy", "words.txt"]
        assert all((folder / name).read_bytes() == (again / name).read_bytes() for name in names)

    def test_another_seed_keeps_other_articles_apart(self, folder: Path, corpus_file: Path, tmp_path: Path) -> None:
        other = tmp_path / "vectors"
        assert main(["train", "vectors", str(corpus_file), "--output", str(other), *OPTIONS[:-1], "4"]) == 0
        assert (folder / "vectors.npy").read_bytes() != (other / "vectors.npy").read_bytes()

    def test_the_threshold_does_what_the_card_says(self, folder: Path) -> None:
        described = json.loads((folder / "model.json").read_text())
        figures = described["transitions"]
        assert described["threshold"] == figures["threshold"] == word_vectors(str(folder)).threshold
        assert figures["adjacent_below"] == pytest.approx(CHARGED, abs=0.02)
        # topics are drawn at random, so that a third of the other articles are of the same one
        assert figures["auc"] > 0.75
        assert figures["unrelated_below"] > 0.5
        told = (folder / "card.md").read_text()
        assert f"threshold: {figures['threshold']:g}" in told
        assert "celadon train vectors topics.txt --output vectors --words 40" in told

    def test_figures_are_those_of_the_pairs(self) -> None:
        """One topic per article: every true transition is between equal words, every false one is not."""
        rows = np.eye(3, dtype=np.int8)[np.repeat([0, 1, 2], [len(topic) for topic in TOPICS])] * 127
        words = tuple(word for topic in TOPICS for word in topic)
        vectors = in_memory(Vocabulary(words, np.ones(len(words), dtype=np.int64), len(words)), rows)
        articles = [(" ".join(f"{word.capitalize()} {word}." for word in topic * 6),) for topic in TOPICS]
        found = judge_transitions(vectors, sentence_pairs(articles))
        assert found is not None
        assert (found.auc, found.adjacent_below, found.unrelated_below) == (1.0, 0.0, 1.0)
        assert (found.adjacent_median, found.unrelated_median) == (1.0, 0.0)
        assert judge_transitions(vectors, sentence_pairs(articles[:1])) is None

    def test_nothing_kept_apart_nothing_found(self, corpus_file: Path, tmp_path: Path) -> None:
        made = tmp_path / "vectors"
        options = [*OPTIONS, "--hold-out", "0"]
        assert main(["train", "vectors", str(corpus_file), "--output", str(made), *options]) == 0
        assert json.loads((made / "model.json").read_text())["threshold"] is None
        assert word_vectors(str(made)).threshold is None

    def test_bad_input(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        empty = tmp_path / "empty.txt"
        empty.write_text("\n \n...\n")
        tiny = tmp_path / "tiny.txt"
        tiny.write_text("one two three\n")
        for corpus, told in ((empty, "no words"), (tiny, "too small"), (tmp_path / "none.txt", "none.txt")):
            assert main(["train", "vectors", str(corpus), "--output", str(tmp_path / "out")]) == InputError.exit_code
            assert told in capsys.readouterr().err
        assert not (tmp_path / "out").exists()
