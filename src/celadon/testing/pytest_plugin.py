"""The pytest plugin: a fixture that asserts that texts read well, with limits from the command line.

Nothing heavy is imported before the fixture is used: every run of pytest loads this file.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from celadon.core import NullKind

_PASSED = pytest.StashKey["Counter[NullKind]"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that set the default limits."""
    group = parser.getgroup("celadon", "how well texts read")
    for side, less in (("min", "less"), ("max", "more")):
        group.addoption(
            f"--celadon-{side}",
            action="append",
            default=[],
            metavar="NAME=NUMBER",
            help=f"what a text may not have {less} of, where a call of assert_reads_well gives no limits; "
            f"may be given again (default: {'celadon=0.6' if side == 'min' else 'none'})",
        )
    group.addoption("--celadon-gate", metavar="JSON", help="a file of celadon calibrate with more limits")
    group.addoption(
        "--celadon-nulls",
        metavar="KINDS",
        help="which texts pass without a score, where a call does not say it: a list of wordless, fragment, data, "
        "language, other; or none (default: fragment,data)",
    )
    group.addoption(
        "--celadon-language",
        choices=("english", "any"),
        default="english",
        help="any: texts in other languages pass without a score as well",
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many texts passed without a score."""
    if passed := config.stash.get(_PASSED, None):
        from celadon.compare.columns import passed_line

        terminalreporter.write_line(f"celadon: {passed_line(passed)}")


@pytest.fixture(scope="session")
def assert_reads_well(pytestconfig: pytest.Config) -> Callable[..., NullKind | None]:
    """Assert that a text reads well: as ``celadon.testing.assert_reads_well``, with the command line's limits."""
    from celadon.compare.columns import limits_of, nulls_of
    from celadon.core import UsageError
    from celadon.testing import assert_reads_well as check

    try:
        given = limits_of(pytestconfig.getoption("celadon_min"), pytestconfig.getoption("celadon_max"))
        nulls_of(pytestconfig.getoption("celadon_nulls"))
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    defaults = {
        name: {limit.column.name: limit.bound for limit in given if limit.is_least is least}
        for name, least in (("minimum", True), ("maximum", False))
    }

    gate = pytestconfig.getoption("celadon_gate")
    usual = {name: pytestconfig.getoption(f"celadon_{name}") for name in ("nulls", "language")}
    passed = pytestconfig.stash.setdefault(_PASSED, Counter())

    def checked(text: str, **limits: Any) -> NullKind | None:
        __tracebackhide__ = True
        limits = {**usual, **limits}
        if (given or gate) and all(limits.get(name) is None for name in ("minimum", "maximum", "gate")):
            limits = {**limits, **(defaults if given else {}), "gate": gate}
        kind = check(text, **limits)
        if kind is not None:
            passed[kind] += 1
        return kind

    return checked
