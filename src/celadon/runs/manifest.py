"""``run.json``: what a run is made of, so that it goes on with the same or not at all."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Self

from celadon import __version__
from celadon.core import InputError
from celadon.io.pieces import Piece, PlannedFile
from celadon.runs.folder import MANIFEST, RunFolder
from celadon.runs.order import RunOrder

_FORMAT = 1
_PACKAGES = ("numpy", "onnxruntime", "pyarrow", "tokenizers", "torch")
# What of an order changes scores, rows or their summary, and the option that sets it.
_OPTIONS = {
    "batch_rows": "--batch-rows",
    "max_text_chars": "--max-text-chars",
    "seed": "--seed",
    "resamples": "--resamples",
}
_SHOWN_CHANGES = 10


class ChangedRunError(InputError):
    """What is asked for is not what the folder's run is made of."""

    def __init__(self, folder: str, changes: Sequence[str]) -> None:
        shown = list(changes[:_SHOWN_CHANGES])
        if len(changes) > len(shown):
            shown.append(f"... and {len(changes) - len(shown)} more")
        listed = "\n".join(f"  {change}" for change in shown)
        super().__init__(
            f"{folder}: holds a run of something else, so it cannot go on:\n{listed}\n"
            "choose another folder, undo the change, or give --restart to throw the earlier shards away"
        )


@dataclass(frozen=True)
class Manifest:
    """What a run is made of.

    Attributes
    ----------
    order
        How rows are scored.
    files
        The inputs with their sizes, hashes and rows.
    pieces
        What each shard holds.
    shard_rows, format
        How the input was cut and read.
    created
        When the run was first started, in UTC.
    versions
        What it was started with.
    """

    order: RunOrder
    files: tuple[PlannedFile, ...]
    pieces: tuple[Piece, ...]
    shard_rows: int
    format: str | None
    created: str = ""
    versions: Mapping[str, str] | None = None

    @property
    def rows(self) -> int:
        """Rows of the whole input."""
        return sum(file.rows for file in self.files)

    def write(self, folder: RunFolder) -> None:
        """Write it into the folder, with the time and the versions of now."""
        facts = {
            "celadon_run": _FORMAT,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": _versions(),
            "shard_rows": self.shard_rows,
            "format": self.format,
            "metrics": dict(zip(self.order.metrics, self.order.signatures, strict=True)),
            "inputs": [asdict(file) for file in self.files],
            "order": self.order.as_dict(),
            "shards": [piece.as_dict() for piece in self.pieces],
        }
        folder.write_text(MANIFEST, json.dumps(facts, indent=1) + "\n")

    @classmethod
    def read(cls, folder: RunFolder) -> Self | None:
        """Return the manifest of a folder; None where it has none.

        Raises
        ------
        InputError
            There is a file of that name, but it is no manifest of ours.
        """
        data = folder.read(MANIFEST)
        if data is None:
            return None
        try:
            facts = json.loads(data)
            if facts["celadon_run"] != _FORMAT:
                raise InputError(f"{folder.name}{MANIFEST}: is of another version of celadon; choose another folder")
            return cls(
                RunOrder.from_dict(facts["order"]),
                tuple(PlannedFile(**file) for file in facts["inputs"]),
                tuple(map(Piece.from_dict, facts["shards"])),
                facts["shard_rows"],
                facts["format"],
                facts["created"],
                facts["versions"],
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InputError(f"{folder.name}{MANIFEST}: is not the manifest of a run; choose another folder") from None


def changed_order(before: Manifest, now: RunOrder, shard_rows: int, format: str | None) -> list[str]:  # noqa: A002
    """Tell in lines what of an order would make other scores or other shards than before."""
    then = before.order
    changes = [*_changed_metrics(then, now), *_changed_fields(then, now)]
    for name, option in _OPTIONS.items():
        changes += _changed(option, getattr(then, name), getattr(now, name))
    changes += _changed("--shard-rows", before.shard_rows, shard_rows)
    changes += _changed("--format", before.format, format)
    if then.named != now.named:
        changes.append("the metrics were asked for by name" if then.named else "no metrics were asked for by name")
    return changes


def changed_files(before: Sequence[PlannedFile], now: Sequence[PlannedFile]) -> list[str]:
    """Tell in lines what of the input is not as before; a file may go by another name."""
    changes = []
    for then, file in zip(before, now, strict=False):
        if file.size != then.size:
            changes.append(f"{file.name}: has {file.size:,} bytes; {_name(then, file)} had {then.size:,}")
        elif file.sha256 != then.sha256:
            changes.append(f"{file.name}: has another content than {_name(then, file)} had (sha256 {then.sha256[:8]})")
    changes += [f"{file.name}: was not an input" for file in now[len(before) :]]
    changes += [f"{file.name}: is not an input any more" for file in before[len(now) :]]
    return changes


def _name(then: PlannedFile, now: PlannedFile) -> str:
    return "it" if then.name == now.name else then.name


def _changed_metrics(then: RunOrder, now: RunOrder) -> list[str]:
    before = dict(zip(then.metrics, then.signatures, strict=True))
    after = dict(zip(now.metrics, now.signatures, strict=True))
    changes = [f"metric {spec}: was not asked for" for spec in after if spec not in before]
    changes += [f"metric {spec}: is not asked for any more" for spec in before if spec not in after]
    changes += [
        f"metric {spec}: is {signature}, was {before[spec]}"
        for spec, signature in after.items()
        if spec in before and signature != before[spec]
    ]
    if not changes and then.metrics != now.metrics:
        changes.append(f"metrics: are in the order {', '.join(now.metrics)}, were {', '.join(then.metrics)}")
    return changes


def _changed_fields(then: RunOrder, now: RunOrder) -> list[str]:
    before, after = asdict(then.fields), asdict(now.fields)
    return [change for name in before for change in _changed(f"--{name}-field", before[name], after[name])]


def _changed(option: str, then: object, now: object) -> list[str]:
    return [] if then == now else [f"{option}: is {_shown(now)}, was {_shown(then)}"]


def _shown(value: object) -> str:
    return "not given" if value is None else str(value)


def _versions() -> dict[str, str]:
    found = {"celadon": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
