"""A table of a TOML file, read key by key, with messages that say which key is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from celadon.core import InputError

_NEEDED = object()


class Section:
    """Hands out values by key, checks what they are, and knows which keys nobody asked for.

    Parameters
    ----------
    content
        The table.
    where
        The file and, inside of it, the table, for messages.
    """

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        self._content = content
        self._where = where
        self._asked: set[str] = set()

    def wrong(self, key: str, message: str) -> InputError:
        """A complaint about a key."""
        return InputError(f"{self._where}: {key}: {message}")

    def any(self, key: str, default: Any = _NEEDED) -> Any:
        """The value as it is."""
        self._asked.add(key)
        value = self._content.get(key, default)
        if value is _NEEDED:
            raise self.wrong(key, "is missing")
        return value

    def text(
        self,
        key: str,
        default: Any = _NEEDED,
        *,
        choices: tuple[str, ...] = (),
        pattern: re.Pattern[str] | None = None,
    ) -> str:
        """A string; not an empty one unless that is the default."""
        value = self.any(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, f"must be a text, not {value!r}")
        if not value.strip() and default != "":
            raise self.wrong(key, "is empty")
        if choices and value not in choices:
            raise self.wrong(key, f"{value!r} is none of {', '.join(choices)}")
        if pattern is not None and not pattern.fullmatch(value):
            raise self.wrong(key, f"{value!r} does not have the form {pattern.pattern}")
        return value.strip()

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        value = self.any(key)
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            raise self.wrong(key, "must be a list of texts that are not empty")
        return tuple(value)

    def whole(self, key: str, default: Any = _NEEDED, *, low: float = -math.inf) -> int:
        """A whole number, not below ``low``."""
        value = self.any(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < low:
            least = "" if low == -math.inf else f" from {low:g} on"
            raise self.wrong(key, f"must be a whole number{least}, not {value!r}")
        return value

    def number(self, key: str, default: Any = _NEEDED, *, above: float) -> float:
        """A number above ``above``."""
        value = self.any(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not above < value < math.inf:
            more = "" if above == -math.inf else f" above {above:g}"
            raise self.wrong(key, f"must be a number{more}, not {value!r}")
        return float(value)

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.any(key)
        if not isinstance(value, bool):
            raise self.wrong(key, f"must be true or false, not {value!r}")
        return value

    def section(self, key: str, default: Any = _NEEDED) -> Section:
        """A table inside of this one."""
        value = self.any(key, default)
        if not isinstance(value, dict):
            raise self.wrong(key, "must be a table")
        return Section(value, f"{self._where}: {key}")

    def sections(self, key: str) -> tuple[Section, ...]:
        """A list of tables; none where the key is not there."""
        value = self.any(key, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.wrong(key, f"must be tables, each under [[{key}]]")
        return tuple(Section(item, f"{self._where}: {key}, number {number}") for number, item in enumerate(value, 1))

    def by_number(self, values: Iterable[int]) -> dict[int, str]:
        """Texts of this table whose keys are numbers out of ``values``."""
        found = {value: self.text(str(value)) for value in values if str(value) in self._content}
        self.finish()
        return found

    def finish(self) -> None:
        """Complain of the first key that nobody asked for."""
        for key in self._content:
            if key not in self._asked:
                close = get_close_matches(key, self._asked, n=1)
                raise self.wrong(key, f"is not known; {f'did you mean {close[0]}?' if close else 'remove it'}")
