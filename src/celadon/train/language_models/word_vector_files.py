"""What trained word vectors are written as: a folder that celadon opens, with a threshold found on articles kept apart.

The threshold tells sentences that follow each other from sentences of different articles: it is the Word Mover's
similarity that 5 % of the true transitions are below. A text is wrongly charged for a transition with that chance and
no larger; how many false ones are found at that price is what the vectors are good for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray
from celadon.models.words.word_mover import similarities
from celadon.models.words.word_vectors import DESCRIPTION, FORMAT, VECTORS, WORDS, WordVectors
from celadon.text.sentences import split_sentences
from celadon.train.combinations.two_labels import area_under_curve
from celadon.train.corpus import Advance, Corpus
from celadon.train.language_models.word_vectors import NORMALISATION, Article, VectorRecipe, Vocabulary
from celadon.train.model_folder import new_folder, scripts_of

CHARGED = 0.05
"""The share of true transitions that are below the threshold."""

_MOST_PAIRS = 20_000
_FEWEST_PAIRS = 100
_PAIRS_AT_ONCE = 500
_DIGITS = 4


@dataclass(frozen=True)
class Transitions:
    """How vectors tell sentences that follow each other from sentences of different articles.

    Attributes
    ----------
    threshold
        The similarity below which a transition is weak.
    pairs
        The number of pairs of either kind.
    auc
        The chance that a true transition is more similar than a false one.
    adjacent_below, unrelated_below
        The shares of true and of false transitions below the threshold.
    adjacent_median, unrelated_median
        Their similarities in the middle.
    """

    threshold: float
    pairs: int
    auc: float
    adjacent_below: float
    unrelated_below: float
    adjacent_median: float
    unrelated_median: float


@dataclass(frozen=True)
class TrainedVectors:
    """Vectors, with what their card says of them.

    Attributes
    ----------
    recipe, vocabulary
        How they were made, and of which words.
    rows
        The vectors' directions in 8 bits.
    transitions
        What was found on the articles kept apart; None where these are too few.
    """

    recipe: VectorRecipe
    vocabulary: Vocabulary
    rows: npt.NDArray[np.int8]
    transitions: Transitions | None


def in_memory(vocabulary: Vocabulary, rows: npt.NDArray[np.int8]) -> WordVectors:
    """Vectors that are not written yet, ready for use."""
    return WordVectors("", "", vocabulary.words, rows, NORMALISATION, (), None)


_Pair = tuple[str, str]


class SentencePairs(NamedTuple):
    """Pairs of sentences that follow each other in a paragraph, and as many of different articles."""

    adjacent: list[_Pair]
    unrelated: list[_Pair]


def sentence_pairs(articles: Sequence[Article], seed: int = 0) -> SentencePairs:
    """Pair sentences with those that follow them, and the same ones with sentences of other articles.

    Parameters
    ----------
    articles
        Where the sentences are from.
    seed
        For the choice of sentences.
    """
    rng = np.random.default_rng(seed)
    sentences: list[str] = []
    owner: list[int] = []
    follows: list[int] = []  # the places of sentences that another one of the paragraph follows
    for number, article in enumerate(articles):
        for paragraph in article:
            found = [paragraph[start:end] for start, end in split_sentences(paragraph)]
            follows += range(len(sentences), len(sentences) + len(found) - 1)
            sentences += found
            owner += [number] * len(found)
    if len(articles) < 2 or not follows:
        return SentencePairs([], [])
    chosen = np.sort(rng.permutation(follows)[:_MOST_PAIRS]).tolist()
    owners = np.array(owner)
    unrelated = []
    for place in chosen:
        other = int(rng.integers(len(sentences)))
        while owners[other] == owners[place]:
            other = int(rng.integers(len(sentences)))
        unrelated.append((sentences[place], sentences[other]))
    return SentencePairs([(sentences[place], sentences[place + 1]) for place in chosen], unrelated)


def judge_transitions(
    vectors: WordVectors, pairs: SentencePairs, advance: Advance = lambda more: None
) -> Transitions | None:
    """Compare sentences that follow each other, and sentences that do not.

    Parameters
    ----------
    vectors
        What the sentences are compared by.
    pairs
        Sentences of articles that the vectors were not trained on.
    advance
        Told how many more pairs have been compared.
    """
    true, false = (_similarities(of_a_kind, vectors, advance) for of_a_kind in pairs)
    both = ~np.isnan(true) & ~np.isnan(false)
    true, false = true[both], false[both]
    if len(true) < _FEWEST_PAIRS:
        return None
    threshold = round(float(np.quantile(true, CHARGED)), _DIGITS)
    labels = np.repeat([True, False], len(true))
    return Transitions(
        threshold=threshold,
        pairs=len(true),
        auc=round(area_under_curve(np.concatenate([true, false]), labels), _DIGITS),
        adjacent_below=round(float((true < threshold).mean()), _DIGITS),
        unrelated_below=round(float((false < threshold).mean()), _DIGITS),
        adjacent_median=round(float(np.median(true)), _DIGITS),
        unrelated_median=round(float(np.median(false)), _DIGITS),
    )


def _similarities(pairs: Sequence[_Pair], vectors: WordVectors, advance: Advance) -> FloatArray:
    found = np.empty(len(pairs))
    for begin in range(0, len(pairs), _PAIRS_AT_ONCE):
        block = pairs[begin : begin + _PAIRS_AT_ONCE]
        found[begin : begin + len(block)] = similarities(block, vectors)
        advance(len(block))
    return found


def write_vectors(folder: Path, trained: TrainedVectors, card: str) -> None:
    """Write vectors to a new folder, which appears whole or not at all."""
    with new_folder(folder) as draft:
        np.save(draft / VECTORS, trained.rows)
        (draft / WORDS).write_text("\n".join(trained.vocabulary.words) + "\n", encoding="utf-8")
        described = json.dumps(_description(trained), ensure_ascii=False, indent=2)
        (draft / DESCRIPTION).write_text(described + "\n", encoding="utf-8")
        (draft / "card.md").write_text(card, encoding="utf-8")


def _description(trained: TrainedVectors) -> dict[str, Any]:
    found = trained.transitions
    return {
        "format": FORMAT,
        "normalisation": NORMALISATION,
        "words": len(trained.vocabulary.words),
        "size": int(trained.rows.shape[1]),
        "scripts": scripts_of(trained.vocabulary.words, trained.vocabulary.counts),
        "threshold": None if found is None else found.threshold,
        "transitions": None if found is None else asdict(found),
    }


def card(name: str, trained: TrainedVectors, corpus: Corpus, about: str, command: str) -> str:
    """What people should know of vectors, in Markdown."""
    recipe, vocabulary = trained.recipe, trained.vocabulary
    covered = int(vocabulary.counts.sum()) / vocabulary.total
    return f"""# {name}

