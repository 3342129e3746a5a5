"""``celadon score`` as a user runs it."""

from __future__ import annotations

import csv
import gzip
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path
from threading import Thread

import polars
import pytest

from celadon import io
from celadon.cli import main, scoring_options
from tests import processes
from tests.conftest import builtin_is_there, missing_part

PARTS = ("rougeL", "wpslor")
CELADON = [sys.executable, "-m", "celadon"]


def celadon(*arguments: str, stdin: bytes | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line: in this process where that makes no difference, which spares it a second of imports."""
    if stdin is None and cwd is None:
        code, out, err = _in_this_process(arguments)
    else:
        done = subprocess.run(
            [*CELADON, *arguments], input=stdin, capture_output=True, cwd=cwd, check=False, timeout=120
        )
        code, out, err = done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    assert "Traceback" not in err, err
    return subprocess.CompletedProcess(arguments, code, out, err)


def _in_this_process(arguments: Sequence[str]) -> tuple[int, str, str]:
    streams = [TextIOWrapper(BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            try:
                code = main(arguments)
            except SystemExit as ended:  # argparse's way to complain, and to show help
                code = ended.code if isinstance(ended.code, int) else 0
    finally:
        signal.signal(signal.SIGTERM, handler)
    out, err = (stream.buffer.getvalue().decode("utf-8") for stream in streams)  # type: ignore[attr-defined]
    return code, out, err


def write_rows(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


GOOD = {"text": "a cat sat", "references": ["a cat sat down"]}


def test_the_first_command_of_the_readme(example: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    done = celadon("score", str(example), "--report", str(report))
    assert done.returncode == 0, done.stderr
    for word in (
        "rewriter: 10 texts",
        "extractor",
        "early-model",
        "rougeL",
        "chrf",
        "string_accuracy",
        "95% interval",
        "nulls",
    ):
        assert word in done.stdout
    assert "early-model" in report.read_text(encoding="utf-8")


def test_every_input_column_comes_back_then_scores_parts_and_reason(tmp_path: Path) -> None:
    rows = [
        {"z": 1, "text": "a cat", "references": ["a cat"], "a": {"b": [1]}},
        {"z": 2, "text": "", "references": ["x"], "a": None},
    ]
    source = write_rows(tmp_path / "in.jsonl", rows)
    done = celadon("score", str(source), "--metric", "rouge1,bleu1", "--output", str(tmp_path / "out.jsonl"))
    assert done.returncode == 0, done.stderr
    first, second = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    scores = ["rouge1", "bleu1", "rouge1.precision", "rouge1.recall", "bleu1.brevity_penalty", "bleu1.precision1"]
    assert list(first) == ["z", "text", "references", "a", *scores]
    assert list(second) == ["z", "text", "references", "a", *scores, "reason"]
    assert {key: first[key] for key in rows[0]} == rows[0]
    assert (first["rouge1"], first["bleu1"]) == (1.0, 100.0)
    assert second["rouge1"] is None
    assert second["reason"] == "rouge1, bleu1: the text has no words"


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_all_outputs_hold_the_same_scores(example: Path, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"out.{ending}"
    assert celadon("score", str(example), "--output", str(out)).returncode == 0
    reader = {"jsonl": polars.read_ndjson, "csv": polars.read_csv, "parquet": polars.read_parquet}[ending]
    frame = reader(out)
    reference = tmp_path / "reference.jsonl"
    assert celadon("score", str(example), "--output", str(reference)).returncode == 0
    expected = polars.read_ndjson(reference)
    for column in ("rougeL", "chrf", "simple_string_accuracy", "generation_string_accuracy.moves"):
        assert frame[column].to_list() == expected[column].to_list()


def test_many_files_globs_compression_and_stdin(example: Path, tmp_path: Path) -> None:
    data = example.read_bytes()
    (tmp_path / "a.jsonl").write_bytes(data)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(data))
    done = celadon("score", str(tmp_path / "*.jsonl*"), "-", "--json", "--format", "jsonl", stdin=data)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows_scored"] == 90


def test_json_is_whole_and_seeded(example: Path) -> None:
    one, two, other = (celadon("score", str(example), "--json", *seed).stdout for seed in ([], [], ["--seed", "5"]))
    assert one == two != other
    figures = json.loads(one)
    assert {row["metric"] for row in figures["scores"]} == set(figures["signatures"])
    for row in figures["scores"]:
        assert row["mean_interval"][0] <= row["mean"] <= row["mean_interval"][1]


def test_batch_size_does_not_change_anything(example: Path, tmp_path: Path) -> None:
    outs = []
    exact = "rougeL,chrf,simple_string_accuracy,slor"
    for rows in ("1", "7", "2048"):
        out, report = tmp_path / f"{rows}.jsonl", tmp_path / f"{rows}.html"
        options = ["-m", exact, "-o", str(out), "--report", str(report), "--batch-rows", rows, "--json"]
        done = celadon("score", str(example), *options)
        figures = json.loads(done.stdout)
        means = [(row["mean"], *row["mean_interval"]) for row in figures["scores"]]
        outs.append((out.read_bytes(), report.read_bytes(), [f"{value:.9f}" for row in means for value in row]))
    assert outs[0] == outs[1] == outs[2]


def test_batch_size_changes_an_encoder_s_scores_by_less_than_anyone_sees(example: Path, tmp_path: Path) -> None:
    columns = []
    for rows in ("1", "2048"):
        out = tmp_path / f"{rows}.jsonl"
        assert (
            celadon("score", str(example), "-m", "celadon,gruen", "-o", str(out), "--batch-rows", rows).returncode == 0
        )
        columns.append([json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()])
    for one, other in zip(*columns, strict=True):
        for name in ("celadon", "celadon.focus", "gruen", "gruen.coherence"):
            assert one[name] == pytest.approx(other[name], abs=1e-5)


BAD = {
    "not JSON": ('{"text": ', "in.jsonl:2: "),
    "not an object": ("[1, 2]", "in.jsonl:2: "),
    "no text": ('{"references": ["x"]}', "in.jsonl:2: no text: looked for text, output, prediction"),
    "text is a number": ('{"text": 3, "references": ["x"]}', "in.jsonl:2: text is a number, not a string"),
    "a null among references": ('{"text": "x", "references": ["x", null]}', "in.jsonl:2: references: item 2 is null"),
    "no references": ('{"text": "x"}', "in.jsonl:2: rouge1 needs references, and this row has none"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_malformed_row_fails_the_run_and_leaves_nothing(tmp_path: Path, kind: str) -> None:
    line, message = BAD[kind]
    (tmp_path / "in.jsonl").write_text(f"{json.dumps(GOOD)}\n{line}\n{json.dumps(GOOD)}\n", encoding="utf-8")
    done = celadon("score", "in.jsonl", "-m", "rouge1", "-o", "out.jsonl", "--report", "r.html", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "1 row is malformed" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize("kind", BAD)
def test_skip_bad_scores_the_rest_and_keeps_the_row_as_it_was(tmp_path: Path, kind: str) -> None:
    line, message = BAD[kind]
    (tmp_path / "in.jsonl").write_text(f"{json.dumps(GOOD)}\n{line}\n{json.dumps(GOOD)}\n", encoding="utf-8")
    done = celadon("score", "in.jsonl", "-m", "rouge1", "-o", "out.jsonl", "--skip-bad", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["rows_read"], figures["rows_scored"], figures["rows_rejected"]) == (3, 2, 1)
    (reject,) = [json.loads(row) for row in (tmp_path / "out.jsonl.rejects.jsonl").read_text().splitlines()]
    assert reject["row"] == line
    assert f"in.jsonl:{reject['line']}: {reject['error']}".startswith(message)


def test_at_most_ten_bad_rows_are_shown_and_all_are_counted(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps(GOOD) + "\n" + "oops\n" * 25, encoding="utf-8")
    done = celadon("score", "in.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert [line.split(": ")[0] for line in done.stderr.splitlines()[:10]] == [f"in.jsonl:{n}" for n in range(2, 12)]
    assert done.stderr.count("in.jsonl:") == 10
    assert "and 15 more" in done.stderr
    assert "25 rows are malformed" in done.stderr


def test_nothing_but_bad_rows(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text("oops\n" * 3, encoding="utf-8")
    done = celadon("score", "in.jsonl", "--skip-bad", "-o", "out.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "none of the 3 rows can be scored" in done.stderr
    assert len((tmp_path / "out.csv.rejects.jsonl").read_text().splitlines()) == 3
    assert not (tmp_path / "out.csv").exists()


USER_ERRORS = {
    "unknown metric": (["score", "in.jsonl", "-m", "rouge9"], 2, "unknown metric 'rouge9'; did you mean rouge"),
    "unknown option": (
        ["score", "in.jsonl", "-m", "rougeW[wait=2]"],
        2,
        "unknown option 'wait'; known: stemmer, variant, weight",
    ),
    "bad option": (["score", "in.jsonl", "-m", "rougeW[weight=x]"], 2, "'x' is not a number"),
    "missing file": (["score", "nowhere.jsonl"], 2, "nowhere.jsonl"),
    "empty glob": (["score", "*.csv"], 2, "*.csv"),
    "directory": (["score", "."], 2, "directory"),
    "empty file": (["score", "empty.jsonl"], 2, "is empty"),
    "missing output folder": (["score", "in.jsonl", "-o", "no/such/out.csv"], 4, "does not exist"),
    "unknown output": (["score", "in.jsonl", "-o", "out.xlsx"], 2, ".parquet"),
    "output is an input": (["score", "in.jsonl", "-o", "in.jsonl"], 2, "is also an input"),
    "output is the report": (["score", "in.jsonl", "-o", "x.jsonl", "--report", "x.jsonl"], 2, "different files"),
    "full disk": (["score", "in.jsonl", "--report", "/dev/full"], 4, "/dev/full"),
    "no references": (["score", "bare.jsonl", "-m", "rouge1"], 2, "bare.jsonl:1: rouge1 needs references"),
    "nothing to standardise": (["score", "in.jsonl", "--standardize-on", "bare.jsonl"], 2, "nothing to standardise"),
    "no constants": (["score", "in.jsonl", "-m", "rouge_lm", "--standardize-on", "-"], 2, "standard input"),
    "no source": (["score", "in.jsonl", "-m", "sari"], 2, "in.jsonl:1: sari needs source"),
    "truncated gzip": (["score", "cut.jsonl.gz"], 2, "cut.jsonl.gz"),
    "long text": (["score", "in.jsonl", "--max-text-chars", "3"], 2, "--max-text-chars"),
    "unknown command": (["scroe"], 2, "invalid choice"),
    "unknown extra": (["install", "everything"], 2, "unknown extra 'everything'"),
    "explain without reference": (["explain", "text", "-m", "rouge1"], 2, "rouge1 needs references"),
}


@pytest.mark.parametrize("kind", USER_ERRORS)
def test_a_users_mistake_is_a_line_and_an_exit_code(tmp_path: Path, kind: str) -> None:
    write_rows(tmp_path / "in.jsonl", [GOOD])
    write_rows(tmp_path / "bare.jsonl", [{"text": "no references here"}])
    (tmp_path / "empty.jsonl").touch()
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(json.dumps(GOOD).encode() * 500)[:60])
    before = sorted(path.name for path in tmp_path.iterdir())
    arguments, code, message = USER_ERRORS[kind]
    done = celadon(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_without_references_the_default_is_celadon(tmp_path: Path) -> None:
    if not builtin_is_there():
        missing_part("the built-in language model", "build it with: celadon train lm")
    write_rows(tmp_path / "in.jsonl", [{"text": "The dog ran away."}, {"text": "Away dog the ran."}])
    done = celadon("score", "in.jsonl", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row["metric"] for row in json.loads(done.stdout)["scores"]] == ["celadon"]


def test_rouge_lm_in_two_passes_and_with_constants(example: Path, tmp_path: Path) -> None:
    if not builtin_is_there():
        missing_part("the built-in language model", "build it with: celadon train lm")
    done = celadon("score", str(example), "-m", "rouge_lm", "-o", "old.parquet", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    constants = json.loads(done.stdout)["constants"]["rouge_lm"]
    assert set(constants) == {"rougeL.mean", "rougeL.sd", "wpslor.mean", "wpslor.sd"}
    old = polars.read_parquet(tmp_path / "old.parquet")
    parts = [(old[f"rouge_lm.{name}"] - constants[f"{name}.mean"]) / constants[f"{name}.sd"] for name in PARTS]
    assert old["rouge_lm"].to_list() == pytest.approx((parts[0] + parts[1]).to_list(), abs=1e-9)
    (tmp_path / "new.jsonl").write_text("".join(example.read_text(encoding="utf-8").splitlines(keepends=True)[3:7]))
    done = celadon(
        "score", "new.jsonl", "-m", "rouge_lm", "--standardize-on", "old.parquet", "-o", "new.csv", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert polars.read_csv(tmp_path / "new.csv")["rouge_lm"].to_list() == pytest.approx(
        old["rouge_lm"].to_list()[3:7], abs=1e-4
    )


def test_a_ten_megabyte_line_is_a_clear_error_or_a_score(tmp_path: Path) -> None:
    write_rows(tmp_path / "in.jsonl", [GOOD, {"text": "word " * 2_000_000, "references": ["x"]}])
    done = celadon("score", "in.jsonl", "-m", "rouge1", cwd=tmp_path)
    assert done.returncode == 2
    assert "in.jsonl:2: " in done.stderr
    assert "--max-text-chars" in done.stderr
    done = celadon("score", "in.jsonl", "-m", "rouge1", "--max-text-chars", "20,000,000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_nul_bytes_and_other_encodings(tmp_path: Path) -> None:
    good = json.dumps(GOOD).encode()
    (tmp_path / "in.jsonl").write_bytes(
        good + b'\n{"text": "caf\xe9", "references": ["x"]}\n{"text": "a\x00", "references": ["x"]}\n'
    )
    done = celadon("score", "in.jsonl", "--skip-bad", "-o", "out.jsonl", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["rows_rejected"] == 2
    done = celadon("score", "in.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "in.jsonl:2: " in done.stderr
    assert "UTF-8" in done.stderr


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_nothing_behind(tmp_path: Path, ending: str, number: signal.Signals) -> None:
    """Sent at once when the first temporary file appears, before anybody can be responsible for it."""
    write_rows(
        tmp_path / "in.jsonl", [{"text": f"{n} cats sat here", "references": ["cats sat"]} for n in range(50_000)]
    )
    process = subprocess.Popen(
        [*CELADON, "score", "in.jsonl", "-o", f"out.{ending}", "--report", "r.html"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(tmp_path.iterdir())) < 2:
        time.sleep(0.001)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"interrupted; nothing was written" in err
    assert b"Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_a_reader_that_goes_away(example: Path) -> None:
    command = f"{' '.join(CELADON)} metrics | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout
    assert "Traceback" not in done.stderr


def test_a_column_of_the_users_is_never_overwritten(tmp_path: Path) -> None:
    source = write_rows(tmp_path / "in.jsonl", [{**GOOD, "rouge1": "mine", "reason": "because"}])
    done = celadon("score", str(source), "-m", "rouge1", "-o", str(tmp_path / "out.csv"))
    (row,) = csv.DictReader((tmp_path / "out.csv").open(encoding="utf-8"))
    assert (row["input.rouge1"], row["input.reason"], row["reason"]) == ("mine", "because", "")
    assert "the input's column rouge1 is kept as input.rouge1" in done.stderr


def test_help_starts_at_once() -> None:
    """Within six times the start of Python itself, the best of several runs of each."""

    def best(command: list[str]) -> float:
        times = []
        for _ in range(15):
            begin = time.perf_counter()
            processes.run(command, capture_output=True, check=True)
            times.append(time.perf_counter() - begin)
        return min(times)

    script = Path(sys.executable).with_name("celadon")
    assert best([os.fspath(script), "--help"]) < 6 * best([sys.executable, "-c", "pass"])


def test_a_progress_bar_appears_on_a_terminal(tmp_path: Path) -> None:
    """On a real pseudo-terminal, in a run that takes longer than two seconds."""
    write_rows(tmp_path / "in.jsonl", [{"text": f"{n} cats sat", "references": ["cats sat"]} for n in range(200_000)])
    terminal, screen = pty.openpty()
    termios.tcsetwinsize(screen, (24, 100))
    command = [*CELADON, "score", str(tmp_path / "in.jsonl"), "--metric", "rougeL,chrf"]
    shown = bytearray()

    def read() -> None:
        """Keep the terminal's buffer from filling up until the bar is there; EIO is the end of the run."""
        with suppress(OSError):
            while b" rows]" not in shown and (data := os.read(terminal, 65536)):
                shown.extend(data)
        process.kill()

    reader = Thread(target=read)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=screen)
    os.close(screen)
    reader.start()
    process.communicate(timeout=120)
    reader.join(timeout=10)
    os.close(terminal)
    assert b" rows]" in shown


def test_plain_text_and_format(tmp_path: Path) -> None:
    done = celadon("score", "-", "--format", "txt", "-m", "rouge1", stdin=b"a text\n")
    assert "<stdin>:1: rouge1 needs references" in done.stderr
    assert scoring_options.FORMATS == io.FORMATS
