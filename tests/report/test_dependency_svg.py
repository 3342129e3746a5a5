"""Trees as SVG: alone, and in the report."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given, settings

from celadon import Sample, Tree, load, score
from celadon.core import MetricScores, Section
from celadon.report.collector import ReportCollector
from celadon.report.html import WRONG, arc_levels, tree_svg
from tests.text.test_treelets import trees

SVG = "{http://www.w3.org/2000/svg}"
REFERENCE = "There was no cost estimate for the second phase"
TREE = Tree(tuple(REFERENCE.split()), (4, 4, 4, 4, -1, 4, 8, 8, 5))


def evidence_of(text: str, reference: str = REFERENCE, tree: Tree = TREE) -> Section:
    evidence = load("generation_tree_accuracy").evidence(Sample(text, (reference,), trees=(tree,)))
    assert evidence is not None
    (tree_section,) = evidence.of_kind("tree")
    return tree_section


def drawn(evidence: Section) -> ElementTree.Element:
    return ElementTree.fromstring(tree_svg(evidence))


def words(root: ElementTree.Element) -> list[ElementTree.Element]:
    return list(root.iter(f"{SVG}text"))


def dashed(root: ElementTree.Element) -> int:
    return sum("stroke-dasharray" in path.attrib for path in root.iter(f"{SVG}path"))


def test_a_perfect_text_has_nothing_in_red() -> None:
    svg = tree_svg(evidence_of(REFERENCE))
    assert WRONG not in svg
    assert [word.text for word in words(ElementTree.fromstring(svg))] == [*REFERENCE.split()] * 2


def test_arcs_of_wrong_treelets_are_dashed_and_lost_and_new_words_marked() -> None:
    root = drawn(evidence_of("There was estimate for phase the brand new no cost"))
    # estimate has five daughters, phase two
    assert dashed(root) == 7
    lines = {word.text: word.get("text-decoration") for word in words(root) if word.get("text-decoration")}
    assert lines == {"second": "line-through", "brand": "underline", "new": "underline"}


def test_markup_and_odd_characters_stay_words() -> None:
    reference = '<b> & "x" \x01 \ud800 天气'
    tree = Tree(tuple(reference.split()), (1, -1, 1, 1, 1, 1))
    reference = " ".join(tree.words)
    metric = load("simple_tree_accuracy[words=whitespace]")
    evidence = metric.evidence(Sample('<b> "x" <script>', (reference,), trees=(tree,)))
    assert evidence is not None
    assert "<script>" in [word.text for word in words(drawn(evidence.of_kind("tree")[0]))]


@settings(max_examples=60)
@given(trees(most=12))
def test_arcs_pass_over_those_beneath_them(heads: list[int]) -> None:
    levels = arc_levels(heads)
    assert len(levels) == len(heads) - 1
    for one, level in levels.items():
        for other, beneath in levels.items():
            inside = min(one) <= min(other) and max(other) <= max(one) and one != other
            assert not inside or beneath < level


def test_the_report_draws_the_best_and_the_worst() -> None:
    names = ["generation_tree_accuracy", "rougeL"]
    texts = ["There was estimate for phase the second no cost", REFERENCE, "no cost phase"]
    scores = score(texts, [REFERENCE] * 3, metrics=names, trees=[TREE] * 3)
    collector = ReportCollector(scores.metrics)
    columns: dict[str, MetricScores] = dict(scores.columns)
    collector.add(scores.samples, columns)
    page = collector.html(scores.summary(), title="Trees", inputs=["x"])
    for text in texts:
        assert tree_svg(evidence_of(text)) in page
    assert "<h3>Trees</h3>" in page


def test_without_a_tree_accuracy_there_are_no_drawings() -> None:
    scores = score(["a b"], ["a c"], metrics=["rougeL"])
    collector = ReportCollector(scores.metrics)
    collector.add(scores.samples, dict(scores.columns))
    assert "<h3>Trees</h3>" not in collector.html(scores.summary(), title="No trees", inputs=["x"])
