"""Metrics that are relative to the scored set: two passes, constants from elsewhere, the same scores by every way."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import json
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import zscore

import celadon
from celadon import Sample
from celadon.core import FloatArray, InputError, UsageError
from celadon.io import Chunk, Spill
from celadon.metrics.combined import Formula
from celadon.metrics.standardized import Moments, exact_sum
from celadon.reproduce import scoring
from celadon.reproduce.sets import PLANS, RatedSet
from celadon.reproduce.store import ScoreStore
from celadon.runs import local
from celadon.runs.local import Job
from celadon.scoring import scorer
from celadon.scoring.batch import Batch
from tests import processes
from tests.two_overlaps import TwoOverlaps, install

NAME = "two_overlaps"
WORDS = "the a cat dog house river saw found walked slowly near old green small and it was in on".split()


def made_rows(count: int, seed: int = 1) -> list[dict[str, object]]:
    """Rows of common words, every ninth without any."""
    generator = random.Random(seed)

    def text() -> str:
        return " ".join(generator.choice(WORDS) for _ in range(generator.randint(3, 12)))

    return [
        {
            "id": number,
            "text": text() if number % 9 else " ",
            "references": [text() for _ in range(generator.randint(1, 3))],
            "system": f"s{number % 2}",
        }
        for number in range(count)
    ]


def samples(rows: list[dict[str, object]]) -> list[Sample]:
    return [Sample(str(row["text"]), tuple(row["references"]), system=str(row["system"])) for row in rows]  # type: ignore[arg-type]


def write_rows(path: Path, rows: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def expected(rows: list[Sample]) -> FloatArray:
    """By scipy, from the two metrics scored on their own."""
    scores = celadon.score(rows, metrics=["rougeL", "chrf"])
    return zscore(scores["rougeL"], nan_policy="omit") + zscore(scores["chrf"], nan_policy="omit")


numbers = st.floats(-1e6, 1e6, allow_subnormal=False)


class TestMoments:
    @given(st.lists(numbers, max_size=30), st.integers(0, 2**32))
    def test_no_order_and_no_cut_shows(self, values: list[float], seed: int) -> None:
        generator = random.Random(seed)
        shuffled = generator.sample(values, len(values))
        cut = generator.randint(0, len(values))
        whole = Moments.of({"x": np.array(values)})
        pieces = [Moments.of({"x": np.array(part, dtype=np.float64)}) for part in (shuffled[:cut], shuffled[cut:])]
        assert pieces[0].merged(pieces[1]) == whole

    @given(st.lists(numbers, min_size=1, max_size=30))
    def test_mean_and_spread_are_those_of_exact_arithmetic(self, values: list[float]) -> None:
        mean, sd = Moments.of({"x": np.array(values)}).mean_and_sd("x")
        assert mean == statistics.mean(map(float, values))
        assert sd == pytest.approx(statistics.pstdev(values), rel=1e-15, abs=1e-150)

    def test_what_is_far_from_zero_loses_nothing(self) -> None:
        values = 1e8 + np.array([0.1, 0.2, 0.3])
        _, sd = Moments.of({"x": values}).mean_and_sd("x")
        assert sd == pytest.approx(statistics.pstdev(values.tolist()), rel=1e-14)

    def test_a_row_counts_only_with_all_columns(self) -> None:
        moments = Moments.of({"x": np.array([1.0, np.nan, 3.0, 7.0]), "y": np.array([1.0, 5.0, 2.0, np.inf])})
        assert (moments.rows, moments.mean_and_sd("x"), moments.mean_and_sd("y")) == (2, (2.0, 1.0), (1.5, 0.5))

    def test_the_terms_of_a_sum(self) -> None:
        assert exact_sum([1e100, 1.0, -1e100]) == (1.0,)
        assert exact_sum([1.0, 1e-30]) == (1.0, 1e-30)


class TestPython:
    def test_scores_are_sums_of_standard_scores(self) -> None:
        rows = samples(made_rows(1200))
        scores = celadon.score(rows, metrics=[TwoOverlaps(), "rougeL", "chrf"])
        np.testing.assert_allclose(scores[NAME], expected(rows), atol=1e-10)
        np.testing.assert_array_equal(scores[f"{NAME}.rougeL"], scores["rougeL"])
        np.testing.assert_array_equal(scores[f"{NAME}.chrf"], scores["chrf"])
        assert scores.columns[NAME].reasons == scores.columns["rougeL"].reasons
        assert len(scores.columns[NAME].reasons) == 134

    def test_the_constants_are_shown_and_signed(self) -> None:
        rows = samples(made_rows(50))
        scores = celadon.score(rows, metrics=[TwoOverlaps()])
        alone = celadon.score(rows, metrics=["rougeL", "chrf"])
        found = scores.constants[NAME]
        assert found["rougeL.mean"] == pytest.approx(np.nanmean(alone["rougeL"]))
        assert found["chrf.sd"] == pytest.approx(np.nanstd(alone["chrf"]))
        (metric,) = scores.metrics
        assert metric.spec == NAME
        assert f"{found['rougeL.mean']:.6g}" in metric.info.reading
        assert "|fitted-on:set|" in metric.signature
        other = celadon.score(rows[2:], metrics=[TwoOverlaps()]).signatures[NAME]
        assert other != metric.signature == celadon.score(rows, metrics=[TwoOverlaps()]).signatures[NAME]
        assert "|constants:of-the-set|" in TwoOverlaps().signature

    def test_constants_of_a_set_hold_for_its_parts(self, tmp_path: Path) -> None:
        """By every way in which another set can be given."""
        rows = made_rows(80)
        whole = celadon.score(samples(rows), metrics=[TwoOverlaps()])
        frame = polars.DataFrame({name: [row[name] for row in rows] for name in ("text", "references")})
        written = tmp_path / "old.csv"
        whole.to_polars().select(f"{NAME}.rougeL", f"{NAME}.chrf").write_csv(written)
        ways = {
            "samples": samples(rows),
            "a table": frame,
            "scores": whole,
            "other scores": celadon.score(samples(rows), metrics="rouge1"),
            "texts in a file": write_rows(tmp_path / "rows.jsonl", rows),
            "a file of scores": written,
        }
        for way, given_set in ways.items():
            part = celadon.score(samples(rows)[30:40], metrics=[TwoOverlaps()], standardize_on=given_set)
            np.testing.assert_array_equal(part[NAME], whole[NAME][30:40], err_msg=way)
            assert "|fitted-on:given|" in part.signatures[NAME], way
        again = celadon.score(samples(rows)[30:40], metrics=whole.metrics)
        np.testing.assert_array_equal(again[NAME], whole[NAME][30:40])

    def test_a_set_without_spread_gives_zeros(self) -> None:
        one = [Sample("a cat sat", ("a cat sat down",))]
        assert celadon.score(one, metrics=[TwoOverlaps()])[NAME].tolist() == [0.0]
        same = celadon.score([*one * 3, Sample("", ("x",))], metrics=[TwoOverlaps()])
        assert same[NAME].tolist()[:3] == [0.0] * 3
        assert np.isnan(same[NAME][3])
        assert celadon.score([], [], metrics=[TwoOverlaps()])[NAME].tolist() == []
        with pytest.raises(InputError, match="rougeL is the same in all 3 rows"):
            celadon.score(one, metrics=[TwoOverlaps()], standardize_on=one * 3)

    def test_a_batch_alone_is_the_set(self) -> None:
        rows = samples(made_rows(40))
        np.testing.assert_allclose(TwoOverlaps().score(Batch(rows)).values, expected(rows), atol=1e-10)

    def test_evaluate(self) -> None:
        result = TwoOverlaps().compute(predictions=["a cat", "a dog"], references=["a cat", "a cat"])
        assert result["scores"] == pytest.approx([2.0, -2.0])

    def test_a_formula_cannot_have_it(self, tmp_path: Path) -> None:
        (tmp_path / "f.json").write_text(json.dumps({"name": "f", "intercept": 0, "terms": {"rouge_lm": 1.0}}))
        with pytest.raises(InputError, match="relative to the set"):
            Formula(file=str(tmp_path / "f.json"))


MISTAKES = {
    "no such metric": ("rows.jsonl", ["rouge1"], UsageError, "nothing to standardise"),
    "standard input": ("-", [TwoOverlaps()], UsageError, "standard input"),
    "one row": ("one.csv", [TwoOverlaps()], InputError, "one.csv: 1 rows have all parts"),
    "no number": ("word.csv", [TwoOverlaps()], InputError, "word.csv:3: two_overlaps.chrf is not a number: 'much'"),
    "no references": ("bare.jsonl", [TwoOverlaps()], InputError, "bare.jsonl:2: two_overlaps needs references"),
    "plain text": ("plain.txt", [TwoOverlaps()], InputError, "plain.txt:1: two_overlaps needs references"),
    "malformed": ("bad.jsonl", [TwoOverlaps()], InputError, "bad.jsonl:2: "),
    "missing": ("nowhere.csv", [TwoOverlaps()], InputError, "nowhere.csv: no such file"),
    "no texts": ([], [TwoOverlaps()], InputError, "the texts to standardise on: 0 rows"),
    "texts without references": (["a text"], [TwoOverlaps()], InputError, "row 0: two_overlaps needs references"),
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_mistakes_say_what_and_where(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "rows.jsonl", made_rows(3))
    (tmp_path / "one.csv").write_text(f"{NAME}.rougeL,{NAME}.chrf\n0.5,30\n,40\n")
    (tmp_path / "word.csv").write_text(f"{NAME}.rougeL,{NAME}.chrf\n0.5,30\n0.2,much\n")
    (tmp_path / "bare.jsonl").write_text('{"text": "a b", "references": ["a"]}\n{"text": "a b"}\n')
    (tmp_path / "bad.jsonl").write_text('{"text": "a b", "references": ["a"]}\noops\n')
    (tmp_path / "plain.txt").write_text("a text\n")
    given_set, metrics, error, message = MISTAKES[kind]
    with pytest.raises(error, match=message):
        celadon.score(["a"], ["b"], metrics=metrics, standardize_on=given_set)


METRICS = ("rouge1", "bleu1", TwoOverlaps())


class TestEngine:
    @pytest.fixture
    def rows(self, tmp_path: Path) -> str:
        return write_rows(tmp_path / "in.jsonl", made_rows(120))

    def test_batch_sizes_and_python_give_the_same(self, rows: str, tmp_path: Path) -> None:
        texts = samples(made_rows(120))
        python = celadon.score(texts, metrics=METRICS)
        outs = []
        for size in (1, 7, 512):
            out, report = tmp_path / f"{size}.jsonl", tmp_path / f"{size}.html"
            job = Job([rows], metrics=METRICS, output=str(out), report=str(report), batch_rows=size, resamples=50)
            outcome = local.run(job)
            outs.append((out.read_bytes(), report.read_bytes(), outcome.summary.signatures, outcome.fitted))
            written = [json.loads(line)[NAME] for line in out.read_text().splitlines()]
            values = np.array([np.nan if value is None else value for value in written])
            np.testing.assert_array_equal(values, python[NAME])
            np.testing.assert_allclose(values, expected(texts), atol=1e-10)
        assert outs[0] == outs[1] == outs[2]
        assert outs[0][2] == python.signatures
        assert dict(outs[0][3][NAME].constants) == python.constants[NAME]

    def test_the_other_metrics_do_not_notice(self, rows: str, tmp_path: Path) -> None:
        """Their scores, parts, statistics, intervals and histograms are those of a single pass."""
        both = local.run(Job([rows], metrics=METRICS, output=str(tmp_path / "both.parquet"), resamples=50))
        alone = local.run(Job([rows], metrics=METRICS[:2], output=str(tmp_path / "alone.parquet"), resamples=50))
        assert [row for row in both.summary.rows if row.metric != NAME] == list(alone.summary.rows)
        assert (both.rows_read, both.rows_scored) == (alone.rows_read, alone.rows_scored)
        columns = polars.read_parquet(tmp_path / "alone.parquet").drop("reason")
        assert polars.read_parquet(tmp_path / "both.parquet").select(columns.columns).equals(columns)

    def test_rows_that_waited_come_out_as_they_went_in(self, tmp_path: Path) -> None:
        """Against a single pass with the same constants, byte by byte, for every kind of input and output."""
        odd: list[dict[str, object]] = [
            {**row, "n": 2**70 + at, "x": [{"y": None}], "\ud800": "\udfff", "z": 0.1}
            for at, row in enumerate(made_rows(20))
        ]
        nan = '{"text": "a cat", "references": ["a"], "nan": NaN, "wide": "\\u0e2a 🎉", "dup": 1, "dup": 1.50}\n'
        write_rows(tmp_path / "in.jsonl", odd)
        with (tmp_path / "in.jsonl").open("a", encoding="utf-8") as file:
            file.write(nan)
        frame = polars.DataFrame(
            {"text": ["a cat, sat", "b\nc", ""], "ref0": ["a cat", "c", "x"], "ref1": ["", "d", ""]}
        )
        frame.write_csv(tmp_path / "in.csv")
        table = pa.table(
            {
                "text": ["a cat", "a dog ran", "no"],
                "references": [["a cat sat"], ["dogs ran"], ["no no"]],
                "day": pa.array([dt.date(2001, 2, 3), None, dt.date(1, 1, 1)]),
                "price": pa.array([decimal.Decimal("1.50"), None, decimal.Decimal("2.00")]),
                "raw": pa.array([b"\xff", b"", None]),
                "when": pa.array([2**62, 1, 2], type=pa.timestamp("ns")),
                "kind": pa.array(["p", "q", "p"]).dictionary_encode(),
                "small": pa.array([1, 2, 3], type=pa.int8()),
            }
        )
        pq.write_table(table, tmp_path / "in.parquet")
        for source in ("in.jsonl", "in.csv", "in.parquet"):
            for ending in ("jsonl", "csv", "parquet"):
                outs = [tmp_path / f"{way}-{source}.{ending}" for way in ("twice", "once")]
                job = Job([str(tmp_path / source)], metrics=METRICS, output=str(outs[0]), resamples=5, batch_rows=2)
                twice = local.run(job)
                given_set = str(tmp_path / f"twice-{source}.jsonl")
                once = local.run(dataclasses.replace(job, output=str(outs[1]), standardize_on=given_set))
                assert outs[0].read_bytes() == outs[1].read_bytes(), (source, ending)
                assert twice.summary.rows == once.summary.rows
                assert twice.fitted[NAME].constants == once.fitted[NAME].constants
        assert pq.read_schema(tmp_path / "twice-in.parquet.parquet").field("small").type == pa.int8()

    def test_nothing_waits_where_nothing_has_to(
        self, rows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        local.run(Job([rows], metrics=METRICS, output=str(tmp_path / "old.csv"), resamples=5))
        monkeypatch.setattr(scorer, "Spill", None)
        local.run(Job([rows], metrics=["rouge1"], resamples=5))
        local.run(Job([rows], metrics=METRICS, standardize_on=str(tmp_path / "old.csv"), resamples=5))
        with pytest.raises(TypeError):
            local.run(Job([rows], metrics=METRICS, resamples=5))

    def test_rejects_and_what_lacks_references(self, tmp_path: Path) -> None:
        good = {"text": "a cat sat", "references": ["a cat"]}
        lines = [json.dumps(row) for row in (good, {"text": "no reference"}, {**good, "text": "the dog"})]
        (tmp_path / "in.jsonl").write_text("\n".join([*lines, "oops"]) + "\n")
        job = Job([str(tmp_path / "in.jsonl")], metrics=[TwoOverlaps()], output=str(tmp_path / "out.csv"), resamples=5)
        with pytest.raises(InputError, match="2 rows are malformed"):
            local.run(job)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl"]
        outcome = local.run(dataclasses.replace(job, skip_bad=True))
        assert (outcome.rows_read, outcome.rows_scored, outcome.rows_rejected) == (4, 2, 2)
        assert outcome.fitted[NAME].rows == 2
        assert len((tmp_path / "out.csv.rejects.jsonl").read_text().splitlines()) == 2

    def test_the_given_file_is_not_overwritten(self, rows: str, tmp_path: Path) -> None:
        job = Job([rows], metrics=METRICS, output=str(tmp_path / "old.csv"), resamples=5)
        local.run(job)
        with pytest.raises(UsageError, match=r"old\.csv: is also an input"):
            local.run(dataclasses.replace(job, standardize_on=job.output))

    def test_the_bar_goes_through_both_passes(self, rows: str) -> None:
        seen: list[tuple[str, int, bool]] = []
        local.run(
            Job([rows], metrics=METRICS, resamples=5, batch_rows=40),
            lambda read, done: seen.append((type(read).__name__, done, read.bytes_read == read.bytes_total)),
        )
        assert [entry[:2] for entry in seen] == [(kind, n) for kind in ("Reader", "Spill") for n in (40, 80, 120)]
        assert [entry[2] for entry in seen][-3:] == [False, False, True]


@settings(max_examples=30)
@given(
    rows=st.lists(
        st.dictionaries(
            st.text(max_size=5),
            st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
                lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
                max_leaves=8,
            ),
        ),
        max_size=4,
    ),
    raws=st.binary(max_size=20),
)
def test_what_waits_on_disk_comes_back_the_same(rows: list[dict[str, object]], raws: bytes) -> None:
    kept = tuple(
        Sample(f"text {at}", ("r",), None, "i", None, row, f"f:{at}", markup="rst", language="en")
        for at, row in enumerate(rows)
    )
    chunk = Chunk(kept, "jsonl", ("f",) * len(rows), tuple(range(len(rows))), (raws,) * len(rows))
    with Spill(None) as spill:
        for number in range(3):
            spill.write(chunk, {"number": number})
        assert list(spill) == [(chunk, {"number": number}) for number in range(3)]
        assert spill.bytes_read == spill.bytes_total > 0


class TestReproduce:
    def test_constants_are_of_the_whole_set_and_components_are_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rows = samples(made_rows(50))
        rated = RatedSet(PLANS["bagel"], tuple(rows), {})
        metric = TwoOverlaps()
        choice = scoring.Choice((metric,), {NAME: metric.signature}, {NAME: metric.signature}, {})
        made = []
        original = TwoOverlaps.components
        monkeypatch.setattr(scoring, "PIECE_ROWS", 8)
        monkeypatch.setattr(TwoOverlaps, "components", lambda *given: made.append(1) or original(*given))
        for _ in range(2):
            scored = scoring.score_set(rated, choice, ScoreStore(tmp_path), lambda what: None)
            np.testing.assert_allclose(scored.scores[NAME], expected(rows), atol=1e-10)
            assert len(made) == 7
        assert len(list(tmp_path.rglob("*.npz"))) == 14


CELADON = [sys.executable, "-m", "celadon"]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """Of a process that finds the metric, and whose temporary files are in a folder of their own."""
    (tmp_path / "tmp").mkdir()
    return {**os.environ, "PYTHONPATH": install(tmp_path / "site"), "TMPDIR": str(tmp_path / "tmp")}


class TestCommand:
    def test_standard_input_and_notes(self, tmp_path: Path, environment: dict[str, str]) -> None:
        rows = made_rows(60)
        write_rows(tmp_path / "in.jsonl", rows)

        def run(*more: str) -> subprocess.CompletedProcess[str]:
            command = [*CELADON, "score", "-", "-m", NAME, "-o", "out.csv", *more]
            done = processes.run(
                command, input=given_text, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
            )
            assert done.returncode == 0, done.stderr
            return done

        given_text = (tmp_path / "in.jsonl").read_text()
        figures = json.loads(run("--json").stdout)
        scores = celadon.score(samples(rows), metrics=[TwoOverlaps()])
        assert figures["constants"] == scores.constants
        whole = polars.read_csv(tmp_path / "out.csv")
        given_text = "".join(line + "\n" for line in given_text.splitlines()[20:30])
        (tmp_path / "out.csv").rename(tmp_path / "old.csv")
        done = run("--standardize-on", "old.csv")
        assert f"(from {len(rows) - 7} rows of old.csv)" in done.stderr
        assert f"rougeL.mean {scores.constants[NAME]['rougeL.mean']:.6g}" in done.stderr
        part = polars.read_csv(tmp_path / "out.csv")
        assert part[NAME].to_list() == whole[NAME].to_list()[20:30]

    @pytest.mark.parametrize("output", [["-o", "out.csv", "--report", "r.html"], []])
    def test_a_killed_second_pass_leaves_nothing(
        self, tmp_path: Path, environment: dict[str, str], output: list[str]
    ) -> None:
        folder = tmp_path / "work"
        folder.mkdir()
        write_rows(folder / "in.jsonl", made_rows(40))
        process = subprocess.Popen(
            [*CELADON, "score", "in.jsonl", "-m", NAME, "--batch-rows", "10", *output],
            cwd=folder,
            env={**environment, "TWO_OVERLAPS_PAUSE": "30"},
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        assert process.stderr.readline() == b"second pass\n"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert b"interrupted; nothing was written" in err
        assert [path.name for path in folder.iterdir()] == ["in.jsonl"]
        assert list((tmp_path / "tmp").iterdir()) == []

    def test_no_room_for_the_rows_that_wait(self, tmp_path: Path, environment: dict[str, str]) -> None:
        folder = tmp_path / "work"
        folder.mkdir()
        write_rows(folder / "in.jsonl", made_rows(2000))
        done = processes.run(
            [*CELADON, "score", "in.jsonl", "-m", NAME, "-o", "out.csv"],
            cwd=folder,
            env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
        )
        assert done.returncode == 4
        assert "out.csv: the file is too large" in done.stderr
        assert [path.name for path in folder.iterdir()] == ["in.jsonl"]
