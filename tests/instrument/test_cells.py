"""Cells, scales, lengths and systems, computed again in another way."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.proportion import proportion_confint

from celadon.core import FloatArray
from celadon.instrument.cells import in_dialect, pooled
from celadon.instrument.figures import Instrument
from celadon.instrument.halves import Half
from celadon.instrument.measure import measure
from celadon.instrument.passages import REPLY, SIZES, Passage, passages
from celadon.text.structure import Markup
from celadon.train.encoders.genres import may_be_used
from tests.instrument.test_measure import PARAGRAPH

LONG = "\n\n".join([PARAGRAPH * 2] * 8)


def cells(*rows: dict[str, Any]) -> set[tuple[str, int]]:
    found = pooled(passages([{"id": "x", "text": LONG, **row} for row in rows], frozenset(Half)))
    return {(passage.cell, passage.size) for passage in found}


def test_small_cells_are_pooled() -> None:
    news, letter, vlog = (
        {"id": f"GUM_{genre}_a", "genre": genre, "spoken": genre == "vlog"} for genre in ("news", "letter", "vlog")
    )
    assert cells(news, letter) == {("gum:news", 80), ("gum:letter", 80), ("gum", 300)}
    assert cells(vlog) == {("gum:vlog", 80), ("gum:vlog", 300)}
    # the same genre from elsewhere is another cell
    assert cells({"genre": "fiction"}) == {("fiction", 80), ("fiction", 300)}
    answers = [{"system": system, "kind": kind} for system in "ab" for kind in ("list", "code", "table")]
    assert {cell for cell, _ in cells(*answers)} == {"a:list", "b:list", "answers:code", "answers:table"}
    tasks = [{"category": category, "kind": "plain", "instruction": "Do it."} for category in ("poem", "recipe")]
    assert {cell for cell, _ in cells(*tasks)} == {"instructions"}
    assert {cell for cell, _ in cells({})} == {""}


def test_the_book_in_dialect_is_left_out_of_cells_and_of_training() -> None:
    book = {"id": "Adventures-of-Huckleberry-Finn_76-0", "genre": "fiction"}
    assert in_dialect(book)
    assert not may_be_used(book)
    other = {"id": "Emma_158-0", "genre": "fiction"}
    assert not in_dialect(other)
    assert may_be_used(other)


class Made:
    """Passages with scores, some of which are missing."""

    def __init__(self, low: float = 0.0, high: float = 1.0, count: int = 400) -> None:
        random = np.random.default_rng(5)
        self.scores = random.uniform(low, high, count).round(2)
        self.scores[random.random(count) < 0.05] = np.nan
        genres, systems = ["pep", "gum:news", "gum:vlog", "answers:list"], ["weak", "strong"]
        self.passages = []
        for at in range(count):
            genre, size = genres[int(random.integers(4))], (*SIZES, REPLY)[int(random.integers(3))]
            system = systems[int(random.integers(2))] if genre.startswith("answers") else ""
            words = int(random.integers(60, 400))
            document = f"document {random.integers(30)}"
            self.passages.append(Passage(genre, document, size, str(at), Markup.PLAIN, words, genre, system))

    def score(self, some: Any) -> FloatArray:
        # joined passages and copies have no score
        return np.array([self.scores[int(each.text)] if each.text.isdigit() else np.nan for each in some])

    def where(self, **values: Any) -> FloatArray:
        """The known scores of the passages that have some values."""
        chosen = [all(getattr(each, key) == value for key, value in values.items()) for each in self.passages]
        here = self.scores[chosen]
        return np.asarray(here[~np.isnan(here)])


@pytest.fixture(scope="module")
def made() -> Made:
    return Made()


@pytest.fixture(scope="module")
def figures(made: Made) -> Instrument:
    return measure("made", made.score, made.passages, gate=0.1)


def test_false_alarms_of_counted_cells_only(made: Made, figures: Instrument) -> None:
    assert {cell.cell for cell in figures.cells if not cell.counted} == {"gum:vlog"}
    shares = []
    for cell in figures.cells:
        known = made.where(cell=cell.cell, size=cell.size)
        hits = int((known < 0.1).sum())
        assert (cell.below, cell.passages - cell.nulls) == (pytest.approx(hits / len(known)), len(known))
        assert (cell.low, cell.high) == pytest.approx(proportion_confint(hits, len(known), method="wilson"), abs=1e-12)
        shares += [hits / len(known)] if cell.cell != "gum:vlog" else []
    assert figures.false_alarms == pytest.approx(np.mean(shares))


def test_a_cell_without_scores_does_not_spoil_the_mean() -> None:
    some = [Passage(cell, cell, 80, cell, Markup.PLAIN, 80) for cell in ("code", "pep")]
    figures = measure("m", lambda each: np.array([0.9 if p.cell == "pep" else np.nan for p in each]), some, gate=0.5)
    assert [cell.nulls for cell in figures.cells] == [1, 0]
    assert figures.false_alarms == 0


def test_what_a_score_means(made: Made, figures: Instrument) -> None:
    assert [genre.genre for genre in figures.genres] == ["answers:list", "gum:news", "gum:vlog", "pep"]
    for genre in figures.genres:
        known = made.where(genre=genre.genre)
        assert genre.passages == len(known)
        assert list(genre.below) == [f"{score / 100:.2f}" for score in range(0, 101, 5)]
        for score, share in genre.below.items():
            assert share == pytest.approx(np.mean(known < float(score)))
        assert all(a <= b for a, b in pairwise(genre.below.values()))
        for share, score in genre.quantiles.items():
            # fewer are below it, and with those that have it there are enough
            assert np.mean(known < score) <= float(share) <= np.mean(known <= score)


@pytest.mark.parametrize(("low", "high"), [(-3, 7), (0.2, 1.7), (-0.004, 0.003), (40, 90), (2, 2)])
def test_scores_of_any_range_have_a_scale_that_holds_them(low: float, high: float) -> None:
    made = Made(low, high)
    made.scores = made.scores / 1000 if high < 0.01 else made.scores
    known = made.scores[~np.isnan(made.scores)]
    (genre, *_) = measure("made", made.score, made.passages).genres
    places = [float(score) for score in genre.below]
    assert places[0] <= known.min() <= known.max() <= places[-1]
    assert 1 <= len(places) <= 23
    assert len(set(genre.below)) == len(places)
    steps = np.diff(places)
    assert steps == pytest.approx(np.full(len(steps), steps[0]) if len(steps) else [])


def test_means_of_systems_with_clustered_intervals(made: Made, figures: Instrument) -> None:
    assert [each.system for each in figures.systems] == ["strong", "weak"]
    for each in figures.systems:
        known = made.where(system=each.system)
        documents = [
            passage.document
            for passage, score in zip(made.passages, made.scores, strict=True)
            if passage.system == each.system and not np.isnan(score)
        ]
        groups = np.unique(documents, return_inverse=True)[1]
        fit = sm.OLS(known, np.ones(len(known))).fit(
            cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}, use_t=False
        )
        assert each.mean == pytest.approx(fit.params[0])
        assert (each.low, each.high) == pytest.approx(tuple(fit.conf_int()[0]))
    assert [each.mean for each in figures.best_systems] == sorted((s.mean for s in figures.systems), reverse=True)


def test_scores_by_length(made: Made, figures: Instrument) -> None:
    inside = [at for at, each in enumerate(made.passages) if each.size and not np.isnan(made.scores[at])]
    assert sum(each.passages for each in figures.lengths) == len(inside)
    assert max(each.passages for each in figures.lengths) - min(each.passages for each in figures.lengths) <= 1
    assert all(a.longest <= b.shortest for a, b in pairwise(figures.lengths))
    for each in figures.lengths:
        assert each.lower <= each.median <= each.upper
    shortest = sorted(inside, key=lambda at: made.passages[at].words)[: figures.lengths[0].passages]
    assert figures.lengths[0].median == pytest.approx(np.median(made.scores[shortest]))
