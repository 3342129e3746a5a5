"""What a reproduced table is made of, every figure in full precision, and its Markdown in a marked section."""

from __future__ import annotations

import html
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import NamedTuple

from celadon import __version__
from celadon.core import FloatArray, UsageError
from celadon.io.atomic import output_errors, write_atomically
from celadon.meta.correlation import Kind, correlate
from celadon.meta.significance import fisher_interval
from celadon.reproduce.scoring import Choice
from celadon.reproduce.sets import PLANS, RatedSet, Rating, digest

NOTHING = "–"
NO_DATA = "no data"


class Figure(NamedTuple):
    """One number of ours and what it rests on; theirs where the paper has one for the same data."""

    table: str
    data: str
    metric: str
    rating: str
    statistic: str
    ours: float
    theirs: float | str | None
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody asks of a result
    nulls: int
    low: float = math.nan
    high: float = math.nan
    reason: str = ""


@dataclass(frozen=True)
class Block:
    """One table for people: a title, lines of text before it, a header, rows, and lines after it.

    ``left`` columns hold words, the others numbers.
    """

    title: str
    text: tuple[str, ...]
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    left: int = 1


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper: its name for ``--only``, its title, a caption, its blocks and all figures."""

    name: str
    title: str
    caption: str
    blocks: tuple[Block, ...]
    figures: tuple[Figure, ...]


def number(value: float, digits: int = 3) -> str:
    """A number as tables print it; a dash where there is none, and never a minus before zero."""
    if math.isnan(value):
        return NOTHING
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def beside(ours: str, theirs: float | str | None) -> str:
    """Ours, and theirs in brackets where there is one."""
    if theirs is None:
        return ours
    return f"{ours} ({theirs if isinstance(theirs, str) else number(theirs, 2)})"


def correlation_figure(
    table: str,
    data: str,
    metric: str,
    rating: Rating,
    kind: Kind,
    scores: FloatArray,
    human: FloatArray,
    theirs: float | None = None,
) -> Figure:
    """The correlation of a metric with a rating, with a 95% interval by Fisher's z."""
    found = correlate(scores, human, kind=kind)
    low, high = fisher_interval(found.value, found.count, kind=kind)
    where = (table, data, metric, rating.dimension, kind)
    return Figure(*where, found.value, theirs, found.count, found.nulls, low, high, found.reason)


def not_run_notes(not_run: Mapping[str, str], shown: Iterable[str]) -> tuple[str, ...]:
    """A line for each reason why metrics have no figures."""
    why: dict[str, list[str]] = {}
    for name in dict.fromkeys(shown):
        if name in not_run:
            why.setdefault(not_run[name], []).append(name)
    return tuple(f"Not run: {', '.join(metrics)}: {reason}." for reason, metrics in why.items())


def used(figures: Sequence[Figure]) -> tuple[str, str]:
    """The rows that figures rest on and those without a score: one number, or the ends where they differ."""
    return _ends([figure.count for figure in figures]), _ends([figure.nulls for figure in figures])


def _ends(counts: Sequence[int]) -> str:
    if not counts:
        return NOTHING
    low, high = min(counts), max(counts)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


BEGIN = "<!-- reproduce:begin -->"
END = "<!-- reproduce:end -->"
_LIBRARIES = ("numpy", "scipy", "sacrebleu")


def section(
    command: Sequence[str],
    sets: Mapping[str, RatedSet],
    tables: Sequence[PaperTable],
    choice: Choice,
    wanted: Sequence[str],
) -> str:
    """All that is written between the two marks."""
    parts = [
        BEGIN,
        "## The papers' tables, ours beside theirs",
        f"Made by `{shlex.join(command)}`; everything up to the end mark is overwritten by it.",
        _markdown(_data(sets, wanted), level=3),
    ]
    for table in tables:
        parts += [f"### {table.title}", table.caption, *(_markdown(block, level=4) for block in table.blocks)]
    return "\n\n".join([*parts, _details(choice), END]) + "\n"


def _data(sets: Mapping[str, RatedSet], wanted: Sequence[str]) -> Block:
    rows = []
    for name in wanted:
        plan = PLANS[name]
        if name not in sets:
            rows.append((plan.title, "no data", "", "", "", ""))
            continue
        rated = sets[name]
        ratings = ", ".join(
            f"{rating.dimension}{' (less is better)' if rating.lower_is_better else ''}" for rating in plan.ratings
        )
        source = "yes" if any(sample.source is not None for sample in rated.samples) else "no"
        facts = (f"{len(rated.samples):,}", rated.reference_counts, source, f"`{digest(rated.samples)[:8]}`")
        rows.append((plan.title, ratings, *facts))
    header = ("data", "ratings", "rows", "references", "source texts", "sha256")
    return Block("Data", ("References that are the same text count once.",), header, tuple(rows), left=2)


def _markdown(block: Block, level: int) -> str:
    aligned = ["---"] * block.left + ["---:"] * (len(block.header) - block.left)
    lines = [block.header, aligned, *block.rows]
    grid = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
    parts = [f"{'#' * level} {block.title}", *block.text, *([grid] if block.rows else []), *block.notes]
    return "\n\n".join(parts)


def _details(choice: Choice) -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    lines = [
        "<details><summary>Versions and signatures</summary>",
        "",
        f"- celadon {__version__}, Python {python_version()}, {libraries}",
        *(f"- `{signature}`" for signature in choice.signatures.values()),
        *(f"- not run: {name}: {html.escape(why, quote=False)}" for name, why in choice.not_run.items()),
        "",
        "</details>",
    ]
    return "\n".join(lines)


def replaced(content: bytes, made: str, name: str) -> bytes:
    """A file's content with the section in its place, or after everything where there was none."""
    begin, end, new = BEGIN.encode(), END.encode(), made.encode("utf-8", "replace")
    if content.count(begin) > 1 or content.count(begin) != content.count(end):
        raise UsageError(f"{name}: needs one {BEGIN} and one {END} after it, or neither; mend the file")
    if begin not in content:
        gap = b"" if not content else b"\n" if content.endswith(b"\n") else b"\n\n"
        return content + gap + new
    start, stop = content.index(begin), content.index(end) + len(end)
    if stop < start:
        raise UsageError(f"{name}: {END} comes before {BEGIN}; mend the file")
    return content[:start] + new.removesuffix(b"\n") + content[stop:]


def write_section(path: str, made: str) -> None:
    """Put the section into a file, which appears whole or stays as it was."""
    file = Path(path)
    with output_errors(path):
        content = file.read_bytes() if file.exists() else b""
    new = replaced(content, made, path)
    with write_atomically(path) as stream:
        stream.write(new)