Vectors of {trained.rows.shape[1]} numbers for {len(vocabulary.words):,} words in lower case: the leading eigenvectors \
of a table of positive pointwise mutual information, words at most {recipe.window} apart, contexts smoothed by the \
power 0.75, eigenvalues to the power {recipe.power:g}, words above {recipe.thin:g} of the corpus thinned. Only \
directions are kept, in 8 bits.

## Data

{about or "Not stated."}

- files: {", ".join(path.name for path in corpus.paths)} (sha256 {corpus.digest()})
- trained on: {vocabulary.total:,} words, of which {covered:.1%} have a vector
- kept apart: {corpus.hold_out:g} of the articles (seed {corpus.seed})

## Figures

{transitions_text(trained.transitions)}

## How it was made

    {command}
"""


def transitions_text(found: Transitions | None) -> str:
    """What was found on the articles kept apart, in words."""
    if found is None:
        return "No threshold for adjacent sentences: too little was kept apart."
    return f"""\
Word Mover's similarity of sentences kept apart, {found.pairs:,} that follow each other and as many of different \
articles:

- a true transition is more similar than a false one with a chance of {found.auc:.3f}; medians \
{found.adjacent_median:.3f} and {found.unrelated_median:.3f}
- threshold: {found.threshold:g}, by the rule that {CHARGED:.0%} of the true transitions are below it; \
{found.adjacent_below:.1%} of the true ones are, and {found.unrelated_below:.1%} of the false ones"""
