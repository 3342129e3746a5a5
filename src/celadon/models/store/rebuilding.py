"""Changes a cached model on purpose."""

from __future__ import annotations

import os
import shutil

from celadon.core import MissingPartError
from celadon.models.store.locking import locked, put_in_place
from celadon.models.store.manifest import DamagedError, verify, write_manifest
from celadon.models.store.notices import Say
from celadon.models.store.places import model_place
from celadon.models.store.space import full_disk_told


def add_file(model: str, name: str, content: bytes, say: Say) -> None:
    """Put a file of the user's into a cached model's folder, in place of an older one.

    The folder is replaced as a whole, so that a reader sees it with its manifest before or after, never between; the
    other files are linked, not copied.
    """
    place = model_place(model)
    with locked(place, say) as work, full_disk_told(len(content)):
        try:
            older = verify(place.folder)
        except DamagedError as error:
            raise MissingPartError(f"{error}; remove it and get it again: celadon models remove {model}") from error
        made = work / "made"
        made.mkdir()
        for file in older.files:
            if file != name:
                (made / file).parent.mkdir(parents=True, exist_ok=True)
                try:
                    os.link(place.folder / file, made / file)
                except OSError:
                    shutil.copyfile(place.folder / file, made / file)
        with (made / name).open("wb") as output:
            output.write(content)
            output.flush()
            os.fsync(output.fileno())
        write_manifest(made, older.made, {*older.added, name})
        put_in_place(made, place)
