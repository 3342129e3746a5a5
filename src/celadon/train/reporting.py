"""How a training reports what it does: progress, notes, the command that repeats it, and the model card."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any


class Report:
    """Receives the progress of a training and shows nothing; the command line shows it on a terminal."""

    def bar(self, what: str, total: int, unit: str = "B") -> AbstractContextManager[Any]:
        """Return a context with a progress bar: ``update(n)``, ``set_description`` and ``set_postfix_str`` of tqdm."""
        from tqdm import tqdm

        return tqdm(desc=what, total=total, unit=unit, disable=True)

    def count(self, what: str) -> AbstractContextManager[Callable[[int, int], None]]:
        """Return a context with a function that is called with how many items are done, and of how many."""
        return nullcontext(lambda done, total: None)

    def note(self, message: str) -> None:
        """Receive what the user should know, such as that a run resumes from a checkpoint."""


SILENT = Report()


def made_by(kind: str, files: Iterable[str | Path], **options: Any) -> str:
    """Return the command that repeats a training, with files by their names alone.

    Parameters
    ----------
    kind
        The name after ``celadon train``.
    files
        What the command takes without an option.
    **options
        By their names: None and False are left out, True is an option without a value, a path is told by its name, a
        list repeats the option, and a tuple is written after the option once.
    """
    words = [Path(file).name for file in files]
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif isinstance(value, list):
            words += [word for each in value for word in (option, _written(each))]
        elif value is not None and value is not False and value != ():
            words += [option, *map(_written, value if isinstance(value, tuple) else (value,))]
    return shlex.join(["celadon", "train", kind, *words])


def _written(value: Any) -> str:
    return value.name if isinstance(value, Path) else str(value)


def model_card(
    name: str, description: str, about: str, data: Sequence[str], figures: str, commands: Sequence[str]
) -> str:
    """Return what people should know of a model, in Markdown; without a heading where the name is empty.

    ``about`` says what the data are, and their license; ``data`` are further lines about them.
    """
    heading = f"# {name}\n\n" if name else ""
    made = "\n".join(f"    {command}" for command in commands)
    listed = "\n".join(f"- {line}" for line in data)
    return (
        f"{heading}{description}\n\n## Data\n\n{about or 'Not stated.'}\n\n{listed}\n\n## Figures\n\n{figures}\n\n"
        f"## How it was made\n\n{made}\n"
    )
