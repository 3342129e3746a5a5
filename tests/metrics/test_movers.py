"""Mover distances against linear programs, POT's own emd2 and definitions written out in the tests."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import celadon
from celadon.core import InputError, Metric, MetricScores, Sample, UsageError, is_set_relative
from celadon.metrics.movers import Wmd
from celadon.metrics.registry import load
from celadon.models.words.word_mover import STOP_WORDS
from celadon.scoring.batch import Batch
from celadon.text.inverse_frequency import DocumentCounts
from celadon.text.transport import Bags, least_cost, mover_distances, nearest_distances, relaxed_cost
from celadon.text.windows import stretches, window_count

WORDS = "river water lake boat bridge stone music guitar song band bread butter milk Paris court judge".lower().split()
SEED = np.random.default_rng(4)
TABLE = {word: SEED.standard_normal(6).round(3) for word in WORDS}


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small file in the form of GloVe."""
    path = tmp_path_factory.mktemp("vectors") / "small.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in TABLE.items()))
    return str(path)


def linear_program(left: np.ndarray, right: np.ndarray, costs: np.ndarray) -> float:
    """The transport problem solved in another way."""
    rows = [np.repeat(np.arange(len(left)) == at, len(right)) for at in range(len(left))]
    columns = [np.tile(np.arange(len(right)) == at, len(left)) for at in range(len(right))]
    solved = linprog(costs.ravel(), A_eq=np.array(rows + columns, dtype=float), b_eq=np.concatenate([left, right]))
    assert solved.success
    return float(solved.fun)


def expected(text: list[tuple[np.ndarray, float]], reference: list[tuple[np.ndarray, float]]) -> float:
    """The distance of two lists of points with weights, nothing left out and nothing put together."""
    points = [np.array([point for point, _ in side]) for side in (text, reference)]
    shares = [np.array([weight for _, weight in side]) for side in (text, reference)]
    return linear_program(*(share / share.sum() for share in shares), cdist(*points))


def unit(row: np.ndarray) -> np.ndarray:
    return row / np.linalg.norm(row)


def word_points(words: list[str], weight: dict[str, float] | None = None) -> list[tuple[np.ndarray, float]]:
    return [(unit(TABLE[word]), (weight or {}).get(word, 1.0)) for word in words]


def sentence_points(
    sentences: list[list[str]], weight: dict[str, float] | None = None
) -> list[tuple[np.ndarray, float]]:
    found = []
    for sentence in sentences:
        points = word_points(sentence, weight)
        total = sum(much for _, much in points)
        found.append((sum(point * much for point, much in points) / total, total))
    return found


def written(sentences: list[list[str]]) -> str:
    return " ".join(f"The {' and the '.join(sentence)} are here." for sentence in sentences)


def scores(metric: Metric | str, *rows: tuple[str, ...]) -> MetricScores:
    """Scores of rows of a text and its references."""
    made = load(metric) if isinstance(metric, str) else metric
    return made.score(Batch([Sample(text, tuple(references)) for text, *references in rows]))


texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5), min_size=1, max_size=3)


