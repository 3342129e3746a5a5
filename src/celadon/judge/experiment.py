"""An experiment: a folder with its config, its items and its keys."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from celadon.core import InputError, UsageError
from celadon.io import atomic_write_text
from celadon.io.atomic import output_errors
from celadon.judge.assignment import CHECK, PRACTICE, TRIAL, Cell, Page, make_cells, make_plan, people_needed
from celadon.judge.config import DESIGNS, Config, SetPage, parse_config, read_config
from celadon.judge.items import Item, items_text, kept_items, read_items
from celadon.judge.keys import Keys, read_keys, write_keys
from celadon.text.layout import printable
from celadon.web.security import digest, new_token

CONFIG, ITEMS, KEYS, DATABASE = "experiment.toml", "items.jsonl", "keys.json", "answers.sqlite"

_OWN = """\
# {title}
# What people see and how texts are given out. Edit this before the first person begins; then leave it.
id = {id}
title = {quoted}
# Of the pages, and of all texts that do not say otherwise.
language = "en"
# Of whatever is drawn: the order of pages and of texts on them.
seed = {seed}
"""
_SHARED = """
# The code that people take back to where they came from; empty for a code of each person's own. A link may lead them
# back: {code} in it becomes the code.
[completion]
code = ""
url = ""

# Who is flagged: with a median time below this, or a correlation with the others' mean below this.
[flags]
seconds_per_page = 2.0
agreement = 0.0
"""


class PageText(NamedTuple):
    """A text on a page: the name that answers about it go by, the text, and its language."""

    key: str
    text: str
    language: str = ""


class Content(NamedTuple):
    """What a page shows."""

    context: str
    texts: tuple[PageText, ...]
    language: str = ""


@dataclass(frozen=True)
class Experiment:
    """All of an experiment but the answers."""

    folder: Path
    config: Config
    items: tuple[Item, ...]
    keys: Keys

    @cached_property
    def by_key(self) -> Mapping[str, Item]:
        """Each item by its name."""
        return {item.key: item for item in self.items}

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The cells in the order in which people walk along them."""
        return make_cells(self.items, self.config)

    @cached_property
    def people_needed(self) -> int:
        """How many people it takes until every item has its ratings."""
        return people_needed(self.cells, self.config.assignment)

    @cached_property
    def fingerprint(self) -> str:
        """Changes with the items and with what decides who sees what and is asked what."""
        config = self.config
        parts = (config.assignment, config.questions, config.checks, config.practice, config.reference)
        facts = (config.design, config.seed, *map(repr, parts))
        content = items_text(self.items) + json.dumps([str(fact) for fact in facts])
        return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()

    def plan(self, place: int) -> tuple[Page, ...]:
        """The pages of the person at this place in line."""
        return make_plan(self.cells, self.config, place)

    def content(self, page: Page) -> Content:
        """What a page shows; nothing for instructions and breaks."""
        if page.kind in (PRACTICE, CHECK):
            number = int(page.items[0])
            set_page: SetPage = (self.config.practice if page.kind == PRACTICE else self.config.checks)[number]
            return Content(
                set_page.context,
                tuple(PageText(f"{page.kind}:{number}:{at}", text) for at, text in enumerate(set_page.texts)),
            )
        if page.kind != TRIAL:
            return Content("", ())
        items = [self.by_key[key] for key in page.items]
        context = next((item.context for item in items if item.context), "")
        return Content(
            context, tuple(PageText(item.key, item.text, item.language) for item in items), items[0].language
        )

    def units(self, page: Page) -> tuple[PageText, ...]:
        """What is answered about: each text of a page, or the pair."""
        texts = self.content(page).texts
        if self.config.design == "pairwise" and texts:
            return (PageText(pair_key([text.key for text in texts]), ""),)
        return texts


def pair_key(keys: Sequence[str]) -> str:
    """The name of a pair, whichever of the two stands first."""
    return json.dumps(sorted(keys), ensure_ascii=False)


def pair_of(key: str) -> tuple[str, str]:
    """The two that a pair's name tells."""
    first, second = json.loads(key)
    return str(first), str(second)


def open_experiment(folder: Path) -> Experiment:
    """Read an experiment's folder. Raises InputError if the folder is no experiment, or a file in it is wrong."""
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; make an experiment with: celadon judge new")
    config = read_config(folder / CONFIG)
    experiment = Experiment(folder, config, kept_items(folder / ITEMS), read_keys(folder / KEYS))
    if not experiment.items:
        raise InputError(f"{folder / ITEMS}: has no items")
    if not experiment.cells:
        raise InputError(f"{folder / ITEMS}: has no cells")
    return experiment


def new_experiment(
    folder: Path, items_path: str, design: str | None, *, title: str = "", config: Path | None = None
) -> tuple[Experiment, str]:
    """Write the folder of a new experiment.

    ``folder``: must not exist, or be empty.
    ``design``: ``likert``, ``magnitude``, ``duc``, ``pairwise`` or ``postedit``; not needed with a config.
    ``title``: what the pages are headed with.
    ``config``: the config of another experiment, to be used as it is.
    Returns the experiment, and the researcher's token, which is stored nowhere.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: is there already; give another name, or remove it first")
    items = read_items(items_path)
    text = _config_text(design, title or "Judging texts", config)
    checked = read_config(config) if config else _parsed(text)
    make_cells(items, checked)
    token = new_token()
    keys = Keys(secrets.token_bytes(32), digest(token))
    is_new = not folder.exists()
    try:
        with output_errors(str(folder)):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write_text(str(folder / ITEMS), items_text(items))
        write_keys(folder / KEYS, keys)
        atomic_write_text(str(folder / CONFIG), text)
    except BaseException:
        if is_new:
            with suppress(OSError):
                shutil.rmtree(folder)
        raise
    return open_experiment(folder), token


def _config_text(design: str | None, title: str, config: Path | None) -> str:
    if config is not None:
        try:
            return config.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{config}: cannot be read: {error}") from None
    if design not in DESIGNS:
        raise UsageError(f"unknown design {design!r}; known: {', '.join(DESIGNS)}")
    one_line = printable(" ".join(title.split()))
    own = _OWN.format(
        title=one_line,
        id=json.dumps(secrets.token_hex(8)),
        quoted=json.dumps(one_line, ensure_ascii=False),
        seed=secrets.randbelow(10**6),
    )
    return own + (files("celadon.judge") / "designs" / f"{design}.toml").read_text(encoding="utf-8") + _SHARED


def _parsed(text: str) -> Config:
    return parse_config(text, CONFIG)


def renew_admin_token(experiment: Experiment) -> str:
    """Give the researcher another token; the old one and what was opened with it are void."""
    token = new_token()
    write_keys(experiment.folder / KEYS, Keys(experiment.keys.signing, digest(token)))
    return token
