"""Small data folders in the layout of the real ones, and the command as a function."""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from celadon.cli.failures import guarded
from celadon.cli.meta import reproduce as meta_reproduce

WORDS = "the a cat dog house river saw found walked slowly near old green small and it was in on".split()


def text(random_: random.Random, low: int = 6, high: int = 14) -> str:
    """A text of common words."""
    return " ".join(random_.choice(WORDS) for _ in range(random_.randint(low, high))) + " ."


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Rows as compressed JSON lines."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def summaries(random_: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows of chaganty2018, every fifth a reference that was judged as a system."""
    rows: list[dict[str, Any]] = []
    for number in range(count):
        reference = text(random_)
        ratings: dict[str, list[float]] = {
            name: [random_.choice([-1, 0, 1]) for _ in range(2)] for name in ("grammar", "redundancy", "overall")
        }
        ratings["hter"] = [round(random_.random(), 3) for _ in range(2)]
        row = {
            "id": str(number),
            "system": "reference" if number % 5 == 0 else f"s{number % 3}",
            "output": text(random_),
            "reference": reference,
            "scores": {name: sum(values) / 2 for name, values in ratings.items()},
        }
        rows.append({**row, "ratings": ratings if number % 7 else None})
    return rows


def dialogues(random_: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows of novikova2017; references come several times over, as in the real ones."""
    rows = []
    for number in range(count):
        references = [text(random_, 4, 9) for _ in range(random_.randint(1, 3))]
        scores = {name: random_.randint(2, 12) / 2 for name in ("informativeness", "naturalness", "quality")}
        rows.append(
            {
                "id": str(number),
                "output": text(random_, 4, 9),
                "mr": "inform(name='X')",
                "references": references * 3,
                "scores": scores,
            }
        )
    return rows


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with every data set that is at hand, a few rows each."""
    random_ = random.Random(1)
    folder = tmp_path / "data" / "judgements"
    folder.mkdir(parents=True)
    write(folder / "chaganty2018_cnndm.jsonl.gz", summaries(random_, 25))
    for name in ("bagel", "sfhot", "sfres"):
        write(folder / f"novikova2017_{name}.jsonl.gz", dialogues(random_, 12))
    learners = [
        {
            "id": str(number),
            "split": "dev" if number % 3 == 0 else "train",
            "output": text(random_),
            "scores": {"grammaticality": random_.randint(2, 8) / 2},
            "ratings": {"grammaticality": [random_.randint(1, 4) for _ in range(5)]},
            "expert": 3.0,
        }
        for number in range(12)
    ]
    write(folder / "gug_train_dev.jsonl.gz", learners)
    simple = [
        {
            "id": str(number),
            "system": f"s{number % 2}",
            "source": text(random_),
            "output": text(random_),
            "scores": {name: float(random_.randint(1, 5)) for name in ("grammaticality", "meaning", "simplicity")},
        }
        for number in range(10)
    ]
    write(folder / "sulem2018_simplification.jsonl.gz", simple)
    return tmp_path / "data"


@pytest.fixture
def reproduce(data: Path, tmp_path: Path) -> Callable[..., int]:
    """The command, on the small folder unless told otherwise; returns its exit code."""

    def command(*more: str, output: str = "out.md", work: str = "work") -> int:
        top = argparse.ArgumentParser()
        meta_reproduce.add_parser(top.add_subparsers())
        given = ["--work", str(tmp_path / work), "--output", str(tmp_path / output), *more]
        if "--data" not in more:
            given += ["--data", str(data)]
        arguments = top.parse_args(["reproduce", *given])
        return guarded(arguments.run, arguments)

    return command
