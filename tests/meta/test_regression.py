"""Least squares, nested models and outliers against statsmodels."""

from __future__ import annotations

import json

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import InputError, UsageError
from celadon.meta.regression import compare_nested, fit, forward, influence, outliers

ROWS = 40


def data(seed: int = 1) -> tuple[dict[str, np.ndarray], np.ndarray]:
    random = np.random.default_rng(seed)
    columns = {
        "accuracy": random.uniform(0, 1, ROWS),
        "substitutions": random.poisson(1.6, ROWS).astype(float),
        "length": random.integers(5, 40, ROWS).astype(float),
        "noise": random.normal(1e6, 1, ROWS),
    }
    ratings = 1.5 * columns["accuracy"] - 0.1 * columns["substitutions"] - 0.2 + random.normal(0, 0.3, ROWS)
    return columns, ratings


def peer(columns: dict[str, np.ndarray], ratings: np.ndarray, names: list[str]) -> sm.regression.linear_model.OLS:
    # away from 1e6 the peer's own rounding is out of the way
    chosen = [columns[name] - (1e6 if name == "noise" else 0) for name in names]
    return sm.OLS(ratings, sm.add_constant(np.column_stack(chosen))).fit()


def test_everything_is_that_of_statsmodels() -> None:
    columns, ratings = data()
    names = ["accuracy", "substitutions", "length"]
    found, expected = fit(columns, ratings, variables=names), peer(columns, ratings, names)
    assert [term.name for term in found.coefficients] == ["intercept", *names]
    low, high = expected.conf_int().T
    for at, column in enumerate((expected.params, expected.bse, expected.tvalues, expected.pvalues, low, high), 1):
        np.testing.assert_allclose([term[at] for term in found.coefficients], column, rtol=1e-9)
    assert found.r2 == pytest.approx(expected.rsquared)
    assert found.adjusted_r2 == pytest.approx(expected.rsquared_adj)
    assert found.f == pytest.approx(expected.fvalue)
    assert found.p == pytest.approx(expected.f_pvalue)
    assert (found.df_model, found.df_residual) == (expected.df_model, expected.df_resid)
    np.testing.assert_allclose(found.residuals, expected.resid, atol=1e-12)
    np.testing.assert_allclose(found.predict(columns), expected.fittedvalues, atol=1e-12)


def test_a_column_far_from_zero_costs_no_precision() -> None:
    columns, ratings = data()
    found, expected = fit(columns, ratings), peer(columns, ratings, list(columns))
    np.testing.assert_allclose(found.terms["noise"], expected.params[4], rtol=1e-6)
    np.testing.assert_allclose(found.r2, expected.rsquared, rtol=1e-9)


def test_rows_with_gaps_are_left_out_and_counted() -> None:
    columns, ratings = data()
    columns["accuracy"][3] = np.nan
    ratings[[5, 7]] = np.nan
    found = fit(columns, ratings, variables=["accuracy", "length"])
    kept = np.delete(np.arange(ROWS), [3, 5, 7])
    expected = peer({name: column[kept] for name, column in columns.items()}, ratings[kept], ["accuracy", "length"])
    assert (found.rows, found.left_out) == (37, 3)
    np.testing.assert_array_equal(found.used, kept)
    np.testing.assert_allclose([term.value for term in found.coefficients], expected.params)


def test_formula_as_text_and_as_metric() -> None:
    columns, ratings = data()
    found = fit(columns, ratings, variables=["accuracy", "substitutions"], target_name="understanding")
    terms = found.terms
    assert terms["substitutions"] < 0
    text = f"{terms['accuracy']:.4f}*accuracy - {-terms['substitutions']:.4f}*substitutions"
    assert found.formula() == f"{text} {'-' if found.intercept < 0 else '+'} {abs(found.intercept):.4f}"
    assert fit({"x": -ratings}, ratings).formula(1) in ("-1.0*x + 0.0", "-1.0*x - 0.0")
    exported = json.loads(json.dumps(found.as_metric("understanding", "a trial")))
    assert exported["terms"] == terms
    assert exported["intercept"] == found.intercept
    assert exported["fitted_on"]["rows"] == ROWS


class TestWhatCannotBeFitted:
    def test_constant_and_dependent_columns(self) -> None:
        columns, ratings = data()
        columns["same"] = np.full(ROWS, 0.3)
        columns["sum"] = columns["accuracy"] + 2 * columns["length"] + 5
        with pytest.raises(UsageError, match="'same' is constant"):
            fit(columns, ratings, variables=["accuracy", "same"])
        with pytest.raises(UsageError, match="'sum' is a linear combination of 'accuracy', 'length'"):
            fit(columns, ratings, variables=["accuracy", "length", "sum"])

    def test_names(self) -> None:
        columns, ratings = data()
        with pytest.raises(UsageError, match="unknown variable 'accurcy'; known: accuracy"):
            fit(columns, ratings, variables=["accurcy"])
        with pytest.raises(UsageError, match="at least one variable"):
            fit({}, ratings)
        with pytest.raises(UsageError, match="named twice: length"):
            fit(columns, ratings, variables=["length", "length"])

    def test_rows(self) -> None:
        with pytest.raises(InputError, match=r"1 variable.* needs at least 3 complete rows; there are 2"):
            fit({"x": [1.0, 2.0, np.nan]}, [1.0, 3.0, 2.0])
        with pytest.raises(InputError, match="the same quality"):
            fit({"x": [1.0, 2.0, 3.0]}, [1.0, 1.0, 1.0], target_name="quality")
        with pytest.raises(InputError, match="same length"):
            fit({"x": [1.0, 2.0]}, [1.0, 1.0, 1.0])

    def test_a_perfect_fit_is_defined(self) -> None:
        found = fit({"x": [1.0, 2.0, 3.0, 4.0]}, [2.0, 4.0, 6.0, 8.0])
        assert found.r2 == 1
        assert (found.f, found.p) == (np.inf, 0)
        assert outliers(found) == ()


