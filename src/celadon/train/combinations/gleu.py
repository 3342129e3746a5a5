"""Training `gleu`: a linear support vector machine between real sentences and sequences of words, or damaged ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from celadon.core import FloatArray, InputError, MissingExtraError, Sample, UsageError
from celadon.io import atomic_write_text
from celadon.io.lines import corpus_size
from celadon.metrics.gleu_features import SentenceFeatures, all_features, parser_features, rule_features
from celadon.metrics.gleu_weights import (
    FALLING,
    FEATURES_OF,
    FORMAT,
    GLEU,
    GLEU_PAPER,
    GLEU_PLUS,
    GLEU_PLUS_RULES,
    PAPER,
    STRUCTURE,
    GleuWeights,
    Term,
    check_variant,
    normalised,
)
from celadon.parsing.loading import chart_name
from celadon.scoring.batch import Batch
from celadon.synth.glue import glued_sentences
from celadon.synth.sentence_damage import damage, damage_by
from celadon.synth.tokens import TokenCorpus, read_token_corpus
from celadon.train.combinations.ratings import Progress, area_under_curve, check_output, quiet
from celadon.train.reporting import SILENT, Report, made_by

CORPUS_TOKENS = 3_000_000
PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0)
"""How much a sentence on the wrong side costs. The least is taken that does as well in cross-validation as the best
but for one standard error: it spreads the weight over the features."""

ANY = "any"
DAMAGED: Mapping[str, Mapping[str, float]] = {GLEU: {}, GLEU_PLUS: {ANY: 0.4, "misspelled": 0.1}}
"""Which share of the sentences that are not real are real ones damaged, and how; the others are glued. Glued sentences
have neither misspelled nor doubled words, so that nothing could be learnt of these."""

GOOD = frozenset({"logprob", "structure", "confidence", "certainty", "slor", "acceptability"})
BAD = frozenset({"fragments", "nulls", "unused", "disjuncts", "unknown", "repeated", "rules"})
"""Features of which more must not speak against a sentence, or for it, whatever the examples say: where their weight
would, it is 0. Of invalid linkages the paper has no strong intuition."""

_FEATURES: Mapping[str, Callable[[Batch, bool, str], SentenceFeatures]] = {
    GLEU: parser_features,
    GLEU_PAPER: parser_features,
    GLEU_PLUS: all_features,
    GLEU_PLUS_RULES: rule_features,
}
_FOLDS = 5
_AT_ONCE = 128
_DISFLUENT = 1


@dataclass(frozen=True)
class GleuRecipe:
    """How `gleu` or `gleu_plus` is trained."""

    metric: str = GLEU  # ``gleu`` or ``gleu_plus``
    length: int = 24  # the tokens of a sentence
    count: int = 1_000  # how many sentences of each kind are trained on
    held_out: int = 150  # how many of each kind are kept apart for the figures
    seed: int = 0  # for all that is drawn
    rules: bool = False  # whether `gleu_plus` asks the rule checker too
    variant: str = STRUCTURE  # the form of `gleu`: ``structure``, or ``paper`` for the four features of the paper
    grammar: str = ""  # the chart parser's grammar, as the option of the metric; by default the package's

    def __post_init__(self) -> None:
        if self.metric not in DAMAGED:
            raise UsageError(f"unknown metric {self.metric!r}; known: {', '.join(DAMAGED)}")
        if self.rules and self.metric != GLEU_PLUS:
            raise UsageError(f"the rule checker is for {GLEU_PLUS}, not for {self.metric}")
        check_variant(self.variant)
        if self.variant != STRUCTURE and self.metric != GLEU:
            raise UsageError(f"the variant {self.variant} is for {GLEU}, not for {self.metric}")
        if self.count < _FOLDS or self.held_out < 1:
            raise UsageError(f"at least {_FOLDS} sentences of each kind must be trained on, and 1 kept apart")

    @property
    def kind(self) -> str:
        """The metric that the weights are for."""
        if self.variant == PAPER:
            return GLEU_PAPER
        return GLEU_PLUS_RULES if self.rules else self.metric


class Examples(NamedTuple):
    """Sentences, and which of them are real."""

    texts: list[str]
    real: npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TrainedGleu:
    """Weights, and how well they tell real sentences from others that were kept apart."""

    weights: GleuWeights
    content: Mapping[str, Any]
    figures: Mapping[str, float]


def make_examples(corpus: TokenCorpus, recipe: GleuRecipe) -> tuple[Examples, Examples]:
    """Take real sentences and make others; those to train on, and those kept apart."""
    many = recipe.count + recipe.held_out
    damaged = sum(int(many * share) for share in DAMAGED[recipe.metric].values())
    real = _glued(corpus, recipe, recipe.length, many + damaged)
    other = _glued(corpus, recipe, _DISFLUENT, many - damaged) + _damaged(real[many:], many, recipe)
    order = np.random.default_rng([recipe.seed, many]).permutation(len(other)) if damaged else range(len(other))
    parts = []
    for part in (slice(0, recipe.count), slice(recipe.count, many)):
        good, bad = real[:many][part], [other[at] for at in order[part]]
        parts.append(Examples([*good, *bad], np.arange(len(good) + len(bad)) < len(good)))
    return parts[0], parts[1]


def _glued(corpus: TokenCorpus, recipe: GleuRecipe, size: int, count: int) -> list[str]:
    return [made.text for made in glued_sentences(corpus, recipe.length, size, count, recipe.seed)]


def _damaged(sentences: Sequence[str], many: int, recipe: GleuRecipe) -> list[str]:
    """Damage each sentence in the way whose turn it is; what nothing can be done to is left out."""
    rng = np.random.default_rng([recipe.seed, recipe.length])
    left = iter(sentences)
    made = []
    for way, share in DAMAGED[recipe.metric].items():
        for sentence in islice(left, int(many * share)):
            others = [sentences[int(rng.integers(len(sentences)))]]
            found = damage_by(way, sentence, rng, others) if way != ANY else damage(sentence, rng, others)
            made += [found.text] if found else []
    return made


def train_gleu(
    corpus: Sequence[str],
    output: str | Path,
    recipe: GleuRecipe | None = None,
    *,
    tokens: int = CORPUS_TOKENS,
    report: Report = SILENT,
) -> TrainedGleu:
    """Train the support vector machine of `gleu` or `gleu_plus`, and write its weights to a JSON file.

    Parameters
    ----------
    corpus
        Text files, a paragraph a line; read until they have given so many ``tokens``.
    output
        The file.
    recipe
        What is trained, and on how many sentences.
    tokens
        How much of the corpus is read.
    report
        Receives the progress.
    """
    recipe = recipe or GleuRecipe()
    check_output(output, corpus)
    with report.bar("reading", corpus_size(corpus) or 0) as bar:
        texts = read_token_corpus(corpus, bar.update, tokens)
    training, apart = make_examples(texts, recipe)
    with report.count("sentences") as progress:
        trained = fit_gleu(training, apart, recipe, progress)
    numbers = {name: getattr(recipe, name) for name in ("metric", "length", "count", "held_out")}
    command = made_by(
        "gleu",
        corpus,
        output=Path(output),
        **numbers,
        tokens=tokens,
        seed=recipe.seed,
        variant=None if recipe.variant == STRUCTURE else recipe.variant,
        grammar=Path(recipe.grammar) if recipe.grammar else None,
        rules=recipe.rules,
    )
    figures = {name: round(value, 3) for name, value in trained.figures.items()}
    content = {**trained.content, "figures": figures, "made_by": command}
    atomic_write_text(str(output), json.dumps(content, indent=2) + "\n")
    return trained


def fit_gleu(training: Examples, apart: Examples, recipe: GleuRecipe, progress: Progress = quiet) -> TrainedGleu:
    """Parse the sentences, fit, and measure; raise InputError where too few of them can be parsed."""
    total = len(training.texts) + len(apart.texts)
    columns, known = _columns(training.texts, recipe, lambda done: progress(done, total))
    further, told = _columns(apart.texts, recipe, lambda done: progress(len(training.texts) + done, total))
    labels, others = training.real[known], apart.real[told]
    if min(labels.sum(), (~labels).sum()) < _FOLDS or len(set(others.tolist())) < 2:
        raise InputError("too few of the sentences could be parsed; ask for more")
    weights, penalty = fit(columns, labels)
    values = weights.scores(weights.contributions(weights.normalised(further)))
    figures = {
        "accuracy": float(((values > 0) == others).mean()),
        "area under the curve": area_under_curve(values, others),
    }
    content = {
        "format": FORMAT,
        "metric": recipe.kind,
        "length": recipe.length,
        "bias": weights.bias,
        "features": {name: msgspec.structs.asdict(term) for name, term in weights.terms.items()},
        "penalty": penalty,
        "damaged": dict(DAMAGED[recipe.metric]),
        "sentences": {"trained on": len(labels), "apart": len(others)},
    }
    return TrainedGleu(weights, content, figures)


def _columns(
    texts: Sequence[str], recipe: GleuRecipe, advance: Callable[[int], None]
) -> tuple[dict[str, FloatArray], npt.NDArray[np.int64]]:
    """The features of texts of one sentence, and which texts have them."""
    read = _FEATURES[recipe.kind]
    pieces: list[dict[str, FloatArray]] = []
    rows: list[npt.NDArray[np.int64]] = []
    left = iter(texts)
    done = 0
    while piece := list(islice(left, _AT_ONCE)):
        found = read(Batch([Sample(text) for text in piece]), False, chart_name(recipe.grammar))
        # a text that falls into several sentences is no example of either kind
        single = np.bincount(found.owner, minlength=len(piece))[found.owner] == 1
        pieces.append({name: found.columns[name][single] for name in FEATURES_OF[recipe.kind]})
        rows.append(found.owner[single] + done)
        done += len(piece)
        advance(done)
    return {name: np.concatenate([each[name] for each in pieces]) for name in pieces[0]}, np.concatenate(rows)


def fit(columns: Mapping[str, FloatArray], real: npt.NDArray[np.bool_]) -> tuple[GleuWeights, float]:
    """Find the hyperplane between real sentences and others, and the penalty that cross-validation chooses."""
    normalisers = {name: _normaliser(name, values) for name, values in columns.items()}
    features = np.stack([normalised(name, columns[name], normalisers[name]) for name in columns], axis=1)
    centre, spread = features.mean(axis=0), features.std(axis=0)
    spread[spread == 0] = 1.0
    # features of one spread, so that the penalty bears on all alike; the weights below are for the features themselves
    scaled = (features - centre) / spread
    penalty = _chosen_penalty(scaled, real)
    machine = _machine(penalty).fit(scaled, real)
    signs = np.array([(name in GOOD) - (name in BAD) for name in columns])
    while (wrong := machine.coef_[0] * signs < 0).any():
        scaled[:, wrong] = 0
        machine = _machine(penalty).fit(scaled, real)
    weights = machine.coef_[0] / spread
    terms = {
        name: Term(normalisers[name], _rounded(centre[at]), _rounded(weights[at])) for at, name in enumerate(columns)
    }
    return GleuWeights(terms, _rounded(machine.intercept_[0])), penalty


def _normaliser(name: str, values: FloatArray) -> float:
    """The paper's: the most negative log-probability, the largest number of fragments; shares are left as they are."""
    if name in FALLING:
        return _rounded(values.min()) or -1.0
    return float(values.max()) if name == "fragments" else 1.0


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _machine(penalty: float) -> Any:
    try:
        from sklearn.svm import LinearSVC
    except ImportError:
        raise MissingExtraError("scikit-learn", "train") from None
    return LinearSVC(C=penalty, dual=False, tol=1e-6, max_iter=10_000)


def _chosen_penalty(features: FloatArray, real: npt.NDArray[np.bool_]) -> float:
    accuracies = [_cross_validated(features, real, each) for each in PENALTIES]
    best = max(accuracies)
    error = np.sqrt(best * (1 - best) / len(real))
    return next(penalty for penalty, each in zip(PENALTIES, accuracies, strict=True) if each >= best - error)


def _cross_validated(features: FloatArray, real: npt.NDArray[np.bool_], penalty: float) -> float:
    """The mean accuracy on folds that were left out; each fold has its share of both kinds."""
    fold = np.zeros(len(real), dtype=np.int64)
    for kind in (real, ~real):
        fold[kind] = np.arange(kind.sum()) % _FOLDS
    hits = []
    for number in range(_FOLDS):
        machine = _machine(penalty).fit(features[fold != number], real[fold != number])
        hits.append(float((machine.predict(features[fold == number]) == real[fold == number]).mean()))
    return float(np.mean(hits))
