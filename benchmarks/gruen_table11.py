"""The pairs of good and bad texts in Table 11 of the GRUEN paper, read from a copy of it, under our modules.

python benchmarks/gruen_table11.py gruen-2020.txt
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import numpy as np

import celadon

# bad, good: the module that the table names
PAIRS = {"ab": "grammaticality", "cd": "redundancy", "ef": "focus", "gh": "coherence", "ij": ""}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paper", type=Path)
    parser.add_argument("--tier", default="builtin")
    arguments = parser.parse_args()
    found = re.findall(r"^\(([a-j])\) [^:\n]+: (.+?)\t", arguments.paper.read_text(encoding="utf-8"), re.MULTILINE)
    texts = dict(found)
    if "".join(texts) != "abcdefghij":
        raise SystemExit(f"{arguments.paper}: has no Table 11")
    option = "" if arguments.tier == "builtin" else f"[tier={arguments.tier}]"
    print("| pair | metric | bad | good | good above bad |\n|---|---|---|---|---|")
    for (bad, good), module in PAIRS.items():
        for metric in ("gruen", "celadon"):
            spec = f"{metric}.{module}" if module else metric
            spec += option if module not in ("redundancy", "focus") or metric == "celadon" else ""
            low, high = np.asarray(celadon.score([texts[bad], texts[good]], metrics=[spec])[spec]).tolist()
            print(f"| ({bad}), ({good}) | {spec} | {low:.3f} | {high:.3f} | {'yes' if high > low else 'no'} |")


if __name__ == "__main__":
    main()