class TestTransport:
    costs = SEED.random((7, 5))

    def test_least_cost_is_that_of_a_linear_program_and_the_relaxed_one_is_below(self) -> None:
        generator = np.random.default_rng(0)
        for rows, columns in [(1, 4), (4, 1), (2, 2), (7, 5), (3, 5)]:
            supply, demand = generator.random(rows), generator.random(columns)
            demand *= supply.sum() / demand.sum()
            costs = np.ascontiguousarray(self.costs[:rows, :columns])
            found = least_cost(supply, demand, costs)
            assert found == pytest.approx(linear_program(supply, demand, costs), abs=1e-9)
            assert least_cost(supply, 3 * demand, costs) == pytest.approx(found)
            assert relaxed_cost(supply, demand, costs) <= found + 1e-12

    @settings(max_examples=40)
    @given(st.integers(0, 10_000))
    def test_the_nearest_found_with_bounds_is_the_nearest_of_all_to_the_last_bit(self, seed: int) -> None:
        generator = np.random.default_rng(seed)
        points = generator.standard_normal((20, 4))
        sizes = generator.integers(1, 7, size=16)
        items = np.concatenate([np.sort(generator.choice(20, size, replace=False)) for size in sizes])
        weights = generator.random(len(items))
        owner = np.repeat(np.arange(16), sizes)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        bags = Bags(items, weights / np.bincount(owner, weights)[owner], starts)
        left, right = generator.integers(0, 16, size=(2, 24))
        # three groups of three choices, with one, two and five pairs each
        ends = np.cumsum([1, 2, 5, 1, 2, 5, 1, 2, 5]).tolist()
        choices = [(at // 3, begin, end) for at, (begin, end) in enumerate(zip([0, *ends], ends, strict=False))]
        share = np.concatenate([np.full(end - begin, 1 / (end - begin)) for _, begin, end in choices])
        every = mover_distances(bags, left, right, points)
        sums = np.array([math.fsum((share * every)[begin:end].tolist()) for _, begin, end in choices]).reshape(3, 3)
        found = nearest_distances(bags, left, right, share, choices, points).reshape(3, 3)
        assert found.min(axis=1).tolist() == sums.min(axis=1).tolist()
        assert ((found == sums) | np.isinf(found)).all()

    def test_bounds_spare_solving(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from celadon.text import transport

        solved = []
        real = transport._least_cost
        monkeypatch.setattr(transport, "_least_cost", lambda *problem: solved.append(1) or real(*problem))
        line = np.array([[0.0], [1.0], [1.5], [90.0], [91.0], [80.0], [82.0]])
        bags = Bags(np.arange(7)[[0, 1, 1, 2, 3, 4, 5, 6]], np.full(8, 0.5), np.array([0, 2, 4, 6, 8]))
        choices = [(0, 0, 1), (0, 1, 2), (0, 2, 3)]
        found = nearest_distances(bags, np.zeros(3, int), np.array([2, 1, 3]), np.ones(3), choices, line)
        assert found.tolist() == [math.inf, 0.75, math.inf]
        assert len(solved) == 1


class TestWindows:
    @given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 60))
    def test_pieces_fit_and_every_word_is_in_one(self, left: int, right: int, window: int) -> None:
        count = window_count(left, right, window)
        for length in (left, right):
            pieces = stretches(length, count)
            assert len(pieces) == count
            assert all(1 <= end - begin <= window for begin, end in pieces)
            assert {at for begin, end in pieces for at in range(begin, end)} == set(range(length))
            if length >= count:
                sizes = [end - begin for begin, end in pieces]
                assert sum(sizes) == length
                assert max(sizes) - min(sizes) <= 1
        # no fewer pieces would do
        assert count == 1 or max(left, right) > (count - 1) * window


class TestDefinitions:
    @settings(max_examples=25)
    @given(texts, texts)
    def test_by_linear_programs(self, vectors: str, text: list[list[str]], reference: list[list[str]]) -> None:
        sides = (text, reference)
        words = [word_points([word for sentence in side for word in sentence]) for side in sides]
        sentences = [sentence_points(side) for side in sides]
        wanted = {
            "wmd": expected(*words),
            "smd": expected(*sentences),
            "s_wmd": expected(words[0] + sentences[0], words[1] + sentences[1]),
        }
        for name, distance in wanted.items():
            found = scores(f"{name}[vectors={vectors}]", (written(text), written(reference)))
            assert found.parts["distance"][0] == pytest.approx(distance, abs=1e-6)
            assert found.values[0] == pytest.approx(math.exp(-distance), abs=1e-6)

    def test_lengths_of_their_own(self, vectors: str) -> None:
        found = scores(f"wmd[vectors={vectors},lengths=own]", ("river", "music"))
        assert found.parts["distance"][0] == pytest.approx(np.linalg.norm(TABLE["river"] - TABLE["music"]))

    def test_stop_words_count_where_they_are_kept(self, tmp_path: Path) -> None:
        path = tmp_path / "v.txt"
        path.write_text("the 1 0\nriver 0 1\n")
        assert "the" in STOP_WORDS
        assert scores(f"wmd[vectors={path}]", ("the river", "river")).values[0] == 1.0
        kept = scores(f"wmd[vectors={path},stopwords=keep]", ("the river", "river"))
        assert kept.parts["distance"][0] == pytest.approx(math.sqrt(2) / 2)

    def test_words_with_capitals(self, tmp_path: Path) -> None:
        path = tmp_path / "cased.txt"
        path.write_text("Paris 1 0\nriver 0 1\nReading 3 4\nreading 4 3\n")
        pairs = [
            ("Paris", "River"),
            ("Reading", "reading"),
            ("River", "river"),
            ("PARIS", "river"),
            ("The Paris", "Paris"),
        ]
        found = scores(f"wmd[vectors={path}]", *pairs).parts["distance"]
        apart = np.linalg.norm([0.6 - 0.8, 0.8 - 0.6])
        np.testing.assert_allclose(found, [math.sqrt(2), apart, 0, math.nan, 0], atol=1e-9)

    def test_the_nearest_reference_counts(self, vectors: str) -> None:
        references = ["music and guitar", "river", "the boat", "", "unheard"]
        alone = [scores(f"wmd[vectors={vectors}]", ("river and lake", one)).parts["distance"][0] for one in references]
        both = scores(f"wmd[vectors={vectors}]", ("river and lake", *references)).parts["distance"][0]
        assert both == np.nanmin(alone)
        assert np.isnan(alone[3:]).all()

    def test_windows_are_compared_in_order(self, vectors: str) -> None:
        text, reference = "river lake boat music", "water stone song band bread milk"
        found = scores(f"wmd[vectors={vectors},window=3]", (text, reference)).parts["distance"][0]
        parts = [("river lake", "water stone song", 5), ("boat music", "band bread milk", 5)]
        each = [expected(*(word_points(side.split()) for side in sides)) for *sides, _ in parts]
        assert found == pytest.approx(sum(each) / 2, abs=1e-6)
        whole = scores(f"wmd[vectors={vectors},window=6]", (text, reference)).parts["distance"][0]
        assert whole == scores(f"wmd[vectors={vectors}]", (text, reference)).parts["distance"][0] != found

    def test_builtin_vectors_against_pot(self) -> None:
        from celadon.models.words.word_vectors import word_vectors
        from celadon.text.transport import _network_simplex

        _network_simplex()  # loads POT without torch
        import ot

        table = word_vectors()
        known = [word for word in table.words[200:3000] if word not in STOP_WORDS and word.isascii()]
        generator = np.random.default_rng(9)
        pairs = [(generator.choice(known, 25).tolist(), generator.choice(known[:300], 40).tolist()) for _ in range(40)]
        found = scores("wmd", *((" ".join(one), " ".join(other)) for one, other in pairs)).parts["distance"]
        for (one, other), distance in zip(pairs, found, strict=True):
            bags = [Counter(words) for words in (one, other)]
            costs = cdist(*(table.take(table.numbers(list(bag))) for bag in bags))
            shares = [np.array(list(bag.values())) / bag.total() for bag in bags]
            assert distance == pytest.approx(ot.emd2(*shares, costs), abs=1e-7)


class TestNulls:
    @pytest.mark.parametrize(
        ("text", "reference", "reason"),
        [
            ("...", "river", "no words"),
            ("xyzzy", "river", "know no word"),
            ("it was the", "river", "know no word"),
            ("река и мост", "река и мост", "Latin"),
            ("river", "xyzzy", "no reference"),
            ("river", "река", "no reference"),
        ],
    )
    def test_reasons(self, text: str, reference: str, reason: str) -> None:
        for name in ("wmd", "smd", "s_wmd"):
            found = scores(name, (text, reference), ("river", "lake"))
            assert math.isnan(found.values[0])
            assert reason in found.reasons[0]
            assert 0 < found.values[1] < 1

    def test_known_share(self) -> None:
        found = scores("wmd", ("the river xyzzy qwrtz", "lake"), ("river", "lake"))
        assert found.parts["known"].tolist() == [1 / 3, 1.0]

    def test_options(self) -> None:
        for wrong in ("stopwords=maybe", "lengths=double", "window=0", "lengths=own", "idf=", "vectors="):
            with pytest.raises(UsageError):
                load(f"wmd[{wrong}]")


class TestIdf:
    rows = (
        ("river boat music", "river water boat"),
        ("bread milk river", "bread butter river"),
        ("judge court", "court river judge judge"),
    )

    def weights(self) -> dict[str, float]:
        documents = [set(reference.split()) for _, reference in self.rows]
        return {word: math.log(4 / (1 + sum(word in one for one in documents))) for word in WORDS}

    def test_of_the_set(self, vectors: str) -> None:
        found = scores(f"wmd[vectors={vectors},idf=set]", *self.rows).parts["distance"]
        weight = self.weights()
        assert weight["river"] == 0
        for row, distance in zip(self.rows, found, strict=True):
            points = [[one for one in word_points(side.split(), weight) if one[1] > 0] for side in row]
            assert distance == pytest.approx(expected(*points), abs=1e-6)

    def test_sentences_too(self, vectors: str) -> None:
        text, reference = [["bread", "lake"], ["judge", "judge", "milk"]], [["court", "bread"], ["music"]]
        rows = (*self.rows, (written(text), "unheard", "the court"))
        metric = load(f"smd[vectors={vectors},idf=set]")
        assert is_set_relative(metric)
        batch = Batch([Sample(text, tuple(references)) for text, *references in self.rows])
        fitted = metric.fit(metric.statistics(batch, metric.components(batch)))
        found = scores(fitted, *rows, (written(text), written(reference))).parts["distance"][-1]
        points = [sentence_points(side, self.weights()) for side in (text, reference)]
        assert found == pytest.approx(expected(*points), abs=1e-6)

    def test_a_set_in_pieces_gives_the_same(self, vectors: str) -> None:
        metric = load(f"wmd[vectors={vectors},idf=set]")
        assert is_set_relative(metric)
        batches = [Batch([Sample(text, (reference,))]) for text, reference in self.rows]
        first, second, third = (metric.statistics(batch, metric.components(batch)) for batch in batches)
        pieces = metric.fit(third.merged(first.merged(second)))
        whole = scores(metric, *self.rows)
        again = np.concatenate([pieces.score(batch).values for batch in batches])
        assert whole.values.tobytes() == again.tobytes()
        assert "fitted-on:set" in pieces.signature
        assert pieces.signature != metric.fit(first).signature

    def test_of_a_file(self, vectors: str, tmp_path: Path) -> None:
        path = tmp_path / "references.txt"
        path.write_text("".join(f"{reference}\n" for _, reference in self.rows))
        fixed = load(f"wmd[vectors={vectors},idf={path}]")
        assert not is_set_relative(fixed)
        of_set = scores(f"wmd[vectors={vectors},idf=set]", *self.rows)
        assert scores(fixed, *self.rows).values.tobytes() == of_set.values.tobytes()
        assert "3-texts-" in fixed.signature
        with pytest.raises(InputError, match="nowhere"):
            scores(f"wmd[idf={tmp_path}/nowhere.txt]", *self.rows)
        (tmp_path / "foreign.txt").write_text("xyzzy\n")
        with pytest.raises(InputError, match="gives no idf"):
            scores(f"wmd[idf={tmp_path}/foreign.txt]", *self.rows)

    def test_through_the_api_and_what_has_no_weight(self) -> None:
        found = celadon.score(["a river"], references=[["the river"]], metrics=["wmd[idf=set]", "wmd"])
        assert math.isnan(found["wmd[idf=set]"][0])
        assert "no weight" in found.columns["wmd[idf=set]"].reasons[0]
        assert found["wmd"][0] == 1.0
        assert list(found.constants) == ["wmd[idf=set]"]

    @given(st.lists(st.lists(st.sampled_from("abc")), max_size=6), st.integers(0, 6))
    def test_counts_can_be_merged(self, documents: list[list[str]], at: int) -> None:
        whole = DocumentCounts.of(documents)
        merged = DocumentCounts.of(documents[:at]).merged(DocumentCounts.of(documents[at:]))
        assert (merged.documents, dict(merged.counts), merged.digest) == (whole.documents, whole.counts, whole.digest)
        wanted = [math.log((len(documents) + 1) / (1 + sum(word in one for one in documents))) for word in "abcd"]
        np.testing.assert_allclose(whole.weights(list("abcd")), wanted)


class TestSameBits:
    def test_other_rows_change_no_bit(self) -> None:
        known = [word for word in WORDS if word != "paris"]
        generator = np.random.default_rng(2)
        rows = [
            tuple(
                written([generator.choice(known, 4).tolist() for _ in range(2)])
                for _ in range(generator.integers(2, 5))
            )
            for _ in range(30)
        ]
        for name in ("wmd", "smd", "s_wmd[window=5]"):
            whole = scores(name, *rows).values
            assert whole.tobytes() == np.concatenate([scores(name, row).values for row in rows]).tobytes()
            assert whole[::-1].tobytes() == scores(name, *rows[::-1]).values.tobytes()

    def test_the_order_and_the_number_of_words_do_not_matter(self) -> None:
        found = scores("s_wmd", ("river boat bridge", "bridge river boat"), ("river boat", "river boat river boat"))
        np.testing.assert_allclose(found.parts["distance"], 0, atol=1e-7)


class TestEvidence:
    def test_where_words_go(self) -> None:
        metric = Wmd()
        sample = Sample("A guitar by the river.", ("the court", "A river and music"))
        found = metric.evidence(sample)
        assert found is not None
        assert found.reference == 1
        assert [(sample.text[span.start : span.end], span.label) for span in found.text_spans] == [
            ("guitar", "other"),
            ("river", "match"),
        ]
        assert "music" in found.text_spans[0].note
        assert metric.evidence(Sample("...", ("river",))) is None


@pytest.mark.parametrize("name", ["smd", "s_wmd"])
def test_evidence_of_sentences(name: str) -> None:
    text = "A judge spoke in court. The boat was on the river."
    evidence = load(name).evidence(Sample(text, ("Bees fly.", "The boat was on the river. The judge spoke.")))
    assert evidence is not None
    assert evidence.reference == 1
    assert [text[span.start : span.end] for span in evidence.text_spans] == [text[:23], text[24:]]
    assert [span.label for span in evidence.text_spans] == ["other", "match"]
    assert evidence.text_spans[0].note.startswith("The judge spoke., 0.")
