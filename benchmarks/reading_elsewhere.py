"""How well `celadon` tells what is left of damaged documents of a corpus that nothing was fitted on.

    python benchmarks/reading_elsewhere.py reuters21578.txt.xz [--documents 600]

Rank correlation of the score, and of each aspect, with what the documents are worth; then the signs that GRUEN finds
for each sentence that was repeated, which is what repetition is taken to cost.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import celadon
from celadon.core import FloatArray, Sample
from celadon.meta.correlation import spearman
from celadon.metrics.gruen.redundancy import redundancies
from celadon.metrics.reading.weights import ASPECTS
from celadon.scoring.batch import Batch
from celadon.synth.document_damage import damaged_document
from celadon.train.combinations.damaged_documents import articles_apart, make_documents, paragraphs_of
from celadon.train.corpus import Corpus

SEED, PARAGRAPHS = 7, 400


def told(corpus: Corpus, count: int) -> None:
    """Print how well the score and its aspects tell the documents' worth."""
    documents = make_documents(corpus, count, SEED, extracts=count // 2)
    scores = celadon.score([document.text for document in documents], metrics=["celadon"])
    cost = np.array([document.cost for document in documents])
    columns = {"celadon": np.asarray(scores["celadon"])}
    columns |= {f"celadon.{name}": np.asarray(scores[f"celadon.{name}"]) for name in ASPECTS}
    print(f"{len(documents):,} documents\n\n| | rank correlation |\n|---|---|")
    for name, values in columns.items():
        known = np.isfinite(values)
        print(f"| {name} | {spearman(values[known], -np.minimum(cost[known], 0.95)).value:.3f} |")


def signs(corpus: Corpus) -> None:
    """Print how many signs of repetition a repeated sentence adds."""
    random = np.random.default_rng(SEED)
    drawn = paragraphs_of(articles_apart(corpus))
    chosen = [drawn[at] for at in random.permutation(len(drawn))[:PARAGRAPHS]]
    others = [sentence for sentences in chosen for sentence in sentences]
    before = _features([" ".join(sentences) for sentences in chosen])
    print("\n| one sentence | signs added |\n|---|---|")
    for kind in ("repeated", "repeated_changed", "repeated_beginning"):
        made = [damaged_document(each, others, kind, 1 / len(each), random) for each in chosen]
        done = np.array([document.amount > 0 for document in made])
        added = _features([document.text for document in made]) - before
        print(f"| {kind} | {added[done].mean():.2f} |")


def _features(texts: list[str]) -> FloatArray:
    return np.asarray(redundancies(Batch([Sample(text) for text in texts])).features, dtype=np.float64)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--documents", type=int, default=600)
    arguments = parser.parse_args()
    corpus = Corpus((arguments.corpus,), hold_out=0.9)
    told(corpus, arguments.documents)
    signs(corpus)


if __name__ == "__main__":
    main()
