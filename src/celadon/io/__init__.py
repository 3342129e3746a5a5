"""Reads samples and writes scores; nothing else in the package opens a user's file."""

from celadon.io.atomic import StagedText, atomic_write_text, check_distinct, remove_leftovers
from celadon.io.fields import Fields
from celadon.io.readers import DEFAULT_CHUNK_ROWS, DEFAULT_MAX_TEXT_CHARS, Reader
from celadon.io.rows import BadRow, Chunk, Rejects, rejects_path
from celadon.io.sources import FORMATS
from celadon.io.spill import Spill
from celadon.io.table_rows import TableRow, read_table_rows, write_json_rows
from celadon.io.writers import Writer, open_writer

__all__ = [
    "DEFAULT_CHUNK_ROWS",
    "DEFAULT_MAX_TEXT_CHARS",
    "FORMATS",
    "BadRow",
    "Chunk",
    "Fields",
    "Reader",
    "Rejects",
    "Spill",
    "StagedText",
    "TableRow",
    "Writer",
    "atomic_write_text",
    "check_distinct",
    "open_writer",
    "read_table_rows",
    "rejects_path",
    "remove_leftovers",
    "write_json_rows",
]
