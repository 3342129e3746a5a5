"""``celadon meta`` as a user runs it; figures against scipy and statsmodels on the same table."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from scipy import stats

from tests.cli.test_score import celadon, write_rows

SYSTEMS, ITEMS = 6, 25


def made_up(seed: int = 0) -> list[dict[str, Any]]:
    """Texts of six systems: three raters, two metrics for which more is better and one for which less is."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for item in range(ITEMS):
        for system in range(SYSTEMS):
            quality = rng.normal() + 0.3 * system
            ratings = np.clip(np.round(3 + quality + 0.6 * rng.normal(size=3)), 1, 5)
            rows.append(
                {
                    "id": f"item{item}",
                    "system": f"system{system}",
                    "domain": ["news", "chat"][item % 2],
                    "overall": float(ratings.mean()),
                    "ratings": {"overall": ratings.tolist()},
                    "rougeL": quality + rng.normal(),
                    "chrf": quality + 2 * rng.normal(),
                    "ter": -quality + 1.5 * rng.normal(),
                }
            )
    return rows


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return made_up()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> Path:
    return write_rows(tmp_path_factory.mktemp("meta") / "scored.jsonl", list(rows))


def column(rows: list[dict[str, Any]], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows], dtype=float)


def figures(*arguments: str) -> Any:
    done = celadon("meta", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


@pytest.mark.parametrize("kind", SCIPY)
def test_correlations_are_scipys(table: Path, rows: list[dict[str, Any]], kind: str) -> None:
    found = figures(
        "correlate", str(table), "--human", "overall", "--correlation", kind, "--resamples", "100", "--by", "none"
    )
    at = {(row["metric"], row["level"]): row for row in found["correlations"]}
    human = column(rows, "overall").reshape(ITEMS, SYSTEMS)
    for metric, sign in (("rougeL", 1), ("chrf", 1), ("ter", -1)):
        scores = sign * column(rows, metric).reshape(ITEMS, SYSTEMS)
        expected = SCIPY[kind](scores.ravel(), human.ravel())
        one = at[metric, "instance"]
        assert one["value"] == pytest.approx(expected.statistic, abs=1e-12)
        assert one["pvalue"] == pytest.approx(expected.pvalue, rel=1e-6)
        assert one["low"] < one["value"] < one["high"]
        assert (one["used"], one["nulls"]) == (ITEMS * SYSTEMS, 0)
        of_systems = SCIPY[kind](scores.mean(axis=0), human.mean(axis=0)).statistic
        assert at[metric, "system"]["value"] == pytest.approx(of_systems, abs=1e-12)
        within = [
            SCIPY[kind](a, b).statistic for a, b in zip(scores, human, strict=True) if np.ptp(a) > 0 and np.ptp(b) > 0
        ]
        assert at[metric, "within_item"]["value"] == pytest.approx(np.mean(within), abs=1e-12)
    assert found["lower_is_better"] == ["ter"]


def test_the_error_after_a_linear_fit_and_every_breakdown(table: Path, rows: list[dict[str, Any]]) -> None:
    found = figures("correlate", str(table), "--human", "overall", "--metric", "rougeL", "--resamples", "50")
    at = {(row["group"], row["level"]): row for row in found["correlations"]}
    x, y = column(rows, "rougeL"), column(rows, "overall")
    line = np.polyval(np.polyfit(x, y, 1), x)
    assert at["", "instance"]["error"] == pytest.approx(np.mean((y - line) ** 2))
    means = [
        [np.mean([row[name] for row in rows if row["system"] == f"system{s}"]) for s in range(SYSTEMS)]
        for name in ("rougeL", "overall")
    ]
    line = np.polyval(np.polyfit(*means, 1), means[0])
    assert at["", "system"]["error"] == pytest.approx(np.mean((np.array(means[1]) - line) ** 2))
    agree = [row for row in rows if len(set(row["ratings"]["overall"])) == 1]
    groups = {
        "system=system2": [row for row in rows if row["system"] == "system2"],
        "domain=chat": [row for row in rows if row["domain"] == "chat"],
        "reliable": agree,
    }
    for name, some in groups.items():
        expected = stats.pearsonr(column(some, "rougeL"), column(some, "overall")).statistic
        assert at[name, "instance"]["value"] == pytest.approx(expected)
        assert at[name, "instance"]["used"] == len(some)
    assert len(at) == 3 + SYSTEMS + 2 + 1
    assert 0 < found["ceilings"]["overall"] < 1


def test_correlate_prints_tables_and_says_it_in_words(table: Path) -> None:
    done = celadon("meta", "correlate", str(table), "--human", "overall")
    assert done.returncode == 0, done.stderr
    for words in ("overall, over all texts (people reach", "over systems", "within items", "system=system0"):
        assert words in done.stdout
    assert "rougeL agrees best of 3 metrics (pearson" in done.stdout


def test_the_same_seed_gives_the_same_bytes(table: Path) -> None:
    arguments = ["meta", "correlate", str(table), "--human", "overall", "--resamples", "200", "--json"]
    first, again = celadon(*arguments), celadon(*arguments)
    assert first.stdout == again.stdout
    other = celadon(*arguments, "--seed", "7")
    assert other.stdout != first.stdout


def test_nulls_are_counted_and_told(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    holes = [{**row, "chrf": None if at < 4 else row["chrf"]} for at, row in enumerate(rows)]
    path = write_rows(tmp_path / "t.jsonl", list(holes))
    found = figures("correlate", str(path), "--human", "overall", "--resamples", "10", "--level", "instance")
    one = next(row for row in found["correlations"] if row["metric"] == "chrf" and not row["group"])
    assert (one["used"], one["nulls"]) == (len(rows) - 4, 4)
    expected = stats.pearsonr(column(rows[4:], "chrf"), column(rows[4:], "overall")).statistic
    assert one["value"] == pytest.approx(expected)
    assert any("chrf: 4 of 150 rows have no score" in note for note in found["notes"])


def williams(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """As printed in Graham and Baldwin (2014): correlations of two metrics with people, and with each other."""
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    below = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    t = (r12 - r13) * np.sqrt((n - 1) * (1 + r23)) / np.sqrt(below)
    return float(t), float(2 * stats.t.sf(abs(t), n - 3))


def test_the_hand_formula_gives_a_published_value() -> None:
    # the example of r.test in R's psych: r.test(n=103, r12=.4, r13=.5, r23=.1) gives t = -0.89, p = 0.37
    t, p = williams(0.4, 0.5, 0.1, 103)
    assert (round(t, 2), round(p, 2)) == (-0.89, 0.37)


def test_compare_by_williams(table: Path, rows: list[dict[str, Any]]) -> None:
    found = figures("compare", str(table), "--human", "overall")["comparisons"]
    assert [(row["first"], row["second"]) for row in found] == [("rougeL", "chrf"), ("rougeL", "ter"), ("chrf", "ter")]
    human = column(rows, "overall")
    columns = {"rougeL": column(rows, "rougeL"), "chrf": column(rows, "chrf"), "ter": -column(rows, "ter")}
    pvalues = []
    for row in found:
        a, b = columns[row["first"]], columns[row["second"]]
        r12, r13, r23 = (stats.pearsonr(x, y).statistic for x, y in ((a, human), (b, human), (a, b)))
        t, p = williams(r12, r13, r23, len(rows))
        assert (row["first_value"], row["second_value"]) == pytest.approx((r12, r13))
        assert (row["statistic"], row["pvalue"]) == pytest.approx((t, p))
        pvalues.append(p)
    from statsmodels.stats.multitest import multipletests

    assert [row["adjusted"] for row in found] == pytest.approx(multipletests(pvalues, method="holm")[1])
    assert [row["shown"] for row in found] == [row["adjusted"] < 0.05 for row in found]


def test_compare_by_the_other_tests(table: Path, rows: list[dict[str, Any]]) -> None:
    human, a, b = (column(rows, name) for name in ("overall", "rougeL", "chrf"))
    common = ["compare", str(table), "--human", "overall", "--metric", "rougeL,chrf"]
    (fisher,) = figures(*common, "--test", "fisher")["comparisons"]
    values = [stats.pearsonr(x, human).statistic for x in (a, b)]
    z = (np.arctanh(values[0]) - np.arctanh(values[1])) / np.sqrt(2 / (len(rows) - 3))
    assert (fisher["statistic"], fisher["pvalue"]) == pytest.approx((z, 2 * stats.norm.sf(abs(z))))
    (t,) = figures(*common, "--test", "t", "--alternative", "greater")["comparisons"]
    errors = [(human - np.polyval(np.polyfit(x, human, 1), x)) ** 2 for x in (a, b)]
    expected = stats.ttest_ind(errors[1], errors[0], alternative="greater")
    assert (t["statistic"], t["pvalue"]) == pytest.approx((expected.statistic, expected.pvalue))
    (chance,) = figures(*common, "--test", "permutation", "--resamples", "500")["comparisons"]
    assert chance["statistic"] == pytest.approx(values[0] - values[1])
    assert 0 < chance["pvalue"] < 0.05
    (system,) = figures(*common, "--level", "system")["comparisons"]
    assert system["used"] == SYSTEMS
    means = [x.reshape(ITEMS, SYSTEMS).mean(axis=0) for x in (a, human)]
    assert system["first_value"] == pytest.approx(stats.pearsonr(*means).statistic)


def test_kendall_is_compared_by_permutation_unless_asked(table: Path) -> None:
    common = ["compare", str(table), "--human", "overall", "--metric", "rougeL,chrf", "--correlation", "kendall"]
    (usual,) = figures(*common)["comparisons"]
    (named,) = figures(*common, "--test", "permutation")["comparisons"]
    assert usual == named
    (asked,) = figures(*common, "--test", "williams")["comparisons"]
    assert asked["test"] == "williams"
    assert asked["pvalue"] > usual["pvalue"]
    assert "williams: derived for Pearson's correlation" in celadon("meta", *common, "--test", "williams").stdout
    assert "derived for Pearson" not in celadon("meta", *common).stdout


def test_compare_says_what_is_and_what_is_not_shown(table: Path) -> None:
    done = celadon("meta", "compare", str(table), "--human", "overall")
    assert "- rougeL agrees with overall better than chrf (0." in done.stdout
    assert "- not shown: that" in done.stdout
    assert "Williams t = " in done.stdout


def test_agreement(table: Path, tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    (found,) = figures("agreement", str(table), "--human", "overall")["agreement"]
    matrix = np.array([row["ratings"]["overall"] for row in rows])
    pairs = [stats.pearsonr(matrix[:, i], matrix[:, j]).statistic for i, j in ((0, 1), (0, 2), (1, 2))]
    assert found["pairwise_mean"] == pytest.approx(np.mean(pairs))
    assert (found["pairwise_low"], found["pairwise_high"]) == pytest.approx((min(pairs), max(pairs)))
    assert found["ceiling"] == pytest.approx(np.sqrt(found["icc_mean"]))
    columns = [{"a": r[0], "b": r[1], "c": r[2]} for r in matrix.tolist()]
    path = tmp_path / "raters.csv"
    polars.DataFrame(columns).write_csv(path)
    (again,) = figures("agreement", str(path), "--raters", "a,b,c")["agreement"]
    assert again["alpha_interval"] == pytest.approx(found["alpha_interval"])
    done = celadon("meta", "agreement", str(table), "--human", "overall")
    assert "reliability of the mean rating" in done.stdout
    none = celadon("meta", "agreement", str(table), "--human", "rougeL")
    assert none.returncode == 2
    assert "no single ratings of 'rougeL'" in none.stderr


def test_regress(table: Path, rows: list[dict[str, Any]]) -> None:
    import statsmodels.api as sm

    found = figures("regress", str(table), "--human", "overall", "--predictors", "rougeL,ter")
    matrix = sm.add_constant(np.column_stack([column(rows, "rougeL"), column(rows, "ter")]))
    expected = sm.OLS(column(rows, "overall"), matrix).fit()
    assert [term["value"] for term in found["coefficients"]] == pytest.approx(expected.params)
    assert (found["r2"], found["f"], found["p"]) == pytest.approx(
        (expected.rsquared, expected.fvalue, expected.f_pvalue)
    )
    steps = figures("regress", str(table), "--human", "overall", "--predictors", "chrf,rougeL,ter", "--stepwise")
    assert steps["steps"][0]["added"] == ["rougeL"]
    printed = celadon("meta", "regress", str(table), "--human", "overall", "--predictors", "rougeL,ter").stdout
    assert "overall = " in printed
    assert "outliers" in printed
    assert "item" in printed.partition("outliers")[2]


def test_scores_go_round_through_a_regression_and_back_as_a_metric(example: Path, tmp_path: Path) -> None:
    scored = tmp_path / "scored.jsonl"
    metrics = "rougeL,chrf,simple_string_accuracy"
    assert celadon("score", str(example), "--metric", metrics, "--output", str(scored)).returncode == 0
    rng = np.random.default_rng(3)
    rows = [json.loads(line) for line in scored.read_text().splitlines()]
    for row in rows:
        row["scores"] = {"overall": round(1 + 4 * row["rougeL"] + rng.normal() / 4, 2)}
    rated = write_rows(tmp_path / "rated.jsonl", list(rows))
    correlations = figures("correlate", str(rated), "--human", "overall", "--resamples", "100")["correlations"]
    assert list(dict.fromkeys(row["metric"] for row in correlations)) == metrics.split(",")
    formula = tmp_path / "quality.json"
    predictors = "rougeL,simple_string_accuracy.deletions"
    done = celadon(
        *["meta", "regress", str(rated), "--human", "overall", "--predictors", predictors],
        *["--name", "quality", "--output", str(formula)],
    )
    assert done.returncode == 0, done.stderr
    assert "cannot score" not in done.stderr
    again = tmp_path / "again.jsonl"
    spec = f"formula[file={formula}]"
    done = celadon("score", str(example), "--metric", spec, "--output", str(again))
    assert done.returncode == 0, done.stderr
    x = np.array([[1, row["rougeL"], row["simple_string_accuracy.deletions"]] for row in rows])
    y = np.array([row["scores"]["overall"] for row in rows])
    predicted = x @ np.linalg.lstsq(x, y, rcond=None)[0]
    found = [json.loads(line)[spec] for line in again.read_text().splitlines()]
    assert found == pytest.approx(predicted)


def test_ablate(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    rng = np.random.default_rng(1)
    parted = []
    for row in rows:
        noise = float(rng.normal())
        parted.append(
            {"overall": row["overall"], "m": row["rougeL"] + noise, "m.signal": row["rougeL"], "m.noise": noise}
        )
    path = write_rows(tmp_path / "parts.jsonl", list(parted))
    found = figures("ablate", str(path), "--human", "overall", "--metric", "m")["ablations"]
    at = {row["without"]: row for row in found}
    assert found[0]["combination"] == "sum"
    for without, name in (("", "m"), ("noise", "m.signal"), ("signal", "m.noise")):
        expected = stats.pearsonr(column(parted, name), column(parted, "overall")).statistic
        assert at[without]["value"] == pytest.approx(expected)
    assert at["noise"]["change"] > 0 > at["signal"]["change"]
    none = celadon("meta", "ablate", str(path), "--human", "overall", "--metric", "m.noise")
    assert none.returncode == 2
    assert "at least two parts" in none.stderr


def test_references(example: Path, tmp_path: Path) -> None:
    from celadon import score

    rng = np.random.default_rng(2)
    rows = [json.loads(line) for line in example.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["overall"] = float(rng.integers(1, 6))
    path = write_rows(tmp_path / "rated.jsonl", list(rows))
    found = figures("references", str(path), "--human", "overall", "--metric", "rougeL,ter", "--most", "2")
    kept = [row for row in rows if len(row["references"]) >= 2]
    assert (found["texts"], found["left_out"]) == (len(kept), len(rows) - len(kept))
    pairs = [(row["text"], row["references"][:2]) for row in kept]
    assert all(len(row["references"]) == 2 for row in kept)
    human = column(kept, "overall")
    for metric, reduce, sign in (("rougeL", np.maximum, 1), ("ter", np.minimum, -1)):
        alone = [
            score([text for text, _ in pairs], [refs[at] for _, refs in pairs], metrics=[metric]).columns[metric].values
            for at in range(2)
        ]
        expected = sign * stats.pearsonr(reduce(*alone), human).statistic
        at = {row["references"]: row for row in found["references"] if row["metric"] == metric}
        assert at[2]["value"] == pytest.approx(expected)
        assert set(at) == {1, 2}
        assert at[1]["sd"] > 0


def test_load(tmp_path: Path) -> None:
    listed = celadon("meta", "load", "--list")
    assert "summeval" in listed.stdout
    row = {
        "id": "dm-1",
        "model_id": "M0",
        "decoded": "A text.",
        "expert_annotations": [{"coherence": 1, "consistency": 5, "fluency": 4, "relevance": 2}] * 3,
        "references": ["One.", "Two."],
    }
    path = write_rows(tmp_path / "model_annotations.aligned.jsonl", [row])
    out = tmp_path / "out.jsonl.gz"
    done = celadon("meta", "load", "summeval", str(path), "--output", str(out))
    assert done.returncode == 0, done.stderr
    assert "1 rows" in done.stderr
    with gzip.open(out, "rt", encoding="utf-8") as file:
        written = file.read()
    assert celadon("meta", "load", "summeval", str(path)).stdout == written
    found = json.loads(written)
    assert (found["system"], found["scores.fluency"], found["ratings.coherence"]) == ("M0", 4.0, [1, 1, 1])
    wrong = celadon("meta", "load", "sumeval", str(path))
    assert wrong.returncode == 2
    assert "did you mean summeval?" in wrong.stderr
    bad = write_rows(tmp_path / "bad.jsonl", [{"id": 1}])
    broken = celadon("meta", "load", "summeval", str(bad), "--output", str(tmp_path / "none.jsonl"))
    assert broken.returncode == 2
    assert f"{bad}:1" in broken.stderr
    assert not (tmp_path / "none.jsonl").exists()


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "csv.gz"])
def test_every_format_gives_the_same_figures(
    table: Path, tmp_path: Path, rows: list[dict[str, Any]], ending: str
) -> None:
    flat = [{**row, "ratings": None, "ratings.overall": json.dumps(row["ratings"]["overall"])} for row in rows]
    frame = polars.DataFrame([{key: value for key, value in row.items() if key != "ratings"} for row in flat])
    path = tmp_path / f"scored.{ending}"
    if ending == "parquet":
        frame.write_parquet(path)
    else:
        text = frame.write_csv(separator="\t" if ending == "tsv" else ",")
        path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    options = ["--human", "overall", "--resamples", "20"]
    found, expected = figures("correlate", str(path), *options), figures("correlate", str(table), *options)
    assert found["correlations"] == expected["correlations"]
    assert found["ceilings"] == expected["ceilings"]
