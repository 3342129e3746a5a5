"""The judge combined with alternatives, as a metric."""

from __future__ import annotations

from typing import Any

from celadon.core import InputError
from celadon.meta.judges.results import Audit
from celadon.meta.regression import INTERCEPT


def as_formula(result: Audit, judge: str, fitted_on: str) -> dict[str, Any]:
    """Return the combination of a judge and its alternatives in the form that ``formula[file=...]`` reads."""
    one = next(one for one in result.judges if one.judge == judge)
    if one.combination is None:
        raise InputError(
            f"there is nothing to combine {judge} with, or too few rated items; name columns with --alternative"
        )
    combination = one.combination
    facts = {"target": result.table.human, "rows": combination.rows, "penalty": combination.penalty}
    return {
        "name": f"{judge} combined",
        INTERCEPT: combination.intercept,
        "terms": combination.terms,
        "fitted_on": {"data": fitted_on, **facts},
    }
