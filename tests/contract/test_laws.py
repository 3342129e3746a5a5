"""The laws every metric obeys, run over the whole registry."""

from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from celadon.core import Direction, Metric, MetricScores, Need, Sample, Tree, is_set_relative, option_text
from celadon.metrics.registry import load, names
from celadon.scoring.batch import Batch
from celadon.text.words import words
from tests.conftest import builtin_is_there, missing_part

PAIRS = Path(__file__).parent / "data" / "adjacent_passages.jsonl"
"""In the public domain: Python Enhancement Proposals, and books and speeches of Project Gutenberg."""

METRICS = [name for name in names() if name not in ("formula", "combined")]

SENTENCES = [
    (
        "The committee approved the new budget after a long debate.",
        "After a long debate the committee approved the budget.",
    ),
    (
        "A trial last summer doubled the number of passengers.",
        "The number of passengers doubled in a trial last summer.",
    ),
    ("He said that he would come if the weather was good.", "He promised to come in good weather, he said."),
    ("Wild bees are most common where lawns are cut once a month.", "Bees are common where lawns are rarely cut."),
    ("The night train to the coast returns after eleven years.", "After eleven years the night train is back."),
    ("Three dairies agreed to share one name for their cheese.", "Three dairies will share a name for cheese."),
]

SCRIPTS = {
    "thai": "สวัสดีครับ วันนี้อากาศดีมาก เราจะไปเดินเล่นกัน",
    "hindi": "आज मौसम बहुत अच्छा है और हम टहलने जा रहे हैं",
    "arabic": "الطقس جميل اليوم وسوف نذهب في نزهة طويلة",
    "hebrew": "מזג האוויר יפה היום ואנחנו יוצאים לטיול ארוך",
    "chinese": "今天天气很好我们一起去散步吧",
    "japanese": "今日は天気がいいので散歩に行きましょう",
    "korean": "오늘은 날씨가 좋아서 우리는 산책을 갑니다",
    "greek": "Ο καιρός είναι καλός σήμερα και πάμε βόλτα",
    "emoji": "We won 🎉🎉 today 👩‍👩‍👧‍👦 and danced all night 💃🏽",
}

# any characters at all: control characters, lone surrogates, emoji, right-to-left marks
anything = st.text(st.characters(), max_size=40)
wordy = st.lists(
    st.sampled_from("the cat sat on a mat and then it ran away again quickly สวัสดี नमस्ते 天 🎉 it's 3.14 — Ünï".split()),
    min_size=1,
    max_size=14,
).map(" ".join)
rows = st.tuples(wordy | anything, st.lists(wordy | anything, min_size=1, max_size=3), wordy)


def sample(text: str, references: list[str] | tuple[str, ...], source: str = "The source has words.") -> Sample:
    return Sample(text, tuple(references), source, trees=tuple(map(tree, references)))


