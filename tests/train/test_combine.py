"""Support vector regression from metrics to ratings."""

from __future__ import annotations

import csv
import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import celadon
from celadon.cli import main
from celadon.core import InputError, UsageError
from celadon.io.weight_files import read_combination
from celadon.metrics.combined import Combined, predict
from celadon.train.combinations.combine import feature_columns, fit_combination, fit_table, usable_rows
from celadon.train.combinations.ratings import read_ratings, split_rows
from tests.conftest import missing_part

try:
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR
except ImportError:  # pragma: no cover
    SVR = None

WORDS = "the a cat dog sat ran on mat under tree away and then it was quick".split()


@pytest.fixture(autouse=True)
def _scikit_learn() -> None:
    if SVR is None:
        missing_part("scikit-learn", "run: celadon install train")


def rated_rows(count: int = 120, seed: int = 1) -> list[dict[str, Any]]:
    """Texts that are worse the more words of their reference are lost; people see that, with some noise."""
    generator = random.Random(seed)
    rows = []
    for number in range(count):
        reference = generator.choices(WORDS, k=10)
        lost = generator.randint(0, 8)
        text = [word if at >= lost else generator.choice(WORDS) for at, word in enumerate(reference)]
        rows.append(
            {
                "id": f"item{number}",
                "text": " ".join(text),
                "references": [" ".join(reference)],
                "scores": {"overall": 5 - lost / 2 + generator.gauss(0, 0.3)},
                "effort": lost + generator.gauss(0, 1),
            }
        )
    return rows


def as_jsonl(path: Path, rows: list[dict[str, Any]]) -> str:
    content = "".join(json.dumps(row) + "\n" for row in rows)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(content.encode()))
    else:
        path.write_text(content, encoding="utf-8")
    return str(path)


@pytest.fixture
def table(tmp_path: Path) -> str:
    return as_jsonl(tmp_path / "rated.jsonl", rated_rows())


def scored(rows: list[dict[str, Any]], *metrics: str) -> np.ndarray:
    found = celadon.score(
        [row["text"] for row in rows],
        [row["references"] for row in rows],
        metrics=[m.partition(".")[0] for m in metrics],
    )
    return np.column_stack([found[metric] for metric in metrics])


@pytest.mark.parametrize("gamma", ["scale", "auto"])
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_predicts_as_scikit_learn_does(table: str, tmp_path: Path, scale: str, gamma: str) -> None:
    out = str(tmp_path / "mine.json")
    asked = ["--features", "rougeL,chrf,rouge1.precision,effort", "--scale", scale, "--gamma", gamma]
    assert main(["train", "combine", table, "--rating", "overall", *asked, "--train", "80", "--output", out]) == 0
    rows = rated_rows()
    effort = np.array([[row["effort"]] for row in rows])
    features = np.hstack([scored(rows, "rougeL", "chrf", "rouge1.precision"), effort])
    ratings = np.array([row["scores"]["overall"] for row in rows])

    made = read_combination(out)
    order = np.random.default_rng(made.facts["trained_on"]["seed"]).permutation(len(rows))
    training, rest = order[:80], order[80:]
    scaler = StandardScaler(with_mean=scale == "standard", with_std=scale == "standard").fit(features[training])
    ours = predict(made, features)
    theirs = SVR(gamma=gamma).fit(scaler.transform(features[training]), ratings[training])
    np.testing.assert_allclose(ours, theirs.predict(scaler.transform(features)), atol=1e-9, rtol=0)

    new = [celadon.Sample(row["text"], tuple(row["references"]), extra=row) for row in rows]
    as_metric = celadon.score(new, metrics=[f"combined[file={out}]"])
    np.testing.assert_allclose(as_metric[f"combined[file={out}]"], ours, atol=1e-12)

    for part, chosen in (("training", training), ("held_out", rest)):
        figures = {figure["name"]: figure for figure in made.facts["figures"][part]}
        assert figures["combined"]["n"] == len(chosen)
        assert figures["combined"]["pearson"] == pytest.approx(stats.pearsonr(ours[chosen], ratings[chosen])[0])
        assert figures["chrf"]["spearman"] == pytest.approx(stats.spearmanr(features[chosen, 1], ratings[chosen])[0])
        fitted = np.polyval(np.polyfit(features[chosen, 0], ratings[chosen], 1), features[chosen, 0])
        assert figures["rougeL"]["mse"] == pytest.approx(((ratings[chosen] - fitted) ** 2).mean())


