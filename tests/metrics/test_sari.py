"""SARI against the published examples, an independent reckoning in fractions, and the laws of every metric."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import MetricScores, Sample, UsageError
from celadon.metrics.sari import ORDERS, Sari
from celadon.scoring.batch import Batch

SOURCE = "About 95 species are currently accepted ."
REFERENCES = (
    "About 95 species are currently known .",
    "About 95 species are now accepted .",
    "95 species are now accepted .",
)
PARTS = ("keep", "delete", "add")

sentences = st.lists(st.sampled_from(list("abcd")), min_size=1, max_size=8).map(" ".join)
texts = st.one_of(
    st.text(max_size=30),
    sentences,
    st.sampled_from(["สวัสดีครับ", "नमस्ते दुनिया", "مرحبا بالعالم", "👩‍👩‍👧 🎉", "\x00", "\ud800 x"]),
)


def scores(text: str, references: tuple[str, ...], source: str | None, variant: str = "xu") -> MetricScores:
    return Sari(variant=variant).score(Batch([Sample(text, references, source)]))


@pytest.mark.parametrize(
    ("text", "variant", "expected"),
    [
        # printed by the authors' program on its own examples
        ("About 95 you now get in .", "xu", 26.82782411698074),
        ("About 95 species are now agreed .", "xu", 58.89995423074248),
        ("About 95 species are currently agreed .", "xu", 50.71608864657479),
        # in the documentation of evaluate's metric
        ("About 95 you now get in .", "evaluate", 26.953601953601954),
    ],
)
def test_published_examples(text: str, variant: str, expected: float) -> None:
    assert scores(text, REFERENCES, SOURCE, variant).values[0] == pytest.approx(expected, abs=1e-9)


def _in_fractions(source: str, text: str, references: list[str], variant: str) -> dict[str, Fraction]:
    """SARI from its equations: an n-gram's weight is the share of references, as often as they have it."""
    nothing = Fraction(0 if variant == "xu" else 1)
    totals = dict.fromkeys(PARTS, Fraction(0))
    for n in ORDERS:

        def times(document: str, gram: list[str], n: int = n) -> int:
            words = document.split()
            return sum(words[i : i + n] == gram for i in range(len(words) - n + 1))

        def share(gram: list[str]) -> Fraction:
            return Fraction(sum(times(reference, gram) for reference in references), len(references))

        def grams(*documents: str, n: int = n) -> list[list[str]]:
            found = []
            for document in documents:
                words = document.split()
                for start in range(len(words) - n + 1):
                    if words[start : start + n] not in found:
                        found.append(words[start : start + n])
            return found

        def mean(values: list[Fraction]) -> Fraction:
            return sum(values, Fraction(0)) / len(values) if values else nothing

        def f1(p: Fraction, r: Fraction) -> Fraction:
            return 2 * p * r / (p + r) if p + r else Fraction(0)

        own = grams(source)
        kept = {tuple(g): min(times(source, g), times(text, g)) for g in own}
        due = {tuple(g): min(Fraction(times(source, g)), share(g)) for g in own}
        precision = mean([min(kept[tuple(g)], share(g)) / kept[tuple(g)] for g in own if kept[tuple(g)]])
        if variant == "xu":
            recall = mean([min(kept[tuple(g)], share(g)) / due[tuple(g)] for g in own if due[tuple(g)]])
        elif sum(due.values()):
            recall = sum((min(kept[tuple(g)], share(g)) for g in own), Fraction(0)) / sum(due.values())
        else:
            recall = nothing
        totals["keep"] += f1(precision, recall)
        dropped = [(times(source, g) - times(text, g), share(g)) for g in own]
        totals["delete"] += mean([max(Fraction(0), d - s) / d for d, s in dropped if d > 0])
        added = [g for g in grams(text) if not times(source, g)]
        wanted = [g for g in grams(*references) if not times(source, g)]
        hits = [Fraction(1) if share(g) else Fraction(0) for g in added]
        found = [Fraction(1) if times(text, g) else Fraction(0) for g in wanted]
        totals["add"] += f1(mean(hits), mean(found))
    return {part: total * 100 / len(ORDERS) for part, total in totals.items()}


