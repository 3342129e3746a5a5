"""Training of `sumqe`: ridge regression, shared projections, what is left out, the sets, the command."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import celadon
from celadon.cli import main
from celadon.core import InputError, UsageError
from celadon.io.weight_files import read_quality
from celadon.metrics.reading.features import ReadingModels
from celadon.metrics.sumqe import NAMED, QUESTIONS
from celadon.train.combinations.rated_sets import damaged_sets, lower_ratings, read_sets
from celadon.train.combinations.ridge import PENALTIES, Problem, Search, Setting, scale_of
from celadon.train.combinations.sumqe import MULTI, SINGLE, Measured, fit_heads, folds_of, held_out_figures, measure
from tests.conftest import missing_part
from tests.tiny_encoder import make_encoder
from tests.tiny_models import make_bigrams
from tests.train.test_celadon_training import corpus

try:
    import onnx  # noqa: F401
    import torch  # noqa: F401
except ImportError:
    missing_part("torch or onnx", "run: pip install 'celadon-text[train]'")

WORDS = "the cat cats sat on a mat dog ran home he it left".split()


def problem(rows: int = 120, tasks: int = 3, missing: float = 0.0, seed: int = 0) -> Problem:
    """Six named features and nine places of vectors; the tasks share two directions."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(rows, 15))
    weights = generator.normal(size=(15, 2)) @ generator.normal(size=(2, tasks))
    ratings = features @ weights + generator.normal(size=(rows, tasks))
    ratings[generator.random((rows, tasks)) < missing] = np.nan
    return Problem(features, 6, ratings, np.zeros(rows, dtype=np.int64), folds_of(np.arange(rows), 0))


class TestRidge:
    @pytest.mark.parametrize("setting", [Setting(0.0, 1e-2), Setting(0.3, 1e-3), Setting(np.inf, 1e-1)])
    def test_a_single_task_is_scikit_learns_ridge_on_the_texts_that_have_the_rating(self, setting: Setting) -> None:
        given = problem(missing=0.4)
        made = Search(given).fit_single([setting] * 3)
        scale = scale_of(given, setting.share)
        for task in range(3):
            known = np.isfinite(given.ratings[:, task])
            theirs = Ridge(alpha=setting.penalty * known.sum()).fit(
                (given.features * scale)[known], given.ratings[known, task]
            )
            np.testing.assert_allclose(made.weights[:, task], theirs.coef_ * scale, atol=1e-9)
            assert made.bias[task] == pytest.approx(theirs.intercept_)

    def test_vectors_of_no_share_do_not_count(self) -> None:
        made = Search(problem()).fit_single([Setting(0.0, 1e-3)] * 3)
        assert (made.weights[6:] == 0).all()
        assert (made.weights[:6] != 0).all()

    @pytest.mark.parametrize("rank", [1, 2, 3])
    def test_tasks_together_are_the_best_of_their_rank(self, rank: int) -> None:
        """No worse than what alternating least squares finds from several beginnings, which is another way there."""
        given, penalty = problem(seed=4), 1e-2
        made = Search(given).fit_multi(Setting(1.0, penalty, rank))
        assert np.linalg.matrix_rank(made.weights, tol=1e-9) == rank
        scale = scale_of(given, 1.0)
        features = (given.features - given.features.mean(axis=0)) * scale
        ratings = given.ratings - given.ratings.mean(axis=0)
        ridge = penalty * len(features)

        def loss(weights: np.ndarray) -> float:
            return float(((ratings - features @ weights) ** 2).sum() + ridge * (weights**2).sum())

        ours = loss(made.weights / scale[:, None])
        theirs = min(loss(_alternated(features, ratings, ridge, rank, seed)) for seed in range(4))
        assert ours == pytest.approx(theirs, rel=1e-6)

    def test_all_ranks_together_are_the_single_tasks(self) -> None:
        search = Search(problem(missing=0.3))
        together, alone = search.fit_multi(Setting(0.3, 1e-2, 3)), search.fit_single([Setting(0.3, 1e-2)] * 3)
        np.testing.assert_allclose(together.weights, alone.weights, atol=1e-9)
        np.testing.assert_allclose(together.bias, alone.bias, atol=1e-9)

    def test_what_tasks_share_is_found_where_texts_are_few(self) -> None:
        generator = np.random.default_rng(2)
        direction = generator.normal(size=15)

        def drawn(rows: int) -> Problem:
            features = generator.normal(size=(rows, 15))
            ratings = (features @ direction)[:, None] * [1.0, 0.8, 1.2, 0.9] + 6 * generator.normal(size=(rows, 4))
            return Problem(features, 6, ratings, np.zeros(rows, dtype=np.int64), folds_of(np.arange(rows), 0))

        few, many = drawn(60), drawn(4000)
        search = Search(few)
        chosen = search.multi()
        assert chosen.rank == 1
        agreement = {
            name: np.mean(
                [np.corrcoef(many.features @ made.weights[:, at], many.ratings[:, at])[0, 1] for at in range(4)]
            )
            for name, made in (("multi", search.fit_multi(chosen)), ("single", search.fit_single(search.single())))
        }
        assert agreement["multi"] > agreement["single"] + 0.02

    def test_the_penalty_is_the_best_of_scikit_learns_over_the_same_folds(self) -> None:
        given = problem(rows=80, tasks=1, seed=3)
        scale = scale_of(given, np.inf)
        best = {}
        for penalty in PENALTIES:
            predicted = np.zeros(80)
            for fold in range(5):
                out = given.folds == fold
                model = Ridge(alpha=penalty * (~out).sum()).fit((given.features * scale)[~out], given.ratings[~out, 0])
                predicted[out] = model.predict((given.features * scale)[out])
            best[penalty] = np.corrcoef(predicted, given.ratings[:, 0])[0, 1]
        assert Search(given, "encoder").single() == [Setting(np.inf, max(best, key=best.__getitem__))]


