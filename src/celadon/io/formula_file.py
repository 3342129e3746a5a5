"""The file of a fitted formula: JSON with a name, an intercept and terms."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from celadon.core import InputError
from celadon.io.json_file import number_of, read_json_object


class FormulaFile(NamedTuple):
    """A formula as it is in its file; ``sha256`` is of its bytes, ``fitted_on`` what it says of its making."""

    name: str
    intercept: float
    terms: Mapping[str, float]
    fitted_on: str
    sha256: str


def read_formula(path: str) -> FormulaFile:
    """Read and check a formula.

    Parameters
    ----------
    path
        A JSON file: ``{"name": "quality", "intercept": -0.2, "terms": {"rougeL": 1.3, "ter.edits": -0.1}}``.

    Raises
    ------
    InputError
        The file cannot be read or is no formula; the message says where.
    """
    content, digest = read_json_object(path, "a formula")
    return _checked(path, content, digest)


def _checked(path: str, content: Mapping[str, Any], digest: str) -> FormulaFile:
    terms = content.get("terms")
    if not isinstance(terms, dict) or not terms:
        raise InputError(f"{path}: a formula needs terms: an object of metrics and their coefficients")
    name = content.get("name", Path(path).stem)
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"{path}: the name of a formula must be a text")
    made = content.get("fitted_on", "")
    return FormulaFile(
        name=name,
        intercept=number_of(path, "the intercept", content.get("intercept", 0.0)),
        terms={term: number_of(path, f"the term {term!r}", value) for term, value in terms.items()},
        fitted_on=made if isinstance(made, str) else json.dumps(made, sort_keys=True),
        sha256=digest,
    )
