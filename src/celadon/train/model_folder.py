"""The folder that a trained model is written to, and what its description says of the vocabulary."""

from __future__ import annotations

import os
import secrets
import shutil
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from celadon.core import InputError, IntArray, UsageError
from celadon.io.atomic import output_errors
from celadon.models.store import write_manifest
from celadon.text.scripts import is_in_scripts
from celadon.train.language_models.vocabulary import SPECIAL

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# A script with a smaller share of the corpus' letters is there by accident: names, quotations.
_SHARE = 0.05


def check_new_folder(folder: Path) -> None:
    """Refuse a folder that is in use already, before any work is done for it."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if os.path.lexists(folder):
        raise UsageError(f"{folder}: is there already; give another --output, or remove it first")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a folder to fill, which appears at its place, with a manifest, whole or not at all.

    Parameters
    ----------
    folder
        Must not exist, or be empty; folders above it are made.
    """
    check_new_folder(folder)
    target = Path(os.path.realpath(folder))
    draft = target.with_name(f".celadon-{secrets.token_hex(8)}.tmp")
    try:
        with output_errors(str(folder)):
            target.parent.mkdir(parents=True, exist_ok=True)
            draft.mkdir()
            yield draft
            write_manifest(draft)
            draft.replace(target)
    finally:
        with suppress(OSError):
            shutil.rmtree(draft)


def tokens_of(tokenizer: Tokenizer) -> list[str]:
    """The tokens by their ids."""
    tokens = [""] * tokenizer.get_vocab_size()
    for token, number in tokenizer.get_vocab().items():
        tokens[number] = token
    return tokens


def scripts_of(tokens: Sequence[str], counts: IntArray) -> list[str]:
    """The Unicode scripts with more than a twentieth of the letters, most frequent first.

    Parameters
    ----------
    tokens
        The vocabulary; marks in brackets do not count.
    counts
        How often each is seen.
    """
    letters: Counter[str] = Counter()
    for token, count in zip(tokens, counts.tolist(), strict=True):
        if token not in SPECIAL:
            for letter in filter(str.isalpha, token):
                letters[letter] += count
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        scripts[_script(letter)] += count
    total = sum(scripts.values())
    return [script for script, count in scripts.most_common() if script and count > _SHARE * total]


def _script(letter: str) -> str:
    """A letter's script, which is the first word of its name; empty where the name does not tell."""
    script = unicodedata.name(letter, "").split(" ")[0].split("-")[0].capitalize().replace("Cjk", "Han")
    try:
        return script if script and is_in_scripts(letter, (script,)) else ""
    except InputError:
        return ""
