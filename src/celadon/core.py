"""The words everybody speaks: samples, metrics, scores, signatures and errors.

This module is at the bottom of the package and imports nothing of ours.
"""

from __future__ import annotations

import dataclasses
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from celadon.scoring.batch import Batch

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


class Tree(NamedTuple):
    """A dependency tree: words, and for each the number, from 0, of the word it depends on; -1 for the root."""

    words: tuple[str, ...]
    heads: tuple[int, ...]


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
    trees
        For each reference its tree, or why it has none; empty where no trees were given.
    markup
        What the text is written in: ``auto``, ``markdown``, ``rst``, ``html`` or ``plain``.
    language
        The ISO 639 code of its language; empty where it is to be identified.
    """

    text: str
    references: tuple[str, ...] = ()
    source: str | None = None
    id: str | None = None
    system: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    origin: str = ""
    trees: tuple[Tree | str, ...] = ()
    markup: str = "auto"
    language: str = ""


class NullKind(StrEnum):
    """Why a text has no score. Reasons begin with their kind and a colon, except for ``wordless`` and ``other``."""

    WORDLESS = "wordless"
    FRAGMENT = "fragment"
    DATA = "data"
    LANGUAGE = "language"
    OTHER = "other"


NO_WORDS = "the text has no words"


def null_kind(reason: str) -> NullKind:
    """Return the kind of a reason."""
    if reason == NO_WORDS:
        return NullKind.WORDLESS
    kind = reason.partition(":")[0]
    return NullKind(kind) if kind in (NullKind.FRAGMENT, NullKind.DATA, NullKind.LANGUAGE) else NullKind.OTHER


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
    incomplete
        Why the metric cannot score with these options; empty where it can.
    comparable
        Whether a value is a rate, so that texts of any length can be compared: two passages together have the mean of
        both.
    """

    name: str
    meaning: str
    reading: str
    needs: frozenset[Need] = frozenset()
    direction: Direction = Direction.HIGHER
    low: float = 0.0
    high: float = 1.0
    parts: tuple[str, ...] = ()
    incomplete: str = ""
    comparable: bool = False


class Span(NamedTuple):
    """A stretch of characters and what a metric made of it; ``value`` is a number where there is one."""

    start: int
    end: int
    label: str
    note: str = ""
    value: float | None = None


UNREMARKABLE = frozenset({"match", "sentence", "in order"})
"""Labels of spans with which nothing is wrong: they are marked where the text is shown, but not listed."""
_IN_TEXT = frozenset({"alignment", "sentences", "tokens", "marks"})


