"""News-like summaries of three systems, and small metrics whose scores are easy to check."""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from celadon.core import Direction, Evidence, FloatArray, Metric, MetricInfo, MetricScores, Need, Sample, Section, Span
from celadon.report.collector import ReportCollector
from celadon.scoring.batch import Batch
from celadon.scoring.summary import Summarizer, Summary

SENTENCES = """\
The city council voted nine to two on Tuesday to extend the tram line to the harbour, ending a decade of delays.
Engineers say the bridge will stay closed for at least six weeks while cracks in its southern pier are repaired.
Farmers in the valley have lost a third of their apple harvest to a late frost, the growers' union said.
The central bank left its main rate unchanged at 3.5 per cent and hinted at a cut before the summer.
Rescue teams found the two missing hikers alive on Sunday, cold but unhurt, in a shelter below the ridge.
The museum will return eleven bronzes to the coastal kingdom from which they were taken in 1897.
A power failure stopped trains on the eastern line for four hours and stranded thousands of commuters.
Researchers have mapped a cave system under the desert that may hold the region's largest store of fresh water.
The airline cancelled forty flights after its booking system broke down for the second time in a month.
Voters in the northern districts chose a retired schoolteacher as their new mayor by a margin of 312 votes.
The court ruled that the factory must pay for cleaning the river it had polluted for more than twenty years.
Hospitals have begun to use a simple blood test that finds the illness years before the first symptoms appear.
The national team won the final in extra time after their captain had been carried off with a knee injury.
Prices of coffee rose to their highest level in eight years after drought damaged crops in the highlands.
The publisher apologised for printing the wrong ending of the novel in its first ten thousand copies.
Police recovered a stolen violin worth two million euros from the luggage rack of a suburban train.
A volunteer group has planted half a million trees along the old railway since the line was closed.
The minister resigned late on Friday, hours after a newspaper published letters she had denied writing.
Scientists warned that the glacier has lost more ice this year than in the whole of the previous decade.
The shipyard will build four ferries that run on batteries, its largest order since the nineteen seventies.
Teachers returned to work on Monday after the union accepted a pay rise of six per cent over two years.
The old cinema will open again in autumn as a library, with its painted ceiling restored by hand.
A small earthquake shook the capital before dawn, breaking windows but causing no serious injuries.
The orchestra named its first woman as chief conductor, and she will begin with a season of new works.""".splitlines()

SYNONYMS = {
    "said": "reported", "found": "discovered", "rose": "climbed", "new": "newly elected", "hours": "a few hours",
    "closed": "shut", "large": "big", "late": "a late", "year": "season", "years": "seasons", "begin": "start",
    "Police": "Officers", "Teachers": "Staff", "ruled": "decided", "begun": "started", "warned": "cautioned",
    "voted": "decided", "won": "took", "lost": "shed", "broke": "went", "small": "minor", "old": "former",
}  # fmt: skip
SYSTEMS = {"extractive": 0.03, "pointer-generator": 0.10, "transformer-large": 0.06}


def corrupted(text: str, rate: float, dice: random.Random) -> str:
    """Change a text as a summariser might: other words, words left out or doubled, a clause moved."""
    words = []
    for word in text.split():
        chance = dice.random()
        if word in SYNONYMS and chance < 6 * rate:
            words.append(SYNONYMS[word])
        elif chance < rate:
            continue
        elif chance < 1.4 * rate:
            words += [word, word]
        else:
            words.append(word)
    if dice.random() < 4 * rate:
        cut = len(words) // 3
        words = words[cut:] + words[:cut]
    return " ".join(words)


def news(items: int, *, sentences: int = 2, seed: int = 7) -> list[Sample]:
    """Summaries of ``items`` articles by each of three systems."""
    dice = random.Random(seed)
    samples = []
    for item in range(items):
        chosen = dice.sample(SENTENCES, sentences)
        references = (" ".join(chosen), corrupted(" ".join(chosen), 0.3, dice))
        samples += [
            Sample(corrupted(references[0], rate, dice), references, id=f"news-{item + 1:04}", system=name)
            for name, rate in SYSTEMS.items()
        ]
    return samples


def word_spans(text: str) -> list[Span]:
    """Each word's place, still unlabelled."""
    return [Span(found.start(), found.end(), "match") for found in re.finditer(r"\S+", text)]


