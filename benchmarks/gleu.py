"""How `gleu` and `gleu_plus` do on texts of graded fluency, beside the paper's figures, and on human judgements.

    python benchmarks/gleu.py --corpus CORPUS --treebank TREEBANK --data JUDGEMENTS_FOLDER --work FOLDER
        [--parts table2,classifier,retrained,table6,people,hostile] [--grammar PATH] [--dependencies FOLDER]
        [--each N] [--sets A,B] [--most N]

Sentences and parses are kept in the work folder: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from judgement_sets import Rated, read
from parse_cache import CachedParser

from celadon.core import FloatArray, Sample
from celadon.meta.correlation import pearson, spearman
from celadon.metrics.gleu import Gleu, GleuPlus
from celadon.metrics.gleu_features import PAPER_FEATURES, all_features
from celadon.metrics.gleu_weights import FEATURES_OF, GLEU, GLEU_PAPER, GLEU_PLUS, PAPER
from celadon.parsing import Parser
from celadon.parsing.brackets import read_treebank
from celadon.parsing.chart_parser import BUILTIN, chart_parser
from celadon.parsing.dependency_parser import NAME, dependency_parser
from celadon.parsing.link_grammar import LinkGrammar
from celadon.parsing.loading import CHART, DEPENDENCY, LINK, share_parser
from celadon.scoring.batch import Batch
from celadon.scoring.batch.units import means
from celadon.synth.free_grammar import grammar_sentences
from celadon.synth.glue import glued_sentences
from celadon.synth.lexicon import part_of_speech_words, supertag_words
from celadon.synth.tag_templates import template_sentences
from celadon.synth.tokens import MadeText, TokenCorpus, read_token_corpus
from celadon.train.combinations.gleu import fit

LENGTH, COUNT, FRESH, SEED = 24, 1_000, 150, 1
SIZES = (1, 2, 3, 4, 6, 8, 24)
# Tables 2 and 6 of the paper
PAPER_TABLE2 = {
    "logprob": 0.3101,
    "fragments": -0.2332,
    "nulls": -0.3204,
    "invalid": 0.1776,
    GLEU: 0.4144,
    GLEU_PAPER: 0.4144,
}
PAPER_TABLE6 = {
    "logprob": (0.52, 0.48, 0.41, 0.60, 0.57, 0.36),
    "fragments": (0.12, 0.16, 0.24, 0.26, 0.25, 0.43),
    "nulls": (0.02, 0.06, 0.10, 0.09, 0.11, 0.18),
    "invalid": (0.78, 0.67, 0.56, 0.62, 0.66, 0.53),
    GLEU: (1.07, 0.32, -0.96, 0.28, -0.06, -2.48),
}
PAPER_TABLE6[GLEU_PAPER] = PAPER_TABLE6[GLEU]
METRICS = (Gleu(), Gleu(variant=PAPER), GleuPlus())
KINDS = ("24", "8", "1", "pos", "supertag", "cfg")
SETS = (
    ("gug_train_dev", ("grammaticality",)),
    ("sulem2018_simplification", ("grammaticality",)),
    ("chaganty2018_cnndm", ("grammar",)),
    ("novikova2017_bagel", ("naturalness", "quality")),
    ("novikova2017_sfhot", ("naturalness", "quality")),
    ("novikova2017_sfres", ("naturalness", "quality")),
)
HOSTILE = {
    "120 words": " ".join(["the report that the council of the town by the river wrote about the bridge"] * 8) + ".",
    "40 closing brackets": "The committee approved it " + ")" * 40,
    "empty": "",
    "Chinese": "今天天气很好我们一起去散步吧。",
    "URL": "https://example.org/a/b?c=d&e=f#g",
}


class Made:
    """Sentences, kept in the work folder."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._arguments, self._corpus = arguments, None

    def texts(self, kind: str) -> list[str]:
        """The sentences of a kind: a sequence size, or a method; the last are the fresh ones."""
        path = self._arguments.work / f"sentences.{kind}.json"
        if not path.exists():
            path.write_text(json.dumps([made.text for made in self._made(kind)]), encoding="utf-8")
        found: list[str] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def _made(self, kind: str) -> list[MadeText]:
        corpus = self._read()
        if kind.isdigit():
            return glued_sentences(corpus, LENGTH, int(kind), COUNT + FRESH, SEED)
        trees = [tree for file in read_treebank(self._arguments.treebank) for tree in file.trees]
        if kind == "cfg":
            return grammar_sentences(corpus, trees, LENGTH, COUNT, SEED)
        tagged = part_of_speech_words(trees) if kind == "pos" else supertag_words(trees)
        return template_sentences(corpus, tagged, LENGTH, COUNT, SEED)

    def _read(self) -> TokenCorpus:
        if self._corpus is None:
            self._corpus = read_token_corpus([str(self._arguments.corpus)])
        return self._corpus


