"""How far any score could agree with the ratings of a set: what a machine reaches that is trained on the very set.

    python benchmarks/judgement_ceiling.py --data JUDGEMENTS_FOLDER [--sets novikova2017_sfhot]

Ridge regression and a forest, ten folds, no text on both sides: of what `celadon` looks at, then also of the encoder's
meanings, then also of the words. And, where a text was rated more than once, how far its ratings agree with each other.
Nothing is chosen by it: a score that has not seen the set is not to be expected above it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from judgement_sets import SETS, read
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

from celadon.core import FloatArray, IntArray
from celadon.meta.correlation import spearman
from celadon.metrics.reading.features import ReadingModels, reading_features
from celadon.scoring.batch import Batch
from celadon.scoring.batch.units import least, means

FOLDS, TREES = 10, 200
# so that neither hundreds of meanings nor thousands of words drown the features
OF_MEANINGS, OF_WORDS = 5.0, 3.0


def seen(batch: Batch) -> tuple[FloatArray, FloatArray]:
    """What `celadon` looks at, with the number of words; and the mean meaning of the sentences."""
    found, many = reading_features(batch, ReadingModels()), len(batch)
    columns = [reduce(found.owner, each, many) for each in found.of_sentences.values() for reduce in (means, least)]
    columns += [*found.of_texts.values(), np.array([len(sample.text.split()) for sample in batch.samples], dtype=float)]
    encodings = batch.encodings(ReadingModels().encoder)
    meanings = [means(encodings.owner, each, many) for each in encodings.encoded.meaning.astype(np.float64).T]
    return np.nan_to_num(np.stack(columns, axis=1)), np.nan_to_num(np.stack(meanings, axis=1))


def predicted(parts: list[FloatArray], texts: list[str] | None, groups: IntArray, rating: FloatArray) -> FloatArray:
    """What is predicted of each text from the other folds: the mean of both machines."""
    found = np.zeros(len(rating))
    for some, rest in GroupKFold(FOLDS).split(rating, rating, groups):
        scaler = StandardScaler().fit(parts[0][some])
        columns = np.hstack([scaler.transform(parts[0]), *(OF_MEANINGS * each for each in parts[1:])])
        if texts:
            words = TfidfVectorizer(ngram_range=(1, 3), min_df=2).fit([texts[at] for at in some])
            columns = np.hstack([columns, OF_WORDS * words.transform(texts).toarray()])
        forest = ExtraTreesRegressor(TREES, min_samples_leaf=3, n_jobs=-1, random_state=0)
        for machine in (RidgeCV(10.0 ** np.arange(5)), forest):
            found[rest] += machine.fit(columns[some], rating[some]).predict(columns[rest]) / 2
    return found


def rated_twice(groups: IntArray, rating: FloatArray) -> str:
    """The rank correlation of two ratings of one text, over all such pairs in both orders."""
    of_text = [rating[groups == group] for group in np.flatnonzero(np.bincount(groups) > 1)]
    pairs = [(one, other) for each in of_text for at, one in enumerate(each) for other in np.delete(each, at)]
    if not pairs:
        return "none"
    first, second = np.array(pairs).T
    return f"{spearman(first, second).value:.3f} ({len(of_text)} texts)"


def main() -> None:
    """Print a row per question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--sets", default=",".join(name for name in SETS if name.startswith("novikova")))
    arguments = parser.parse_args()
    print("| | features | and meanings | and words | the same text, rated again |\n|---|---|---|---|---|")
    for name in arguments.sets.split(","):
        rated = read(arguments.data, name)
        texts = [sample.text for sample in rated.samples]
        groups = np.unique(texts, return_inverse=True)[1]
        features, meanings = seen(Batch(rated.samples))
        for question, rating in rated.ratings.items():
            given = ([features], None), ([features, meanings], None), ([features, meanings], texts)
            cells = [f"{spearman(predicted(*each, groups, rating), rating).value:.3f}" for each in given]
            print(f"| {name} {question} | {' | '.join(cells)} | {rated_twice(groups, rating)} |", flush=True)


if __name__ == "__main__":
    main()