def _alternated(features: np.ndarray, ratings: np.ndarray, ridge: float, rank: int, seed: int) -> np.ndarray:
    """The least penalised squared error of weights B V' with V of orthogonal columns, by turns."""
    directions = np.linalg.qr(np.random.default_rng(seed).normal(size=(ratings.shape[1], rank)))[0]
    gram = features.T @ features + ridge * np.eye(features.shape[1])
    for _ in range(300):
        inner = np.linalg.solve(gram, features.T @ ratings @ directions)
        left, _, right = np.linalg.svd(ratings.T @ features @ inner, full_matrices=False)
        directions = left @ right
    return np.asarray(np.linalg.solve(gram, features.T @ ratings @ directions) @ directions.T)


def measured(rows: int = 90, sets: int = 3, seed: int = 0) -> Measured:
    """Features as if they had been measured; two ratings, of which the last set has only one."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(rows, len(NAMED) + 6))
    features[generator.random(features.shape) < 0.05] = np.nan
    known = np.nan_to_num(features)
    ratings = np.stack([known[:, 0] - known[:, 3], known[:, 0] + known[:, -1]], axis=1)
    ratings += 0.3 * generator.normal(size=ratings.shape)
    of = np.arange(rows) % sets
    ratings[of == sets - 1, 1] = np.nan
    return Measured(features, ratings, ("a", "b"), ((0, 1), (1, 5)), of, np.arange(rows) // (2 * sets), 0, "")


class TestLeftOut:
    def test_the_ratings_of_a_set_have_no_say_in_its_own_figures(self) -> None:
        whole = measured()
        turned = whole.ratings.copy()
        turned[whole.sets == 1] *= -1
        names = ["one", "two", "three"]
        before = {f[:3]: f for f in held_out_figures(whole, names) if f.held_out == "two"}
        after = {f[:3]: f for f in held_out_figures(measured_with(whole, turned), names) if f.held_out == "two"}
        assert set(before) == {("two", rating, tasks) for rating in "ab" for tasks in (SINGLE, MULTI)}
        for key, figure in before.items():
            assert figure.pearson > 0.8
            assert after[key].pearson == pytest.approx(-figure.pearson)
            assert after[key].n == figure.n == 30

    def test_a_rating_that_no_other_set_has_is_not_predicted(self) -> None:
        whole = measured(sets=2)
        found = {(f.held_out, f.rating) for f in held_out_figures(whole, ["one", "two"])}
        assert found == {("one", "a"), ("two", "a")}

    def test_one_set_is_left_out_by_items(self) -> None:
        whole = measured(sets=1)
        whole.ratings[:, 1] = whole.ratings[:, 0]
        found = held_out_figures(whole, ["one"])
        assert {(f.held_out, f.rating, f.n) for f in found} == {("one", "a", 90), ("one", "b", 90)}
        assert all(f.pearson > 0.8 for f in found)

    def test_items_stay_together(self) -> None:
        items = np.random.default_rng(0).integers(0, 40, 300)
        folds = folds_of(items, 3)
        assert all(len(set(folds[items == item])) == 1 for item in set(items.tolist()))
        assert set(folds.tolist()) == set(range(5))

    def test_too_few_ratings_are_told(self) -> None:
        whole = measured()
        whole.ratings[5:, 1] = np.nan
        with pytest.raises(InputError, match="texts have the rating 'b'"):
            fit_heads(whole)


def measured_with(given: Measured, ratings: np.ndarray) -> Measured:
    return Measured(given.features, ratings, given.names, given.scales, given.sets, given.items, 0, "")


def rows(
    count: int, seed: int, *, high: float = 5.0, names: tuple[str, ...] = ("grammar", "focus")
) -> list[dict[str, Any]]:
    """Texts of two sentences, rated by how often a word comes again."""
    generator = random.Random(seed)
    found = []
    for number in range(count):
        words = generator.choices(WORDS, k=5)
        words += [words[-1]] * generator.randint(0, 4)
        text = f"{' '.join(words).capitalize()}. The {generator.choice(WORDS)} ran home."
        worse = len(words) - 5
        scores = dict.fromkeys(names, 1 + (high - 1) * (4 - worse) / 4)
        found.append({"id": f"item{number // 2}", "text": text, "scores": scores})
    return found


def as_jsonl(path: Path, given: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in given), encoding="utf-8")
    return str(path)


class TestSets:
    def test_each_file_is_a_set_with_its_scale(self, tmp_path: Path) -> None:
        one = as_jsonl(tmp_path / "one.jsonl", rows(30, 1))
        two = as_jsonl(tmp_path / "two.jsonl", rows(20, 2, high=100, names=("grammar",)))
        found = read_sets([one, two])
        assert [each.name for each in found] == ["one.jsonl", "two.jsonl"]
        assert [dict(each.scales) for each in found] == [{"grammar": (1, 5), "focus": (1, 5)}, {"grammar": (1, 100)}]
        assert found[0].items[:3] == ("item0", "item0", "item1")
        assert read_sets([one], ["focus"], scale=(0, 7))[0].scales == {"focus": (0, 7)}

    def test_a_column_may_tell_sets_apart(self, tmp_path: Path) -> None:
        given = [{**row, "domain": "ab"[at % 2]} for at, row in enumerate(rows(30, 1))]
        found = read_sets([as_jsonl(tmp_path / "one.jsonl", given)], set_field="domain")
        assert [(each.name, len(each.texts)) for each in found] == [("one.jsonl:a", 15), ("one.jsonl:b", 15)]

    def test_what_is_wrong_is_told(self, tmp_path: Path) -> None:
        one = as_jsonl(tmp_path / "one.jsonl", rows(12, 1))
        with pytest.raises(InputError, match="no rating column 'clarity'"):
            read_sets([one], ["clarity"])
        with pytest.raises(InputError, match="no column of sets 'domain'"):
            read_sets([one], set_field="domain")
        bare = as_jsonl(tmp_path / "bare.jsonl", [{"text": "a b"}] * 3)
        with pytest.raises(UsageError, match="--rating"):
            read_sets([bare])
        same = as_jsonl(tmp_path / "same.jsonl", [{"text": "a b", "x": 1}] * 3)
        with pytest.raises(InputError, match="all the same"):
            read_sets([same], ["x"])
        text = as_jsonl(tmp_path / "text.jsonl", [{"text": "a b", "x": "good"}] * 3)
        with pytest.raises(InputError, match="not a number"):
            read_sets([text], ["x"])

    def test_less_is_better_of_what_is_known_and_of_what_is_named(self) -> None:
        assert lower_ratings(["hter", "overall", "effort"], ["scores.effort"]) == {"hter", "effort"}

    def test_damaged_documents_are_rated_by_what_is_whole(self, tmp_path: Path) -> None:
        text = corpus(tmp_path)
        found = damaged_sets(text, [], 60, 1)[0]
        again = damaged_sets(text, [], 60, 1)[0]
        assert found.texts == again.texts
        assert found.sha256 == text.digest()
        assert tuple(found.ratings) == QUESTIONS
        table = np.stack(list(found.ratings.values()))
        assert np.nanmin(table) >= 1
        assert np.nanmax(table) == 5
        firsts = [found.items.index(item) for item in dict.fromkeys(found.items)]
        assert len(firsts) == 60
        assert (table[:, firsts] == 5).all()  # as they are
        others = np.setdiff1d(np.arange(len(found.texts)), firsts)
        assert (np.nanmin(table[:, others], axis=0) < 5).all()  # something is worse in every damaged one
        assert np.isnan(table).any()
        assert any(len(text.split(". ")) == 1 for text in found.texts)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> ReadingModels:
    folder: Path = tmp_path_factory.mktemp("models")
    return ReadingModels(str(make_bigrams(folder / "lm").folder), str(make_encoder(folder / "encoder")))


class TestCommand:
    def test_what_is_trained_predicts_as_a_metric(
        self, tmp_path: Path, models: ReadingModels, capsys: pytest.CaptureFixture[str]
    ) -> None:
        paths = [
            as_jsonl(tmp_path / "one.jsonl", rows(40, 1)),
            as_jsonl(tmp_path / "two.jsonl", rows(30, 2, high=9, names=("grammar",))),
        ]
        out = str(tmp_path / "mine.json")
        readers = ["--likelihood", models.likelihood, "--encoder", models.encoder]
        assert main(["train", "sumqe", *paths, "--tasks", "multi", *readers, "--output", out]) == 0
        shown = capsys.readouterr().out
        made = read_quality(out)
        # the scales of grammar differ, so that it is predicted as a share of them
        assert [(name, head.low, head.high) for name, head in made.heads.items()] == [
            ("grammar", 0, 1),
            ("focus", 1, 5),
        ]
        assert [each["name"] for each in made.trained_on] == ["one.jsonl", "two.jsonl"]
        figures = {(each["held_out"], each["rating"], each["tasks"]): each for each in made.facts["held_out"]}
        assert set(figures) == {
            (f"{name}.jsonl", "grammar", tasks) for name in ("one", "two") for tasks in (SINGLE, MULTI)
        }
        printed = [float(cell) for cell in re.findall(r"two\.jsonl  grammar (.+)", shown)[0].split()]
        assert printed[2] == pytest.approx(figures["two.jsonl", "grammar", MULTI]["pearson"], abs=6e-4)

        seen = measure(read_sets(paths), models)
        wanted = fit_heads(seen).predict(MULTI, seen.features)
        texts = [row["text"] for row in (*rows(40, 1), *rows(30, 2))]
        found = celadon.score(texts, metrics=[f"sumqe[model={out}]"]).columns[f"sumqe[model={out}]"]
        np.testing.assert_allclose(found.parts["grammar"], wanted[:, 0], atol=2e-3)
        np.testing.assert_allclose(found.parts["focus"], 1 + 4 * wanted[:, 1], atol=8e-3)
        first = Path(out).read_bytes()
        assert main(["train", "sumqe", *paths, "--tasks", "multi", *readers, "--output", out]) == 0
        assert Path(out).read_bytes() == first

    def test_damaged_documents_train_the_five_questions(
        self, tmp_path: Path, models: ReadingModels, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        text = corpus(tmp_path, articles=30)
        monkeypatch.setattr("celadon.train.combinations.sumqe.Corpus", lambda paths: text)
        out = str(tmp_path / "mine.json")
        readers = ["--likelihood", models.likelihood, "--encoder", models.encoder, "--features", "reading"]
        asked = ["--damaged", str(text.paths[0]), "--documents", "40", *readers, "--json", "--output", out]
        assert main(["train", "sumqe", *asked]) == 0
        printed = json.loads(capsys.readouterr().out)
        made = read_quality(out)
        assert tuple(made.heads) == QUESTIONS
        assert all(not head.vectors.size for head in made.heads.values())
        assert made.trained_on[0]["sha256"] == text.digest()
        assert printed["trained_on"][0]["texts"] == made.trained_on[0]["texts"]
        assert "--damaged corpus.txt.xz" in made.facts["made_by"]
        assert str(tmp_path) not in Path(out).read_text().replace(models.likelihood, "").replace(models.encoder, "")

    @pytest.mark.parametrize(
        ("asked", "code", "message"),
        [
            (["--output", "x.json"], 2, "nothing to learn from"),
            (["one.jsonl", "--treebank", "a.conllu", "--output", "x.json"], 2, "give a corpus too"),
            (["--damaged", "a.txt", "--rating", "focus", "--output", "x.json"], 2, "no such file was given"),
            (["--damaged", "a.txt", "--documents", "0", "--output", "x.json"], 2, "at least 1"),
            (["--damaged", "a.txt", "--output", "x.json"], 2, "a.txt: no such file"),
            (["one.jsonl", "--output", "no/such/x.json"], 4, "does not exist"),
            (["one.jsonl", "--output", "one.jsonl"], 2, "one.jsonl"),
            (["one.jsonl", "--scale", "5:1", "--output", "x.json"], 2, "LOW:HIGH"),
            (["none.jsonl", "--output", "x.json"], 2, "none.jsonl"),
            (["few.jsonl", "--output", "x.json"], 2, "at least 10 are needed"),
        ],
    )
    def test_mistakes_are_told(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        models: ReadingModels,
        capsys: pytest.CaptureFixture[str],
        asked: list[str],
        code: int,
        message: str,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        as_jsonl(Path("one.jsonl"), rows(12, 1))
        as_jsonl(Path("few.jsonl"), rows(6, 1))
        readers = ["--likelihood", models.likelihood, "--encoder", models.encoder]
        assert main(["train", "sumqe", *asked, *readers]) == code
        assert message in capsys.readouterr().err
        assert not Path("x.json").exists()
