"""Arrow columns out of values of any kind, and types that hold both of two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from celadon.core import MissingExtraError
from celadon.io.values import mend_surrogates, to_json_text


class _Json:
    """The type of a column whose values have no common type: each is a JSON string."""

    def __repr__(self) -> str:
        return "JSON"


JSON: Final = _Json()


def require_pyarrow(name: str) -> None:
    """Raise MissingExtraError, which names the file or folder, where Parquet can be neither read nor written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise MissingExtraError(f"{name}: pyarrow, which reads and writes Parquet,", "parquet") from None


def infer(values: list[Any]) -> Any:
    """The values as an Arrow array; None when no type holds them all."""
    import pyarrow as pa

    try:
        array = pa.array(values)
    except UnicodeEncodeError:
        return infer(_mended(values))
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None
    return array if _storable(array.type) else None


def as_json(values: Iterable[Any]) -> Any:
    """Each value as a JSON string; null stays null."""
    import pyarrow as pa

    texts = [None if value is None else mend_surrogates(to_json_text(value)) for value in values]
    return pa.array(texts, type=pa.string())


def merge_types(one: Any, other: Any) -> Any:
    """A type that holds the values of both, or JSON."""
    import pyarrow as pa

    if one is JSON or other is JSON:
        return JSON
    if one == other:
        return one
    try:
        schemas = [pa.schema([("column", one)]), pa.schema([("column", other)])]
        merged = pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return JSON
    # Arrow holds text to be a kind of binary; a reader of the output does not.
    was_binary = pa.types.is_binary(one) or pa.types.is_binary(other)
    return JSON if was_binary and merged not in (one, other) else merged


def castable(array: Any, target: Any) -> bool:
    """Whether every value is the same after the cast: an integer beyond 2**53 has no float of its own."""
    import pyarrow as pa

    try:
        array.cast(target)
    except pa.ArrowException:
        return False
    return True


def fitted(raw: Any, array: Any, kind: Any, rows: int) -> Any:
    """A column in the type it is to have; ``raw`` are the values as they came, None when there is no such column."""
    import pyarrow as pa

    if raw is None:
        return pa.nulls(rows, pa.string() if kind is JSON else kind)
    if kind is JSON:
        return as_json(raw.to_pylist() if isinstance(raw, pa.Array | pa.ChunkedArray) else raw)
    return array if array.type == kind else array.cast(kind)


def recast(table: Any, own: Mapping[str, Any], types: Mapping[str, Any]) -> list[Any]:
    """The columns of a table or batch, whose types are ``own``, in other types; a column it lacks is null."""
    columns = []
    for name, kind in types.items():
        column = table.column(name) if name in own else None
        # what is JSON already must not become JSON of JSON
        is_done = name in own and own[name] is JSON
        columns.append(column if is_done else fitted(column, column, kind, table.num_rows))
    return columns


def _mended(value: Any) -> Any:
    """A copy without lone surrogates."""
    if isinstance(value, str):
        return mend_surrogates(value)
    if isinstance(value, list):
        return [_mended(item) for item in value]
    if isinstance(value, dict):
        return {mend_surrogates(key): _mended(item) for key, item in value.items()}
    return value


def _storable(kind: Any) -> bool:
    """Whether Parquet can store the type: it has no objects without fields."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(_storable(kind.field(i).type) for i in range(kind.num_fields))
    if pa.types.is_list(kind):
        return _storable(kind.value_type)
    return True
