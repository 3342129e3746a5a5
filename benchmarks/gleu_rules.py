"""What the rule checker adds to `gleu_plus`, and what it takes: GUG dev, graded sizes that training did not see, time.

    python benchmarks/gleu_rules.py --corpus CORPUS --data JUDGEMENTS_FOLDER --work FOLDER

The corpus is the one that the weights were trained on, read as far. Parses are kept in the work folder.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from judgement_sets import read
from parse_cache import CachedParser

from celadon.core import FloatArray, Sample
from celadon.meta.correlation import pearson, spearman
from celadon.metrics.gleu import GleuPlus
from celadon.parsing.loading import NAMES, RULES, open_parser, share_parser
from celadon.parsing.rule_checker import RuleCheck
from celadon.scoring.batch import Batch
from celadon.synth.glue import glued_sentences
from celadon.synth.tokens import read_token_corpus
from celadon.text.sentences import split_sentences
from celadon.train.combinations.gleu import CORPUS_TOKENS, DAMAGED, GleuRecipe

RECIPE = GleuRecipe("gleu_plus", seed=1)
SIZES = (1, 2, 4, 8, 24)
EACH = 150
METRICS = (GleuPlus(), GleuPlus(rules=True))


def graded(corpus: Path) -> list[str]:
    """As many sentences of each size, none of which was trained on, nor damaged to be."""
    read_so_far = read_token_corpus([str(corpus)], most=CORPUS_TOKENS)
    many = RECIPE.count + RECIPE.held_out
    drawn = many + sum(int(many * share) for share in DAMAGED[RECIPE.metric].values())
    used = {made.text for made in glued_sentences(read_so_far, RECIPE.length, RECIPE.length, drawn, RECIPE.seed)}
    texts = []
    for size in SIZES:
        made = [each.text for each in glued_sentences(read_so_far, RECIPE.length, size, many, RECIPE.seed)]
        # of glued ones the first were trained on; real ones are drawn in another order where more are asked for
        fresh = made[-EACH:] if size < RECIPE.length else [text for text in made if text not in used][:EACH]
        texts += fresh
    return texts


def table(name: str, texts: Sequence[str], wanted: FloatArray) -> None:
    """Both metrics, and the rules alone, beside what is wanted."""
    batch = Batch([Sample(text) for text in texts])
    plain, ruled = (metric.score(batch) for metric in METRICS)
    columns = {plain.metric: plain.values, ruled.metric: ruled.values, "marks per word": ruled.parts["rules"]}
    print(f"\n| {name}, {len(texts):,} texts | Spearman | Pearson |\n|---|---|---|")
    for label, values in columns.items():
        known = np.isfinite(ruled.values) & np.isfinite(wanted)
        x, y = values[known], wanted[known]
        print(f"| {label} | {spearman(x, y).value:.3f} | {pearson(x, y).value:.3f} |", flush=True)


def speed(texts: Sequence[str]) -> None:
    """How long the checker takes, nothing being known beforehand."""
    sentences = [text[start:end] for text in texts for start, end in split_sentences(text)]
    checker = open_parser(RULES)
    checker.parse(sentences[:5])
    began = time.perf_counter()
    found = checker.parse(sentences)
    taken = 1000 * (time.perf_counter() - began) / len(sentences)
    marks = sum(len(each.matches) for each in found if isinstance(each, RuleCheck))
    print(f"\n{len(sentences):,} sentences: {taken:.1f} ms each, {marks} marks, {checker.facts}")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("corpus", "data", "work"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    for kind in NAMES:
        share_parser(kind, CachedParser(kind, open_parser(kind), arguments.work))
    rated = read(arguments.data, "gug_train_dev", ("grammaticality",))
    table("GUG dev", [sample.text for sample in rated.samples], rated.ratings["grammaticality"])
    texts = graded(arguments.corpus)
    table("graded sizes", texts, np.repeat(np.array(SIZES, dtype=np.float64), EACH))
    speed([sample.text for sample in rated.samples[:300]])


if __name__ == "__main__":
    main()
