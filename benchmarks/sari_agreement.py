"""Whether celadon's SARI equals the authors' program.

    python benchmarks/sari_agreement.py SARI.py sulem2018_simplification.jsonl.gz

``SARI.py`` is the script of github.com/cocoxu/simplification or a copy, such as the one in XingxingZhang/pysari. It
gets our tokens. The data have no references: the other systems' outputs for the same source stand for them.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy as np
from judgement_sets import rows_of

from celadon.core import Sample
from celadon.metrics.sari import Sari, _split
from celadon.scoring.batch import Batch


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("peer", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_samples(path: Path, references: int) -> list[Sample]:
    rows = rows_of(path)
    outputs: dict[str, list[str]] = {}
    for row in rows:
        outputs.setdefault(row["source"], []).append(row["text"])
    samples = []
    for row in rows:
        others = [output for output in outputs[row["source"]] if output != row["text"] and output.strip()]
        if others and row["text"].strip():
            samples.append(Sample(row["text"], tuple(others[:references]), row["source"]))
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", type=Path)
    parser.add_argument("data", type=Path)
    given = parser.parse_args()
    peer = load(given.peer)
    for references in (1, 4, 8):
        samples = read_samples(given.data, references)
        begun = time.perf_counter()
        ours = Sari().score(Batch(samples)).values
        own_seconds = time.perf_counter() - begun
        words = {document: " ".join(found) for document, found in _split(samples).items()}
        begun = time.perf_counter()
        theirs = [
            100 * peer.SARIsent(words[s.source or ""], words[s.text], [words[r] for r in s.references]) for s in samples
        ]
        seconds = time.perf_counter() - begun
        print(
            f"references<={references} texts={len(samples)} mean={ours.mean():.4f} "
            f"largest_difference={np.abs(ours - theirs).max():.2e} texts_per_second={len(samples) / own_seconds:.0f} "
            f"(with tokenization; the peer without: {len(samples) / seconds:.0f})"
        )


if __name__ == "__main__":
    main()
