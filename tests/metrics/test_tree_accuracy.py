"""Tree accuracies: trees that are given and trees of a parser, references, reasons, signatures, evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon import Sample, Tree, load, score
from celadon.core import InputError, UsageError
from celadon.metrics.tree_evidence import ROOTS
from celadon.parsing import Failure, Reason, loading
from celadon.parsing.dependency_parser import DependencyParse
from celadon.scoring.batch import Batch
from celadon.text import alignment
from tests.text import slow_treelets
from tests.text.test_treelets import trees

SIMPLE, GENERATION = "simple_tree_accuracy", "generation_tree_accuracy"
UNDERSTANDABILITY, QUALITY = "understandability_accuracy", "quality_accuracy"
ALL = [SIMPLE, GENERATION, UNDERSTANDABILITY, QUALITY]

REFERENCE = "The old dog barked at the postman ."
TREE = Tree(tuple(REFERENCE.split()), (2, 2, 3, -1, 6, 6, 3, 3))


def one(text: str, reference: str = REFERENCE, tree: Tree | str = TREE) -> Sample:
    return Sample(text, (reference,), trees=(tree,))


@settings(max_examples=60)
@given(trees(), st.data())
def test_all_four_from_the_plain_counts(heads: list[int], data: st.DataObject) -> None:
    size = len(heads)
    words = st.sampled_from("a b c d e".split())
    reference = data.draw(st.lists(words, min_size=size, max_size=size))
    text = list(data.draw(st.permutations(reference) | st.lists(words, min_size=1, max_size=9)))
    counts, _ = slow_treelets.compared(reference, text, heads)
    replaced = slow_treelets.counted(reference, text).substitutions
    simple = 1 - (counts.substitutions + counts.insertions + counts.deletions) / size
    values = score([one(" ".join(text), " ".join(reference), Tree(tuple(reference), tuple(heads)))], metrics=ALL)
    assert values[SIMPLE][0] == pytest.approx(simple)
    assert values[GENERATION][0] == pytest.approx(simple + counts.moves / size)
    assert values[UNDERSTANDABILITY][0] == pytest.approx((1.3147 * simple - 0.1039 * replaced - 0.4458) / 0.8689)
    assert values[QUALITY][0] == pytest.approx((1.0192 * simple - 0.0869 * replaced - 0.3553) / 0.6639)


def test_the_best_reference_counts_with_its_own_tree() -> None:
    flat = Tree(TREE.words, (3, 3, 3, -1, 3, 3, 3, 3))
    # the old order keeps every treelet of the deep tree but one, and breaks the flat one more
    text = "at the postman barked the old dog ."
    deep_alone, flat_alone = (score([one(text, tree=tree)], metrics=[SIMPLE])[SIMPLE][0] for tree in (TREE, flat))
    assert deep_alone != flat_alone
    for order in ((TREE, flat), (flat, TREE)):
        both = score([Sample(text, (REFERENCE, REFERENCE), trees=order)], metrics=[SIMPLE])
        assert both[SIMPLE][0] == max(deep_alone, flat_alone)


def test_tokens_of_the_tree_need_not_be_the_words() -> None:
    reference = "He didn't go, Al-Ani said."
    tokens = ("He", "did", "n't", "go", ",", "Al-Ani", "said", ".")
    tree = Tree(tokens, (3, 3, 3, 6, 3, 6, -1, 6))
    values = score([one(reference, reference, tree)], metrics=ALL)
    assert [values[name][0] for name in ALL] == pytest.approx([1.0] * 4)
    assert values[f"{SIMPLE}.reference_words"][0] == 9
    moved = score([one("He go didn't, Al-Ani said.", reference, tree)], metrics=[GENERATION])
    assert moved[f"{GENERATION}.moves"][0] == 1
    rouge = score([one(reference, reference, tree)], metrics=[f"{SIMPLE}[words=rouge]"])
    assert rouge[f"{SIMPLE}[words=rouge]"][0] == 1.0


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        (one("A dog ."), "the tree given for the reference has other words than the reference"),
        (one("A dog .", tree="trees.conllu has no tree"), "trees.conllu has no tree"),
        (one("A dog .", REFERENCE), ""),
        (one(" "), "the text has no words"),
    ],
)
def test_no_tree_no_score_but_a_reason(sample: Sample, reason: str) -> None:
    if reason.startswith("the tree given"):
        sample = replace(sample, references=(REFERENCE + " Twice.",))
    result = score([sample], metrics=[SIMPLE]).columns[SIMPLE]
    assert result.reasons.get(0, "") == reason
    assert math.isnan(result.values[0]) == bool(reason)


def test_a_pair_too_long_to_align_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "MAX_CELLS", 20)
    result = load(SIMPLE).score(Batch([one(REFERENCE), one("a b", "a b", Tree(("a", "b"), (1, -1)))]))
    assert "too long to align" in result.reasons[0]
    assert result.values[1] == 1.0


def test_several_trees_in_one_reference_stand_in_order_too() -> None:
    reference = "Dogs bark . Cats sleep ."
    forest = Tree(tuple(reference.split()), (1, -1, 1, 4, -1, 4))
    metric = load(GENERATION)
    sample = one("Cats sleep . Dogs bark .", reference, forest)
    values = metric.score(Batch([sample]))
    # the two full stops are one word, paired in their order; bark and sleep changed places
    evidence = metric.evidence(sample)
    assert evidence is not None
    assert ROOTS in {treelet["head"] for treelet in evidence.of_kind("tree")[0].values["treelets"]}
    assert values.parts["moves"][0] >= 1


def test_the_signature_says_which_trees() -> None:
    given = score([one(REFERENCE)], metrics=[SIMPLE]).metrics[0].signature
    other = score([one(REFERENCE, tree=Tree(TREE.words, (3, 3, 3, -1, 3, 3, 3, 3)))], metrics=[SIMPLE])
    assert "|trees:given@" in given
    assert given != other.metrics[0].signature
    assert given == score([REFERENCE], [REFERENCE], trees=[TREE], metrics=[SIMPLE]).metrics[0].signature


def test_trees_that_nobody_looks_at_are_refused() -> None:
    with pytest.raises(UsageError, match="no metric asked for rests on them"):
        score([REFERENCE], [REFERENCE], trees=[TREE], metrics=["rougeL"])
    with pytest.raises(InputError, match="row 0: tree 1 is no tree"):
        score([Sample("a", ("a",), trees=(Tree(("a",), (0,)),))], metrics=[SIMPLE])


class RightBranching:
    """A parser that hangs every word on the one before it."""

    name = loading.DEPENDENCY
    facts: Mapping[str, str] = {"spacy": "none", "dependencies": "00000000"}

    def parse(self, sentences: Sequence[str]) -> list[DependencyParse | Failure]:
        return [self._parse(sentence) for sentence in sentences]

    def _parse(self, sentence: str) -> DependencyParse | Failure:
        if not sentence.isascii():
            return Failure(Reason.UNKNOWN_SCRIPT)
        ends = [at for at, c in enumerate(f"{sentence} ") if c == " "]
        starts = [0, *(end + 1 for end in ends[:-1])]
        heads = tuple(max(at - 1, 0) for at in range(len(ends)))
        return DependencyParse(tuple(zip(starts, ends, strict=True)), heads, 0.0)


@pytest.fixture
def parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser above in the place of the real one, and the real one back afterwards."""
    monkeypatch.setitem(loading._opened, loading.DEPENDENCY, RightBranching())