def test_the_combination_beats_its_features_where_each_knows_a_part(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    one, two = generator.normal(size=(2, 400))
    rows = [{"a": a, "b": b, "overall": a * b + generator.normal(0, 0.1)} for a, b in zip(one, two, strict=True)]
    trained = fit_table(read_ratings(as_jsonl(tmp_path / "ab.jsonl", rows), "overall"), ["a", "b"], train=200, seed=3)
    together, *alone = trained.held_out
    assert together.n == 200
    assert together.pearson > 0.9
    assert max(abs(figure.pearson) for figure in alone) < 0.5


def test_columns_of_the_table_stand_before_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{**row, "rougeL": row["effort"] / 10} for row in rated_rows(60)]
    path, out = as_jsonl(tmp_path / "scored.jsonl", rows), str(tmp_path / "mine.json")
    assert main(["train", "combine", path, "--rating", "overall", "--features", "rougeL", "-o", out]) == 0
    said = capsys.readouterr()
    assert "rougeL: taken from the table here, computed when texts are scored" in said.err
    made = read_combination(out)
    assert made.features[0].is_metric
    assert made.features[0].signature == ""
    given = usable_rows(read_ratings(path, "overall"), feature_columns(read_ratings(path, "overall"), ["rougeL"]))
    np.testing.assert_array_equal(given.features[:, 0], [row["rougeL"] for row in rows])


def test_a_column_that_is_no_metric_is_asked_of_every_file(table: str, tmp_path: Path) -> None:
    out = str(tmp_path / "mine.json")
    assert main(["train", "combine", table, "--rating", "overall", "--features", "effort", "-o", out]) == 0
    assert not Combined(out).info.needs
    assert Combined(out).score(celadon.scoring.batch.Batch([celadon.Sample("A text.")])).reasons


def test_csv_and_compressed_tables_give_the_same(tmp_path: Path) -> None:
    rows = rated_rows(60)
    plain = tmp_path / "rated.csv"
    with plain.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "references", "scores.overall"])
        writer.writerows([row["text"], json.dumps(row["references"]), row["scores"]["overall"]] for row in rows)
    tables = [str(plain), as_jsonl(tmp_path / "r.jsonl", rows), as_jsonl(tmp_path / "r.jsonl.gz", rows)]
    made = [fit_table(read_ratings(path, "overall"), ["rougeL"]).combination for path in tables]
    for other in made[1:]:
        np.testing.assert_array_equal(made[0].support_vectors, other.support_vectors)
    digests = [one.facts["trained_on"]["sha256_of_rows"] for one in made]
    assert digests[1] == digests[2] != digests[0]


def test_rows_that_lack_something_are_left_out_and_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rated_rows(60)
    rows[0]["references"], rows[1]["text"], rows[2]["scores"] = [], "", {"overall": None}
    rows[3]["effort"] = None
    path, out = as_jsonl(tmp_path / "gaps.jsonl", rows), str(tmp_path / "mine.json")
    assert main(["train", "combine", path, "--rating", "overall", "--features", "rougeL,effort", "-o", out]) == 0
    assert "4 of 60 rows were left out" in capsys.readouterr().err
    trained_on = read_combination(out).facts["trained_on"]
    assert (trained_on["rows"], trained_on["held_out"], trained_on["left_out"]) == (45, 11, 4)


def test_another_table_to_test_on(table: str, tmp_path: Path) -> None:
    other = as_jsonl(tmp_path / "other.jsonl", rated_rows(40, seed=9))
    trained = fit_table(read_ratings(table, "overall"), ["rougeL"], test=read_ratings(other, "overall"))
    assert (trained.training[0].n, trained.held_out[0].n) == (120, 40)
    alone = scored(rated_rows(40, seed=9), "rougeL")[:, 0]
    assert trained.held_out[1].pearson == pytest.approx(stats.pearsonr(alone, trained.rated)[0])
    assert trained.combination.facts["tested_on"]["file"] == "other.jsonl"


def test_the_same_seed_the_same_bytes(table: str, tmp_path: Path) -> None:
    outs = [tmp_path / f"{name}.json" for name in "abc"]
    for out, seed in zip(outs, ("7", "7", "8"), strict=True):
        given = ["--features", "rougeL", "--seed", seed, "-o", str(out)]
        assert main(["train", "combine", table, "--rating", "overall", *given]) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes() != outs[2].read_bytes()


