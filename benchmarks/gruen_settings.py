"""Where the numbers in celadon/metrics/gruen/models.py come from: measured on damaged Wikipedia, GUG and Sulem.

    python benchmarks/gruen_settings.py --corpus enwiki.txt.xz --data JUDGEMENTS_FOLDER [--model builtin,smollm2]

The scale of a language model: logistic regression of whether a sentence is sound on its mean log-probability. The share
of acceptability: the rank correlation with GUG's training part and with Sulem's texts. The temperature of order by
likelihood: the one under which the true order of paragraphs is likeliest. The weight of coherence: the rank correlation
of `gruen` with how much of damaged documents is left whole. All on articles that nothing was trained on.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from judgement_sets import read, rows_of
from scipy.optimize import minimize_scalar
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from tqdm import tqdm

from celadon.core import FloatArray, Sample
from celadon.metrics.gruen.grammaticality import sentence_grammar
from celadon.metrics.gruen.gruen import Gruen
from celadon.metrics.gruen.models import OTHER_SCALE, SCALES, WEIGHTS
from celadon.scoring.batch import Batch
from celadon.scoring.batch.order import TEMPERATURE
from celadon.scoring.batch.units import means
from celadon.synth.sentence_damage import damage
from celadon.text.sentences import split_sentences
from celadon.train.combinations.damaged_documents import Document, make_documents
from celadon.train.corpus import Corpus

SENTENCES, ORDERED, DAMAGED = 2_000, 150, 1_500
SHARES = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
WEIGHTS_OF_COHERENCE = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)


def scale(model: str, documents: list[Document]) -> None:
    """Print the centre and the width of a language model's scale."""
    random = np.random.default_rng(7)
    texts = [document.text for document in documents if not document.kind]
    sound = [text[start:end] for text in texts for start, end in split_sentences(text)][:SENTENCES]
    worse = [made.text for sentence in sound if (made := damage(sentence, random, sound[::-1]))]
    read_ = Batch([Sample(text) for text in [*sound, *worse]]).token_scores(model)
    mean = (read_.logprobs / read_.lengths)[:, None]
    label = read_.owner < len(sound)
    fit = LogisticRegression(C=1e6).fit(mean, label)
    slope, offset = float(fit.coef_[0, 0]), float(fit.intercept_[0])
    print(f"{model}: centre {-offset / slope:.2f}, width {1 / slope:.2f}; accuracy {fit.score(mean, label):.3f}")


def temperature(model: str, documents: list[Document]) -> None:
    """Print the temperature under which the true order is likeliest."""
    texts = [document.text for document in documents if not document.kind][:ORDERED]
    found = Batch([Sample(text) for text in texts]).order(f"lm:{model}")
    apart = found.kept * TEMPERATURE
    best = minimize_scalar(lambda t: float(np.logaddexp(0, -apart / t).mean()), bounds=(0.5, 60), method="bounded")
    print(f"{model}: temperature {best.x:.1f}, loss {best.fun:.3f}; right {np.mean(apart > 0):.3f} of {len(apart):,}")


def share(model: str, data: Path) -> None:
    """Print how the share of acceptability agrees with ratings that may be used to choose."""
    rows = [row for row in rows_of(data / "gug_train_dev.jsonl.gz") if row["domain"] == "train"]
    gug = ([Sample(row["text"]) for row in rows], np.array([row["scores.grammaticality"] for row in rows]))
    sulem = read(data, "sulem2018_simplification")
    for name, (samples, rating) in {"GUG train": gug, "Sulem": (sulem.samples, *sulem.ratings.values())}.items():
        batch = Batch(samples)
        found = sentence_grammar(batch, model, "builtin")
        cells = []
        for part in SHARES:
            values = part * found.acceptability + (1 - part) * found.likelihood
            text = means(found.owner, values, len(samples))
            cells.append(f"{part:g}: {spearmanr(text, rating, nan_policy='omit')[0]:.3f}")
        print(f"{model}, {name}, share of acceptability: {', '.join(cells)}")


def coherence(documents: list[Document]) -> None:
    """Print how the weight of coherence changes what `gruen` tells of damaged documents."""
    parts: dict[str, list[FloatArray]] = {name: [] for name in WEIGHTS._fields}
    chosen = documents[:DAMAGED]
    for start in tqdm(range(0, len(chosen), 256), unit=" batches", disable=None):
        batch = Batch([Sample(document.text) for document in chosen[start : start + 256]])
        for name, metric in Gruen().members().items():
            parts[name].append(metric.score(batch).values)
    columns = {name: np.concatenate(found) for name, found in parts.items()}
    whole = 1 - np.array([document.amount for document in chosen])
    others = sum(getattr(WEIGHTS, name) * columns[name] for name in WEIGHTS._fields[:3])
    for weight in WEIGHTS_OF_COHERENCE:
        total = np.clip(others + weight * columns["coherence"], 0, 1)
        print(f"weight of coherence {weight:g}: {spearmanr(total, whole)[0]:.3f} with the share left whole")


def main() -> None:
    """Print all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", required=True, type=Path)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--model", default="builtin")
    parser.add_argument("--only", default="scale,share,temperature,coherence")
    arguments = parser.parse_args()
    documents = make_documents(Corpus((arguments.corpus,)), 1_000, 0)
    print("now:", {name: SCALES.get(name, OTHER_SCALE) for name in arguments.model.split(",")}, WEIGHTS)
    wanted = arguments.only.split(",")
    for model in arguments.model.split(","):
        if "scale" in wanted:
            scale(model, documents)
        if "share" in wanted:
            share(model, arguments.data)
        if "temperature" in wanted:
            temperature(model, documents)
    if "coherence" in wanted:
        coherence(documents)


if __name__ == "__main__":
    main()
