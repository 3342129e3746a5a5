"""Make our files of Novikova et al. (2017) from the dialogue outputs that the repository neulab/BARTScore publishes.

    python benchmarks/data/novikova2017.py BARTScore/D2T --output judgements

The repository has `BAGEL/data.pkl`, `SFHOT/data.pkl` and `SFRES/data.pkl`: from an id to src, sys_summ, ref_summs and
scores. A pickle can run code when it is read, so these are read by an unpickler that refuses everything but texts,
numbers, lists and dictionaries.
"""

from __future__ import annotations

import argparse
import gzip
import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

SETS = ("BAGEL", "SFHOT", "SFRES")
DIMENSIONS = ("informativeness", "naturalness", "quality")


class PlainUnpickler(pickle.Unpickler):
    """Reads a pickle of plain values; whatever names a class or a function is refused."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it names {module}.{name}; only plain values are read")


def read_plain(file: BinaryIO) -> Any:
    """Return what a pickle of plain values holds."""
    return PlainUnpickler(file).load()


def rows(outputs: dict[Any, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Return our rows, in the order of the file."""
    for id_, output in outputs.items():
        yield {
            "id": str(id_),
            "output": output["sys_summ"],
            "mr": output["src"],
            "references": output["ref_summs"],
            "scores": {name: float(output["scores"][name]) for name in DIMENSIONS},
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--output", type=Path, required=True, help="a folder")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in SETS:
        source = arguments.folder / name / "data.pkl"
        target = arguments.output / f"novikova2017_{name.lower()}.jsonl.gz"
        try:
            with source.open("rb") as file:
                lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows(read_plain(file))]
        except (OSError, pickle.UnpicklingError, KeyError, TypeError, AttributeError) as error:
            sys.exit(f"{source}: cannot be read as outputs of {name}: {error}")
        with gzip.open(target, "wt", encoding="utf-8") as file:
            file.writelines(lines)
        print(f"wrote {len(lines):,} rows to {target}")


if __name__ == "__main__":
    main()
