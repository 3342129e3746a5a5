"""The figures of an instrument as data, and as JSON that can be read again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from celadon.core import InputError
from celadon.io.json_file import convert, parse_json
from celadon.io.sources import find_sources, open_stream

FORMAT = "celadon-instrument/1"
QUANTILES = ("0", "0.01", "0.03", "0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "1")
"""The shares of sound passages whose scores say what a score means."""
_WHAT = "what celadon meta instrument --json printed"


@dataclass(frozen=True)
class Cell:
    """False alarms among the sound passages of a cell; the interval is Wilson's of 95 %.

    A cell that is not counted is left out of the mean of false alarms.
    """

    cell: str
    size: int
    counted: bool
    passages: int
    nulls: int
    mean: float
    below: float
    low: float
    high: float


@dataclass(frozen=True)
class Genre:
    """What a score means in a genre, over sound passages of all sizes.

    Attributes
    ----------
    genre, passages
        Its name, and how many of its passages have a score.
    counted
        Whether its cells are counted.
    quantiles
        By share: the least score of a passage that, with all below it, makes up this share; 0 is the lowest score.
    below
        By score: the share of the passages that lies below it.
    """

    genre: str
    counted: bool
    passages: int
    quantiles: Mapping[str, float]
    below: Mapping[str, float]


@dataclass(frozen=True)
class System:
    """The mean score of a system's answers; the interval of 95 % knows that passages of a document are alike."""

    system: str
    passages: int
    nulls: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Length:
    """The quartiles of the scores of sound passages that are about equally long."""

    shortest: int
    longest: int
    passages: int
    lower: float
    median: float
    upper: float


@dataclass(frozen=True)
class Hits:
    """How well damaged copies are told from sound passages of all cells; a null on a copy is a miss."""

    kind: str
    copies: int
    nulls: int
    auc: float
    caught: float


@dataclass(frozen=True)
class Joined:
    """How far the score of two adjacent passages together is from their word-weighted mean."""

    pairs: int
    mean: float
    within: float


@dataclass(frozen=True)
class Corrections:
    """The share of corrections that raise the score; ties count half."""

    kind: str
    pairs: int
    raised: float


@dataclass(frozen=True)
class Instrument:
    """All figures of a metric."""

    metric: str
    gate: float
    cells: tuple[Cell, ...]
    length: float
    lengths: tuple[Length, ...]
    joined: Joined
    hits: tuple[Hits, ...]
    corrections: tuple[Corrections, ...]
    systems: tuple[System, ...]
    genres: tuple[Genre, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {"format": FORMAT, "false_alarms": self.false_alarms, **asdict(self)}

    @property
    def counted(self) -> tuple[Cell, ...]:
        """The cells that are counted and have scores."""
        return tuple(cell for cell in self.cells if cell.counted and cell.passages > cell.nulls)

    @property
    def best_systems(self) -> list[System]:
        """The systems, the best first; those without a mean come last."""
        return sorted(self.systems, key=lambda each: (np.isnan(each.mean), -each.mean, each.system))

    @property
    def false_alarms(self) -> float:
        """The mean over the counted cells of the share of sound passages below the gate."""
        return float(np.mean([cell.below for cell in self.counted])) if self.counted else float("nan")


def read_figures(path: str) -> Instrument:
    """Read the JSON of an earlier run.

    Raises
    ------
    InputError
        The file cannot be read, or holds something else; the message names the file and the field.
    """
    with open_stream(find_sources([path], "jsonl")[0]) as stream:
        content = parse_json(stream.buffer.read(), path)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path}: is not {_WHAT}: its format is not {FORMAT}")
    figures = convert(_with_nan(content), Instrument, f"{path}: is not {_WHAT}")
    for genre in figures.genres:
        if set(genre.quantiles) != set(QUANTILES):
            raise InputError(f"{path}: genre {genre.genre}: its quantiles are not those of {', '.join(QUANTILES)}")
        if list(genre.below) != list(figures.genres[0].below) or not all(map(_is_number, genre.below)):
            raise InputError(f"{path}: genre {genre.genre}: below must have the same scores as in all other genres")
    return figures


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _with_nan(value: Any) -> Any:
    """Return parsed JSON with NaN, which JSON cannot hold, in place of null."""
    if isinstance(value, dict):
        return {key: _with_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_nan(item) for item in value]
    return float("nan") if value is None else value
