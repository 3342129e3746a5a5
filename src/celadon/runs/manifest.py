"""``run.json``: what a run is made of, so that it goes on with the same or not at all."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

import msgspec

from celadon import __version__
from celadon.core import InputError
from celadon.io import Fields
from celadon.io.json_file import convert
from celadon.io.pieces import Piece, PlannedFile
from celadon.io.remote import shown_name
from celadon.runs.folder import MANIFEST, RunFolder
from celadon.scoring.cache.score_cache import CacheSettings

_FORMAT = 2
_PACKAGES = ("numpy", "onnxruntime", "pyarrow", "tokenizers", "torch")
# What changes scores, rows or their summary, and the option that sets it.
_OPTIONS = {
    "batch_rows": "--batch-rows",
    "max_text_chars": "--max-text-chars",
    "seed": "--seed",
    "resamples": "--resamples",
}
_PLACES = ("output", "standardize_on", "trees")
_SHOWN_CHANGES = 10


class ChangedRunError(InputError):
    """What is asked for is not what the folder's run is made of."""

    def __init__(self, folder: str, changes: Sequence[str]) -> None:
        lines = list(changes[:_SHOWN_CHANGES])
        if len(changes) > len(lines):
            lines.append(f"... and {len(changes) - len(lines)} more")
        listed = "\n".join(f"  {change}" for change in lines)
        super().__init__(
            f"{folder}: holds a run of something else, so it cannot go on:\n{listed}\n"
            "choose another folder, undo the change, or give --restart to throw the earlier shards away"
        )


@dataclass(frozen=True)
class RunConfig:
    """How the rows of a run are scored and written; plain values, the same for every worker."""

    scorer: Mapping[str, Any]  # what :meth:`celadon.scoring.Scorer.from_dict` takes
    output: str  # the run's folder: an absolute path or an address
    # skip_bad, seed, resamples: as of :class:`celadon.runs.local.Job`
    skip_bad: bool
    seed: int
    resamples: int
    threads: int = 1  # how many threads the models of one worker may use

    @property
    def fields(self) -> Fields:
        """Which column is what."""
        return Fields(**self.scorer["fields"])

    @property
    def signatures(self) -> dict[str, str]:
        """How the scores of each metric are made."""
        return dict(zip(self.scorer["metrics"], self.scorer["signatures"], strict=True))

    def as_dict(self) -> dict[str, Any]:
        """Return plain values to be stored: addresses without their passwords."""
        own = asdict(self)
        values = {**own.pop("scorer"), **own}
        return {**values, **{name: values[name] and shown_name(values[name]) for name in _PLACES}}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the config that :meth:`as_dict` wrote down."""
        own = {name: values[name] for name in ("output", "skip_bad", "seed", "resamples", "threads")}
        return cls({name: value for name, value in values.items() if name not in own}, **own)


class _StoredConfig(msgspec.Struct, frozen=True):
    """A :class:`RunConfig` as ``run.json`` holds it: what the scorer is made of, then the rest."""

    metrics: list[str]
    signatures: list[str]
    named: bool
    fields: Fields
    standardize_on: str | None
    trees: str | None
    batch_rows: int
    max_text_chars: int
    cache: CacheSettings | None
    output: str
    skip_bad: bool
    seed: int
    resamples: int
    threads: int


class _ManifestFile(msgspec.Struct, frozen=True):
    """What ``run.json`` holds."""

    celadon_run: int
    created: str
    versions: dict[str, str]
    shard_rows: int
    format: str | None
    metrics: dict[str, str]
    inputs: tuple[PlannedFile, ...]
    order: _StoredConfig
    shards: tuple[Piece, ...]


@dataclass(frozen=True)
class Manifest:
    """What a run is made of."""

    config: RunConfig
    files: tuple[PlannedFile, ...]  # the inputs with their sizes, hashes and rows
    pieces: tuple[Piece, ...]  # what each shard holds
    # shard_rows, format: how the input was cut and read
    shard_rows: int
    format: str | None
    created: str = ""  # when the run was first started, in UTC
    versions: Mapping[str, str] | None = None  # what it was started with

    @property
    def rows(self) -> int:
        """Rows of the whole input."""
        return sum(file.rows for file in self.files)

    def write(self, folder: RunFolder) -> None:
        """Write it into the folder, with the time and the versions of now."""
        content = _ManifestFile(
            celadon_run=_FORMAT,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            versions=_versions(),
            shard_rows=self.shard_rows,
            format=self.format,
            metrics=self.config.signatures,
            inputs=self.files,
            order=msgspec.convert(self.config.as_dict(), _StoredConfig),
            shards=tuple(piece.without_secrets() for piece in self.pieces),
        )
        folder.write_text(MANIFEST, json.dumps(msgspec.to_builtins(content), indent=1) + "\n")

    @classmethod
    def read(cls, folder: RunFolder) -> Self | None:
        """Return the manifest of a folder; None where it has none.

        Raises InputError if there is a file of that name, but it is no manifest of ours.
        """
        data = folder.read(MANIFEST)
        if data is None:
            return None
        path = f"{folder.name}{MANIFEST}"
        refusal = f"{path}: is not the manifest of a run; choose another folder"
        try:
            # unlike msgspec, json reads names of files that are not UTF-8
            raw = json.loads(data)
        except ValueError:
            raise InputError(refusal) from None
        if isinstance(raw, dict) and raw.get("celadon_run", _FORMAT) != _FORMAT:
            raise InputError(f"{path}: is of another version of celadon; choose another folder")
        content = convert(raw, _ManifestFile, refusal)
        return cls(
            RunConfig.from_dict(msgspec.to_builtins(content.order)),
            content.inputs,
            content.shards,
            content.shard_rows,
            content.format,
            content.created,
            content.versions,
        )


def changed_config(before: Manifest, now: RunConfig, shard_rows: int, format: str | None) -> list[str]:  # noqa: A002
    """Say in lines what would make other scores or other shards than before."""
    old, new = before.config.as_dict(), now.as_dict()
    changes = _changed_metrics(before.config.signatures, now.signatures)
    for name, then in old["fields"].items():
        option = "--markup" if name == "default_markup" else f"--{name}-field"
        changes += _changed(option, then, new["fields"][name])
    for name, option in _OPTIONS.items():
        changes += _changed(option, old[name], new[name])
    changes += _changed("--shard-rows", before.shard_rows, shard_rows)
    changes += _changed("--format", before.format, format)
    if old["named"] != new["named"]:
        changes.append("the metrics were asked for by name" if old["named"] else "no metrics were asked for by name")
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


def _changed_metrics(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    changes = [f"metric {spec}: was not asked for" for spec in after if spec not in before]
    changes += [f"metric {spec}: is not asked for any more" for spec in before if spec not in after]
    changes += [
        f"metric {spec}: is {signature}, was {before[spec]}"
        for spec, signature in after.items()
        if spec in before and signature != before[spec]
    ]
    if not changes and list(before) != list(after):
        changes.append(f"metrics: are in the order {', '.join(after)}, were {', '.join(before)}")
    return changes


def _changed(option: str, then: object, now: object) -> list[str]:
    return [] if then == now else [f"{option}: is {_text(now)}, was {_text(then)}"]


def _text(value: object) -> str:
    return "not given" if value is None else str(value)


def _versions() -> dict[str, str]:
    versions = {"celadon": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