def tree(reference: str) -> Tree:
    """A dependency tree, so that metrics that rest on trees need no parser."""
    found = words(reference, "surface")
    return Tree(tuple(found), tuple((at - 1) // 2 for at in range(len(found))))


def scores(metric: Metric, samples: list[Sample]) -> MetricScores:
    return metric.score(Batch(samples))


def fitted(metric: Metric, samples: list[Sample]) -> Metric:
    """A set-relative metric with the constants of these samples: law 2 holds given its constants."""
    if not is_set_relative(metric):
        return metric
    batch = Batch(samples)
    return metric.fit(metric.statistics(batch, metric.components(batch)))


def same(left: MetricScores, right: MetricScores, rows: Any = slice(None)) -> None:
    """Whether these rows of the left have the scores of the right."""
    np.testing.assert_allclose(left.values[rows], right.values, atol=1e-4, equal_nan=True)
    for part in left.parts:
        np.testing.assert_allclose(left.parts[part][rows], right.parts[part], atol=1e-4, equal_nan=True, err_msg=part)


def check_shape(metric: Metric, result: MetricScores, count: int) -> None:
    """Every row has a value in range or a reason, and the parts are those that the metric announced."""
    assert result.metric == metric.spec
    assert len(result.values) == count
    assert tuple(result.parts) == metric.info.parts
    for row, value in enumerate(result.values.tolist()):
        assert math.isnan(value) == (row in result.reasons), (row, value, result.reasons.get(row))
        if not math.isnan(value):
            assert metric.info.low - 1e-9 <= value <= metric.info.high + 1e-9
    assert all(len(column) == count for column in result.parts.values())


NEED_BUILTIN = ("slor", "wpslor", "wordslor", "rouge_lm", "morcela", "nce", "ppl", "celadon", "gruen", "gleu_plus")
NEED_BUILTIN += ("wmd", "smd", "s_wmd", "vecsim", "bertscore", "moverscore", "sumqe")
NEED_PARSERS = ("gleu", "gleu_plus")
# what their vectors do not know has no score (law 4)
OF_KNOWN_SCRIPTS = ("wmd", "smd", "s_wmd", "vecsim", "bertscore", "moverscore")
MASKED = "hf:bert-base-cased"


@pytest.fixture(scope="session")
def masked_model(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A small masked model with random weights."""
    from celadon.models.language.transformers_lm import TransformersLanguageModel
    from tests.models.tiny_checkpoints import make_checkpoints

    return TransformersLanguageModel.open(make_checkpoints(tmp_path_factory.mktemp("checkpoints"))["bert"], threads=1)


@pytest.fixture(scope="session")
def parsers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], None]:
    """Link Grammar and the chart parser as they are, and a dependency parser to which all decisions are alike.

    They remember what they parsed, for all the laws take too long otherwise; called, this makes them forget it.
    """
    from tests.parsing.small_dependencies import make_dependencies, share_parsers

    folder = make_dependencies(tmp_path_factory.mktemp("dependencies") / "alike")
    share_parsers(folder)
    return lambda: share_parsers(folder)


@pytest.fixture(autouse=True)
def _models(request: pytest.FixtureRequest, name: str) -> None:
    """The weights that a metric needs: shipped ones, and random ones in place of a download."""
    if name.partition(".")[0] in NEED_BUILTIN and not builtin_is_there():
        missing_part("the builtin language model", "train it, or check out its weights")
    if name == "pll":
        from celadon.models.language.language_model import share_language_model

        share_language_model(MASKED, request.getfixturevalue("masked_model"))
    if name in NEED_PARSERS:
        request.getfixturevalue("parsers")


@pytest.mark.parametrize("name", NEED_PARSERS)
def test_parsers_that_remember_nothing_say_the_same_again(name: str, parsers: Callable[[], None]) -> None:
    """Laws 1 and 2, where each sentence is parsed anew: again, alone, and in another order."""
    texts = [text for text, _ in SENTENCES] + ["Sat mat the on cat the.", f"{SENTENCES[0][0]} And then and then."]
    samples = [Sample(text) for text in texts]
    metric = load(name)

    def anew(some: list[Sample]) -> MetricScores:
        parsers()
        return scores(metric, some)

    whole = anew(samples)
    assert np.isfinite(whole.values).all()
    assert whole.values.tobytes() == anew(samples).values.tobytes()
    same(whole, anew(samples[::-1]), np.arange(len(samples))[::-1])
    for row in (0, 6, 7):
        same(whole, anew([samples[row]]), np.array([row]))


@pytest.mark.parametrize("name", METRICS)
class TestLaws:
    @settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.lists(rows, min_size=1, max_size=6), seed=st.integers(0, 1000))
    def test_same_bytes_and_no_neighbours(self, name: str, data: list, seed: int) -> None:
        """Laws 1, 2, 3: the same bytes again; order, batch size and neighbours do not matter; nothing is changed."""
        samples = [sample(text, references, source) for text, references, source in data]
        metric = fitted(load(name), samples)
        before = copy.deepcopy(samples)
        whole = scores(metric, samples)
        check_shape(metric, whole, len(samples))
        again = scores(fitted(load(name), samples), samples)
        assert whole.values.tobytes() == again.values.tobytes()
        assert samples == before
        alone = [scores(metric, [one]) for one in samples]
        joined = MetricScores(
            metric.spec,
            np.concatenate([one.values for one in alone]),
            {part: np.concatenate([one.parts[part] for one in alone]) for part in whole.parts},
        )
        same(whole, joined)
        order = list(range(len(samples)))
        random.Random(seed).shuffle(order)
        same(whole, scores(metric, [samples[at] for at in order]), order)

    @pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u00a0"])
    def test_empty_text_has_no_score_but_a_reason(self, name: str, text: str) -> None:
        """Law 4."""
        result = scores(load(name), [sample(text, ["A reference."]), sample("A text.", ["A reference."])])
        assert math.isnan(result.values[0])
        assert result.reasons[0]

    def test_empty_reference_has_no_score_but_a_reason(self, name: str) -> None:
        """Law 4."""
        metric = load(name)
        if Need.REFERENCES not in metric.info.needs:
            pytest.skip("needs no references")
        for empty in ("", "   ", "\n"):
            result = scores(metric, [sample("A text with words.", [empty])])
            assert math.isnan(result.values[0])
            assert result.reasons[0]

    def test_an_empty_reference_among_others_is_ignored(self, name: str) -> None:
        metric = load(name)
        text, reference = SENTENCES[0]
        same(scores(metric, [sample(text, ["", reference])]), scores(metric, [sample(text, [reference])]))

    @pytest.mark.parametrize("script", SCRIPTS)
    def test_a_text_equal_to_its_reference_is_perfect_in_any_script(self, name: str, script: str) -> None:
        """Law 5."""
        metric = load(name)
        if metric.info.needs != {Need.REFERENCES}:
            pytest.skip("the best value is not reached by copying the reference alone")
        text = SCRIPTS[script]
        best = metric.info.low if metric.info.direction == Direction.LOWER else metric.info.high
        if math.isinf(best):
            pytest.skip("there is no best value")
        result = scores(metric, [sample(text, [text])])
        if name in OF_KNOWN_SCRIPTS and math.isnan(result.values[0]):
            assert script != "emoji"
            assert "Latin" in result.reasons[0]
            return
        assert result.values[0] == pytest.approx(best)

    @pytest.mark.parametrize(
        "text", ["\x00", "a\x00b c", "\ud800", "x \udfff y", "\u202eabc def", "🏳️‍🌈" * 30, "ﷺ", "e\u0301" * 50, "\u0e33"]
    )
    def test_odd_characters_do_not_crash(self, name: str, text: str) -> None:
        """Law 5."""
        metric = load(name)
        result = scores(metric, [sample(text, [text, "Words."]), sample("Some words.", [text])])
        check_shape(metric, result, 2)
        metric.evidence(sample(text, [text, "Words."]))

    def test_a_long_text_is_scored_or_has_a_reason(self, name: str) -> None:
        """Law 6: nothing is cut silently, so a change at the far end shows."""
        if name == "ter":
            pytest.skip("sacrebleu's TER takes minutes on long texts")
        metric = load(name)
        generator = random.Random(5)
        # METEOR's time grows with the square of the words that come again
        sentences = 40 if name == "meteor" else 120
        long = " ".join(f"{generator.choice(SENTENCES)[0]} {number}." for number in range(sentences))
        longer = f"{long} unrelated tail end words here. {SENTENCES[0][0]}"
        result = scores(metric, [sample(long, [long]), sample(longer, [long])])
        check_shape(metric, result, 2)
        columns = [result.values, *result.parts.values()]
        assert any(column[0] != column[1] for column in columns)

    def test_the_signature_says_how(self, name: str) -> None:
        """Law 7."""
        from celadon import __version__

        metric = load(name)
        assert metric.signature.startswith(f"{name}|")
        assert metric.signature.endswith(f"|celadon:{__version__}")
        assert load(metric.spec) == metric
        for option, value in metric.options.items():
            assert load(f"{name}[{option}={option_text(value)}]") == metric

    def test_shuffled_words_are_not_better(self, name: str) -> None:
        """Law 8."""
        if name == "pll":
            pytest.skip("its weights are random here")
        metric = load(name)
        generator = random.Random(8)
        sign = -1 if metric.info.direction == Direction.LOWER else 1
        for text, reference in SENTENCES:
            words = text.rstrip(".").split()
            generator.shuffle(words)
            shuffled = " ".join(words) + "."
            result = scores(metric, [sample(text, [text, reference]), sample(shuffled, [text, reference])])
            assert sign * result.values[1] <= sign * result.values[0] + 1e-9

    def test_the_order_of_references_does_not_matter(self, name: str) -> None:
        metric = load(name)
        references = [reference for _, reference in SENTENCES]
        texts = [text for text, _ in SENTENCES]
        forward = scores(metric, [sample(text, references) for text in texts])
        backward = scores(metric, [sample(text, references[::-1]) for text in texts])
        np.testing.assert_allclose(forward.values, backward.values, atol=1e-9)

    def test_what_it_says_of_itself(self, name: str) -> None:
        info = load(name).info
        assert info.name == name
        assert len(info.meaning) < 120
        assert info.reading
        assert info.low < info.high

    def test_evidence_points_into_the_texts(self, name: str) -> None:
        metric = load(name)
        one = sample(SENTENCES[0][0], [SENTENCES[1][1], SENTENCES[0][1]])
        evidence = metric.evidence(one)
        if evidence is None:
            pytest.skip("shows no evidence")
        for spans, text in (
            (evidence.text_spans, one.text),
            (evidence.reference_spans, one.references[evidence.reference or 0]),
        ):
            ends = [0]
            for span in spans:
                assert ends[-1] <= span.start < span.end <= len(text)
                ends.append(span.end)


@pytest.fixture(scope="module")
def passages() -> Batch:
    """First passages, second ones, and both together, in one batch, whose views the metrics share."""
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    assert len(pairs) >= 80
    sides = ("first",), ("second",), ("first", "second")
    return Batch(
        [Sample("\n\n".join(pair[side] for side in some), markup=pair["markup"]) for some in sides for pair in pairs]
    )


@pytest.mark.parametrize("name", ["celadon", "celadon.grammaticality", "celadon.redundancy", "celadon.focus"])
def test_length_is_no_fault(name: str, passages: Batch) -> None:
    """Law 9: two adjacent passages of sound text together have the word-weighted mean of both."""
    metric = load(name)
    assert metric.info.comparable
    first, second, joined = np.split(metric.score(passages).values, 3)
    words_first, words_second, _ = np.split(np.array([len(one.text.split()) for one in passages.samples]), 3)
    apart = np.abs(joined - (words_first * first + words_second * second) / (words_first + words_second))
    assert np.nanmean(apart) <= 0.02
    assert np.nanmean(apart <= 0.05) >= 0.9
