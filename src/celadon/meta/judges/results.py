"""The results of an audit, as plain values for terminals, files and pages."""

from __future__ import annotations

from typing import NamedTuple

from celadon.meta.gate_agreement import GateAgreement
from celadon.meta.jackknife import Estimate
from celadon.meta.judges.inputs import JudgeTable
from celadon.meta.prediction_powered import PoweredDifference, PoweredMean
from celadon.meta.repeatability import Averaging, Flips, Repeatability
from celadon.meta.study.rows import AgreementRow


class Agreement(NamedTuple):
    """The correlation of a judge with the mean rating at one level, and what one person reaches.

    ``rater`` is the mean correlation of one rater with the mean of the others, ``judge_as_rater`` that of the judge
    with the same means, and ``advantage`` the difference of the two, judge less rater, with its interval.
    """

    level: str
    value: float
    low: float
    high: float
    used: int
    rater: float
    judge_as_rater: float
    advantage: Estimate
    reason: str = ""


class Bias(NamedTuple):
    """What the judge looks at beside quality: an effect on its score at the same human rating.

    ``unit`` says what the effect is of, ``size`` is the effect in standard deviations of the judge's scores.
    ``judge_correlation`` and ``human_correlation`` are those of the judge and of people with the same thing.
    ``adjusted`` is the p-value after Holm's correction for all effects of this judge, and ``shown`` whether it is below
    0.05. ``corrected`` says whether the error of the ratings was taken out.
    """

    name: str
    unit: str
    effect: Estimate
    size: float
    judge_correlation: float
    human_correlation: float
    adjusted: float
    shown: bool
    corrected: bool


class Alternative(NamedTuple):
    """Another score beside the judge: both correlations with people, and their difference, judge less alternative.

    ``better`` is ``judge``, ``alternative`` or empty where neither is shown to be (after Holm's correction).
    """

    name: str
    judge: float
    alternative: float
    difference: Estimate
    adjusted: float
    better: str


class Combination(NamedTuple):
    """Judge and alternatives together, by ridge regression: its correlation on items left out, and its gain over the
    judge alone.
    """

    correlation: float
    gain: Estimate
    intercept: float
    terms: dict[str, float]
    penalty: float
    rows: int


class SystemMean(NamedTuple):
    """The mean rating of a system (empty for all texts) from labels and judge, and how many labels a width needs.

    ``wanted`` is the width, ``needed`` the labels for it with the judge, ``needed_alone`` without; None where even
    rating all texts would not do.
    """

    system: str
    mean: PoweredMean
    wanted: float
    needed: int | None
    needed_alone: int | None


class SystemDifference(NamedTuple):
    """Two systems, and the difference of their mean ratings."""

    first: str
    second: str
    difference: PoweredDifference


class WidthPoint(NamedTuple):
    """The width of the interval of a system's mean, on average, with so many labels, with the judge and without."""

    labels: int
    width: float
    alone: float


class Verdict(NamedTuple):
    """What may be concluded with a judge, what not, and what to do next; ``headline`` is the whole in one sentence."""

    headline: str
    may: tuple[str, ...]
    may_not: tuple[str, ...]
    next_steps: tuple[str, ...]


class JudgeAudit(NamedTuple):
    """Everything about one judge; None or empty where the table does not tell it."""

    judge: str
    columns: tuple[str, ...]
    scored: int
    rated: int
    verdict: Verdict
    agreement: tuple[Agreement, ...]
    gate: GateAgreement | None
    repeatability: Repeatability | None
    flips: Flips | None
    averaging: tuple[Averaging, ...]
    biases: tuple[Bias, ...]
    alternatives: tuple[Alternative, ...]
    combination: Combination | None
    means: tuple[SystemMean, ...]
    differences: tuple[SystemDifference, ...]
    widths: tuple[WidthPoint, ...]


class Audit(NamedTuple):
    """The audit of all judges of a table, in the order in which they were named.

    ``people`` is how far the raters agree; None where no text has two ratings.
    """

    table: JudgeTable
    judges: tuple[JudgeAudit, ...]
    kind: str
    repeats: str
    gate: float | None
    judge_gate: float | None
    people: AgreementRow | None
    raters: int
    notes: tuple[str, ...]
    seed: int
    resamples: int

    def to_dict(self) -> dict[str, object]:
        """Return the figures without the table."""
        facts = {name: getattr(self, name) for name in self._fields if name != "table"}
        return {"rows": self.table.rows, "human": self.table.human, **facts}