@settings(max_examples=200, deadline=None)
@given(sentences, sentences, st.lists(sentences, min_size=1, max_size=3), st.sampled_from(["xu", "evaluate"]))
def test_equals_the_definition_in_fractions(text: str, source: str, references: list[str], variant: str) -> None:
    got = scores(text, tuple(references), source, variant)
    expected = _in_fractions(source, text, references, variant)
    for part in PARTS:
        assert got.parts[part][0] == pytest.approx(float(expected[part]), abs=1e-9)
    assert got.values[0] == pytest.approx(float(sum(expected.values()) / 3), abs=1e-9)


@given(*[st.lists(st.sampled_from(list("abcdef")), min_size=1, unique=True).map(" ".join)] * 2)
def test_evaluate_gives_a_text_equal_to_its_only_reference_all(text: str, source: str) -> None:
    assert scores(text, (text,), source, "evaluate").values[0] == pytest.approx(100.0, abs=1e-9)


@pytest.mark.parametrize("variant", ["xu", "evaluate"])
def test_dropping_one_of_two_like_words_is_never_right(variant: str) -> None:
    """A known oddity of both programs: the word left in the reference counts against the one dropped; *a a* gains."""
    assert scores("a", ("a",), "a a", variant).parts["delete"][0] == (25.0 if variant == "xu" else 75.0)


def test_xu_counts_lengths_that_no_text_has_as_nothing() -> None:
    got = scores("a b", ("a b",), "a b")
    assert got.parts["keep"][0] == pytest.approx(50.0)
    assert got.parts["delete"][0] == got.parts["add"][0] == 0.0


def test_case_and_tokens() -> None:
    apart = scores("It works , now .", ("It works , well .",), "It worked , now .")
    together = scores("it works, now.", ("it works, well.",), "It WORKED, now.")
    assert apart.values[0] == together.values[0]


@given(texts, st.lists(texts, max_size=3), texts)
def test_laws(text: str, references: list[str], source: str) -> None:
    got = scores(text, tuple(references), source)
    assert got.values.tobytes() == scores(text, tuple(references), source).values.tobytes()
    turned = scores(text, tuple(references[::-1]), source)
    np.testing.assert_allclose(got.values, turned.values, atol=1e-9)
    assert np.isnan(got.values[0]) == bool(got.reasons)
    assert np.isnan(got.values[0]) or 0.0 <= got.values[0] <= 100.0 + 1e-9
    assert set(got.parts) == set(PARTS)


@pytest.mark.parametrize(
    ("text", "references", "source", "reason"),
    [
        ("", ("a",), "a", "the text has no words"),
        (" \n", (), "", "the text has no words"),
        ("a", (), "a", "no reference has words"),
        ("a", ("", " "), "a", "no reference has words"),
        ("a", ("a",), " ", "the source has no words"),
        ("a", ("a",), None, "the source has no words"),
    ],
)
def test_nulls(text: str, references: tuple[str, ...], source: str | None, reason: str) -> None:
    got = scores(text, references, source)
    assert np.isnan(got.values[0])
    assert all(np.isnan(part[0]) for part in got.parts.values())
    assert got.reasons == {0: reason}


def test_an_empty_reference_among_others_is_ignored() -> None:
    assert scores("a b", ("a c", ""), "a d").values[0] == scores("a b", ("a c",), "a d").values[0]


def test_bad_variant() -> None:
    with pytest.raises(UsageError, match="variant"):
        Sari(variant="other")


def test_signature_and_spec() -> None:
    assert Sari(variant="evaluate").spec == "sari[variant=evaluate]"
    assert "variant:xu|tokens:13a|case:lower" in Sari().signature
