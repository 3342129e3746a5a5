"""The trees of shown texts, where a tree accuracy was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from celadon.core import Metric, Sample, unbound
from celadon.metrics.tree_accuracy import TreeAccuracy
from celadon.report.dependency_svg import dependency_svg
from celadon.report.escape import escape
from celadon.report.keep import Kept

# A drawing takes some thousand bytes: the best and worst texts have one, and of these the shorter.
_MOST = 60
_WORDS = 60


@dataclass(frozen=True)
class TreeDrawings:
    """Drawings by the positions of texts, and from which metric; empty where there is none."""

    metric: str = ""
    found: Mapping[int, str] = field(default_factory=dict)

    def lines(self, kept: Kept) -> str:
        """Show the drawing of a text."""
        drawn = self.found.get(kept.position)
        return f'<b>Tree</b><div class="tree" tabindex="0">{drawn}</div>' if drawn else ""

    def legend(self) -> str:
        """Say what the drawings show."""
        return (
            f'<div class="legend"><h3>Trees</h3><p>By {escape(self.metric)}: the tree of the reference, and below it '
            "the words of the text. A treelet, a word with those that depend on it, has dashed arcs where the text has "
            "its words in another order or lacks one. Words that moved in their treelet are red, those that the text "
            "lacks struck through, those that only it has underlined. The best and worst texts have drawings.</p></div>"
        )


def tree_drawings(texts: Iterable[Kept], metrics: Sequence[Metric]) -> TreeDrawings:
    """Draw the trees of texts by the first tree accuracy there is."""
    plain = map(unbound, metrics)
    metric = next((metric for metric in plain if isinstance(metric, TreeAccuracy)), None)
    if metric is None:
        return TreeDrawings()
    found: dict[int, str] = {}
    for kept in {kept.position: kept for kept in texts}.values():
        if len(found) == _MOST:
            break
        evidence = metric.evidence(Sample(kept.text, kept.references, id=kept.id, trees=kept.trees))
        if evidence is not None and max(len(evidence.words), len(evidence.text_words)) <= _WORDS:
            found[kept.position] = dependency_svg(evidence)
    return TreeDrawings(metric.spec, found)
