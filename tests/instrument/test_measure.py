"""The figures of an instrument against other implementations, on texts whose scores are known."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from celadon.core import FloatArray
from celadon.instrument.damage import KINDS
from celadon.instrument.halves import Half, document_of, half_of
from celadon.instrument.measure import _hits, measure, wilson
from celadon.instrument.passages import SIZES, Passage, drawn, passages
from tests.instrument.test_damage import TEXT

PARAGRAPH = TEXT.split("\n\n")[1] + " "


def rows(count: int, genre: str = "docs") -> list[dict[str, str]]:
    return [{"id": f"{genre}-{at}", "genre": genre, "text": "\n\n".join([PARAGRAPH * 2] * 8)} for at in range(count)]


def test_wilsons_interval() -> None:
    for hits, trials in ((0, 40), (1, 40), (7, 60), (60, 60)):
        low, high = proportion_confint(hits, trials, method="wilson")
        assert wilson(hits, trials) == pytest.approx((low, high), abs=1e-12)


def test_hits_and_nulls() -> None:
    random = np.random.default_rng(0)
    sound, copies = random.normal(1, 1, 50).round(1), random.normal(0, 1, 40).round(1)
    copies[:3] = np.nan
    hits = _hits("dropped", sound, copies, gate=0.0)
    # a null is worth more than any score, so that it counts as a miss
    filled = np.where(np.isnan(copies), 99, copies)
    assert hits.auc == pytest.approx(roc_auc_score([1] * 50 + [0] * 40, [*sound, *filled]))
    assert (hits.nulls, hits.caught) == (3, pytest.approx((filled < 0).mean()))


def test_passages_have_about_the_size_that_is_wanted() -> None:
    found = list(passages(rows(20), frozenset(Half)))
    assert {each.size for each in found} == set(SIZES)
    for each in found:
        assert 0.75 * each.size <= each.words <= 1.4 * each.size
        assert each.text.startswith("The potter")
    few = drawn(found, 12, np.random.default_rng(0))
    assert [sum(each.size == size for each in few) for size in SIZES] == [12, 12]
    # each from another document
    assert len({each.document for each in few if each.size == SIZES[0]}) == 12


def test_replies_are_not_cut() -> None:
    row = {"id": "d1", "genre": "dialogue", "turns": ["Yes.", "I would like two tickets, please."]}
    (reply,) = passages([row], frozenset(Half))
    assert (reply.size, reply.words, reply.text) == (0, 6, row["turns"][1])


def test_a_score_that_knows_the_damage_and_one_that_does_not() -> None:
    sound = list(passages(rows(12), frozenset(Half)))

    def knows(some: list[Passage]) -> FloatArray:
        # passages that were joined are sound too
        return np.array([float(all(part in PARAGRAPH * 8 for part in each.text.split("\n\n"))) for each in some])

    perfect = measure("perfect", knows, sound, gate=0.5)  # type: ignore[arg-type]
    assert perfect.false_alarms == 0
    assert perfect.joined.mean == 0
    assert {hit.kind for hit in perfect.hits} == set(KINDS)
    for hit in perfect.hits:
        if hit.kind not in ("cut", "repeated", "shuffled"):  # the paragraph itself repeats its sentences
            assert (hit.auc, hit.caught) == (1, 1)
    length = measure("length", lambda some: np.array([float(each.words) for each in some]), sound)
    assert length.length == pytest.approx(1)


def test_corrections() -> None:
    edits = [
        {"before": "a", "after": "bb", "kind": "spelling", "file": "content/en/docs/a.md"},
        {"before": "cc", "after": "dd", "kind": "spelling", "file": "peps/pep-0001.rst"},
        {"before": "eee", "after": "f", "kind": "grammar", "file": "pep-0002.rst"},
    ]
    figures = measure("length", lambda some: np.array([float(len(each.text)) for each in some]), [], edits)
    assert [(each.kind, each.pairs, each.raised) for each in figures.corrections] == [
        ("grammar", 1, 0.0),
        ("spelling", 2, 0.75),
        ("all", 3, 0.5),
    ]


def test_documents_and_their_halves() -> None:
    assert document_of({"file": "content/en/docs/concepts/pods.md", "id": "edits-3"}) == "docs/concepts/pods"
    assert document_of({"file": "peps/pep-0008.rst", "id": "edits-4"}) == "pep-0008"
    assert document_of({"id": "Emma_158-12", "genre": "fiction"}) == "Emma_158"
    assert document_of({"id": "GUM_speech_king", "genre": "speech"}) == "GUM_speech_king"
    assert document_of({"id": "gpt4-7", "prompt": "Name a river."}) == "Name a river."
    halves = [half_of(f"document {at}") for at in range(4000)]
    assert halves.count(Half.TEST) == pytest.approx(2000, abs=130)
    assert halves.count(Half.DEVELOPMENT) == pytest.approx(500, abs=90)
