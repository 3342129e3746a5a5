"""Whether bfloat16 can be used: probes that survive, die, hang and miscalculate, and what training does then."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from celadon.cli import main
from celadon.core import UsageError
from celadon.train import precision
from tests.conftest import missing_part
from tests.train.conftest import ILLEGAL_INSTRUCTION

try:
    import torch

    from celadon.train import precision_probe
except ImportError:
    missing_part("torch", "run: pip install celadon[train]")


def python(program: str) -> tuple[str, ...]:
    return sys.executable, "-c", program


def is_running(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


def test_a_probe_that_dies_of_an_illegal_instruction() -> None:
    result = precision.run_probe(python(ILLEGAL_INSTRUCTION), 60)
    assert result == ("a trial of it died of SIGILL", True)


def test_a_probe_that_hangs_is_ended(tmp_path: Path) -> None:
    noted = tmp_path / "process"
    program = f"import os, time; open({str(noted)!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
    began = time.monotonic()
    result = precision.run_probe(python(program), 2)
    assert result == ("a trial of it did not end within 2 s", False)
    assert time.monotonic() - began < 60
    if sys.platform == "linux":
        assert not is_running(int(noted.read_text()))


@pytest.mark.parametrize(
    ("program", "fault", "final"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "a trial of it died of SIGKILL", False),
        (
            "import no_such_module",
            "a trial of it failed (ModuleNotFoundError: No module named 'no_such_module')",
            False,
        ),
        (
            "import sys; print('one', 'two', sep='\\n', file=sys.stderr); sys.exit(3)",
            "a trial of it failed (two)",
            True,
        ),
        ("raise SystemExit(4)", "a trial of it failed (exit code 4)", True),
        ("import celadon.train.precision", "", True),
    ],
)
def test_how_a_probe_ends(program: str, fault: str, final: bool) -> None:
    assert precision.run_probe(python(program), 60) == (fault, final)


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    result = precision.run_probe((str(tmp_path / "none"),), 60)
    assert result == ("a trial of it could not be started (No such file or directory)", False)


def test_the_probe_itself_ends(no_probe_yet: Path) -> None:
    """Whatever this processor does, the probe says it; a second process takes it from the file."""
    fault = precision.bfloat16_fault()
    if "did not end" in fault:
        pytest.skip(f"this machine is too slow to tell: {fault}")
    trial = "(a small encoder|an encoder|a small LSTM|an LSTM)"
    assert fault in ("", "a trial of it died of SIGILL") or re.fullmatch(
        rf"a trial of it failed \({trial} (differs from float32 by \S+|cannot be computed: [^\n]+)\)", fault
    )
    (kept,) = (no_probe_yet / "probes").iterdir()
    assert json.loads(kept.read_text())["fault"] == fault


class Wrong(torch.nn.Module):
    """A network whose loss in 16 bits is another one by a share, or is no number."""

    def __init__(self, by: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 50))
        self.by = by

    def loss(self) -> torch.Tensor:
        factor = 1 + self.by if torch.is_autocast_enabled("cpu") else 1.0
        return (self.weight * factor).square().sum()


def test_a_difference_is_that_of_loss_and_gradient() -> None:
    # the loss and its gradient both grow by the square of the factor
    wrong = Wrong(0.05)
    assert precision_probe.step_difference(wrong, wrong.loss) == pytest.approx(1.05**2 - 1, rel=1e-4)


@pytest.mark.parametrize(("by", "code"), [(0.0, 0), (0.01, 0), (0.2, 3), (float("nan"), 3), (float("inf"), 3)])
def test_numbers_that_are_wrong_fail_the_probe(
    by: float, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right, wrong = Wrong(0.001), Wrong(by)
    trials = [("the first", right, right.loss), ("the second", wrong, wrong.loss)]
    monkeypatch.setattr(precision_probe, "trials", lambda: iter(trials))
    assert precision_probe.main() == code
    assert ("the second differs from float32 by" in capsys.readouterr().err) == (code == 3)


def test_a_processor_without_kernels_is_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def step() -> torch.Tensor:
        if torch.is_autocast_enabled("cpu"):
            raise RuntimeError("could not create a primitive.\nRun workload with VERBOSE=all.")
        return wrong.loss()

    wrong = Wrong(0.0)
    monkeypatch.setattr(precision_probe, "trials", lambda: iter([("an LSTM", wrong, step)]))
    assert precision_probe.main() == 3
    assert capsys.readouterr().err == "an LSTM cannot be computed: could not create a primitive\n"


@pytest.fixture
def counted(tmp_path: Path, no_probe_yet: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], int]:
    """Ask for the fault in a new process, as it were, with a program as the probe; returns how many have run."""
    notes = tmp_path / "notes"
    notes.touch()

    def ask(program: str) -> int:
        noting = f"open({str(notes)!r}, 'a').write('x')\n{program}"
        monkeypatch.setattr(precision, "PROBE", python(noting))
        precision.bfloat16_fault.cache_clear()
        precision.bfloat16_fault()
        precision.bfloat16_fault()
        return len(notes.read_text())

    return ask


def test_a_result_is_kept_for_the_machine(
    counted: Callable[[str], int], no_probe_yet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert counted(ILLEGAL_INSTRUCTION) == 1
    assert counted("") == 1
    assert "SIGILL" in precision.bfloat16_fault()
    # other instructions are another machine
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert counted("") == 2
    assert precision.bfloat16_fault() == ""
    for kept in (no_probe_yet / "probes").iterdir():
        kept.write_text("{")
    assert counted("") == 3


def test_what_may_pass_is_tried_again(
    counted: Callable[[str], int], no_probe_yet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "TIME_LIMIT", 2)
    assert counted("import time; time.sleep(1000)") == 1
    assert "did not end" in precision.bfloat16_fault()
    assert counted("") == 2
    assert precision.bfloat16_fault() == ""


def test_without_a_home_nothing_is_kept(counted: Callable[[str], int], no_probe_yet: Path) -> None:
    no_probe_yet.write_text("a file, so that no folder can be here")
    assert counted("") == 1
    assert counted("") == 2


@pytest.mark.usefixtures("trapping_processor")
def test_no_step_is_made_in_16_bits_on_a_processor_that_traps() -> None:
    with pytest.raises(UsageError, match="died of SIGILL; use float32"):
        precision.autocast("bfloat16")
    with precision.autocast("float32"):
        assert not torch.is_autocast_enabled("cpu")
    with pytest.raises(UsageError, match="unknown precision 'float16'"):
        precision.autocast("float16")


def train_lm(folder: Path, name: str, *more: str) -> Path:
    """Train a small language model from the command line, and return its folder."""
    corpus = folder / "corpus.txt"
    random = np.random.default_rng(0)
    words = ["the", "cat", "dog", "sees", "hears", "river", "moon"]
    lines = [" ".join(random.choice(words, 8)) + "." for _ in range(60)]
    corpus.write_text("\n\n".join(lines) + "\n")
    numbers = "--unit word --vocab 12 --hidden 16 --tokens 500 --batch-tokens 128 --threads 1 --hold-out 0.1"
    assert main(["train", "lm", str(corpus), "--output", str(folder / name), *numbers.split(), *more]) == 0
    return folder / name


@pytest.mark.usefixtures("trapping_processor")
def test_a_processor_that_traps_trains_in_float32(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wide = train_lm(tmp_path, "wide")
    assert "bfloat16" not in capsys.readouterr().err
    fallen = train_lm(tmp_path, "fallen", "--precision", "bfloat16")
    assert [line for line in capsys.readouterr().err.splitlines() if "bfloat16" in line] == [
        "bfloat16 cannot be used on this machine: a trial of it died of SIGILL; training in float32"
    ]
    assert (fallen / "model.onnx").read_bytes() == (wide / "model.onnx").read_bytes()
    card = (fallen / "card.md").read_text()
    assert "--precision float32" in card
    assert "bfloat16" not in card


@pytest.mark.usefixtures("bfloat16")
def test_a_processor_that_can_trains_in_16_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wide, narrow = train_lm(tmp_path, "wide"), train_lm(tmp_path, "narrow", "--precision", "bfloat16")
    assert "float32" not in capsys.readouterr().err
    assert "--precision bfloat16" in (narrow / "card.md").read_text()
    assert (narrow / "model.onnx").read_bytes() != (wide / "model.onnx").read_bytes()