def columns(texts: Sequence[str]) -> dict[str, FloatArray]:
    """The metrics, and the features of each; where they normalise one in several ways, as the last does."""
    batch = Batch([Sample(text) for text in texts])
    found: dict[str, FloatArray] = {}
    for metric in METRICS:
        scores = metric.score(batch)
        found |= {name: part for name, part in scores.parts.items() if not name.startswith("from_")}
        found[metric.spec] = scores.values
    for name in ("sentences", "worst"):
        found.pop(name)
    return found


def table2(made: Made, each: int) -> None:
    """Correlation with the size of the sequences; and how many trees the dependency parser leaves."""
    texts = [text for size in SIZES for text in made.texts(str(size))[:each]]
    sizes = np.repeat(np.array(SIZES, dtype=np.float64), each)
    found = columns(texts)
    print("\n| | Pearson with sequence size | Spearman | the paper's |\n|---|---|---|---|")
    for name, values in found.items():
        known = np.isfinite(values)
        r, rank = pearson(values[known], sizes[known]).value, spearman(values[known], sizes[known]).value
        print(f"| {name} | {r:.3f} | {rank:.3f} | {PAPER_TABLE2.get(name, '')} |")
    nulls = int(np.isnan(found[GLEU]).sum())
    print(f"\nwithout a score: {nulls} of {len(texts)}\n\n| sequence size | one tree | two | more |\n|---|---|---|---|")
    parses = Batch([Sample(text) for text in texts]).parses(DEPENDENCY)
    for number, size in enumerate(SIZES):
        inside = (parses.owner >= number * each) & (parses.owner < (number + 1) * each)
        many = Counter(min(parses.results[at].fragments, 3) for at in np.flatnonzero(inside))
        print(f"| {size} | {many[1]} | {many[2]} | {many[3]} |")


def classifier(made: Made) -> None:
    """How many of the fresh sentences are on their side of the hyperplane."""
    found = [columns(made.texts(kind)[COUNT:]) for kind in ("24", "1")]
    for metric in METRICS:
        name = metric.spec
        real, other = (each[name] for each in found)
        hits = int((real > 0).sum() + (other < 0).sum())
        print(f"{name}: {hits} of {len(real) + len(other)} right, {hits / (len(real) + len(other)):.1%} (paper: 81 %)")


def retrained(made: Made) -> None:
    """The same with hyperplanes found on this corpus' own real and glued sentences, as the paper's was."""
    texts = {size: made.texts(str(size)) for size in SIZES}
    found = {size: all_features(Batch([Sample(text) for text in each])) for size, each in texts.items()}
    sets = {metric: FEATURES_OF[metric] for metric in (GLEU, GLEU_PAPER, GLEU_PLUS)}
    # fragments hardly vary, so that the same parser's certainty might stand for them
    sets["the paper's four and certainty"] = (*PAPER_FEATURES, "certainty")
    for metric, names in sets.items():
        of_size = {
            size: {name: means(each.owner, each.columns[name], COUNT + FRESH) for name in names}
            for size, each in found.items()
        }
        examples = {name: np.concatenate([of_size[size][name][:COUNT] for size in (LENGTH, 1)]) for name in names}
        known = np.isfinite(examples["invalid"])
        real = np.arange(2 * COUNT) < COUNT
        weights, _ = fit({name: column[known] for name, column in examples.items()}, real[known])
        scores = {
            size: weights.scores(weights.contributions(weights.normalised(each))) for size, each in of_size.items()
        }
        every = np.concatenate([scores[size][:COUNT] for size in SIZES])
        sizes = np.repeat(np.array(SIZES, dtype=np.float64), COUNT)
        there = np.isfinite(every)
        hits = int((scores[LENGTH][COUNT:] > 0).sum() + (scores[1][COUNT:] < 0).sum())
        r = pearson(every[there], sizes[there]).value
        print(f"{metric}, trained on this corpus: r = {r:.3f}; {hits} of {2 * FRESH} right, {hits / (2 * FRESH):.1%}")


