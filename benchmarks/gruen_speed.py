"""`gruen` and `celadon` together against the work of the public recipe of GRUEN, on the same texts in one run.

The peer is that recipe's workload, not its code: two models of the size of bert-base with random weights (speed does
not depend on the weights) in torch, for every sentence one masked-LM pass as it is and one classifier pass padded to
128, batch of one; and the Word Mover's distance of every two adjacent sentences by gensim-like vectors of 300 numbers,
exact optimal transport. Ours is `celadon.score` of both metrics, strings in, numbers out, all modules. Models are
loaded before the clock starts on either side.

    python benchmarks/gruen_speed.py [--data TEXTS.jsonl.gz] [--texts 300]
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from itertools import pairwise

import numpy as np
import ot
import torch
from pairs import make_pairs
from tokenizers import Tokenizer
from tqdm import tqdm
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

import celadon
from celadon.models.store import folder_of
from celadon.text.sentences import split_sentences

LEAST_GAIN = 40
PADDED, NUMBERS = 128, 300


def texts_of(path: str | None, count: int) -> list[str]:
    """Texts of a file of judgements, or made ones of four sentences."""
    if path:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for _, line in zip(range(count), file, strict=False)]
        return [row["output"] if "output" in row else row["text"] for row in rows]
    made = [make_pairs(20, 4, seed=number) for number in range(count)]
    return [" ".join(f"{text.capitalize()}." for _, text in pairs) for pairs in made]


class PublicRecipe:
    """The workload of the public code."""

    def __init__(self) -> None:
        config = BertConfig()
        self.tokenizer = Tokenizer.from_file(str(folder_of("builtin-encoder") / "tokenizer.json"))
        self.likelihood = BertForMaskedLM(config).eval()
        self.acceptability = BertForSequenceClassification(config).eval()
        self.vectors = np.random.default_rng(0).normal(size=(30_522, NUMBERS))

    @torch.inference_mode()
    def score(self, text: str) -> None:
        """Do for one text what the public code does."""
        rows = [self.tokenizer.encode(text[start:end]).ids[:PADDED] for start, end in split_sentences(text)]
        for row in rows:
            ids = torch.tensor([row])
            self.likelihood(input_ids=ids, labels=ids)
            padded = torch.zeros((1, PADDED), dtype=torch.long)
            padded[0, : len(row)] = ids[0]
            self.acceptability(input_ids=padded, attention_mask=(torch.arange(PADDED) < len(row)).long()[None])
        for first, second in pairwise(rows):
            one, other = np.unique(first), np.unique(second)
            ot.emd2([], [], ot.dist(self.vectors[one], self.vectors[other], metric="euclidean"))


def main() -> None:
    """Time both sides."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--texts", type=int, default=300)
    arguments = parser.parse_args()
    texts = texts_of(arguments.data, arguments.texts)
    metrics = ["gruen", "celadon"]
    celadon.score(texts[:4], metrics=metrics)
    begin = time.perf_counter()
    celadon.score(texts, metrics=metrics)
    ours = time.perf_counter() - begin
    recipe = PublicRecipe()
    recipe.score(texts[0])
    begin = time.perf_counter()
    for text in tqdm(texts, disable=None, unit=" texts"):
        recipe.score(text)
    theirs = time.perf_counter() - begin
    sentences = sum(len(split_sentences(text)) for text in texts)
    print(f"{len(texts)} texts, {sentences} sentences, {torch.get_num_threads()} threads")
    print(f"gruen and celadon: {len(texts) / ours:.1f} texts/s; the public recipe: {len(texts) / theirs:.2f} texts/s")
    print(f"ratio {theirs / ours:.0f} (at least {LEAST_GAIN} is wanted)")


if __name__ == "__main__":
    main()
