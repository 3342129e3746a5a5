"""`sumqe`: what its heads come to, its file, its reasons, its evidence, and what its signature names."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from celadon.cli import main
from celadon.core import InputError, Sample
from celadon.io.weight_files import QualityModel, read_quality, write_quality
from celadon.metrics import sumqe
from celadon.metrics.reading.features import ReadingModels, reading_features
from celadon.metrics.sumqe import NAMED, QUESTIONS, Sumqe, quality_features
from celadon.scoring.batch import Batch
from tests import processes
from tests.conftest import builtin_is_there, missing_part

SOUND = (
    "The committee approved the new budget after a long debate. Its members had argued about the cost of the trains "
    "for weeks. In the end the chairman persuaded them that the fares would pay for it."
)
BROKEN = (
    "The committee approved new budget the after a long. Its members had had argued about about the cost. In the end "
    "the chairman persuaded them the fares the fares the fares would."
)
REPEATED = " ".join([SOUND.split(". ", maxsplit=1)[0] + "."] * 3)
MIXED = (
    "The committee approved the new budget after a long debate. Wild bees are most common where lawns are rarely cut. "
    "He won the silver medal in the pole vault."
)
PACKAGED = Path(sumqe.__file__).with_name("sumqe.json")


@pytest.fixture(autouse=True)
def _builtin() -> None:
    if not builtin_is_there():
        missing_part("the builtin language model", "train it, or check out its weights")


def scored(metric: Sumqe, *texts: str) -> Any:
    return metric.score(Batch([Sample(text) for text in texts]))


def estimator(path: Path, **heads: dict[str, Any]) -> str:
    """Write an estimator whose heads have the weights given and no vectors."""
    made = {
        name: {"low": 1, "high": 5, "bias": 3, **given, "named": {**dict.fromkeys(NAMED, 0.0), **given["named"]}}
        for name, given in heads.items()
    }
    content = {
        "format": QualityModel.FORMAT,
        "name": "hand-made",
        "models": {"likelihood": "builtin", "encoder": "builtin"},
        "trained_on": [{"name": "nothing", "sha256": "00112233445566"}],
        "centre": {"named": dict.fromkeys(NAMED, 0.5)},
        "heads": made,
    }
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


class TestBuiltin:
    def test_each_question_tells_its_damage(self) -> None:
        found = scored(Sumqe(), SOUND, BROKEN, REPEATED, MIXED)
        assert found.values.argmax() == 0
        grammaticality, redundancy, _, focus, _ = (found.parts[name] for name in QUESTIONS)
        assert grammaticality.argmin() == 1
        assert redundancy.argmin() == 2
        assert focus.argmin() == 3

    def test_a_head_is_the_sum_that_its_file_says(self) -> None:
        """The numbers of the file, read here by other means."""
        content = json.loads(PACKAGED.read_text(encoding="utf-8"))
        batch = Batch([Sample(SOUND), Sample(BROKEN)])
        found = Sumqe().score(batch)
        seen, read = reading_features(batch, ReadingModels()), batch.encodings()
        for row in range(2):
            mine = seen.owner == row
            vectors = read.encoded.meaning[read.owner == row].astype(np.float64)
            named = {name: column[row] for name, column in seen.of_texts.items()}
            for name, column in seen.of_sentences.items():
                worst = min if name in ("acceptability", "capped", "weakest") else max
                named |= {f"{name}.mean": column[mine].mean(), f"{name}.worst": worst(column[mine])}
            statistics = np.stack([vectors.mean(axis=0), vectors.min(axis=0), vectors.max(axis=0)])
            for head, weights in content["heads"].items():
                wanted = weights["bias"]
                for name, weight in weights["named"].items():
                    wanted += weight * (named[name] - content["centre"]["named"][name])
                if weights["vectors"]:
                    away = statistics - np.array(content["centre"]["vectors"])
                    wanted += float((np.array(weights["vectors"]) * away).sum())
                assert found.parts[head][row] == pytest.approx(wanted, abs=1e-6)
        shares = np.clip((np.stack([found.parts[name] for name in QUESTIONS]) - 1) / 4, 0, 1)
        np.testing.assert_allclose(found.values, shares.mean(axis=0))

    def test_the_signature_names_the_training_data_and_the_weights(self) -> None:
        signature = Sumqe().signature
        content = json.loads(PACKAGED.read_text(encoding="utf-8"))
        for each in content["trained_on"]:
            assert f"{each['name']}@{each['sha256'][:8]}" in signature
        assert f"sumqe:builtin@{read_quality(str(PACKAGED)).sha256[:8]}" in signature
        assert "changed" not in signature
        data = " ".join(each["name"] for each in content["trained_on"]) + content["made_by"]
        assert not any(
            word in data for word in ("cnn", "chaganty", "novikova", "bagel", "sfhot", "sfres", "gug", "sulem")
        )

    def test_the_file_is_small_and_has_the_five_questions_and_its_card(self) -> None:
        assert PACKAGED.stat().st_size < 200_000
        content = json.loads(PACKAGED.read_text(encoding="utf-8"))
        assert tuple(content["heads"]) == Sumqe().info.parts == QUESTIONS
        assert "CC BY-SA" in content["about"]
        assert content["made_by"].startswith("celadon train sumqe ")
        assert {figure["rating"] for figure in content["held_out"]} == set(QUESTIONS)

    def test_what_cannot_be_read_has_a_reason(self) -> None:
        found = scored(Sumqe(), SOUND, "", "今天天气很好我们一起去散步吧。")
        assert [math.isnan(value) for value in found.values] == [False, True, True]
        assert found.reasons[1] == "the text has no words"
        assert found.reasons[2] == "language: text is Chinese; celadon supports English only"
        assert all(np.isnan(column[1:]).all() for column in found.parts.values())
        assert Sumqe().evidence(Sample("")) is None

    def test_the_pulls_add_up_to_what_is_unusual(self) -> None:
        shown = Sumqe().evidence(Sample(SOUND))
        assert shown is not None
        pulls = shown.sections[0].values["rows"]
        used, parts = Sumqe().estimator(), scored(Sumqe(), SOUND).parts
        wanted = np.mean([(parts[name][0] - head.bias) / (head.high - head.low) for name, head in used.heads.items()])
        assert sum(pull.amount for pull in pulls) == pytest.approx(wanted)
        assert len(pulls) == len(NAMED) + 3
        sizes = [abs(pull.amount) for pull in pulls]
        assert sizes == sorted(sizes, reverse=True)

    def test_explain_and_metrics_show_it(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["explain", "-m", "sumqe", REPEATED]) == 0
        shown = capsys.readouterr().out
        assert "Q2_non_redundancy" in shown
        assert "pulled down most by" in shown
        assert main(["metrics", "sumqe"]) == 0
        assert "not on people" in capsys.readouterr().out

    def test_scoring_needs_nothing_but_the_core(self) -> None:
        asked = (
            "import sys, celadon\n"
            "celadon.score(['The cat sat on the mat.'], metrics=['sumqe'])\n"
            "assert not {'torch', 'sklearn', 'transformers', 'onnx'} & set(sys.modules)\n"
        )
        done = processes.run([sys.executable, "-c", asked], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


class TestFiles:
    def test_the_value_is_that_of_overall_where_there_is_one(self, tmp_path: Path) -> None:
        weights = {"named": {"acceptability.mean": 0.5}}
        path = estimator(tmp_path / "made.json", focus=weights, overall={**weights, "bias": 2})
        metric = Sumqe(path)
        assert metric.info.parts == ("focus", "overall")
        found = scored(metric, SOUND)
        seen = quality_features(Batch([Sample(SOUND)]), ReadingModels())
        away = seen.named[0, NAMED.index("acceptability.mean")] - 0.5
        assert found.parts["focus"][0] == pytest.approx(3 + 0.5 * away)
        assert found.values[0] == pytest.approx(np.clip((1 + 0.5 * away) / 4, 0, 1))
        assert "hand-made@" in metric.signature
        assert "nothing@00112233" in metric.signature

    def test_less_of_a_rating_may_be_better(self, tmp_path: Path) -> None:
        weights = {"named": {"bigrams": 2.0}, "low": 0, "high": 10, "bias": 4}
        more, less = (
            Sumqe(estimator(tmp_path / f"{lower}.json", effort={**weights, "lower_is_better": lower}))
            for lower in (False, True)
        )
        one, two = scored(more, REPEATED), scored(less, REPEATED)
        assert one.parts["effort"][0] == two.parts["effort"][0]
        assert one.values[0] == pytest.approx(1 - two.values[0])
        shown = less.evidence(Sample(REPEATED))
        assert shown is not None
        assert {pull.feature: pull.amount for pull in shown.sections[0].values["rows"]}["bigrams"] < 0

    def test_a_feature_that_a_text_lacks_pulls_nowhere(self, tmp_path: Path) -> None:
        path = estimator(tmp_path / "made.json", order={"named": {"order": 9.0, "likeness": 9.0}})
        found = scored(Sumqe(path), "The committee approved the new budget.", SOUND)
        assert found.parts["order"][0] == 3
        assert found.parts["order"][1] != 3

    def test_a_text_of_one_sentence_has_its_vector_three_times(self) -> None:
        seen = quality_features(Batch([Sample("The cat sat on the mat.")]), ReadingModels())
        assert (seen.vectors[0, 0] == seen.vectors[0, 1]).all()
        assert (seen.vectors[0, 0] == seen.vectors[0, 2]).all()

    def test_a_file_that_is_written_reads_the_same(self, tmp_path: Path) -> None:
        before = read_quality(str(PACKAGED))
        write_quality(str(tmp_path / "again.json"), before)
        again = read_quality(str(tmp_path / "again.json"))
        assert again.facts == before.facts
        assert again.trained_on == before.trained_on
        for (first, one), (second, two) in zip(before.heads.items(), again.heads.items(), strict=True):
            assert (first, one.low, one.high, one.bias) == (second, two.low, two.high, two.bias)
            assert one.named == two.named
            np.testing.assert_array_equal(one.vectors, two.vectors)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"format": "other"}, r"celadon train sumqe writes it\): its format is not"),
            ({"name": " "}, r"name: expected a text matching"),
            ({"models": {"encoder": "builtin"}}, r"models\.likelihood: is missing"),
            ({"trained_on": [{"name": "x"}]}, "trained_on must be a list of objects with name and sha256"),
            ({"heads": {}}, "heads: expected an object of length >= 1"),
            ({"heads": {"a": 3}}, r"heads\.a: expected an object"),
            ({"heads": {"a": {"low": 1, "high": 1, "bias": 0, "named": {}}}}, r"heads\.a: low must be below high"),
            (
                {"heads": {"a": {"low": 0, "high": 1, "bias": "x", "named": {}}}},
                r"heads\.a\.bias: expected a number, got a text",
            ),
            ({"heads": {"a": {"low": 0, "high": 1, "bias": 0, "named": {}}}}, r"heads\.a: has not the features"),
            ({"centre": {"named": {}, "vectors": [[1], [2]]}}, "3 lists of the same length"),
            ({"centre": {}}, r"centre\.named: is missing"),
        ],
    )
    def test_a_bad_file_is_told(self, tmp_path: Path, change: dict[str, Any], message: str) -> None:
        path = tmp_path / "made.json"
        estimator(path, focus={"named": {}})
        path.write_text(json.dumps(json.loads(path.read_text()) | change), encoding="utf-8")
        with pytest.raises(InputError, match=message) as raised:
            Sumqe(str(path))
        assert str(path) in str(raised.value)

    def test_other_features_than_ours_are_told(self, tmp_path: Path) -> None:
        path = tmp_path / "made.json"
        estimator(path, focus={"named": {}})
        content = json.loads(path.read_text())
        content["centre"]["named"]["new"] = content["heads"]["focus"]["named"]["new"] = 0.0
        path.write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(InputError, match="train it again"):
            Sumqe(str(path))

    def test_vectors_of_another_width_are_told(self, tmp_path: Path) -> None:
        path = tmp_path / "made.json"
        estimator(path, focus={"named": {}})
        content = json.loads(path.read_text())
        content["centre"]["vectors"] = [[0.0] * 7] * 3
        path.write_text(json.dumps(content), encoding="utf-8")
        with pytest.raises(InputError, match="vectors of 7 numbers"):
            scored(Sumqe(str(path)), SOUND)

    def test_no_file_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="nowhere"):
            Sumqe(str(tmp_path / "nowhere.json"))
