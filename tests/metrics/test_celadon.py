"""`celadon` with the weights that ship: each aspect tells its own damage, and the sum of it is what the weights say."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import celadon
from celadon.core import InputError, Sample, UsageError
from celadon.metrics.reading.celadon import ASPECT_METRICS
from celadon.metrics.reading.judgement import judge
from celadon.metrics.reading.weights import ASPECTS, CURVES, Cost, read_weights, weights_of
from celadon.metrics.registry import load
from celadon.scoring.batch import Batch
from tests.conftest import builtin_is_there, missing_part

if not builtin_is_there():
    missing_part("the builtin models", "train them, or check out their weights")

SOUND = (
    "The old bridge over the river was closed in March after engineers found cracks in two of its arches. "
    "Repairs began in the summer and are expected to take about a year. "
    "Until then, buses to the northern suburbs will use the motorway. "
    "The city council has promised to pay for additional trains."
)
SENTENCES = SOUND.replace(". ", ".\n").split("\n")


def values(texts: list[str], metric: str = "celadon") -> list[float]:
    return np.asarray(celadon.score(texts, metrics=[metric])[metric]).tolist()


DAMAGED = {
    "celadon.grammaticality": [
        SOUND.replace("engineers found cracks in", "engineers found cracks found in of"),
        SOUND.replace("are expected to take", "is expect taking"),
        SOUND.replace("northern suburbs", "<unk> <unk>"),
        SOUND.replace(" The city council has promised to pay for additional trains.", " The city council has of the."),
    ],
    "celadon.redundancy": [
        f"{SENTENCES[0]} {SENTENCES[1]} {SENTENCES[1]} {SENTENCES[3]}",
        SOUND.replace("cracks in two of its arches", "cracks in cracks in cracks in two of its arches"),
        f"{SENTENCES[0]} {SENTENCES[1]} Repairs began in the summer and should take a year. {SENTENCES[3]}",
    ],
    "celadon.focus": [
        f"{SENTENCES[0]} The larvae feed on the leaves of oak trees. {SENTENCES[2]} He scored twice in the final."
    ],
}


@pytest.mark.parametrize("metric", DAMAGED)
def test_each_aspect_tells_its_own_damage(metric: str) -> None:
    sound, *damaged = values([SOUND, *DAMAGED[metric]], metric)
    assert max(damaged) < sound
    overall, *worse = values([SOUND, *DAMAGED[metric]])
    assert max(worse) < overall


def test_the_paper_s_own_list_of_what_gruen_cannot_see() -> None:
    """Repetition inside a sentence: gruen.redundancy is 0 for all of these."""
    plain = ["In 2012, Spain won the European championship.", "He put the bottle on the table."]
    looped = ["In 2012, Spain won the European championship in 2012.", "He put the bottle of the bottle on the table."]
    assert values(looped, "gruen.redundancy") == [0, 0]
    assert all(bad < good for bad, good in zip(values(looped), values(plain), strict=True))


def test_the_score_is_what_the_aspects_leave_as_the_file_says() -> None:
    texts = [SOUND, *(text for damaged in DAMAGED.values() for text in damaged), SENTENCES[0], f"{SOUND} It was in the"]
    scores = celadon.score(texts, metrics=["celadon", *(metric.info.name for metric in ASPECT_METRICS)])
    parts = {aspect: np.array(scores.to_dict()[f"celadon.{aspect}"]) for aspect in ASPECTS}
    content = json.loads(Path(celadon.__file__).with_name("metrics").joinpath("reading/builtin.json").read_text())
    expected = np.ones(len(texts))
    for aspect in ASPECTS:
        column = np.asarray(parts[aspect])
        assert ((column >= 0) & (column <= 1)).all()
        if aspect != "complete":
            np.testing.assert_array_equal(column, np.asarray(scores[f"celadon.{aspect}"]))
        cost = content["costs"][aspect]
        for row, value in enumerate(column):
            fault = -math.log(value) if aspect == "redundancy" else 1 - value
            odds = [math.exp(cost["level"] + cost["steepness"] * each) for each in (fault, 0)]
            expected[row] *= math.exp(-cost["slope"] * fault) * ((1 + odds[1]) / (1 + odds[0])) ** cost["scale"]
    np.testing.assert_allclose(np.asarray(scores["celadon"]), expected, rtol=1e-9)


def test_what_is_usual_costs_little_and_what_is_beyond_it_much() -> None:
    none, usual, beyond, twice = Cost(slope=0.1, steepness=20.0, level=-6.0)(np.array([0.0, 0.1, 0.5, 1.0])).tolist()
    assert none == 0
    assert 0.01 < usual < 0.05
    assert beyond > 20 * usual
    assert twice - beyond == pytest.approx(0.5 * 20.1, rel=0.01)


def test_grammaticality_is_worked_out_by_hand() -> None:
    weights = weights_of("builtin")
    judged = judge(Batch([Sample(SOUND)]).prose(), "builtin", weights)
    curve = weights.curves["grammaticality"]
    by_hand, words = [], [len(sentence.split()) for sentence in SENTENCES]
    for at in range(len(judged.sentences)):
        total = curve["bias"]
        for name in CURVES["grammaticality"]:
            total += curve[name] * float(judged.rates.of_sentences[name][at])
        by_hand.append(1 / (1 + math.exp(-total)))
    expected = sum(value * many for value, many in zip(by_hand, words, strict=True)) / sum(words)
    assert judged.aspects["grammaticality"][0] == pytest.approx(expected)


def test_breaking_off_costs_the_same_at_any_length() -> None:
    more = (
        "The first of them will run on the second of May, and tickets for buses will be valid on board. "
        "Shopkeepers near the bridge say that they have lost a third of their customers since it was closed. "
        "They have asked the council for help with their rent, which it will discuss next week."
    )
    for text in (SOUND, f"{SOUND} {more}"):
        whole, cut = values([text, text.rsplit(" ", 3)[0]])
        assert cut < 0.6 < whole
        assert cut / whole == pytest.approx(0.55, abs=0.1)
    # a list or a heading needs no mark of its end
    listed = values([f"{SOUND}\n\n- new trains\n- more buses"])
    assert listed == pytest.approx(values([SOUND]), abs=0.02)


def test_marks_of_lists_code_and_headings_change_nothing() -> None:
    marked = (
        f"# News\n\n- {SENTENCES[0]}\n- {SENTENCES[1]}\n\n```python\nx = f(x)\n```\n\n> {SENTENCES[2]} {SENTENCES[3]}\n"
    )
    plain, written = values([SOUND, marked])
    assert written == pytest.approx(plain, abs=0.01)
    spans = load("celadon.grammaticality").evidence(Sample(marked)).text_spans  # type: ignore[union-attr]
    assert [marked[span.start : span.end] for span in spans] == SENTENCES


def test_evidence_shows_where() -> None:
    text = f"{SENTENCES[0]} {SENTENCES[0]} He go to the <unk>."
    shown = load("celadon").evidence(Sample(text))
    assert shown is not None
    sentences, repeated, *_ = shown.aspects
    assert [text[span.start : span.end] for span in sentences.text_spans if span.label == "worst"] == [
        "He go to the <unk>."
    ]
    assert any(text[span.start : span.end] == "<unk>" for span in sentences.text_spans)
    assert repeated.of_kind("pair")[0].values["features"] == "ABCD"


def test_evidence_tells_where_a_bad_sentence_is_worst() -> None:
    good = "The committee that met in the old town hall on Monday evening approved the new"
    bad = f"{good} the store yesterday of budget plans."
    shown = load("celadon.grammaticality").evidence(Sample(bad))
    assert shown is not None
    [note] = [span.note for span in shown.text_spans if span.label in ("sentence", "worst")]
    quoted = re.search("least in “(.*)”", note)
    assert quoted
    assert "store yesterday of" in quoted[1]
    # words are whole, and a sound sentence has no such place
    assert set(quoted[1].split()) <= set(bad.replace(".", " .").split()) | {"plans."}
    sound = load("celadon.grammaticality").evidence(Sample(f"{good} plans."))
    assert sound is not None
    assert "least in" not in sound.text_spans[0].note


def test_evidence_tells_which_sentences_are_off_the_matter() -> None:
    foreign = "The larvae feed on the leaves of oak trees."
    text = f"{SENTENCES[0]} {SENTENCES[1]} {foreign} {SENTENCES[3]}"
    shown = load("celadon.focus").evidence(Sample(text))
    assert shown is not None
    assert foreign in [text[span.start : span.end] for span in shown.text_spans]
    assert f"{len(shown.text_spans)} of 4 sentences" in shown.summary
    alone = load("celadon.focus").evidence(Sample(SENTENCES[0]))
    assert alone is not None
    assert alone.summary.startswith("one sentence")


def test_own_weights(tmp_path: Path) -> None:
    shipped = Path(celadon.__file__).with_name("metrics") / "reading" / "builtin.json"
    content = json.loads(shipped.read_text())
    content["costs"] = {aspect: {"slope": 0, "steepness": 0, "level": 0} for aspect in ASPECTS}
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(content))
    assert values([SOUND], f"celadon[weights={mine}]") == [1.0]
    assert load("celadon").signature != load(f"celadon[weights={mine}]").signature


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"format": "other"}, "celadon-reading/4"),
        ({"curves": {}}, r"curves\.grammaticality\.bias: is missing"),
        ({"weak": "half"}, "weak: expected a number, got a text"),
        ({"usual": None}, "usual: expected an object, got null"),
        ({"costs": dict.fromkeys(ASPECTS, 0.5)}, r"costs\.grammaticality: expected an object"),
    ],
)
def test_bad_weights_are_told(tmp_path: Path, change: dict[str, object], told: str) -> None:
    shipped = Path(celadon.__file__).with_name("metrics") / "reading" / "builtin.json"
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps(json.loads(shipped.read_text()) | change))
    with pytest.raises(InputError, match=told):
        read_weights(str(mine))


def test_an_unknown_tier_is_told() -> None:
    with pytest.raises(UsageError, match="unknown tier 'best'; known: builtin, standard"):
        load("celadon[tier=best]")
