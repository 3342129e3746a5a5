"""The words everybody speaks: samples, metrics, scores, signatures and errors.

This module is at the bottom of the package and imports nothing of ours.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from celadon.batch import Batch

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]


class CeladonError(Exception):
    """Something the user can mend; shown as one line, never as a traceback."""

    exit_code = 1


class UsageError(CeladonError):
    """The request itself is wrong: an unknown metric, a bad option, nothing to do."""

    exit_code = 2


class InputError(CeladonError):
    """The data are wrong; the message begins with where: ``file:line`` or ``row N``."""

    exit_code = 2


class MissingPartError(CeladonError):
    """An optional part is not installed, and the message says how it can be."""

    exit_code = 3


class MissingExtraError(MissingPartError):
    """An extra is not installed; the message names the command that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} is not installed; install it with: celadon install {extra}")


class OutputError(CeladonError):
    """A result cannot be written: no permission, no space, no such folder."""

    exit_code = 4


@dataclass(frozen=True, slots=True)
class Sample:
    """One generated text with all that is known about it.

    Attributes
    ----------
    text
        The generated text.
    references
        Texts written by people for the same input; may be empty.
    source
        What the text was made from, for metrics that need it.
    id
        The item's name; rows of several systems may share one.
    system
        Who made the text.
    extra
        Every column of the row it came from, in its order.
    origin
        Where it came from, for messages: ``file:line`` or ``row N``.
    """

    text: str
    references: tuple[str, ...] = ()
    source: str | None = None
    id: str | None = None
    system: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    origin: str = ""


class Direction(StrEnum):
    """Which end of a metric's range is the better one."""

    HIGHER = "higher is better"
    LOWER = "lower is better"


class Need(StrEnum):
    """What a metric needs beside the text."""

    REFERENCES = "references"
    SOURCE = "source"


@dataclass(frozen=True)
class MetricInfo:
    """What a person wants to know of a metric before using it.

    Attributes
    ----------
    name
        The name it is asked for by.
    meaning
        One line: what it measures.
    reading
        How to read a value.
    needs
        What must be there beside the text.
    direction
        Which end is better.
    low, high
        The range of its values; infinite where there is no bound.
    parts
        Names of the columns that explain the value.
    """

    name: str
    meaning: str
    reading: str
    needs: frozenset[Need] = frozenset()
    direction: Direction = Direction.HIGHER
    low: float = 0.0
    high: float = 1.0
    parts: tuple[str, ...] = ()


class Span(NamedTuple):
    """A stretch of characters and what a metric made of it."""

    start: int
    end: int
    label: str
    note: str = ""


@dataclass(frozen=True)
class Evidence:
    """Why a text got its score, in a form that a terminal or a page can show.

    ``text_spans`` are offsets into the text; ``reference_spans`` into the reference numbered ``reference``.
    """

    metric: str
    summary: str
    text_spans: tuple[Span, ...] = ()
    reference: int | None = None
    reference_spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class MetricScores:
    """One metric's scores of one batch, in the order of its samples.

    Attributes
    ----------
    metric
        The metric as it was asked for: its column's name.
    values
        One number per sample; NaN where there is none.
    parts
        Columns of the same length that explain the values.
    reasons
        For each row without a value, why.
    statistics
        Where the corpus score is more than a mean: one row of sufficient statistics per sample (zeros where null),
        to be summed and given to :meth:`Metric.aggregate`.
    """

    metric: str
    values: FloatArray
    parts: Mapping[str, FloatArray] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)
    statistics: FloatArray | None = None


def option_text(value: Any) -> str:
    """An option's value as the notation writes it: true and false, numbers without needless zeros."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return str(value)


class Metric(ABC):
    """A pure map from a batch to scores.

    A metric is a frozen dataclass whose fields are its options. It holds no model, opens no file and never changes
    its input; model work is asked of the batch.
    """

    info: ClassVar[MetricInfo]
    aligns: ClassVar[bool] = False
    """Whether the evidence is an alignment: every word of both sides has a span labelled match, substitution,
    insertion, deletion or move, and the matches and substitutions of both sides pair up in order."""

    @abstractmethod
    def score(self, batch: Batch) -> MetricScores:
        """Score every sample of the batch."""

    def aggregate(self, statistics: FloatArray) -> float | None:
        """Corpus score from summed statistics; None where the corpus score is the mean of the texts."""
        return None

    def evidence(self, sample: Sample) -> Evidence | None:
        """Why this sample got its score; None where the metric has nothing to show."""
        return None

    def models(self) -> tuple[str, ...]:
        """The models used, each as ``name@sha256-8``, for the signature."""
        return ()

    def details(self) -> Mapping[str, str]:
        """Facts for the signature beyond the options (a tokenizer, a library's version)."""
        return {}

    @property
    def options(self) -> dict[str, Any]:
        """All options with their values."""
        if not dataclasses.is_dataclass(self):
            return {}
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}

    @property
    def spec(self) -> str:
        """The metric in the notation of the command line: ``name[option=value]``, defaults left out."""
        if not dataclasses.is_dataclass(self):
            return self.info.name
        changed = [
            f"{f.name}={option_text(getattr(self, f.name))}"
            for f in dataclasses.fields(self)
            if f.init and getattr(self, f.name) != f.default
        ]
        return f"{self.info.name}[{','.join(changed)}]" if changed else self.info.name

    @property
    def signature(self) -> str:
        """How the score was made, in one line that two people can compare."""
        from celadon import __version__

        facts = [f"{key}:{option_text(value)}" for key, value in {**self.options, **self.details()}.items()]
        return "|".join([self.info.name, *facts, *self.models(), f"celadon:{__version__}"])

    def compute(
        self,
        predictions: Sequence[str],
        references: Sequence[str | Sequence[str]] | None = None,
        sources: Sequence[str] | None = None,
    ) -> dict[str, Any]:
        """Score lists in the way of Hugging Face ``evaluate``.

        Parameters
        ----------
        predictions
            The generated texts.
        references
            For each text a reference or a list of them.
        sources
            For each text what it was made from.

        Returns
        -------
        dict
            ``{name: corpus score, "scores": one per text, "signature": ...}``; a null score is None.
        """
        from celadon.api import score

        return score(predictions, references=references, sources=sources, metrics=[self]).as_evaluate(self.spec)
