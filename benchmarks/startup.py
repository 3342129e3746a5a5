"""How long ``celadon --help`` takes, as a multiple of starting Python itself."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path


def best_time(command: list[str], rounds: int = 20) -> float:
    """The best time of a command."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return min(times)


def main() -> None:
    """Print the ratio."""
    script = str(Path(sys.executable).with_name("celadon"))
    ours, python = best_time([script, "--help"]), best_time([sys.executable, "-c", "pass"])
    print(f"celadon --help: {ours * 1000:.0f} ms, python -c pass: {python * 1000:.0f} ms, ratio {ours / python:.1f}")


if __name__ == "__main__":
    main()
