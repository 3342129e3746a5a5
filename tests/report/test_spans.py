"""Texts with their spans, and where an alignment comes from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html

from celadon.core import Evidence, Metric, Sample, Section, Span
from celadon.report.escape import clean, css_string, cut_at, escape
from celadon.report.explained import ALIGNED, alignment
from celadon.report.html import marked, merged, short
from celadon.report.keep import Kept
from tests.report.news import Ratio

ANY = st.text(st.characters(codec=None, exclude_categories=()))


def kept(text: str, *references: str) -> Kept:
    return Kept(0, "i", None, text, references, (), ())


def test_neighbours_are_joined_with_what_is_between() -> None:
    spans = [Span(0, 3, "insertion"), Span(4, 7, "insertion", "note"), Span(8, 11, "match"), Span(12, 15, "insertion")]
    assert marked("one two and six", spans, 99) == "<ins>one two</ins> and <ins>six</ins>"


def test_every_operation_has_its_element() -> None:
    spans = [Span(0, 1, "substitution"), Span(2, 3, "insertion"), Span(4, 5, "deletion"), Span(6, 7, "move")]
    assert marked("a b c d", spans, 9) == '<mark>a</mark> <ins>b</ins> <del>c</del> <mark class="m">d</mark>'


def test_unknown_labels_get_a_neutral_mark_and_keep_their_notes_apart() -> None:
    spans = [Span(0, 1, "surprisal", "2.5"), Span(2, 3, "surprisal", "9.1"), Span(4, 5, 'odd"<')]
    assert marked("a b c", spans, 9) == (
        '<span class="o" title="surprisal: 2.5">a</span> <span class="o" title="surprisal: 9.1">b</span> '
        '<span class="o" title="odd&quot;&lt;">c</span>'
    )


def test_a_cut_is_never_silent() -> None:
    shown = marked("word " * 100, [Span(95, 99, "insertion"), Span(480, 484, "deletion")], 100)
    assert shown.endswith("<ins>word</ins> <bdi>… 400 more characters</bdi>")
    assert short("x" * 50, 20) == "x" * 20 + "… (30 more characters)"


def test_a_cut_does_not_part_a_letter_from_its_accent() -> None:
    assert cut_at("abe\u0301cd", 3) == 2
    assert cut_at("\u0301" * 9, 3) == 3


@given(
    ANY,
    st.lists(st.builds(Span, st.integers(-3, 60), st.integers(-3, 60), st.sampled_from(["match", "move", "x"]), ANY)),
    st.integers(1, 60),
)
def test_whatever_the_spans_the_text_comes_through(text: str, spans: list[Span], limit: int) -> None:
    places = [(span.start, span.end) for span in merged(spans, len(text))]
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert all(one[1] <= other[0] for one, other in pairwise(places))
    element = lxml_html.fragment_fromstring(f"<p>{marked(text, spans, limit)}</p>")
    for note in element.xpath("bdi"):
        note.drop_tree()
    shown = element.text_content()
    cut = cut_at(text, limit)
    # a carriage return may be parted from its newline by a span
    expected = clean(text[:cut]) if text else "empty"
    assert shown.replace("\n", "").rstrip() == expected.replace("\n", "").rstrip()


@given(ANY)
def test_escaped_text_is_encodable_and_reads_back(text: str) -> None:
    escape(text).encode()
    element = lxml_html.fragment_fromstring(f'<p title="{escape(text)}">{escape(text)}</p>')
    assert (element.text or "") == clean(text)
    assert element.get("title").split() == clean(text).split()
    assert len(element) == 0


@given(ANY)
def test_a_style_string_cannot_be_left(text: str) -> None:
    quoted = css_string(text)
    assert quoted.isascii()
    assert not set(quoted[1:-1]) & set("\"'<>\n/*{};")


@dataclass(frozen=True)
class Fixed(Metric):
    """Gives the evidence it is told to, which is no alignment."""

    labels: tuple[str, ...] = ()
    info = Ratio.info

    def score(self, batch):
        raise NotImplementedError

    def evidence(self, sample: Sample) -> Evidence | None:
        spans = tuple(Span(place, place + 1, label) for place, label in enumerate(self.labels))
        return Evidence(self.labels[0], "", (Section("alignment", "", spans, reference=0),)) if spans else None


class FixedAlignment(Fixed):
    """Gives the alignment it is told to."""

    explains = ("alignment",)


def test_the_last_metric_that_aligns_gives_the_alignment() -> None:
    metrics = [FixedAlignment(("insertion",)), FixedAlignment(("move", "match")), Fixed(("match", "other")), Fixed()]
    found = alignment(kept("a b", "b a"), metrics)
    assert found is not None
    assert found.metric == "move"


def test_string_accuracy_aligns_where_no_metric_does() -> None:
    found = alignment(kept("the cat sat", "a dog slept here today", "the old cat sat"), [Fixed()])
    assert found is not None
    assert found.reference == 1
    assert [span.label for span in found.text_spans] == ["match"] * 3
    assert [span.label for span in found.reference_spans] == ["match", "deletion", "match", "match"]


def test_of_long_texts_the_beginnings_are_aligned() -> None:
    long = "word " * ALIGNED
    found = alignment(kept("a " + long, "b " + long), [])
    assert found is not None
    assert [span.label for span in found.text_spans[:2]] == ["substitution", "match"]
    assert found.text_spans[-1].end <= ALIGNED


@pytest.mark.parametrize("lone", [kept("a b"), kept("", "a b")])
def test_what_cannot_be_aligned_is_not(lone: Kept) -> None:
    assert alignment(lone, [Fixed()]) is None
