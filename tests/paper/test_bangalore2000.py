"""Table 1 of Bangalore, Rambow and Whittaker (2000), columns of the string metrics, to the digit."""

import pytest

from celadon import score

REFERENCE = "There was no cost estimate for the second phase"
OUTPUT = "There was estimate for phase the second no cost"

TABLE_1 = {
    "simple_string_accuracy": {"substitutions": 1, "insertions": 2, "deletions": 2, "score": "0.44"},
    "generation_string_accuracy": {"substitutions": 1, "insertions": 1, "deletions": 1, "moves": 1, "score": "0.56"},
}


@pytest.mark.parametrize("metric", TABLE_1)
def test_table_1(metric: str) -> None:
    scores = score([OUTPUT], [REFERENCE], metrics=[metric])
    printed = dict(TABLE_1[metric])
    assert f"{scores[metric][0]:.2f}" == printed.pop("score")
    assert {part: scores[f"{metric}.{part}"][0] for part in printed} == printed
    assert scores[f"{metric}.reference_words"][0] == 9
    problems = sum(printed.values())
    assert problems == {"simple_string_accuracy": 5, "generation_string_accuracy": 4}[metric]


def test_table_1_unchanged_words() -> None:
    scores = score([OUTPUT], [REFERENCE], metrics=["simple_string_accuracy"])
    name = "simple_string_accuracy"
    changed = scores[f"{name}.substitutions"][0] + scores[f"{name}.deletions"][0]
    assert scores[f"{name}.reference_words"][0] - changed == 6


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
