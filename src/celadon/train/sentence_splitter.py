"""Train the sentence splitter of :mod:`celadon.text.sentence_splitter`.

    python -m celadon.train.sentence_splitter --data FOLDER --output src/celadon/text/sentence_splitter.json

Real boundaries are those of UD English EWT (train) and of GUM's free genres (development half). What they have too
little of is made from them: small letters, no space after a mark, tokenized text, abbreviations at the end of a
sentence and within one. Quotations are of public-domain fiction, where a small letter after one continues the sentence.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from celadon.text.sentence_splitter import Candidate, Model, SentenceSplitter
from celadon.train.sentence_boundaries import Passage, is_development, read_tree_passages, read_universal_passages

_REGULARIZATION = 0.3
_LEAST_WEIGHT = 0.02
_COMMON_WORDS = 12_000
_LEAST_FREQUENT = 8
_CORPUS_CHARACTERS = 40_000_000
_QUOTATIONS = 4000

_SMALL_OR_CAPITAL = re.compile(r"(?<=[a-z,] )[A-Za-z][a-z']+")
_WORD = re.compile(r"[^\W\d_]+(?:\.[^\W\d_]+)*")
_PUNCTUATION = re.compile(r"([,.!?;:]+)(?=\s|$)")
_PLAIN_END = re.compile(r"[a-z]{2}\.$")
_ENDING = {
    "p.m": 3, "a.m": 2, "Corp": 2, "Inc": 2, "Ltd": 1, "Co": 1, "Jr": 1, "U.S": 2, "U.K": 1, "D.C": 1, "N.Y": 1,
    "Ave": 1, "St": 1, "Calif": 1, "Oct": 1, "Jan": 1, "etc": 4, "al": 1, "ft": 1, "lbs": 1, "Ph.D": 1,
}  # fmt: skip
"""Abbreviations that may end a sentence, and how often one is put there."""
_BEFORE_NAMES = ("Dr", "Mr", "Mrs", "Gen", "Sen", "Prof", "St", "Corp", "Inc", "Co", "U.S", "N.Y")
_BEFORE_SMALL = ("e.g", "i.e", "vs", "cf", "approx", "ca", "Corp", "Inc", "Co", "U.S", "p.m", "a.m", "etc", "Jan")
_BEFORE_NUMBERS = ("Fig", "No", "Vol", "p", "pp", "Oct", "Jan", "Feb", "Dec", "approx", "ca", "Sec", "fig", "no")

Example = tuple[Candidate, bool]


def main(arguments: Sequence[str] | None = None) -> int:
    """Train and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m celadon.train.sentence_splitter", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of treebanks, corpora and genres")
    parser.add_argument("--output", type=Path, required=True, help="the file of weights to write")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn and made (default: 0)")
    options = parser.parse_args(arguments)
    model = train(options.data, options.seed)
    content = {name: " ".join(sorted(getattr(model, name))) for name in ("common", "frequent")}
    weights = dict(sorted(model.weights.items()))
    options.output.write_text(json.dumps({**content, "weights": weights}, indent=0) + "\n", encoding="utf-8")
    sys.stderr.write(f"{len(weights)} weights written to {options.output}\n")
    return 0


def train(data: Path, seed: int = 0) -> Model:
    """Return the weights that the data give."""
    gum = read_tree_passages(data / "genres/gum_dev.jsonl.xz", data / "treebanks/gum_const_dev.ptb.xz")
    passages = read_universal_passages(data / "treebanks/en_ewt-ud-train.conllu.xz")
    passages += [passage for passage in gum if is_development(passage.document)]
    counts = Counter(word.lower() for passage in passages for word in _WORD.findall(passage.text))
    frequent = frozenset(word for word, count in counts.items() if count >= _LEAST_FREQUENT)
    words = Model({}, _common_words(data / "corpora/enwiki.txt.xz"), frequent)
    splitter = SentenceSplitter(words)
    examples = [
        *_examples(splitter, [*passages, *_variants(passages, random.Random(seed))]),
        *_quotations(splitter, data / "genres/fiction_gutenberg.jsonl.xz"),
    ]
    return words._replace(weights=_fit(examples))


def lower(passage: Passage) -> Passage:
    """Return a passage in small letters."""
    return passage._replace(text="".join(map(_lower_character, passage.text)))


def unspaced(passage: Passage) -> Passage:
    """Return a passage without white space between its sentences."""
    return _joined(passage.document, _sentences(passage), "")


def tokenized(passage: Passage) -> Passage:
    """Return a passage with a space before its punctuation."""
    return _joined(passage.document, (_PUNCTUATION.sub(r" \1", part) for part in _sentences(passage)), " ")


def _lower_character(character: str) -> str:
    small = character.lower()
    return small if len(small) == 1 else character


def _sentences(passage: Passage) -> list[str]:
    starts = (0, *passage.ends[:-1])
    return [passage.text[start:end].strip() for start, end in zip(starts, passage.ends, strict=True)]


