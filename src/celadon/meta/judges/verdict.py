"""The audit in words: what may be concluded with this judge, what not, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator

from celadon.meta.gate_agreement import GateAgreement
from celadon.meta.jackknife import Estimate
from celadon.meta.judges.results import Agreement, Bias, JudgeAudit, Verdict
from celadon.meta.study.rows import AgreementRow

# what is shown but moves the score by less than this part of its spread is called small
SMALL = 0.1
# systems are told apart by a judge that surely agrees with people this well on them
_ORDERS_SYSTEMS = 0.5
_ENOUGH_SYSTEMS = 5
_TOO_MANY_FLIPS = 0.05
_FEW_LABELS = 50
_UNRELIABLE = 0.1
_REPEATABLE = 0.5
_UNEQUAL = 0.1
_NAMED = 4


def verdict_of(one: JudgeAudit, people: AgreementRow | None, repeats: str) -> Verdict:
    """Return the verdict about one judge from its figures."""
    may: list[str] = []
    may_not: list[str] = []
    steps: list[str] = []
    if people is not None and people.icc_single < _UNRELIABLE:
        _unreliable(people, may_not, steps)
    else:
        _texts(one, may, may_not, steps)
    _systems(one, may, may_not)
    _gate(one, may, may_not, steps)
    _flips(one, repeats, may, may_not, steps)
    _biases(one, may, may_not, steps)
    _alternatives(one, may, may_not, steps)
    _labels(one, may, may_not, steps)
    return Verdict(_headline(one), tuple(may), tuple(may_not), tuple(steps))


def _level(one: JudgeAudit, level: str) -> Agreement | None:
    return next((row for row in one.agreement if row.level == level and math.isfinite(row.value)), None)


def _headline(one: JudgeAudit) -> str:
    row = _level(one, "instance")
    if row is None:
        return f"{one.judge}: its agreement with people is not known: {one.agreement[0].reason}"
    told = f"correlation {row.value:.2f}, 95% interval {row.low:.2f} to {row.high:.2f}"
    if row.high < 0:
        return f"{one.judge} contradicts people: {told}; check which end of its scale is the better one"
    if row.low <= 0:
        return f"{one.judge} is not shown to agree with people at all: {told}, on {row.used:,} rated texts"
    if not math.isfinite(row.advantage.value):
        return f"{one.judge} agrees with people ({told}); with one rating a text nobody can say how well people do"
    if row.advantage.low > 0:
        than = "agrees with people better than one person does"
    elif row.advantage.high < 0:
        than = "agrees with people, but less than one person does"
    else:
        than = "is not shown to agree with people better or worse than one person does"
    return f"{one.judge} {than}: {told}"


def _unreliable(people: AgreementRow, may_not: list[str], steps: list[str]) -> None:
    may_not.append(
        "Nothing can be said of single texts: raters of one text agree hardly more than raters of different texts "
        f"(intraclass correlation {people.icc_single:.2f}), and what a text deserves is not known."
    )
    steps.append("Look at how people were asked: clearer questions, examples, and checks that they read the texts.")


def _texts(one: JudgeAudit, may: list[str], may_not: list[str], steps: list[str]) -> None:
    row = _level(one, "instance")
    if row is None or row.low <= 0:
        may_not.append("Do not use it on single texts: it is not shown to agree with people.")
    elif math.isfinite(row.advantage.value):
        pair = (
            f"with the other raters it correlates {row.judge_as_rater:.2f}, one person {row.rater:.2f} "
            f"(difference {signed(row.advantage)})"
        )
        if row.advantage.high < 0:
            may_not.append(f"It cannot stand in for a person on single texts: {pair}.")
        elif row.advantage.low > 0:
            may.append(f"It may stand in for one person on single texts: {pair}.")
        else:
            may_not.append(f"Whether it can stand in for a person is not decided: {pair}.")
            steps.append("Rate more texts, each by at least two people, to compare the judge with one person.")
    else:
        steps.append("Let at least two people rate each text: only then is it known how well a person would do.")
    if one.rated < _FEW_LABELS:
        steps.append(f"Only {one.rated:,} texts are rated; with {_FEW_LABELS} or more every interval here is narrower.")


def _systems(one: JudgeAudit, may: list[str], may_not: list[str]) -> None:
    row = _level(one, "system")
    if row is None:
        return
    count = len(one.means)
    told = f"over systems its correlation is {row.value:.2f}{_bounds(row)}"
    if row.low > _ORDERS_SYSTEMS and count >= _ENOUGH_SYSTEMS:
        may.append(f"It may be used to rank systems: {told}.")
    else:
        few = f", from {count} systems" if count < _ENOUGH_SYSTEMS else ""
        may_not.append(f"It is not shown to rank systems as people do: {told}{few}.")


def _bounds(row: Agreement) -> str:
    return f" ({row.low:.2f} to {row.high:.2f})" if math.isfinite(row.low) else ""


def _gate(one: JudgeAudit, may: list[str], may_not: list[str], steps: list[str]) -> None:
    gate: GateAgreement | None = one.gate
    if gate is None or not math.isfinite(gate.accuracy.value):
        return
    told = (
        f"{gate.accuracy.value:.0%} of its verdicts are people's "
        f"({gate.accuracy.low:.0%} to {gate.accuracy.high:.0%}); "
        f"the same answer every time would reach {gate.constant:.0%}"
    )
    if gate.gain.low > 0:
        person = f", one person {gate.rater:.0%}" if math.isfinite(gate.rater) else ""
        may.append(f"It may gate texts: {told}{person}.")
    else:
        may_not.append(f"It is not shown to gate texts better than a constant answer: {told}.")
    if abs(gate.judge_passed - gate.passed) > _UNEQUAL:
        steps.append(
            f"Move the judge's gate: it passes {gate.judge_passed:.0%} of the texts, people pass {gate.passed:.0%}."
        )


def _flips(one: JudgeAudit, repeats: str, may: list[str], may_not: list[str], steps: list[str]) -> None:
    word = "run" if repeats == "runs" else "prompt"
    if one.repeatability is None:
        steps.append("Score some texts several times: how far the judge repeats itself is not known from one score.")
        return
    if one.flips is None or not math.isfinite(one.flips.rate.value):
        told = f"one {word} has a reliability of {one.repeatability.single:.2f}"
        if one.repeatability.single < _REPEATABLE:
            may_not.append(f"A single score is not repeatable: {told}.")
        else:
            may.append(f"Scores repeat over {word}s: {told}.")
        return
    suite = one.flips.expected[1]
    told = (
        f"from one {word} to the next {one.flips.rate.value:.1%} of the verdicts change, "
        f"{suite.low} to {suite.high} in a suite of {suite.checks}"
    )
    if one.flips.rate.value <= _TOO_MANY_FLIPS:
        may.append(f"Verdicts are stable over {word}s: {told}.")
        return
    may_not.append(f"Do not fail a build over a single verdict: {told}.")
    many = next((row for row in one.averaging if row.repetitions == 5), None)
    if many is not None and math.isfinite(many.flips):
        steps.append(f"Average 5 {word}s: then about {many.flips:.1%} of the verdicts change.")


def _biases(one: JudgeAudit, may: list[str], may_not: list[str], steps: list[str]) -> None:
    shown = sorted((bias for bias in one.biases if bias.shown), key=lambda bias: -abs(bias.size))
    told = sum(math.isfinite(bias.effect.value) for bias in one.biases)
    if told and not shown:
        may.append(f"No bias is shown among {told} that could be looked for.")
    for bias in shown[:_NAMED]:
        small = " (small)" if abs(bias.size) < SMALL else ""
        may_not.append(f"{bias_words(bias)}{small}.")
    if len(shown) > _NAMED:
        may_not.append(f"{len(shown) - _NAMED} more biases are shown below.")
    if shown and not all(bias.corrected for bias in shown):
        steps.append(
            "Let two people rate each text: the error of single ratings can look like bias, and is not taken out."
        )


def bias_words(bias: Bias) -> str:
    """Return a bias as a sentence without its full stop."""
    effect = bias.effect
    told = f"{effect.value:+.2f}, 95% interval {effect.low:+.2f} to {effect.high:+.2f}"
    if bias.name == "leniency":
        return f"Its scores are {'above' if effect.value > 0 else 'below'} people's ratings of the same texts: {told}"
    if bias.name == "compression":
        use = "less" if effect.value < 0 else "more"
        step = f"{1 + effect.value:.2f} points for one point of quality"
        return f"It uses {use} of the scale than people do: {step}"
    if bias.name == "clumping":
        more = "more" if effect.value > 0 else "less"
        return f"Two texts share a score {more} often than with people: {told}"
    direction = "favors" if effect.value > 0 else "is against"
    what = {"own family": "its own family"}.get(bias.name, bias.name)
    return f"At the same human rating it {direction} {what}: {told} points ({bias.unit})"


def _alternatives(one: JudgeAudit, may: list[str], may_not: list[str], steps: list[str]) -> None:
    equal = [row.name for row in one.alternatives if row.better == "" and math.isfinite(row.difference.value)]
    better = [row for row in one.alternatives if row.better == "alternative"]
    beaten = [row.name for row in one.alternatives if row.better == "judge"]
    for row in better:
        may_not.append(f"{row.name}, which is free, agrees better: {row.alternative:.2f} against {row.judge:.2f}.")
    if equal:
        may_not.append(f"It is not shown to agree better than {', '.join(equal)}.")
    if beaten:
        may.append(f"It agrees with people better than {', '.join(beaten)}.")
    if one.combination is not None and one.combination.gain.low > 0:
        gain = one.combination.gain
        steps.append(
            f"Combine it with {', '.join(name for name in one.combination.terms if name != one.judge)}: together they "
            f"reach {one.combination.correlation:.2f} on items left out ({signed(gain)})."
        )


def _labels(one: JudgeAudit, may: list[str], may_not: list[str], steps: list[str]) -> None:
    helped = [row for row in one.means if row.mean.unlabeled]
    if helped:
        labels = sum(row.mean.labels for row in helped)
        worth = sum(row.mean.equivalent for row in helped)
        if worth > 1.05 * labels:
            may.append(
                f"With its scores {labels:,} labels tell as much of mean ratings as {worth:,.0f} would without it."
            )
        else:
            may_not.append(f"Its scores save hardly any labels: {labels:,} count for {worth:,.0f}.")
        open_rows = [row for row in helped if row.needed is not None and row.needed > row.mean.labels]
        if open_rows:
            more = sum((row.needed or 0) - row.mean.labels for row in open_rows)
            width = max(row.wanted for row in open_rows)
            steps.append(
                f"Rate {more:,} more texts to bring the interval of each mean to a width of {width:.2g}; "
                "--next-items FILE chooses them."
            )
    undecided = [row for row in one.differences if row.difference.low <= 0 <= row.difference.high]
    if one.differences and len(undecided) < len(one.differences):
        sure = len(one.differences) - len(undecided)
        may.append(f"{one.differences[0].first} is better than {sure} of {len(one.differences)} other systems.")
    if undecided:
        names = _some([row.second for row in undecided])
        may_not.append(f"{undecided[0].first} is not shown to be better than {names}.")


def _some(names: list[str]) -> str:
    rest = len(names) - _NAMED
    return f"{', '.join(names[:_NAMED])} and {rest} more" if rest > 0 else ", ".join(names)


def signed(one: Estimate) -> str:
    """Write an estimate with its sign and its interval."""
    return f"{one.value:+.2f}, 95% interval {one.low:+.2f} to {one.high:+.2f}"


def verdict_lines(verdict: Verdict) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the parts of a verdict under their headings, without empty ones."""
    parts = (
        ("What may be concluded", verdict.may),
        ("What may not", verdict.may_not),
        ("What to do next", verdict.next_steps),
    )
    yield from ((title, lines) for title, lines in parts if lines)
