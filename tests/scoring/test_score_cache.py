"""The score cache: the same bits come back, nothing stale does, and nothing that befalls its file fails a run."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import celadon
from celadon.core import Components, Metric, MetricScores, Sample, Tree, is_set_relative
from celadon.metrics.overlap import RougeL
from celadon.metrics.registry import load, load_all
from celadon.scoring.batch import Batch
from celadon.scoring.cache import score_file
from celadon.scoring.cache.cached_rows import contents_of, keys_of, layout_of, packed, unpacked, width_of
from celadon.scoring.cache.score_cache import FirstPass, ScoreCache
from celadon.scoring.cache.score_file import KeptRow
from tests.cli.test_score import celadon as run_celadon
from tests.two_overlaps import TwoOverlaps

SAMPLES = [
    Sample("a cat sat on the mat", ("the cat sat on a mat", "cats sit")),
    Sample("", ("something",)),
    Sample("lone \ud800 surrogate", ("lone \ud800",), source="x"),
    Sample("the dog ran home", ("a dog ran home",)),
]
METRICS = "rougeL", "chrf", "simple_string_accuracy"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def cache(tmp_path: Path, said: list[str]) -> Iterator[ScoreCache]:
    with ScoreCache(tmp_path / "scores.sqlite", say=said.append) as opened:
        yield opened


def same_bits(one: MetricScores | Components, other: MetricScores | Components) -> bool:
    assert isinstance(one, MetricScores)
    assert isinstance(other, MetricScores)
    pairs = [(one.values, other.values), *((one.parts[name], other.parts[name]) for name in one.parts)]
    if one.statistics is not None and other.statistics is not None:
        pairs.append((one.statistics, other.statistics))
    return (
        (one.metric, dict(one.reasons), list(one.parts)) == (other.metric, dict(other.reasons), list(other.parts))
        and (one.statistics is None) == (other.statistics is None)
        and all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)
    )


NUMBERS = st.integers(0, 2**64 - 1)  # as bits: every NaN, both zeros, every denormal


def first_pass(batch: Batch, metrics: Sequence[Metric]) -> FirstPass:
    return {m.spec: m.components(batch) if is_set_relative(m) else m.score(batch) for m in metrics}


def scores_through(cache: ScoreCache, batch: Batch, metrics: Sequence[Metric]) -> FirstPass:
    return cache.first_pass(batch, metrics, first_pass)


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=5), st.booleans())
def test_any_numbers_come_back_bit_for_bit(rows: list[tuple[int, ...]], counted: bool) -> None:
    table = np.array(rows, dtype=np.uint64).view(np.float64)
    scores = MetricScores(
        "m", table[:, 0], {"part.é": table[:, 1].astype(np.float32)}, {0: "why"}, table[:, 2:] if counted else None
    )
    layout = layout_of(scores)
    assert layout is not None
    made = packed(scores)
    assert made.shape == (len(rows), width_of(layout))
    assert same_bits(scores, unpacked("m", layout, made, {0: "why"}))


TEXTS = st.text(st.characters(), max_size=3)  # lone surrogates are among them
TREES = st.builds(
    lambda words: Tree(tuple(words), tuple(range(-1, len(words) - 1))), st.lists(TEXTS, min_size=1, max_size=2)
)
ANY_SAMPLE = st.builds(
    lambda text, references, source, trees: Sample(text, tuple(references), source, trees=tuple(trees)),
    TEXTS,
    st.lists(TEXTS, max_size=2),
    st.none() | TEXTS,
    st.lists(TREES | TEXTS, max_size=2),
)


@given(ANY_SAMPLE, ANY_SAMPLE)
def test_only_equal_samples_have_equal_keys(one: Sample, other: Sample) -> None:
    metric = RougeL()
    first, second = keys_of(metric, contents_of([one, other]))
    assert (first == second) == (one == other)
    assert len(first) == 16


def test_what_moves_from_field_to_field_changes_the_key() -> None:
    samples = [
        Sample("ab", ("c",)),
        Sample("a", ("bc",)),
        Sample("a", ("b", "c")),
        Sample("a", ("b",), "c"),
        Sample("a", ("b",), trees=("c",)),
        Sample("a", ("b",), trees=(Tree(("c",), (-1,)),)),
        Sample("a", ("b",), trees=(Tree(("c",), (0,)),)),
        Sample("a", ("b",)),
        Sample("a", ("b",), ""),
    ]
    assert len(set(keys_of(RougeL(), contents_of(samples)))) == len(samples)
    # who made a text and where it stood are not looked at
    same = [Sample("a"), Sample("a", id="1", system="s", origin="f:1", extra={"x": 1})]
    assert len(set(keys_of(RougeL(), contents_of(same)))) == 1


def test_the_second_time_nothing_is_scored(cache: ScoreCache, monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = load_all(METRICS)
    batch = Batch(SAMPLES)
    truth = first_pass(batch, metrics)
    first = scores_through(cache, batch, metrics)
    assert (cache.hits, cache.misses) == (0, 12)
    for metric in metrics:
        monkeypatch.setattr(type(metric), "score", lambda self, batch: pytest.fail("scored again"))
    again = scores_through(cache, Batch(SAMPLES), metrics)
    assert (cache.hits, cache.misses) == (12, 12)
    assert cache.hit_rate == 0.5
    assert list(again) == list(truth)
    for spec in truth:
        assert same_bits(truth[spec], first[spec])
        assert same_bits(truth[spec], again[spec])
    assert again["rougeL"].reasons[1]


def test_what_is_missing_is_scored_together(cache: ScoreCache, monkeypatch: pytest.MonkeyPatch) -> None:
    scores_through(cache, Batch(SAMPLES[1:3]), load_all(METRICS[:2]))
    seen: list[tuple[str, Batch]] = []
    metrics = load_all(METRICS)
    for metric in metrics:
        score = type(metric).score

        def spy(self: Metric, batch: Batch, score: object = score) -> MetricScores:
            seen.append((self.spec, batch))
            return score(self, batch)  # type: ignore[operator,no-any-return]

        monkeypatch.setattr(type(metric), "score", spy)
    turned = [SAMPLES[3], SAMPLES[2], SAMPLES[1], SAMPLES[0], SAMPLES[3]]
    mixed = scores_through(cache, Batch(turned), metrics)
    monkeypatch.undo()
    truth = first_pass(Batch(turned), metrics)
    assert all(same_bits(truth[spec], mixed[spec]) for spec in truth)
    rows = {spec: [sample.text for sample in batch.samples] for spec, batch in seen}
    assert rows["rougeL"] == rows["chrf"] == [SAMPLES[3].text, SAMPLES[0].text, SAMPLES[3].text]
    assert len(rows["simple_string_accuracy"]) == 5
    # one sub-batch for both, so that they share their views
    assert len({id(batch) for spec, batch in seen if spec != "simple_string_accuracy"}) == 1


def hits(cache: ScoreCache, metric: Metric, samples: Sequence[Sample] = SAMPLES) -> int:
    before = cache.hits
    scores_through(cache, Batch(samples), [metric])
    return cache.hits - before


def test_another_option_or_version_is_not_served(cache: ScoreCache, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hits(cache, load("rougeW[weight=1.5]")) == 0
    assert hits(cache, load("rougeW[weight=1.5]")) == 4
    assert hits(cache, load("rougeW[weight=1.6]")) == 0
    monkeypatch.setattr(celadon, "__version__", "0.0.0")
    assert hits(cache, load("rougeW[weight=1.5]")) == 0


def test_another_model_in_the_same_place_is_not_served(
    cache: ScoreCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from celadon.models.language import language_model as language
    from tests.tiny_models import make_bigrams

    def asked() -> Metric:
        return load(f"slor[model={tmp_path / 'model'}]")

    make_bigrams(tmp_path / "model", seed=1)
    assert hits(cache, asked()) == 0
    assert hits(cache, asked()) == 4
    made = scores_through(cache, Batch(SAMPLES), [asked()])[asked().spec]
    make_bigrams(tmp_path / "model", seed=2)
    monkeypatch.setattr(language, "_loaded", {})  # as in another process
    assert hits(cache, asked()) == 0
    assert not same_bits(made, scores_through(cache, Batch(SAMPLES), [asked()])[asked().spec])


def test_a_metric_that_waits_is_never_kept(cache: ScoreCache) -> None:
    assert isinstance(scores_through(cache, Batch(SAMPLES), [TwoOverlaps()])["two_overlaps"], Components)
    assert (cache.hits, cache.misses) == (0, 0)


def test_constants_count_to_the_last_bit() -> None:
    batch = Batch(SAMPLES)
    metric = TwoOverlaps()
    fitted = metric.fit(metric.statistics(batch, metric.components(batch)))
    assert fitted.fitted is not None
    constants = {name: np.nextafter(value, 9) for name, value in fitted.fitted.constants.items()}
    near = replace(fitted, fitted=replace(fitted.fitted, constants=constants))
    assert near.signature == fitted.signature
    assert set(keys_of(near, contents_of(SAMPLES))).isdisjoint(keys_of(fitted, contents_of(SAMPLES)))


def test_a_metric_of_another_package_is_not_kept(cache: ScoreCache) -> None:
    class Theirs(RougeL):
        pass

    assert hits(cache, Theirs()) == hits(cache, Theirs()) == 0


def test_a_formula_is_told_apart_by_its_members(
    cache: ScoreCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "formula.json"
    file.write_text(json.dumps({"name": "f", "intercept": 0, "terms": {"rougeL": 1, "chrf": 2}}), encoding="utf-8")
    formula = load(f"formula[file={file}]")
    assert hits(cache, formula) == 0
    assert hits(cache, formula) == 4
    monkeypatch.setattr(RougeL, "details", lambda self: {"stemmer": "of another version"})
    assert hits(cache, formula) == 0
    monkeypatch.setattr(RougeL, "__module__", "theirs")
    before = cache.misses
    assert hits(cache, formula) == 0
    assert cache.misses == before  # it was not even asked for


def rows_of(first: int, last: int) -> list[tuple[bytes, KeptRow]]:
    layout = json.dumps(["<f8", [], None])
    return [(number.to_bytes(16, "little"), KeptRow(layout, bytes(200), None)) for number in range(first, last)]


def there(cache: ScoreCache, first: int, last: int) -> int:
    return len(cache.look_up([key for key, _ in rows_of(first, last)]))


def test_the_least_recently_used_go_first_and_the_file_stays_small(tmp_path: Path) -> None:
    room = 2_000_000
    with ScoreCache(tmp_path / "scores.sqlite", room) as cache:
        for at in range(0, 6000, 500):
            cache.keep(rows_of(at, at + 500))
        assert there(cache, 0, 6000) == 6000
        assert there(cache, 0, 500) == 500  # used again while they are the oldest
        for at in range(6000, 14000, 500):
            there(cache, 0, 500)
            cache.keep(rows_of(at, at + 500))
        assert there(cache, 0, 500) == 500
        assert there(cache, 500, 3000) == 0
        assert there(cache, 13500, 14000) == 500
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < room * 1.1
    # a smaller room is made at once
    with ScoreCache(tmp_path / "scores.sqlite", room // 4) as cache:
        cache.keep(rows_of(20000, 20001))
        assert there(cache, 20000, 20001) == 1
        assert 0 < there(cache, 0, 14000) < 2500
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < room // 4 * 1.1


def test_reading_writes_nothing_while_there_is_room(cache: ScoreCache) -> None:
    cache.keep(rows_of(0, 100))
    file = sqlite3.connect(cache.path)
    before = file.execute("SELECT id FROM scores ORDER BY id").fetchall()
    there(cache, 0, 100)
    cache.close()
    assert file.execute("SELECT id FROM scores ORDER BY id").fetchall() == before
    file.close()


WRITER = """
import json, sys
from celadon.scoring.cache.score_cache import ScoreCache
from celadon.scoring.cache.score_file import KeptRow
path, mine = sys.argv[1], int(sys.argv[2])
layout = json.dumps(["<f8", [], None])
with ScoreCache(path) as cache:
    for at in range(60):
        numbers = range(mine * 5000 + at * 50 - 25, mine * 5000 + at * 50 + 50)
        rows = [(n.to_bytes(16, "little"), KeptRow(layout, n.to_bytes(8, "little"), None)) for n in numbers]
        assert cache.look_up([key for key, _ in rows[:25]]) or not at
        cache.keep(rows)