@dataclass(frozen=True)
class Section:
    """One part of the evidence; the kind decides how it is rendered.

    Attributes
    ----------
    kind
        ``alignment``
            ``spans`` cover the words of the text and ``reference_spans`` those of the reference: match, substitution,
            insertion, deletion or move. Matches and substitutions of both sides pair up in order.
        ``sentences``
            ``spans`` are sentences, each shaded by its ``value``, from 0 (bad) to 1 (sound).
        ``tokens``
            ``spans`` are tokens, each shaded by its ``value``, a surprisal in bits.
        ``marks``
            ``spans`` are marked in the text and, under a title, listed.
        ``list``
            ``spans`` are listed with their notes; one of no characters is the end of what comes before it.
        ``passage``
            The first span is a passage with its value, the others are marked in it. Of several, the worst are shown.
        ``pair``
            The first two spans are passages side by side, the others are what they share.
        ``transition``
            The first two spans are passages that follow each other; ``value`` of the second says how well.
        ``table``
            ``values`` has ``columns``, their names, and ``rows``.
        ``tree``
            ``values`` has the ``words`` of the reference, their ``heads`` (-1: root), the ``place`` of each word in the
            text (-1: missing), the ``text_words``, and of each wrong one of the ``treelets`` its ``head``, the words
            ``expected`` and ``found``, which of these ``moved``, and a ``note``.
        any other
            ``lines``, ``spans`` and ``values`` are listed.
    title
        The heading; sections of the same kind and title that follow each other share it.
    spans
        Offsets into the text.
    lines
        Plain text.
    values
        Named data: numbers, strings, sequences of them.
    reference, reference_spans
        The number of a reference, and offsets into it.
    """

    kind: str
    title: str = ""
    spans: tuple[Span, ...] = ()
    lines: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    reference: int | None = None
    reference_spans: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """Why a text got its score, as data that a terminal or a page can render.

    Attributes
    ----------
    metric
        The metric that gives it.
    summary
        One line.
    sections
        The details.
    aspects
        The evidence of each aspect, for a metric that has several.
    """

    metric: str
    summary: str
    sections: tuple[Section, ...] = ()
    aspects: tuple[Evidence, ...] = ()

    @property
    def text_spans(self) -> tuple[Span, ...]:
        """All spans that are marked in the text."""
        own = [span for section in self.sections if section.kind in _IN_TEXT for span in section.spans]
        return (*own, *(span for aspect in self.aspects for span in aspect.text_spans))

    @property
    def reference(self) -> int | None:
        """The number of the reference that the text was compared with."""
        return next((section.reference for section in self.sections if section.reference is not None), None)

    @property
    def reference_spans(self) -> tuple[Span, ...]:
        """All spans that are marked in the reference."""
        return tuple(span for section in self.sections for span in section.reference_spans)

    def of_kind(self, kind: str) -> list[Section]:
        """Return the sections of one kind."""
        return [section for section in self.sections if section.kind == kind]


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

    explains: ClassVar[tuple[str, ...]] = ()
    """What the evidence is about, where reports are to show it with each text: ``("alignment",)``, ``("surprisal",)``.
    Of several metrics about the same, a report shows the first (of alignments the last)."""

    @property
    @abstractmethod
    def info(self) -> MetricInfo:
        """Return what to know before using the metric; a class attribute unless it depends on the options."""

    @abstractmethod
    def score(self, batch: Batch) -> MetricScores:
        """Score every sample of the batch."""

    def members(self) -> Mapping[str, Metric]:
        """Return the metrics that this one is computed from, by name; empty where it looks at the texts itself."""
        return {}

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

        told = {**self.options, **self.details()}
        # the bar between facts must not stand in one, as it does in <|endoftext|>
        facts = [f"{key}:{option_text(value).replace('|', '%7C')}" for key, value in told.items()]
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
        from celadon.scoring.api import score

        return score(predictions, references=references, sources=sources, metrics=[self]).as_evaluate(self.spec)


class Statistics(Protocol):
    """What is learnt of a set of texts, piece by piece; the pieces may be put together in any order."""

    def merged(self, other: Self) -> Self:
        """What both pieces together tell."""
        ...


Learnt = TypeVar("Learnt", bound=Statistics)


@dataclass(frozen=True)
class Components:
    """What a set-relative metric sees of each text before the set is known, one number per sample or NaN."""

    columns: Mapping[str, FloatArray] = field(default_factory=dict)
    reasons: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fitted:
    """The constants that a set-relative metric took from a set.

    ``rows`` is how many texts they rest on; ``origin`` is ``set`` where these are the texts that are scored, else
    ``given``. Where weights rest on word or token counts, ``counts`` holds them and has a ``digest``.
    """

    constants: Mapping[str, float]
    rows: int
    origin: str
    counts: Any = None

    @property
    def digest(self) -> str:
        """A hash to tell constants apart; rounded, because a model's last digits may differ by the batch size."""
        if self.counts is not None:
            return str(self.counts.digest[:8])
        facts = "\n".join(f"{name}={value:.6g}" for name, value in self.constants.items())
        return hashlib.sha256(facts.encode()).hexdigest()[:8]


