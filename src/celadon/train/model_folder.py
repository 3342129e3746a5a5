"""The folder that a trained model is written to."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from celadon.core import UsageError
from celadon.io.atomic import output_errors
from celadon.models.store import write_manifest


def check_new_folder(folder: Path) -> None:
    """Refuse a folder that is in use already, before any work is done for it."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if os.path.lexists(folder):
        raise UsageError(f"{folder}: is there already; give another --output, or remove it first")


@contextmanager
def new_folder(folder: Path, card: str = "", description: Mapping[str, Any] | None = None) -> Iterator[Path]:
    """Yield a folder to fill, which appears at its place, with a manifest, whole or not at all.

    The place must not exist, or be empty. The card and the description are written to ``card.md`` and ``model.json``.
    """
    check_new_folder(folder)
    target = Path(os.path.realpath(folder))
    draft = target.with_name(f".celadon-{secrets.token_hex(8)}.tmp")
    try:
        with output_errors(str(folder)):
            target.parent.mkdir(parents=True, exist_ok=True)
            draft.mkdir()
            yield draft
            if description is not None:
                text = json.dumps(description, ensure_ascii=False, indent=2)
                (draft / "model.json").write_text(text + "\n", encoding="utf-8")
            if card:
                (draft / "card.md").write_text(card, encoding="utf-8")
            write_manifest(draft)
            draft.replace(target)
    finally:
        with suppress(OSError):
            shutil.rmtree(draft)
