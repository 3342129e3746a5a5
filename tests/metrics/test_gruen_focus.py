"""GRUEN's focus: weak transitions of texts made here, with vectors made here and with those of the package."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from celadon.core import Direction, MetricScores, Sample, UsageError
from celadon.metrics.gruen.focus import WEAK, GruenFocus, transitions
from celadon.models.words.word_vectors import FORMAT
from celadon.scoring.batch import Batch
from tests.conftest import ROOT, missing_part

# two topics at right angles, and a word half-way
WORDS = {
    "ship": (127, 0),
    "harbour": (127, 10),
    "bread": (0, 127),
    "flour": (10, 127),
    "galley": (90, 90),
    "the": (1, 1),
}

GALLEY = "The ship left. It had a galley. It made bread."


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("vectors") / "toy"
    folder.mkdir()
    described = {"format": FORMAT, "normalisation": "rouge", "scripts": ["Latin"], "threshold": 0.3}
    (folder / "model.json").write_text(json.dumps(described))
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    np.save(folder / "vectors.npy", np.array(list(WORDS.values()), dtype=np.int8))
    return str(folder)


def scores(metric: GruenFocus, *texts: str) -> MetricScores:
    return metric.score(Batch([Sample(text) for text in texts]))


def row(result: MetricScores, number: int = 0) -> tuple[float, ...]:
    return (float(result.values[number]), *(float(column[number]) for column in result.parts.values()))


class TestByHand:
    def test_weak_transitions_cost(self, model: str) -> None:
        result = scores(
            GruenFocus(model),
            "The ship left. It was in the harbour.",
            "The ship left. It made bread.",
            "The ship left. It made bread. The harbour was in it. The flour!",
            "Only the ship.",
        )
        assert tuple(result.parts) == GruenFocus.info.parts == ("pairs", "weak", "least", "mean")
        assert result.values.tolist() == pytest.approx([0.0, -0.1, -0.3, 0.0])
        assert result.parts["pairs"].tolist() == [1, 1, 3, 0]
        assert result.parts["weak"].tolist() == [0, 1, 3, 0]
        assert not np.signbit(result.values[[0, 3]]).any()
        assert math.isnan(result.parts["least"][3])
        one, two = (transition.similarity for transition in transitions(Batch([Sample(GALLEY)]), model).of[0])
        least, mean = (scores(GruenFocus(model), GALLEY).parts[name][0] for name in ("least", "mean"))
        assert (least, mean) == (min(one, two), pytest.approx((one + two) / 2))
        assert result.reasons == {}

    def test_the_similarity_is_one_less_the_distance(self, model: str) -> None:
        ship, galley = (np.array(WORDS[word]) / np.linalg.norm(WORDS[word]) for word in ("ship", "galley"))
        least = scores(GruenFocus(model), "The ship left. It had a galley.").parts["least"][0]
        assert least == pytest.approx(1 - np.linalg.norm(ship - galley) / math.sqrt(2), abs=1e-6)

    def test_what_cannot_be_compared_is_not_weak(self, model: str) -> None:
        result = scores(GruenFocus(model), "The ship left. Xyzzy plugh! The bread came.", "The ship. It was. It is.")
        assert row(result)[:3] == (0.0, 2.0, 0.0)
        assert row(result, 1)[:3] == (0.0, 2.0, 0.0)
        assert np.isnan(result.parts["least"]).all()

    def test_a_line_of_marks_is_no_sentence(self, model: str) -> None:
        assert row(scores(GruenFocus(model), "The ship left.\n* * *\nThe bread came."))[:3] == (-0.1, 1.0, 1.0)

    def test_options(self, model: str) -> None:
        text = GALLEY
        assert scores(GruenFocus(model), text).values[0] == 0
        assert scores(GruenFocus(model, threshold=0.6), text).values[0] == pytest.approx(-0.2)
        assert scores(GruenFocus(model, threshold=0.6, penalty=0.5), text).values[0] == pytest.approx(-1.0)
        assert GruenFocus(model, 0.6).signature != GruenFocus(model, 0.5).signature
        assert "|threshold:0.3|" in GruenFocus(model).signature

    @pytest.mark.parametrize(
        "wrong", [{"threshold": -0.1}, {"threshold": 1.5}, {"penalty": -1.0}, {"penalty": math.nan}]
    )
    def test_wrong_options(self, wrong: dict[str, float]) -> None:
        with pytest.raises(UsageError, match=r"gruen\.focus"):
            GruenFocus(**wrong)  # type: ignore[arg-type]

    def test_vectors_without_a_threshold_need_one(self, model: str, tmp_path: Path) -> None:
        folder = tmp_path / "bare"
        folder.mkdir()
        for file in Path(model).iterdir():
            (folder / file.name).write_bytes(file.read_bytes())
        described = json.loads((folder / "model.json").read_text()) | {"threshold": None}
        (folder / "model.json").write_text(json.dumps(described))
        with pytest.raises(UsageError, match="threshold="):
            scores(GruenFocus(str(folder)), "The ship. The bread.")
        assert scores(GruenFocus(str(folder), threshold=0.3), "The ship. The bread.").values[0] == pytest.approx(-0.1)

    def test_null_with_a_reason(self, model: str) -> None:
        texts = ["", " \n", "!?! ...", "Это корабль. Это хлеб.", "Xyzzy plugh. Frobozz.", "The ship. The bread."]
        result = scores(GruenFocus(model, markup="plain"), *texts)
        assert np.isnan(result.values[:5]).all()
        assert sorted(result.reasons) == [0, 1, 2, 3, 4]
        assert "Latin" in result.reasons[3]
        assert "no word" in result.reasons[4]
        assert all(np.isnan(column[:5]).all() for column in result.parts.values())

    def test_evidence_names_the_transition(self, model: str) -> None:
        text = "The ship left. It was in the harbour. It made bread. And flour."
        evidence = GruenFocus(model).evidence(Sample(text))
        assert evidence is not None
        (transition,) = evidence.of_kind("transition")
        passages = [text[span.start : span.end] for span in transition.spans]
        assert passages == ["It was in the harbour.", "It made bread."]
        similar = transition.spans[1].value
        assert similar is not None
        assert similar < 0.3
        (span,) = evidence.text_spans
        assert (text[span.start : span.end], span.label) == ("It made bread.", WEAK)
        assert f"{similar:.3f}" in span.note
        assert evidence.summary.startswith("1 of 3 transitions")
        assert GruenFocus(model).evidence(Sample("...")) is None

    def test_nothing_of_the_batch_but_the_text_counts(self, model: str) -> None:
        rng = random.Random(4)
        texts = [
            ". ".join(
                " ".join(rng.choices([*WORDS, "xyzzy", "it"], k=rng.randint(1, 6))) for _ in range(rng.randint(1, 6))
            )
            for _ in range(60)
        ]
        metric = GruenFocus(model, threshold=0.5)
        whole = scores(metric, *texts)
        alone = [scores(metric, text) for text in texts]
        order = rng.sample(range(len(texts)), len(texts))
        shuffled = scores(metric, *(texts[number] for number in order))
        for name, column in {"": whole.values, **whole.parts}.items():
            singles = [one.parts[name] if name else one.values for one in alone]
            assert column.tobytes() == np.concatenate(singles).tobytes()
            again = shuffled.parts[name] if name else shuffled.values
            assert column[order].tobytes() == again.tobytes()

    def test_compared_once_for_a_batch(self, model: str) -> None:
        batch = Batch([Sample("The ship. The bread.")])
        assert transitions(batch, model) is transitions(batch, model)


RELATED = [
    "The museum opened a new exhibition of paintings. Visitors can see works by local artists until May.",
    "Doctors warned that the virus spreads quickly. Hospitals are preparing beds for more patients.",
    "The team won the final after extra time. The goalkeeper saved two penalties in the last minutes of the match.",
    "The company cut its prices again. Shareholders fear that profits will fall this year.",
    "Heavy rain flooded the valley. The river rose by two metres and several roads were closed.",
    "The senate passed the law on Tuesday. The president is expected to sign the bill.",
]


class TestBuiltin:
    @pytest.fixture(autouse=True)
    def _there(self) -> None:
        if not (ROOT / "src" / "celadon" / "weights" / "vectors" / "model.json").is_file():
            missing_part("builtin word vectors", "train them, or check out their weights")

    def test_sentences_that_belong_together_are_more_similar(self) -> None:
        firsts, seconds = zip(*(text.split(". ", 1) for text in RELATED), strict=True)
        mixed = [f"{first}. {second}" for first, second in zip(firsts, seconds[1:] + seconds[:1], strict=True)]
        related, unrelated = scores(GruenFocus(), *RELATED), scores(GruenFocus(), *mixed)
        assert (related.parts["pairs"] == 1).all()
        assert (related.values == 0).all()
        assert related.parts["least"].min() > np.median(unrelated.parts["least"])
        assert (related.parts["least"] > unrelated.parts["least"]).all()
        assert unrelated.values.sum() < -0.05

    def test_odd_texts(self) -> None:
        texts = ["สวัสดีครับ วันนี้อากาศดีมาก", "\ud800", "x \udfff y", "a\x00b c", "e\u0301" * 50, "1 2. 3 4."]
        result = scores(GruenFocus(), *texts)
        assert np.isnan(result.values[0])
        for number, value in enumerate(result.values.tolist()):
            assert math.isnan(value) == (number in result.reasons)

    def test_what_it_says_of_itself(self) -> None:
        metric = GruenFocus()
        assert metric.info.direction is Direction.HIGHER
        assert metric.spec == "gruen.focus"
        assert metric.signature.startswith("gruen.focus|markup:auto|model:builtin|threshold:0.")
        assert "|builtin@" in metric.signature