class SetRelativeMetric(Metric, Generic[Learnt]):
    """A metric whose scores depend on the whole set that is scored, or on another set that is given for it.

    A set is scored in two passes: the first computes the components of each text and gathers statistics, the second
    combines components and constants. :meth:`fit` returns the metric with its constants beside it. Without them,
    :meth:`score` takes its batch for the whole set.
    """

    @property
    def is_relative(self) -> bool:
        """Return whether the scores depend on the set with these options."""
        return True

    @property
    def component_names(self) -> tuple[str, ...]:
        """The parts that tell all that :meth:`statistics` needs; none where these need the texts themselves."""
        return ()

    @abstractmethod
    def components(self, batch: Batch) -> Components:
        """Compute what the batch tells of each text whatever the set is."""

    @abstractmethod
    def statistics(self, batch: Batch, components: Components) -> Learnt:
        """Compute what the batch adds to the statistics of the set."""

    @abstractmethod
    def constants_of(self, statistics: Learnt, origin: str) -> Fitted:
        """Return the constants that the statistics of a whole set give."""

    @abstractmethod
    def combine(self, batch: Batch, components: Components, fitted: Fitted) -> MetricScores:
        """Score a batch from its components and the constants."""

    def fitted_info(self, fitted: Fitted) -> MetricInfo:
        """Return what a person wants to know of the metric with these constants."""
        return self.info

    def fitted_evidence(self, sample: Sample, fitted: Fitted) -> Evidence | None:
        """Explain a sample's score with these constants."""
        return self.evidence(sample)

    def fit(self, statistics: Learnt, origin: str = "set") -> BoundMetric:
        """Return this metric with the constants that the statistics of a whole set give."""
        return BoundMetric(self, self.constants_of(statistics, origin))

    def score(self, batch: Batch) -> MetricScores:
        components = self.components(batch)
        return self.combine(batch, components, self.constants_of(self.statistics(batch, components), "set"))

    def details(self) -> Mapping[str, str]:
        return {"constants": "of-the-set"}


@dataclass(frozen=True)
class BoundMetric(Metric):
    """A metric beside what its scores rest on and its notation does not say.

    Attributes
    ----------
    metric
        The metric as its notation describes it.
    fitted
        The constants of a set-relative metric.
    trees
        The digest of the dependency trees that were given for the references.
    """

    metric: Metric
    fitted: Fitted | None = None
    trees: str | None = None

    @property
    def info(self) -> MetricInfo:
        """What a person wants to know of the metric, constants included."""
        if self.fitted is not None and isinstance(self.metric, SetRelativeMetric):
            return self.metric.fitted_info(self.fitted)
        return self.metric.info

    @property
    def explains(self) -> tuple[str, ...]:  # type: ignore[override]
        """What the evidence is about."""
        return self.metric.explains

    @property
    def options(self) -> dict[str, Any]:
        """The options of the metric; what it is bound to is none."""
        return self.metric.options

    @property
    def spec(self) -> str:
        """The notation of the metric, which does not say what it is bound to."""
        return self.metric.spec

    def score(self, batch: Batch) -> MetricScores:
        if self.fitted is not None and isinstance(self.metric, SetRelativeMetric):
            return self.combine(batch, self.metric.components(batch))
        return self.metric.score(batch)

    def combine(self, batch: Batch, components: Components) -> MetricScores:
        """Score a batch from its components and the constants."""
        assert self.fitted is not None
        assert isinstance(self.metric, SetRelativeMetric)
        return self.metric.combine(batch, components, self.fitted)

    def members(self) -> Mapping[str, Metric]:
        return self.metric.members()

    def aggregate(self, statistics: FloatArray) -> float | None:
        return self.metric.aggregate(statistics)

    def evidence(self, sample: Sample) -> Evidence | None:
        if self.fitted is not None and isinstance(self.metric, SetRelativeMetric):
            return self.metric.fitted_evidence(sample, self.fitted)
        return self.metric.evidence(sample)

    def models(self) -> tuple[str, ...]:
        return self.metric.models()

    def details(self) -> Mapping[str, str]:
        facts = dict(self.metric.details()) if self.trees is None else {"trees": f"given@{self.trees[:8]}"}
        if self.fitted is not None:
            facts |= {"constants": self.fitted.digest, "fitted-on": self.fitted.origin}
        return facts


def is_set_relative(metric: Metric) -> TypeGuard[SetRelativeMetric[Any]]:
    """Return whether a metric has no scores before a whole set is known: it is relative to one and not fitted yet."""
    return isinstance(metric, SetRelativeMetric) and metric.is_relative


def unbound(metric: Metric) -> Metric:
    """Return a metric without what it is bound to."""
    return metric.metric if isinstance(metric, BoundMetric) else metric


def fitted_constants(metrics: Iterable[Metric]) -> dict[str, Fitted]:
    """Return the constants of the metrics that were fitted to a set, by their notation."""
    bound = (metric for metric in metrics if isinstance(metric, BoundMetric))
    return {metric.spec: metric.fitted for metric in bound if metric.fitted is not None}