def table6(made: Made, each: int) -> None:
    """Mean scores by the way sentences are made."""
    found = {kind: columns(made.texts(kind)[:each]) for kind in KINDS}
    print(f"\n| | {' | '.join(KINDS)} |\n|" + "---|" * (1 + len(KINDS)))
    for name in found["24"]:
        print(f"| {name} | {' | '.join(f'{np.nanmean(found[kind][name]):.3f}' for kind in KINDS)} |")
        if name in PAPER_TABLE6:
            print(f"| {name}, the paper's | {' | '.join(f'{value:.2f}' for value in PAPER_TABLE6[name])} |")


def people(data: Path, sets: Sequence[str], most: int | None) -> None:
    """Rank correlation with ratings; nothing is chosen here."""
    for name, questions in SETS:
        if name not in sets:
            continue
        rated = read(data, name, questions)
        if most and most < len(rated.samples):
            drawn = np.sort(np.random.default_rng(SEED).choice(len(rated.samples), most, replace=False))
            ratings = {question: values[drawn] for question, values in rated.ratings.items()}
            rated = Rated([rated.samples[at] for at in drawn], ratings)
        found = columns([sample.text for sample in rated.samples])
        print(f"\n**{name}**, {len(rated.samples):,} texts; Spearman / Pearson, and how many have a score")
        print(f"\n| | {' | '.join(questions)} | scored |\n|" + "---|" * (2 + len(questions)))
        for metric, values in found.items():
            cells = []
            for rating in rated.ratings.values():
                both = np.isfinite(values) & np.isfinite(rating)
                x, y = values[both], rating[both]
                cells.append(f"{spearman(x, y).value:.3f} / {pearson(x, y).value:.3f}" if np.ptp(x) else "constant")
            print(f"| {metric} | {' | '.join(cells)} | {int(np.isfinite(values).sum()):,} |", flush=True)


def hostile(opened: Mapping[str, Parser[Any]]) -> None:
    """What becomes of texts that a parser has trouble with, and how long it takes, nothing being known beforehand."""
    for kind, each in opened.items():
        share_parser(kind, each)
        each.parse(["The parsers are ready."])
    for name, text in HOSTILE.items():
        began = time.perf_counter()
        scores = Gleu().score(Batch([Sample(text)]))
        told = scores.reasons.get(0) or f"{scores.values[0]:.2f}"
        print(f"{name}: {told} ({time.perf_counter() - began:.2f} s)")


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True, type=Path)
    parser.add_argument("--treebank", required=True, type=Path)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--parts", default="table2,classifier,retrained,table6,people,hostile")
    parser.add_argument("--sets", default=",".join(name for name, _ in SETS))
    parser.add_argument("--each", type=int, default=COUNT, help="sentences of each kind in tables 2 and 6")
    parser.add_argument("--most", type=int, help="texts of a set, drawn at random where it has more")
    parser.add_argument("--grammar", default=BUILTIN)
    parser.add_argument("--dependencies", default=NAME, help="the dependency parser's weights")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    opened: dict[str, Parser[Any]] = {
        LINK: LinkGrammar(),
        CHART: chart_parser(arguments.grammar),
        DEPENDENCY: dependency_parser(arguments.dependencies),
    }
    for kind, each in opened.items():
        share_parser(kind, CachedParser(kind, each, arguments.work))
    made = Made(arguments)
    parts: dict[str, Callable[[], None]] = {
        "table2": lambda: table2(made, arguments.each),
        "classifier": lambda: classifier(made),
        "retrained": lambda: retrained(made),
        "table6": lambda: table6(made, arguments.each),
        "people": lambda: people(arguments.data, arguments.sets.split(","), arguments.most),
        "hostile": lambda: hostile(opened),
    }
    for part in arguments.parts.split(","):
        print(f"\n## {part}", flush=True)
        parts[part]()


if __name__ == "__main__":
    main()
