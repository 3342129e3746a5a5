"""JSON Lines: an object per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from celadon.core import InputError
from celadon.io.lines import Record, Report, decode, numbered_lines
from celadon.io.rows import chomp
from celadon.io.sources import Stream

# Deeper rows parse, but then fail in the recursion of whoever writes them.
MAX_DEPTH = 100

_BLANKS = " \t\r\n"
_raw_decode = json.JSONDecoder().raw_decode


def records(stream: Stream, report: Report) -> Iterator[Record]:
    """Every object; blank lines are no rows."""
    first = stream.source.part is None
    for number, line, cut in numbered_lines(stream.buffer, stream.source.first_line):
        if line.isspace():
            continue
        if first:
            _check_is_lines(stream.source.name, line, cut)
            first = False
        text = decode(number, line, cut, report)
        if text is None:
            continue
        # The parser wants to be put on the first character that is not blank.
        start = 0 if text[0] == "{" else len(text) - len(text.lstrip(_BLANKS))
        try:
            row, end = _raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            report(number, _syntax_problem(error), chomp(line), False)
            continue
        problem = _row_problem(row, text, end)
        if problem is None:
            yield number, line, row
        else:
            report(number, problem, chomp(line), False)


def row_ends(stream: Stream) -> Iterator[int]:
    """For every row, good or bad, the number of its line; the stream then stands behind it."""
    first = True
    for number, line, cut in numbered_lines(stream.buffer):
        if line.isspace():
            continue
        if first:
            _check_is_lines(stream.source.name, line, cut)
            first = False
        yield number


def _row_problem(row: Any, text: str, end: int) -> str | None:
    rest = text[end:]
    if rest != "\n" and (more := rest.lstrip(_BLANKS)):
        return f"not valid JSON: something follows the value, at column {len(text) - len(more) + 1}"
    if type(row) is not dict:
        return f"not a JSON object: {text.strip(_BLANKS)[:40]}"
    # The length and a count of brackets are cheap and nearly always settle it.
    if len(text) > 2 * MAX_DEPTH and text.count("{") + text.count("[") > MAX_DEPTH and _depth(row) > MAX_DEPTH:
        return f"nested more than {MAX_DEPTH} levels deep"
    return None


def _syntax_problem(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        message = error.msg[0].lower() + error.msg[1:].removesuffix(" at")
        # The parser may look for what is missing beyond the line ending.
        column = min(error.pos, len(error.doc.rstrip(_BLANKS))) + 1
        return f"not valid JSON: {message} at column {column}"
    if isinstance(error, RecursionError):
        return f"nested more than {MAX_DEPTH} levels deep"
    # An integer of thousands of digits, which Python declines to convert.
    return f"not usable JSON: {str(error).split(';')[0]}"


def _depth(row: Any) -> int:
    """How deep the nesting goes; found level by level, because recursion is what must be avoided."""
    depth = 0
    level = [row]
    while level:
        depth += 1
        inner: list[Any] = []
        for value in level:
            items = value.values() if isinstance(value, dict) else value
            inner.extend(item for item in items if isinstance(item, (dict, list)))
        level = inner
    return depth


def _check_is_lines(name: str, line: bytes, cut: bool) -> None:
    """Tell a file that holds a single JSON value from one of JSON Lines, by its first line."""
    start = line.strip()
    if start == b"{":
        raise InputError(f"{name}: JSON Lines is expected, one object per line; here an object is spread over lines")
    if not start.startswith(b"["):
        return
    try:
        value = None if cut else json.loads(start)
    except (ValueError, RecursionError):
        value = None
    # `[1, 2]` among objects is one bad row; a list that goes on, or one of objects, is a file of another kind.
    if value is None or any(isinstance(item, dict) for item in value):
        raise InputError(
            f"{name}: JSON Lines is expected, one object per line; here is one JSON array "
            "(jq -c '.[]' turns it into lines)"
        )
