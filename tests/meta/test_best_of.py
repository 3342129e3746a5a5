"""The best of a family of metrics, against correlations looked at one by one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from celadon.cli import main
from celadon.core import UsageError
from celadon.meta.best_of import best_rows, members_of
from celadon.meta.table import Table


def made(members: int, rows: int, signal: float, seed: int = 0) -> Table:
    """Ratings, and members of a family that are noise but for the last, which knows something of them."""
    generator = np.random.default_rng(seed)
    human = generator.normal(size=rows)
    columns = {f"m{at}": generator.normal(size=rows) for at in range(members)}
    columns[f"m{members - 1}"] += signal * human
    items = tuple(str(row // 2) for row in range(rows))
    return Table({"overall": human, **columns}, tuple(columns), ("overall",), items=items)


class TestBestRows:
    @pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
    def test_the_strongest_is_named(self, kind: str) -> None:
        from scipy import stats

        table = made(5, 60, 0.7)
        (row,) = best_rows(table, {"m-best": table.metrics}, kind, ["instance"], seed=1)
        names = {"pearson": "pearsonr", "spearman": "spearmanr", "kendall": "kendalltau"}
        found = {m: getattr(stats, names[kind])(table.columns[m], table.columns["overall"])[0] for m in table.metrics}
        assert row.metric == max(found, key=lambda m: abs(found[m]))
        assert row.value == pytest.approx(found[row.metric])
        assert (row.family, row.members) == ("m-best", 5)

    def test_less_is_better(self) -> None:
        table = made(2, 200, 2.0)
        turned = Table({**table.columns, "m1": -table.columns["m1"]}, table.metrics, table.humans, frozenset({"m1"}))
        (row,) = best_rows(turned, {"best": table.metrics}, "pearson", ["instance"], seed=1)
        assert row.metric == "m1"
        assert row.value > 0.8

    def test_noise_looks_good_only_where_it_was_chosen(self) -> None:
        """Forty metrics that know nothing: the best of them is flattered, and not so across halves."""
        rows = [
            best_rows(table, {"noise": table.metrics}, "pearson", ["instance"], seed=7)[0]
            for table in (made(40, 60, 0.0, seed) for seed in range(20))
        ]
        assert np.mean([abs(row.value) for row in rows]) > 0.25
        assert abs(np.mean([row.across for row in rows])) < 0.1

    def test_halves_hold_whole_items_and_the_seed_decides(self) -> None:
        from celadon.meta.best_of import _halves

        table = made(2, 51, 0.0)
        one, other = _halves(table, 3)
        assert sorted([*one, *other]) == list(range(51))
        assert not {table.items[row] for row in one} & {table.items[row] for row in other}
        assert _halves(table, 3)[0].tolist() == one.tolist() != _halves(table, 4)[0].tolist()

    def test_a_member_without_a_correlation_is_never_chosen(self) -> None:
        table = made(2, 30, 0.5)
        columns = {**table.columns, "m0": np.full(30, 2.0)}
        constant = Table(columns, table.metrics, table.humans)
        assert best_rows(constant, {"best": table.metrics}, "pearson", ["instance"], seed=1)[0].metric == "m1"
        (row,) = best_rows(constant, {"best": ("m0",)}, "pearson", ["instance"], seed=1)
        assert np.isnan(row.value)
        assert "constant" in row.reason


class TestMembers:
    def test_names_and_beginnings(self) -> None:
        columns = ("rouge1", "bleu", "rouge2", "rougeW[weight=1.5]")
        assert members_of(["rouge*"], columns) == ("rouge1", "rouge2", "rougeW[weight=1.5]")
        assert members_of(["rouge2", "bleu", "rouge2"], columns) == ("rouge2", "bleu")
        for missing in ("rouge", "chrf", "ter*"):
            with pytest.raises(UsageError, match="no metric"):
                members_of([missing], columns)


class TestCommand:
    @pytest.fixture
    def scored(self, tmp_path: Path) -> Path:
        table = made(3, 40, 1.0)
        path = tmp_path / "scored.jsonl"
        rows = [
            {"id": table.items[row], **{name: column[row] for name, column in table.columns.items()}}
            for row in range(40)
        ]
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        return path

    def test_printed(self, scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
        options = ["--human", "overall", "--metric", "m0,m1,m2", "--resamples", "10"]
        assert main(["meta", "correlate", str(scored), *options, "--best-of", "m-best=m*"]) == 0
        shown = capsys.readouterr().out
        assert "m-best" in shown
        assert "across halves" in shown
        assert "flatters" in shown

    def test_json(self, scored: Path, capsys: pytest.CaptureFixture[str]) -> None:
        options = ["--human", "overall", "--metric", "m0,m1,m2", "--resamples", "10", "--json"]
        for question in ("correlate", "report"):
            assert main(["meta", question, str(scored), *options, "--best-of", "two=m0,m2"]) == 0
            found = json.loads(capsys.readouterr().out)["best_of"]
            assert found[0]["metric"] == "m2"
            assert found[0]["members"] == 2

    @pytest.mark.parametrize("wrong", ["rouge1,rouge2", "=m0", "best=", "best=nowhere"])
    def test_wrong_families(self, scored: Path, capsys: pytest.CaptureFixture[str], wrong: str) -> None:
        options = ["--human", "overall", "--metric", "m0,m1,m2", "--resamples", "2"]
        assert main(["meta", "correlate", str(scored), *options, "--best-of", wrong]) == 2
        assert "Traceback" not in capsys.readouterr().err
