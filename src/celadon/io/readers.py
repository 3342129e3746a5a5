"""The reader: all inputs as one sequence of chunks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from celadon.core import InputError, Sample
from celadon.io import delimited, jsonl, parquet, plain
from celadon.io.fields import Fields, Plan, Resolver, RowError
from celadon.io.lines import Record, Report
from celadon.io.rows import BadRow, Chunk, chomp, origin, take_rows
from celadon.io.sources import Source, Stream, find_sources, open_stream
from celadon.io.values import to_json

DEFAULT_CHUNK_ROWS = 2048
DEFAULT_MAX_TEXT_CHARS = 1_000_000
# Long rows fill a chunk before it has its number of rows. Bytes are counted, never fewer than the characters.
MAX_CHUNK_BYTES = 8_000_000

DELIMITERS = {"csv": ",", "tsv": "\t"}
_HEADED = frozenset({*DELIMITERS, "parquet"})
_FIELD_NAMES = tuple(spec.name for spec in dataclasses.fields(Fields))


@dataclass(slots=True)
class _Pending:
    """Rows that wait for their chunk to be full."""

    format: str = ""
    samples: list[Sample] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    raws: list[bytes] = field(default_factory=list)
    size: int = 0

    def chunk(self) -> Chunk:
        return Chunk(tuple(self.samples), self.format, tuple(self.files), tuple(self.lines), tuple(self.raws))


class Reader:
    """Reads samples out of many inputs, chunk by chunk; memory is bounded by the chunk.

    ``inputs``: files, patterns (``data/**/*.jsonl``), addresses (``s3://...``) and ``-`` for the standard input.
    ``format``: the format of all inputs; by default the endings tell, and for the standard input its first character.
    ``chunk_rows``: the most rows a chunk has.
    ``max_text_chars``: a longer text is a bad row.
    ``on_bad``: called with every row that cannot be used, in the order of the input.
    Raises InputError if an input does not exist, cannot be read or is no table; at once where that can be known, else
    while reading.
    Raises UsageError if the format is unknown or there is no input.
    """

    def __init__(
        self,
        inputs: Sequence[str | Source],
        fields: Fields,
        *,
        format: str | None = None,  # noqa: A002
        chunk_rows: int = DEFAULT_CHUNK_ROWS,
        max_text_chars: int = DEFAULT_MAX_TEXT_CHARS,
        on_bad: Callable[[BadRow], None],
    ) -> None:
        if chunk_rows < 1:
            raise ValueError("chunk_rows must be at least 1")
        self._sources = find_sources(inputs, format)
        self._resolver = Resolver(fields)
        self._chunk_rows = chunk_rows
        self._max_text_chars = max_text_chars
        self._on_bad = on_bad
        self._reset()

    def _reset(self) -> None:
        self._resolved = Fields()
        self._good = 0
        self._bad = 0
        self._finished_bytes = 0
        self._consumed: Callable[[], int] = int
        self._pending = _Pending()

    @property
    def files(self) -> tuple[str, ...]:
        """The names of all inputs, patterns resolved."""
        return tuple(source.name for source in self._sources)

    @property
    def rows_read(self) -> int:
        """Rows seen up to now, good and bad."""
        return self._good + self._bad

    @property
    def bytes_read(self) -> int:
        """Bytes of the input consumed up to now, as they are on disk."""
        return self._finished_bytes + self._consumed()

    @property
    def bytes_total(self) -> int | None:
        """Bytes of all inputs as they are on disk; None when one of them does not tell."""
        sizes = [source.size for source in self._sources]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def resolved(self) -> Fields:
        """The columns in use; None for a field that no row has had. Known once the first chunk is out."""
        return self._resolved

    def __iter__(self) -> Iterator[Chunk]:
        self._reset()
        for source in self._sources:
            before = self.rows_read + len(self._pending.samples)
            if source.format == "parquet":
                yield from self._flush()
                yield from self._read_parquet(source)
            else:
                yield from self._read_text(source)
            if self.rows_read + len(self._pending.samples) == before:
                raise InputError(f"{source.name}: is empty")
            self._finished_bytes, self._consumed = self.bytes_read, int
        yield from self._flush()

    def _flush(self) -> Iterator[Chunk]:
        if self._pending.samples:
            chunk = self._pending.chunk()
            self._pending = _Pending(self._pending.format)
            self._good += len(chunk)
            yield chunk

    def _read_text(self, source: Source) -> Iterator[Chunk]:
        with open_stream(source) as stream:
            self._consumed = stream.consumed
            kind = stream.source.format
            if kind != self._pending.format:
                yield from self._flush()
                self._pending.format = kind

            def report(line: int, message: str, raw: bytes, cut: bool) -> None:
                self._bad += 1
                self._on_bad(BadRow(source.name, line, message, raw, cut=cut))

            yield from self._assemble(records(stream, report), source.name, kind, report)
            # The stream is about to be closed and cannot be asked any more.
            consumed = stream.consumed()
            self._consumed = lambda: consumed

    def _assemble(self, records: Iterator[Record], name: str, kind: str, report: Report) -> Iterator[Chunk]:
        """Samples out of rows; the loop that every row of a text format goes through."""
        keys: tuple[str, ...] | None = None
        plan: Plan | None = None
        pending = self._pending
        for line, raw, row in records:
            row_keys = tuple(row)
            if plan is None or row_keys != keys:
                keys, plan = row_keys, self._plan(name, row_keys, kind)
            try:
                text, references, source, ident, system = plan.read(row)
                markup, language = plan.written_in(row)
            except RowError as error:
                report(line, str(error), chomp(raw), False)
                continue
            if len(text) > self._max_text_chars:
                report(line, self._too_long(text), chomp(raw), False)
                continue
            if pending.size + len(raw) > MAX_CHUNK_BYTES:
                yield from self._flush()
                pending = self._pending
            where = f"{name}:{line}"
            pending.samples.append(Sample(text, references, source, ident, system, row, where, (), markup, language))
            pending.files.append(name)
            pending.lines.append(line)
            pending.raws.append(raw)
            pending.size += len(raw)
            if len(pending.samples) >= self._chunk_rows:
                yield from self._flush()
                pending = self._pending

    def _read_parquet(self, source: Source) -> Iterator[Chunk]:
        size = source.size or 0
        plan: Plan | None = None
        for rows in parquet.batches(source, self._chunk_rows, MAX_CHUNK_BYTES):
            if plan is None:
                plan = self._plan(source.name, tuple(rows.values[0]), "parquet")
            chunk = self._parquet_chunk(source.name, plan, rows)
            consumed = int(size * rows.share)
            self._consumed = lambda consumed=consumed: consumed  # type: ignore[misc]
            if chunk:
                self._good += len(chunk)
                yield chunk

    def _parquet_chunk(self, name: str, plan: Plan, rows: parquet.Rows) -> Chunk:
        samples = []
        kept = []
        for i, row in enumerate(rows.values):
            number = rows.first + i
            try:
                if i in rows.flaws:
                    raise RowError(rows.flaws[i])
                text, references, source, ident, system = plan.read(row)
                markup, language = plan.written_in(row)
                if len(text) > self._max_text_chars:
                    raise RowError(self._too_long(text))
            except RowError as error:
                self._bad += 1
                self._on_bad(BadRow(name, number, str(error), to_json(row), numbered_by_row=True))
                continue
            kept.append(i)
            where = origin(name, number, by_row=True)
            samples.append(Sample(text, references, source, ident, system, row, where, (), markup, language))
        batch = rows.batch if len(kept) == len(rows.values) else take_rows(rows.batch, kept)
        lines = tuple(rows.first + i for i in kept)
        return Chunk(tuple(samples), "parquet", (name,) * len(kept), lines, batch=batch)

    def _plan(self, name: str, keys: tuple[str, ...], kind: str) -> Plan:
        plan = self._resolver.plan(keys, cells=kind in DELIMITERS)
        # Rows of JSON Lines may differ; a header that lacks a column lacks it for every row.
        if kind in _HEADED and (problem := self._resolver.missing(plan, keys)):
            raise InputError(f"{name}: {problem}")
        new = plan.resolved()
        self._resolved = Fields(**{key: getattr(self._resolved, key) or getattr(new, key) for key in _FIELD_NAMES})
        return plan

    def _too_long(self, text: str) -> str:
        return f"text has {len(text)} characters, more than --max-text-chars {self._max_text_chars}"


def records(stream: Stream, report: Report) -> Iterator[Record]:
    """Return the rows of a text format."""
    kind = stream.source.format
    if kind in DELIMITERS:
        return delimited.records(stream, report, DELIMITERS[kind])
    return jsonl.records(stream, report) if kind == "jsonl" else plain.records(stream, report)
