"""The reproduced tables as Markdown, in a marked section of a file whose other bytes are left as they are."""

from __future__ import annotations

import html
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from platform import python_version

from celadon import __version__
from celadon.core import UsageError
from celadon.io.atomic import output_errors, write_atomically
from celadon.reproduce.blocks import Block, PaperTable
from celadon.reproduce.scoring import Choice
from celadon.reproduce.sets import PLANS, RatedSet, digest

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