class TestNested:
    def test_f_of_added_variables_is_that_of_statsmodels(self) -> None:
        columns, ratings = data()
        small, large = (
            peer(columns, ratings, ["accuracy"]),
            peer(columns, ratings, ["accuracy", "substitutions", "length"]),
        )
        f, p, difference = large.compare_f_test(small)
        names = ["accuracy", "substitutions", "length"]
        found = compare_nested(fit(columns, ratings, variables=names[:1]), fit(columns, ratings, variables=names))
        assert (found.f, found.p, found.df1) == (pytest.approx(f), pytest.approx(p), difference)
        assert found.delta_r2 == pytest.approx(large.rsquared - small.rsquared)
        assert found.added == ("substitutions", "length")
        first = forward({"accuracy": columns["accuracy"]}, ratings)[0]
        assert first.comparison.f == pytest.approx(small.fvalue)

    def test_all_steps_see_the_same_rows(self) -> None:
        columns, ratings = data()
        columns["length"][0] = np.nan
        steps = forward({name: columns[name] for name in ("accuracy", "length")}, ratings, enter=1.0)
        assert [step.model.rows for step in steps] == [ROWS - 1] * 2

    def test_forward_takes_what_explains_and_stops(self) -> None:
        columns, ratings = data()
        columns["twice"] = 2 * columns["accuracy"]
        columns["same"] = np.ones(ROWS)
        steps = forward(columns, ratings)
        assert steps[0].comparison.added[0] in ("accuracy", "twice")
        assert all(step.comparison.p < 0.05 for step in steps)
        chosen = set(steps[-1].model.terms)
        assert "same" not in chosen
        assert not {"accuracy", "twice"} <= chosen
        assert forward({"noise": columns["noise"]}, ratings, enter=1e-9) == ()
        assert next(iter(forward(columns, ratings, first=["length"])[-1].model.terms)) == "length"

    def test_what_is_not_nested(self) -> None:
        columns, ratings = data()
        one, other = (fit(columns, ratings, variables=[name]) for name in ("accuracy", "length"))
        with pytest.raises(UsageError, match="not nested"):
            compare_nested(one, other)
        fewer = fit(columns, np.where(np.arange(ROWS) == 2, np.nan, ratings), variables=["accuracy", "length"])
        with pytest.raises(InputError, match="same rows"):
            compare_nested(one, fewer)


class TestOutliers:
    def test_influence_is_that_of_statsmodels(self) -> None:
        columns, ratings = data()
        names = ["accuracy", "substitutions", "length"]
        found, expected = (
            influence(fit(columns, ratings, variables=names)),
            peer(columns, ratings, names).get_influence(),
        )
        np.testing.assert_allclose(found.studentised, expected.resid_studentized_external, rtol=1e-8)
        np.testing.assert_allclose(found.cook, expected.cooks_distance[0], rtol=1e-8)
        np.testing.assert_allclose(found.leverage, expected.hat_matrix_diag, rtol=1e-8)

    def test_a_planted_outlier_is_named(self) -> None:
        columns, ratings = data()
        ratings[17] += 4
        ratings[4] = np.nan
        named = outliers(fit(columns, ratings, variables=["accuracy"]), ids=[f"text{row}" for row in range(ROWS)])
        assert (named[0].row, named[0].id) == (17, "text17")
        assert named[0].studentised > 3
        assert "studentised residual" in named[0].reasons[0]
        assert "beyond 3" in named[0].reasons[0]
        with pytest.raises(InputError, match="1 ids were given for 40 rows"):
            outliers(fit(columns, ratings, variables=["accuracy"]), ids=["a"])

    def test_a_row_that_alone_decides(self) -> None:
        alone = np.zeros(10)
        alone[2] = 1
        random = np.random.default_rng(0)
        found = outliers(fit({"x": random.normal(size=10), "alone": alone}, random.normal(size=10)))
        assert found[0].row == 2
        assert np.isinf(found[0].cook)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.floats(0.1, 50), st.floats(-20, 20))
def test_r2_does_not_know_units(seed: int, factor: float, shift: float) -> None:
    columns, ratings = data(seed)
    columns.pop("noise")
    other = {name: factor * column + shift for name, column in columns.items()}
    one, two = fit(columns, ratings), fit(other, 3 - 2 * ratings)
    np.testing.assert_allclose([one.r2, one.f, one.p], [two.r2, two.f, two.p], rtol=1e-6)
    np.testing.assert_allclose(
        list(two.terms.values()), [-2 * value / factor for value in one.terms.values()], rtol=1e-6
    )