"""


def test_several_processes_write_at_once_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "scores.sqlite"
    path.write_bytes(b"this is no database, and each of them sees that" * 100)
    command = [sys.executable, "-c", WRITER, str(path)]
    running = [subprocess.Popen([*command, str(mine)], stderr=subprocess.PIPE, text=True) for mine in (1, 1, 2)]
    messages = "".join(process.communicate(timeout=120)[1] for process in running)
    assert [process.returncode for process in running] == [0, 0, 0]
    assert "locked" not in messages
    assert messages.count("set aside") == 1
    with ScoreCache(path) as cache:
        for mine in (1, 2):
            keys = [n.to_bytes(16, "little") for n in range(mine * 5000 - 25, mine * 5000 + 3000)]
            kept = cache.look_up(keys)
            assert len(kept) == len(keys)
            assert all(row.data == key[:8] for key, row in kept.items())


@pytest.mark.parametrize("kind", ["garbage", "foreign", "older"])
def test_a_file_that_cannot_be_used_is_set_aside(tmp_path: Path, said: list[str], kind: str) -> None:
    path = tmp_path / "scores.sqlite"
    if kind == "garbage":
        path.write_bytes(bytes(range(256)) * 64)
    else:
        with sqlite3.connect(path) as theirs:
            theirs.execute("CREATE TABLE letters (a)")
            if kind == "older":
                theirs.execute(f"PRAGMA application_id = {score_file._APPLICATION}")
        theirs.close()
    before = path.read_bytes()
    with ScoreCache(path, say=said.append) as cache:
        assert hits(cache, RougeL()) == 0
        assert hits(cache, RougeL()) == 4
    assert len(said) == 1
    assert "set aside as scores.sqlite.damaged-" in said[0]
    aside = [each for each in tmp_path.iterdir() if ".damaged-" in each.name]
    assert [each.read_bytes() for each in aside] == [before]


def test_damage_in_the_middle_of_a_run_is_mended(tmp_path: Path, said: list[str]) -> None:
    path = tmp_path / "scores.sqlite"
    with ScoreCache(path, say=said.append) as cache:
        cache.keep(rows_of(0, 3000))
    data = bytearray(path.read_bytes())
    data[8192:] = bytes(len(data) - 8192)
    path.write_bytes(data)
    with ScoreCache(path, say=said.append) as cache:
        truth = first_pass(Batch(SAMPLES), [RougeL()])["rougeL"]
        for _ in range(3):
            there(cache, 0, 3000)
            assert same_bits(truth, scores_through(cache, Batch(SAMPLES), [RougeL()])["rougeL"])
        assert cache.hits > 0
    assert len(said) == 1
    assert "is damaged" in said[0]


def test_a_row_of_another_length_is_made_anew(cache: ScoreCache) -> None:
    hits(cache, RougeL())
    with sqlite3.connect(cache.path) as file:
        file.execute("UPDATE scores SET data = x'00' WHERE id = 2")
    file.close()
    assert hits(cache, RougeL()) == 3
    assert hits(cache, RougeL()) == 4


def test_no_place_for_the_file(tmp_path: Path, said: list[str]) -> None:
    (tmp_path / "file").write_text("")
    with ScoreCache(tmp_path / "file" / "scores.sqlite", say=said.append) as cache:
        assert hits(cache, RougeL()) == hits(cache, RougeL()) == 0
    assert len(said) == 1
    assert "going on without the cache" in said[0]


def test_a_writer_that_never_ends_is_waited_for_and_then_left(
    tmp_path: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_file, "_PATIENCE_SECONDS", 0.1)
    with ScoreCache(tmp_path / "scores.sqlite", say=said.append) as cache:
        other = sqlite3.connect(cache.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        truth = first_pass(Batch(SAMPLES), [RougeL()])["rougeL"]
        assert same_bits(truth, scores_through(cache, Batch(SAMPLES), [RougeL()])["rougeL"])
        other.close()
    assert len(said) == 1
    assert "locked" in said[0]


def test_on_the_command_line(tmp_path: Path, example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CELADON_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CELADON_CACHE", raising=False)
    asked = ["score", str(example), "--metric", "rougeL,chrf"]
    outputs = [str(tmp_path / f"{name}.jsonl") for name in "abc"]
    assert "cache" not in run_celadon(*asked, "--output", outputs[0]).stderr
    assert not (tmp_path / "home").exists()
    first = run_celadon(*asked, "--output", outputs[1], "--cache")
    assert "cache: 0 of 60 scores were there (0.0%)" in first.stderr
    monkeypatch.setenv("CELADON_CACHE", "1")
    assert "cache: 60 of 60 scores were there (100.0%)" in run_celadon(*asked, "--output", outputs[2]).stderr
    assert len({Path(output).read_bytes() for output in outputs}) == 1
    assert run_celadon(*asked, "--cache-size", "12").returncode == 2
    assert run_celadon(*asked, "--cache-size", "1.5GiB").returncode == 0


def test_markup_and_language_have_keys_of_their_own_and_old_keys_stay() -> None:
    plain = Sample("a text", ("r",), "s")
    # as it was before samples had either
    assert contents_of([plain])[0].hex()[:16] == "c20cfc2d41cd2871"
    others = [("rst", ""), ("html", ""), ("auto", "en"), ("auto", "es"), ("rst", "en")]
    samples = [plain, *(replace(plain, markup=markup, language=language) for markup, language in others)]
    assert len(set(contents_of(samples))) == len(samples)
