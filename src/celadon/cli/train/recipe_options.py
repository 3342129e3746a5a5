"""The options of a recipe: each number of it, with what it means and its default."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Recipe = TypeVar("Recipe", bound=DataclassInstance)
else:
    Recipe = TypeVar("Recipe")


def add_numbers(command: argparse.ArgumentParser, recipe: type[DataclassInstance], meanings: Mapping[str, str]) -> None:
    """Add an option for each number of a recipe that has a meaning."""
    for field in fields(recipe):
        if field.name in meanings:
            default: Any = field.default
            command.add_argument(
                option(field.name),
                type=type(default),
                default=default,
                metavar="N" if isinstance(default, int) else "X",
                help=f"{meanings[field.name]} (default: {default:g})",
            )


def recipe_of(arguments: argparse.Namespace, recipe: type[Recipe]) -> Recipe:
    """Make a recipe of what was given."""
    return recipe(**{field.name: getattr(arguments, field.name) for field in fields(recipe)})


def option(name: str) -> str:
    """The option of a field."""
    return f"--{name.replace('_', '-')}"


def given_options(arguments: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """Options and their values as they would be written again."""
    return [word for name in names for word in (option(name), str(getattr(arguments, name)))]


def file_names(paths: Iterable[str]) -> list[str]:
    """Files without their folders, which a card does not tell."""
    return [Path(path).name for path in paths]