@pytest.mark.usefixtures("parser")
def test_without_trees_references_are_parsed() -> None:
    reference = "Dogs bark loudly. Cats sleep."
    text = "bark Dogs loudly. Cats sleep."
    scores = score([text, reference, "x"], [reference, reference, "сон"], metrics=[SIMPLE])
    chain = Tree(("Dogs", "bark", "loudly.", "Cats", "sleep."), (-1, 0, 1, -1, 3))
    same = load(SIMPLE).score(Batch([one(text, reference, chain)]))
    assert scores[SIMPLE][0] == same.values[0] < scores[SIMPLE][1] == 1.0
    result = scores.columns[SIMPLE]
    assert result.reasons == {2: f"the reference has no tree: {Reason.UNKNOWN_SCRIPT}"}
    assert "|trees:spacy-sm|spacy:none|dependencies:00000000|" in scores.metrics[0].signature


@settings(max_examples=60)
@given(trees(), st.data())
def test_evidence_tells_what_was_counted(heads: list[int], data: st.DataObject) -> None:
    size = len(heads)
    words = st.sampled_from("a b c d e".split())
    reference = data.draw(st.lists(words, min_size=size, max_size=size))
    text = list(data.draw(st.permutations(reference) | st.lists(words, min_size=1, max_size=9)))
    sample = one(" ".join(text), " ".join(reference), Tree(tuple(reference), tuple(heads)))
    for name in (SIMPLE, GENERATION):
        evidence = load(name).evidence(sample)
        assert evidence is not None
        treelets = evidence.of_kind("tree")[0].values["treelets"]
        scores = load(name).score(Batch([sample]))
        told = dict.fromkeys(("moves", "substitutions", "insertions", "deletions"), 0)
        for treelet in treelets:
            for part in treelet["note"].split(", "):
                kind, count = part.split()
                told[kind] += int(count)
        told["insertions"] += len(evidence.text_spans)
        assert all(told[kind] == scores.parts[kind][0] for kind in told if kind in scores.parts)
        for treelet in treelets:
            stay = [word for word in treelet["found"] if word not in treelet["moved"]]
            assert stay == sorted(stay)
        assert (not treelets and not evidence.text_spans) == (scores.values[0] == 1.0)