def test_split_parts_all_rows_once() -> None:
    for given, sizes in (({}, (80, 20)), ({"train": 30}, (30, 70)), ({"hold_out": 0}, (100, 0))):
        split = split_rows(100, **given, seed=2)
        assert (len(split.training), len(split.held_out)) == sizes
        assert sorted([*split.training.tolist(), *split.held_out.tolist()]) == list(range(100))
    assert split_rows(100, seed=2).training.tolist() != split_rows(100, seed=3).training.tolist()


def test_prints_figures_warns_of_uneven_features_and_draws(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, plot = str(tmp_path / "mine.json"), tmp_path / "mine.png"
    given = ["--features", "rougeL,chrf", "-o", out, "--plot", str(plot), "--hold-out", "0", "--name", "mine"]
    assert main(["train", "combine", table, "--rating", "overall", *given]) == 0
    said = capsys.readouterr()
    assert "trained on, 120 rows" in said.out
    assert "nothing was held out" in said.out
    assert "times as much as rougeL, which hardly counts; try --scale standard" in said.err
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert read_combination(out).name == "mine"


def test_json_on_request(table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "mine.json")
    assert main(["train", "combine", table, "--rating", "overall", "--features", "rougeL", "-o", out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == read_combination(out).facts


def test_a_data_set_by_its_name(tmp_path: Path) -> None:
    lines = [f"src\t{number % 2}\t\t{' '.join(random.Random(number).choices(WORDS, k=5))}\n" for number in range(40)]
    (tmp_path / "in_domain_train.tsv").write_text("".join(lines), encoding="utf-8")
    for path, given in (("in_domain_train.tsv", None), ("in_domain_train.tsv", "cola")):
        found = read_ratings(str(tmp_path / path), None, format=given)
        assert found.rating == "acceptability"
        assert found.values.tolist() == [0.0, 1.0] * 20
    assert read_ratings(str(tmp_path), "acceptability", format="cola").values.tolist() == [0.0, 1.0] * 20


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--features", "rougeL"], 2, "no rating: name the column"),
        (["--rating", "overall"], 2, "no feature"),
        (["--rating", "overal", "--features", "rougeL"], 2, "there is no rating column 'overal'; the columns are"),
        (["--rating", "overall", "--features", "rogueL"], 2, "there is no feature column or metric 'rogueL'"),
        (["--rating", "overall", "--features", "overall"], 2, "both as a feature and as the rating"),
        (["--rating", "overall", "--features", "rougeL.x"], 2, "rougeL has no part 'x'"),
        (["--rating", "overall", "--features", "sari"], 2, "sari needs source, and this row has none"),
        (["--rating", "overall", "--features", "text"], 2, "the feature column 'text' is"),
        (["--rating", "overall", "--features", "rougeL", "--train", "500"], 2, "there are 120 usable rows; 500"),
        (["--rating", "overall", "--features", "rougeL", "--train", "3"], 2, "at least 10 are needed"),
        (["--rating", "overall", "--features", "rougeL", "--format", "xls"], 2, "unknown format 'xls'"),
        (["--rating", "overall", "--features", "rougeL", "--plot", "x.pdf"], 2, ".png or .svg"),
        (["--rating", "overall", "--features", "rougeL", "--output", "nowhere/x.json"], 4, "create it first"),
    ],
)
def test_what_is_refused(
    table: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    out = tmp_path / "mine.json"
    assert main(["train", "combine", table, "-o", str(out), *arguments]) == code
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_the_ratings_are_not_overwritten(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path(table).read_bytes()
    assert main(["train", "combine", table, "--rating", "overall", "--features", "rougeL", "-o", table]) == 2
    assert Path(table).read_bytes() == before


def test_what_does_not_vary_is_refused(tmp_path: Path) -> None:
    rows = [{"a": 1.0, "b": number, "overall": 3 + number / 1000} for number in range(40)]
    given = read_ratings(as_jsonl(tmp_path / "flat.jsonl", rows), "overall")
    with pytest.raises(InputError, match="'a' has the same value in every row"):
        fit_table(given, ["a", "b"])
    with pytest.raises(InputError, match=r"'overall' vary by less than 0\.2"):
        fit_table(given, ["b"])


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(UsageError, match="gamma is scale or auto"):
        fit_combination((), np.zeros((3, 0)), np.zeros(3), rating="r", gamma="wide")