def matcher(text: str, reference: str) -> difflib.SequenceMatcher[str]:
    """The standard library's alignment of two texts' words."""
    return difflib.SequenceMatcher(None, text.split(), reference.split(), autojunk=False)


@dataclass(frozen=True)
class Ratio(Metric):
    """Share of words that align, times ``scale``."""

    scale: float = 1.0
    explains: ClassVar[tuple[str, ...]] = ("alignment",)
    info: ClassVar[MetricInfo] = MetricInfo(
        "ratio",
        "Share of words in common with the first reference",
        "Higher means closer",
        frozenset({Need.REFERENCES}),
    )

    def score(self, batch: Batch) -> MetricScores:
        """Score by difflib; null without words or without a reference."""
        values, reasons = np.full(len(batch), np.nan), {}
        for row, sample in enumerate(batch.samples):
            if not sample.text.split():
                reasons[row] = "the text has no words"
            elif not sample.references:
                reasons[row] = "no usable reference"
            else:
                values[row] = self.scale * matcher(sample.text, sample.references[0]).ratio()
        return MetricScores(self.spec, values, reasons=reasons)

    def evidence(self, sample: Sample) -> Evidence | None:
        """Label each word."""
        own, other = word_spans(sample.text), word_spans(sample.references[0])
        for kind, a, b, c, d in matcher(sample.text, sample.references[0]).get_opcodes():
            label = {"equal": "match", "replace": "substitution", "insert": "deletion", "delete": "insertion"}[kind]
            own[a:b] = [span._replace(label=label) for span in own[a:b]]
            other[c:d] = [span._replace(label=label) for span in other[c:d]]
        return Evidence("ratio", "", (Section("alignment", "", tuple(own), reference=0, reference_spans=tuple(other)),))


@dataclass(frozen=True)
class Lengthy(Metric):
    """Words in the text, where fewer are better and there is no bound."""

    info: ClassVar[MetricInfo] = MetricInfo(
        "length", "Number of words", "Lower means shorter", direction=Direction.LOWER, high=float("inf")
    )

    def score(self, batch: Batch) -> MetricScores:
        """Count the words."""
        return MetricScores(self.spec, np.array([float(len(sample.text.split())) for sample in batch.samples]))


@dataclass(frozen=True)
class Precision(Metric):
    """Words of the text that are in the reference, in per cent, with a corpus score."""

    start: int = 0
    info: ClassVar[MetricInfo] = MetricInfo("precision", "Words that the reference has too", "Higher", high=100.0)

    def score(self, batch: Batch) -> MetricScores:
        """Score with statistics."""
        table = np.zeros((len(batch), 2))
        for row, sample in enumerate(batch.samples):
            words = sample.text.split()[self.start :]
            known = set(sample.references[0].split()) if sample.references else set()
            table[row] = sum(word in known for word in words), len(words)
        with np.errstate(invalid="ignore"):
            values = 100 * table[:, 0] / table[:, 1]
        reasons = {int(row): "the text has no words" for row in np.flatnonzero(np.isnan(values))}
        return MetricScores(self.spec, values, reasons=reasons, statistics=table)

    def aggregate(self, statistics: FloatArray) -> float | None:
        """Pool the counts."""
        return float(100 * statistics[0] / statistics[1]) if statistics[1] else None


METRICS: tuple[Metric, ...] = (
    Ratio(),
    Precision(),
    Lengthy(),
    Ratio(scale=0.5),
    Precision(start=3),
    Precision(start=6),
)


def collected(
    samples: Sequence[Sample], metrics: Sequence[Metric] = METRICS, cuts: Sequence[int] = (), **options: int
) -> tuple[ReportCollector, Summary]:
    """Score a stream that is cut into batches at ``cuts``."""
    collector, summarizer = ReportCollector(metrics, **options), Summarizer(metrics, resamples=50)
    for start, end in zip([0, *cuts], [*cuts, len(samples)], strict=True):
        part = samples[start:end]
        scores = {metric.spec: metric.score(Batch(part)) for metric in metrics}
        collector.add(part, scores)
        summarizer.add(part, scores)
    return collector, summarizer.summary()


def report(samples: Sequence[Sample], metrics: Sequence[Metric] = METRICS, **options: int) -> str:
    """The report on a stream."""
    collector, summary = collected(samples, metrics, **options)
    return collector.html(summary, title="News summaries", inputs=["outputs.jsonl"])
