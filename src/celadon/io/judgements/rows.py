"""The one form that every data set of human judgements is read into."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from celadon.core import InputError

# id, system, domain, text, references, source, then ``scores.DIM`` (one number) and ``ratings.DIM`` (a list)
Row: TypeAlias = dict[str, Any]
Number: TypeAlias = float | None


def judgement(
    *,
    id: str,  # noqa: A002
    text: str | None,
    scores: Mapping[str, Number],
    ratings: Mapping[str, Sequence[Number]] | None = None,
    system: str | None = None,
    domain: str | None = None,
    references: Sequence[str] = (),
    source: str | None = None,
    **more: Any,
) -> Row:
    """A row in the common form.

    Parameters
    ----------
    id
        The item; rows of several systems share it.
    text
        What was judged; None where the public file has only the judgements.
    scores
        The published aggregate of each dimension.
    ratings
        The single ratings of each dimension, where they are known.
    system
        Who made the text.
    domain
        Which part of the data it is from.
    references
        Texts of people for the same input.
    source
        What the text was made from.
    **more
        Further columns.
    """
    row: Row = {
        "id": id,
        "system": system,
        "domain": domain,
        "text": text,
        "references": list(references),
        "source": source,
        **more,
    }
    row.update({f"scores.{dimension}": value for dimension, value in scores.items()})
    row.update({f"ratings.{dimension}": list(values) for dimension, values in (ratings or {}).items()})
    return row


class Fields:
    """The fields of one object or record, checked on the way out; every complaint says where.

    Parameters
    ----------
    where
        ``file:line`` or ``file: item N``.
    content
        What was read there.
    """

    def __init__(self, where: str, content: Any) -> None:
        self.where = where
        if not isinstance(content, Mapping):
            raise self.wrong("an object is expected")
        self.content = content

    def wrong(self, problem: str) -> InputError:
        """The complaint, with the place before it."""
        return InputError(f"{self.where}: {problem}")

    def has(self, name: str) -> bool:
        """Whether there is such a field with something in it."""
        return self.content.get(name) is not None

    def any(self, name: str) -> Any:
        """The field as it is."""
        if name not in self.content:
            raise self.wrong(f"has no {name!r}")
        return self.content[name]

    def text(self, *names: str) -> str:
        """The first of these fields that is there, as text; numbers are written out."""
        name = next((name for name in names if name in self.content), names[0])
        value = self.any(name)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.wrong(f"{name!r} is no text")
        return str(value)

    def optional_text(self, *names: str) -> str | None:
        """As :meth:`text`, None where there is nothing."""
        name = next((name for name in names if self.content.get(name) is not None), None)
        return None if name is None else self.text(name)

    def texts(self, name: str) -> list[str]:
        """A list of texts; one text is a list of one, nothing is an empty one."""
        value = self.content.get(name)
        found = [] if value is None else [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
            raise self.wrong(f"{name!r} is no list of texts")
        return found

    def number(self, name: str) -> float:
        """The field as a number."""
        return self.as_number(self.any(name), name)

    def as_number(self, value: Any, name: str) -> float:
        """A value as a number, under the name of the field that it is in."""
        try:
            number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise self.wrong(f"{name!r} is not a number: {str(value)[:40]!r}")
        return number

    def numbers(self, name: str) -> list[float]:
        """A list of numbers, those that are null left out."""
        value = self.any(name)
        if not isinstance(value, list):
            raise self.wrong(f"{name!r} is no list of numbers")
        return [self.as_number(item, name) for item in value if item is not None]

    def inner(self, name: str) -> Fields:
        """An object inside this one."""
        return Fields(f"{self.where}: {name}", self.any(name))

    def objects(self, name: str) -> list[Fields]:
        """A list of objects inside this one."""
        value = self.any(name)
        if not isinstance(value, list):
            raise self.wrong(f"{name!r} is no list")
        return [Fields(f"{self.where}: {name} {number}", item) for number, item in enumerate(value, 1)]


def mean(values: Sequence[float]) -> Number:
    """The mean; None where there is nothing."""
    return math.fsum(values) / len(values) if values else None


def median(values: Sequence[float]) -> Number:
    """The median; None where there is nothing."""
    if not values:
        return None
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
