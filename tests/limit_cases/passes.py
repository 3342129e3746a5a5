"""Passes, beside those that do not."""

import pytest


@pytest.mark.parametrize("number", range(6))
def test_that_passes(number: int) -> None:
    assert number >= 0
