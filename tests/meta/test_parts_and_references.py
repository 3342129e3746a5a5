"""Ablation, the number of references, and the worst disagreements."""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from celadon.core import InputError, UsageError
from celadon.meta.reference_count import correlation_by_references
from celadon.meta.study.ablations import ablate, clipped_sum
from celadon.meta.study.people import disagreements

RANDOM = np.random.default_rng(8)
QUALITY = RANDOM.normal(size=300)


class TestAblation:
    PARTS: ClassVar = {
        "grammar": 0.5 + 0.1 * QUALITY + RANDOM.normal(0, 0.05, 300),
        "focus": 0.3 + 0.05 * QUALITY + RANDOM.normal(0, 0.1, 300),
        "noise": RANDOM.normal(0.1, 0.1, 300),
    }

    @pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
    def test_each_figure_is_that_of_scipy(self, kind: str) -> None:
        peer = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind]
        found = ablate(self.PARTS, QUALITY, combine=clipped_sum(0, 1), correlation=kind)
        assert len(found) == 1 + 3 + 3
        for one in found:
            combined = np.clip(np.sum([self.PARTS[name] for name in one.parts], axis=0), 0, 1)
            assert one.correlation == pytest.approx(peer(combined, QUALITY).statistic)
            assert one.change == pytest.approx(one.correlation - found[0].correlation)
        assert {one.left_out for one in found[1:4]} == {("grammar",), ("focus",), ("noise",)}
        without = {one.left_out[0]: one.change for one in found[1:4]}
        assert without["noise"] > 0 > without["grammar"]

    def test_chosen_subsets(self) -> None:
        found = ablate(self.PARTS, QUALITY, subsets=[["grammar"], ["grammar", "focus"]])
        assert [one.parts for one in found] == [tuple(self.PARTS), ("grammar",), ("grammar", "focus")]

    def test_edges(self) -> None:
        gapped = dict(self.PARTS, focus=np.where(np.arange(300) < 10, np.nan, self.PARTS["focus"]))
        assert {one.rows for one in ablate(gapped, QUALITY)} == {290}
        constant = ablate({"a": QUALITY, "b": np.ones(300)}, QUALITY)
        assert [np.isnan(one.correlation) for one in constant if one.parts == ("b",)] == [True]
        with pytest.raises(UsageError, match="at least two parts"):
            ablate({"a": QUALITY}, QUALITY)
        with pytest.raises(UsageError, match="unknown part 'x'"):
            ablate(self.PARTS, QUALITY, subsets=[["x"]])
        with pytest.raises(UsageError, match="empty subset"):
            ablate(self.PARTS, QUALITY, subsets=[[]])
        with pytest.raises(InputError, match="same length"):
            ablate(self.PARTS, QUALITY[:5])


class TestReferences:
    SCORES = QUALITY[:60, None] + RANDOM.normal(0, 2, (60, 4))

    def test_more_references_correlate_better_here(self) -> None:
        points = correlation_by_references(self.SCORES, QUALITY[:60], reduction="mean", draws=200)
        assert [point.references for point in points] == [1, 2, 3, 4]
        values = [point.correlation for point in points]
        assert values == sorted(values)
        assert points[-1].draws == 1
        expected = stats.spearmanr(self.SCORES.mean(axis=1), QUALITY[:60]).statistic
        assert points[-1].correlation == pytest.approx(expected)

    def test_the_mean_over_draws_nears_the_mean_over_all_subsets(self) -> None:
        scores, ratings = np.array([[1.0, 4, 2], [3, 1, 2], [5, 2, 6], [2, 6, 4]]), [1, 2, 3, 4]
        choices = list(combinations(range(3), 2))
        everything = [
            np.corrcoef([scores[row, list(pick)].max() for row, pick in enumerate(picks)], ratings)[0, 1]
            for picks in np.array(choices)[np.array(np.meshgrid(*[range(3)] * 4)).reshape(4, -1).T]
        ]
        found = correlation_by_references(scores, ratings, counts=[2], draws=4000, correlation="pearson")
        assert found[0].correlation == pytest.approx(np.nanmean(everything), abs=0.02)

    def test_reductions_and_gaps(self) -> None:
        scores = self.SCORES.copy()
        scores[:20, 3] = np.nan
        best, worst = (
            correlation_by_references(scores, QUALITY[:60], reduction=how, counts=[4], correlation="pearson")[0]
            for how in ("best", "worst")
        )
        assert best.rows == worst.rows == 40
        assert best.correlation == pytest.approx(stats.pearsonr(scores[20:].max(axis=1), QUALITY[20:60]).statistic)
        assert worst.correlation == pytest.approx(stats.pearsonr(scores[20:].min(axis=1), QUALITY[20:60]).statistic)
        assert len(correlation_by_references(scores, QUALITY[:60], draws=2)) == 3

    def test_seeded_and_checked(self) -> None:
        arguments = (self.SCORES, QUALITY[:60])
        assert correlation_by_references(*arguments, draws=5) == correlation_by_references(*arguments, draws=5)
        assert correlation_by_references(*arguments, draws=5, seed=1) != correlation_by_references(*arguments, draws=5)
        with pytest.raises(UsageError, match="unknown reduction"):
            correlation_by_references(*arguments, reduction="all")
        with pytest.raises(UsageError, match="at least 1, not 0"):
            correlation_by_references(*arguments, counts=[0])
        with pytest.raises(UsageError, match="one draw"):
            correlation_by_references(*arguments, draws=0)
        with pytest.raises(InputError, match="items x references"):
            correlation_by_references(self.SCORES, QUALITY)
        with pytest.raises(InputError, match="no item has both"):
            correlation_by_references(np.full((3, 2), np.nan), [1, 2, 3])


class TestDisagreement:
    def test_the_planted_rows_come_first(self) -> None:
        metric = QUALITY.copy()
        metric[7], metric[9] = QUALITY.max() + 5, QUALITY.min() - 5
        ratings = QUALITY.copy()
        ratings[7], ratings[9] = QUALITY.min(), QUALITY.max()
        for measure in ("rank", "residual"):
            found = disagreements(metric, ratings, measure=measure, most=2)
            assert {one.row: one.difference > 0 for one in found} == {7: True, 9: False}

    def test_residuals_are_those_of_statsmodels(self) -> None:
        metric = QUALITY + RANDOM.normal(size=300)
        expected = sm.OLS(metric, sm.add_constant(QUALITY)).fit().get_influence().resid_studentized_internal
        found = disagreements(metric, QUALITY, measure="residual", most=None)
        assert len(found) == 300
        np.testing.assert_allclose([one.difference for one in found], expected[[one.row for one in found]])
        sizes = [abs(one.difference) for one in found]
        assert sizes == sorted(sizes, reverse=True)

    def test_direction_gaps_and_ties(self) -> None:
        agreeing = disagreements([3, 2, 1, np.nan], [1, 2, 3, 4], higher_is_better=False)
        assert [one.difference for one in agreeing] == [0, 0, 0]
        assert agreeing[0].metric == 3
        assert [one.difference for one in disagreements([1, 1, 1], [2, 2, 2], measure="residual")] == [0, 0, 0]
        with pytest.raises(InputError, match="at least three rows"):
            disagreements([1, 2], [1, 2])
        with pytest.raises(InputError, match="same length"):
            disagreements([1, 2, 3], [1, 2])
        with pytest.raises(UsageError, match="unknown measure"):
            disagreements([1, 2, 3], [1, 2, 3], measure="feeling")
