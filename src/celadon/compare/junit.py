"""A JUnit file, written as the texts come: a test case per text, and one per metric that a baseline is kept for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from celadon.compare.baseline import Regression
from celadon.io.atomic import Draft, output_errors
from celadon.report.escape import cut_at, escape

SHOWN_CHARS = 200
# Room for the counts, which are known at the end: three names and numbers of any length.
_ROOM = 120
_HEAD = b'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="celadon check">\n<testsuite name="texts" '


class JunitFile:
    """Takes texts one by one; the file appears whole, once :meth:`finish` is called, or not at all.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._draft = Draft(path)
        self._temporary, self._file = self._draft.open()
        self._tests = self._failures = 0
        self._write(_HEAD + b" " * _ROOM + b">\n")

    def add(self, group: str, name: str, failures: Sequence[str], text: str) -> None:
        """Take one text.

        Parameters
        ----------
        group
            The file it is of.
        name
            What it is called.
        failures
            What is wrong with it; nothing where it passes.
        text
            The text itself, of which the beginning is shown where it fails.
        """
        self._tests += 1
        self._failures += bool(failures)
        self._write(_case(group, name, failures, text))

    def finish(self, regressions: Sequence[Regression]) -> None:
        """Write the rest, and put the file in its place."""
        end = "</testsuite>\n"
        if regressions:
            failed = sum(not each.passed for each in regressions)
            end += f'<testsuite name="baseline" {_counts(len(regressions), failed)}>\n'
            self._write(end.encode())
            for each in regressions:
                self._write(_case("baseline", each.column, [] if each.passed else [regression_line(each)], ""))
            end = "</testsuite>\n"
        self._write(f"{end}</testsuites>\n".encode())
        with output_errors(self._path):
            self._file.seek(len(_HEAD))
            self._file.write(_counts(self._tests, self._failures).encode())
        self._draft.commit(self._temporary)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._draft.abort()

    def _write(self, data: bytes) -> None:
        with output_errors(self._path):
            self._file.write(data)


def regression_line(found: Regression) -> str:
    """What came of the comparison with a baseline, in one line."""
    if not found.pairs:
        return f"{found.column}: no pair of rows has both values"
    change = f"worse by {found.worse_by:.4g}" if found.worse_by > 0 else f"better by {-found.worse_by:.4g}"
    same = "the same" if found.worse_by == 0 else change
    lost = f"; {found.lost:,} texts had a value and have none now" if found.lost else ""
    return (
        f"{found.column}: mean {found.old:.4g} before, {found.new:.4g} now: {same}, "
        f"at most {found.tolerance:g} allowed ({found.pairs:,} pairs){lost}"
    )


def _counts(tests: int, failures: int) -> str:
    return f'tests="{tests}" failures="{failures}" errors="0" skipped="0"'


def _case(group: str, name: str, failures: Sequence[str], text: str) -> bytes:
    opening = f'<testcase classname="{_attribute(group)}" name="{_attribute(name)}"'
    if not failures:
        return f"{opening}/>\n".encode()
    cut = cut_at(text, SHOWN_CHARS)
    shown = text[:cut] + ("…" if cut < len(text) else "")
    body = "\n".join([*failures, shown])
    message = _attribute("; ".join(failures))
    return f'{opening}><failure message="{message}" type="limit">{escape(body)}</failure></testcase>\n'.encode()


def _attribute(text: str) -> str:
    # a reader makes a space of every line end in an attribute
    return escape(" ".join(text.split()))
