"""Tests that need kenlm, which is published only as source that later versions of Python cannot compile."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from tests.conftest import missing_part


def require_kenlm() -> None:
    """Skip where kenlm is not installed; in CI that is a failure wherever it can be."""
    if importlib.util.find_spec("kenlm") is not None:
        return
    if sys.version_info >= (3, 13):
        pytest.skip("kenlm does not compile on Python 3.13 and later")
    missing_part("kenlm", "run: celadon install ngram")