def _joined(document: str, sentences: Iterable[str], between: str) -> Passage:
    text, ends = "", []
    for sentence in sentences:
        text += (between if text else "") + sentence
        ends.append(len(text))
    return Passage(document, text, tuple(ends))


def _common_words(corpus: Path) -> frozenset[str]:
    """Return the most frequent words that are seldom written with a capital within a sentence."""
    counts: Counter[str] = Counter()
    size = 0
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        for line in lines:
            counts.update(_SMALL_OR_CAPITAL.findall(line))
            size += len(line)
            if size > _CORPUS_CHARACTERS:
                break
    small = Counter({word: count for word, count in counts.items() if word[0].islower()})
    seldom = [word for word, count in small.most_common() if counts[word.capitalize()] < 0.1 * count]
    return frozenset(seldom[:_COMMON_WORDS])


def _variants(passages: Sequence[Passage], generator: random.Random) -> Iterator[Passage]:
    """Yield passages as they are written elsewhere, and pairs of sentences with abbreviations put in."""
    plans = ((0.4, lower), (0.3, unspaced), (0.15, lambda passage: lower(tokenized(passage))), (0.1, tokenized))
    for share, change in plans:
        yield from (change(passage) for passage in passages if generator.random() < share)
    endings = [word for word, count in _ENDING.items() for _ in range(count)]
    for passage in passages:
        sentences = _sentences(passage)
        for one, two in pairwise(sentences):
            if not _PLAIN_END.search(one) or not two[:1].isupper() or generator.random() > 0.25:
                continue
            if generator.random() < 0.5:
                made = _joined("", (f"{one[:-1]} {generator.choice(endings)}.", two), " ")
            else:
                made = _joined("", (_with_abbreviation(one, generator),), " ")
            yield lower(made) if generator.random() < 0.2 else made


def _with_abbreviation(sentence: str, generator: random.Random) -> str:
    words = sentence.split(" ")
    names = [at for at, word in enumerate(words) if at > 1 and word.istitle() and word.isalpha()]
    small = [at for at, word in enumerate(words) if at > 1 and word.islower() and word.isalpha()]
    kind = generator.choice("names small numbers author".split())
    if kind == "names" and names:
        words.insert(generator.choice(names), f"{generator.choice(_BEFORE_NAMES)}.")
    elif kind == "small" and small:
        words.insert(generator.choice(small), f"{generator.choice(_BEFORE_SMALL)}.")
    elif small:
        inserted = f"{generator.choice(_BEFORE_NUMBERS)}. {generator.randint(1, 60)}"
        if kind == "author":
            inserted = f"et al. ({generator.randint(1950, 2025)})"
        words.insert(generator.choice(small), inserted)
    return " ".join(words)


def _examples(splitter: SentenceSplitter, passages: Iterable[Passage]) -> Iterator[Example]:
    for passage in passages:
        ends = set(passage.ends)
        for candidate in splitter.candidates(passage.text, 0, len(passage.text)):
            if candidate.shapes:
                yield candidate, candidate.end in ends


def _quotations(splitter: SentenceSplitter, fiction: Path) -> Iterator[Example]:
    """Yield ends of quotations, which end a sentence unless a small letter follows."""
    count = 0
    with lzma.open(fiction, "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            for line in row["text"].split("\n") if is_development(row["id"]) else ():
                for candidate in splitter.candidates(line, 0, len(line)):
                    if len(candidate.shapes[0]) > 1 and candidate.shapes[0][-1] == '"':
                        goes_on = candidate.shapes[5] == "l"
                        if goes_on or candidate.shapes[5] in ("c", '"c', "A"):
                            count += 1
                            yield candidate, not goes_on
            if count >= _QUOTATIONS:
                return


def _fit(examples: Sequence[Example]) -> dict[str, float]:
    """Return the weights of a logistic regression without those near zero."""
    rows = [sorted(set(filter(None, candidate.features()))) for candidate, _ in examples]
    names = sorted({name for row in rows for name in row})
    number = {name: at for at, name in enumerate(names)}
    indices = [number[name] for row in rows for name in row]
    starts = np.cumsum([0, *map(len, rows)])
    matrix = csr_matrix((np.ones(len(indices)), indices, starts), shape=(len(rows), len(names)))
    labels = np.array([label for _, label in examples], dtype=float)
    start = np.zeros(len(names))
    solution = minimize(
        partial(_loss, matrix=matrix, labels=labels), start, jac=True, method="L-BFGS-B", options={"maxiter": 500}
    )
    weights = dict(zip(names, solution.x.tolist(), strict=True))
    return {name: round(weight, 3) for name, weight in weights.items() if abs(weight) >= _LEAST_WEIGHT}


def _loss(weights: np.ndarray, matrix: csr_matrix, labels: np.ndarray) -> tuple[float, np.ndarray]:
    scores = matrix @ weights
    loss = np.logaddexp(0, scores).sum() - labels @ scores + _REGULARIZATION / 2 * weights @ weights
    return float(loss), matrix.T @ (1 / (1 + np.exp(-scores)) - labels) + _REGULARIZATION * weights


if __name__ == "__main__":
    sys.exit(main())
