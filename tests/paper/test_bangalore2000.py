"""Table 1 of Bangalore, Rambow and Whittaker (2000), all four columns, to the digit."""

import pytest

from celadon import Tree, score

REFERENCE = "There was no cost estimate for the second phase"
OUTPUT = "There was estimate for phase the second no cost"

# Figure 2: the noun is the head of the predicative construction
TREE = Tree(tuple(REFERENCE.split()), (4, 4, 4, 4, -1, 4, 8, 8, 5))

TABLE_1 = {
    "simple_string_accuracy": {"substitutions": 1, "insertions": 2, "deletions": 2, "score": "0.44"},
    "generation_string_accuracy": {"substitutions": 1, "insertions": 1, "deletions": 1, "moves": 1, "score": "0.56"},
    "simple_tree_accuracy": {"substitutions": 0, "insertions": 3, "deletions": 3, "score": "0.33"},
    "generation_tree_accuracy": {"substitutions": 0, "insertions": 0, "deletions": 0, "moves": 3, "score": "0.67"},
}
PROBLEMS = {
    "simple_string_accuracy": 5,
    "generation_string_accuracy": 4,
    "simple_tree_accuracy": 6,
    "generation_tree_accuracy": 3,
}


@pytest.mark.parametrize("metric", TABLE_1)
def test_table_1(metric: str) -> None:
    scores = score([OUTPUT], [REFERENCE], metrics=[metric], trees=[TREE] if "tree" in metric else None)
    printed = dict(TABLE_1[metric])
    assert f"{scores[metric][0]:.2f}" == printed.pop("score")
    assert {part: scores[f"{metric}.{part}"][0] for part in printed} == printed
    assert scores[f"{metric}.reference_words"][0] == 9
    assert sum(printed.values()) == PROBLEMS[metric]


@pytest.mark.parametrize("metric", TABLE_1)
def test_table_1_unchanged_words(metric: str) -> None:
    scores = score([OUTPUT], [REFERENCE], metrics=[metric], trees=[TREE] if "tree" in metric else None)
    changed = sum(scores[f"{metric}.{part}"][0] for part in ("substitutions", "deletions"))
    moved = scores[f"{metric}.moves"][0] if "moves" in TABLE_1[metric] else 0
    assert scores[f"{metric}.reference_words"][0] - changed - moved == 6


def test_the_alignment_is_the_printed_one() -> None:
    """The paper aligns ``phase`` with ``cost`` and moves ``no``."""
    from celadon import Sample, load

    evidence = load("generation_string_accuracy").evidence(Sample(OUTPUT, (REFERENCE,)))
    assert evidence is not None
    labels = [(REFERENCE[s.start : s.end], s.label) for s in evidence.reference_spans if s.label != "match"]
    assert labels == [("no", "move"), ("cost", "deletion"), ("phase", "substitution")]
    labels = [(OUTPUT[s.start : s.end], s.label) for s in evidence.text_spans if s.label != "match"]
    assert labels == [("phase", "insertion"), ("no", "move"), ("cost", "substitution")]


def test_the_metric_is_symmetric_in_its_count_of_operations() -> None:
    """Footnote 4 of the paper."""
    forward = score([OUTPUT], [REFERENCE], metrics=["simple_string_accuracy"])
    backward = score([REFERENCE], [OUTPUT], metrics=["simple_string_accuracy"])
    assert forward["simple_string_accuracy"][0] == backward["simple_string_accuracy"][0]


def test_a_perfect_sentence_has_1_by_the_models_of_section_4() -> None:
    names = ["understandability_accuracy", "quality_accuracy"]
    scores = score([REFERENCE, OUTPUT], [REFERENCE] * 2, metrics=names, trees=[TREE] * 2)
    assert [scores[name][0] for name in names] == [1.0, 1.0]
    # one substitution, and a simple tree accuracy of 1/3
    by_hand = [(1.3147 / 3 - 0.1039 - 0.4458) / 0.8689, (1.0192 / 3 - 0.0869 - 0.3553) / 0.6639]
    assert [scores[name][1] for name in names] == pytest.approx(by_hand)
