"""Sets of rated texts for `sumqe`: tables of people's ratings, and documents damaged by known amounts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from celadon.core import FloatArray, InputError, UsageError
from celadon.io import Fields
from celadon.io.judgements import DATA_SETS
from celadon.meta.table import SCORES, Columns, less_is_better, make_humans
from celadon.metrics.reading.weights import COHERENCE, FOCUS, GRAMMATICALITY, REDUNDANCY
from celadon.metrics.sumqe import QUESTIONS
from celadon.synth.babble import Babbler
from celadon.train.combinations.damaged_documents import (
    BREAKING,
    CIRCLED,
    KINDS,
    Document,
    articles_apart,
    one_damaged,
    paragraphs_of,
    pieces_of,
    shortened,
    two_kinds,
)
from celadon.train.combinations.ratings import RatedTexts, data_set_of, has_cells, rows_of
from celadon.train.corpus import Corpus

LOWEST, HIGHEST = 1.0, 5.0
"""DUC's scale: very poor to very good."""
CLARITY = "referential clarity"
# Which damage each aspect must tell; what another aspect is about leaves it whole, unless it says nothing either way.
TELLS: Mapping[str, frozenset[str]] = {
    GRAMMATICALITY: frozenset({"broken", "looped", "cut", CIRCLED}),
    REDUNDANCY: frozenset({"repeated", "repeated_changed", "repeated_beginning", "looped", CIRCLED}),
    FOCUS: frozenset({"mixed"}),
    COHERENCE: frozenset({"reordered", "mixed", "beheaded"}),
}
INDIFFERENT: Mapping[str, frozenset[str]] = {
    GRAMMATICALITY: frozenset({"repeated_changed", "repeated_beginning"}),
    REDUNDANCY: frozenset({"broken", "beheaded"}),
    FOCUS: frozenset({"repeated", "repeated_changed", "repeated_beginning", "reordered", "beheaded", CIRCLED}),
    COHERENCE: frozenset({"repeated", "repeated_changed", "repeated_beginning", CIRCLED}),
}
# Which aspect each of DUC's questions is about, which damage it must tell, and which says nothing either way: what
# breaks sentences does not leave their connection whole, though nobody knows how much of it is lost.
_ASPECTS = dict(zip(QUESTIONS, (GRAMMATICALITY, REDUNDANCY, CLARITY, FOCUS, COHERENCE), strict=True))
_TELLS = {**TELLS, CLARITY: frozenset({"beheaded"})}
_INDIFFERENT = {
    **INDIFFERENT,
    CLARITY: frozenset(KINDS) - _TELLS[CLARITY],
    FOCUS: INDIFFERENT[FOCUS] | BREAKING,
    COHERENCE: INDIFFERENT[COHERENCE] | BREAKING,
}


@dataclass(frozen=True, eq=False)
class RatedSet:
    """Texts with ratings from one place."""

    # name, sha256: what it is called, and the hash of what it holds
    name: str
    sha256: str
    texts: tuple[str, ...]  # the texts
    items: tuple[str, ...]  # what each text is about; texts of one item are never on both sides of a test
    ratings: Mapping[str, FloatArray]  # by the name of the rating; NaN where a text has none
    scales: Mapping[str, tuple[float, float]]  # the ends of each rating's scale


def read_sets(
    paths: Sequence[str],
    ratings: Sequence[str] = (),
    *,
    format: str | None = None,  # noqa: A002
    fields: Fields | None = None,
    scale: tuple[float, float] | None = None,
    set_field: str | None = None,
) -> list[RatedSet]:
    """Read tables of rated texts, or files of known data sets; each file is a set.

    A file may lack some of the ratings; by default all are taken that a known data set has, or all columns
    ``scores.NAME``. The ends of the scale are by default the least and the greatest rating of each set. ``set_field``
    is a column that tells the sets of one file apart.
    """
    found: list[RatedSet] = []
    for path in paths:
        table, values = _table(path, ratings, format, fields)
        found += _parted(table, values, scale, set_field)
    for name in dict.fromkeys(ratings):
        if not any(_short(name) in each.ratings for each in found):
            raise InputError(f"{', '.join(paths)}: there is no rating column {name!r}")
    return found


def _table(
    path: str,
    ratings: Sequence[str],
    format: str | None,  # noqa: A002
    fields: Fields | None,
) -> tuple[RatedTexts, dict[str, FloatArray]]:
    """A table, and its ratings by name."""
    known, rows = data_set_of(path, format), rows_of(path, format)
    columns = Columns(rows)
    names = list(ratings) or (
        list(DATA_SETS[known].dimensions) if known else [name for name in columns.names if name.startswith(SCORES)]
    )
    if not names:
        raise UsageError(f"{path}: no rating: name the columns of human scores with --rating")
    values: dict[str, FloatArray] = {}
    for name in names:
        try:
            values[_short(name)] = make_humans(rows, [name])[name]
        except InputError:
            # another file may have it; but a column that is there and holds text is a mistake
            if name in columns or f"{SCORES}{name}" in columns:
                raise
    rated = np.isfinite(np.stack(list(values.values()))).any(axis=0) if values else np.zeros(len(rows), dtype=bool)
    table = RatedTexts(
        path=path,
        rating=", ".join(map(_short, names)),
        values=np.where(rated, 1.0, np.nan),
        rows=rows,
        columns=columns,
        fields=fields or Fields(),
        cells=has_cells(path, format),
    )
    return table, values


def _parted(
    table: RatedTexts, values: Mapping[str, FloatArray], scale: tuple[float, float] | None, set_field: str | None
) -> list[RatedSet]:
    rated = np.flatnonzero(np.isfinite(table.values))
    samples = table.samples(rated)
    if set_field is not None and set_field not in table.columns:
        raise table.columns.missing(set_field, "column of sets")
    labels = np.array(table.columns.texts(set_field) if set_field else [""] * len(table.rows))[rated]
    found = []
    for label in dict.fromkeys(labels.tolist()):
        rows = np.flatnonzero(labels == label)
        own = {name: column[rated[rows]] for name, column in values.items()}
        own = {name: column for name, column in own.items() if np.isfinite(column).any()}
        found.append(
            RatedSet(
                name=f"{table.name}:{label}" if label else table.name,
                sha256=table.sha256,
                texts=tuple(samples[row].text for row in rows),
                items=tuple(samples[row].id or f"row {row}" for row in rows),
                ratings=own,
                scales={name: scale or _scale(f"{table.path}: {name}", column) for name, column in own.items()},
            )
        )
    return found


def _scale(where: str, values: FloatArray) -> tuple[float, float]:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if not low < high:
        raise InputError(f"{where}: the ratings are all the same; nothing can be learned from them")
    return low, high


def _short(name: str) -> str:
    return name.removeprefix(SCORES)


def lower_ratings(names: Collection[str], given: Collection[str], format: str | None = None) -> frozenset[str]:  # noqa: A002
    """Which of the ratings are better the less they are: those that were named, and those that are known to be so."""
    known = DATA_SETS[format].lower_is_better if format in DATA_SETS else frozenset[str]()
    said = {_short(name) for name in given} | known
    return frozenset(name for name in names if name in said or less_is_better(name))


def damaged_sets(
    corpus: Corpus, treebanks: Sequence[str], count: int, seed: int, advance: Callable[[int], None] = lambda size: None
) -> list[RatedSet]:
    """Return documents of a corpus and of treebanks, sound and damaged, rated from 1 to 5 by how much is whole.

    Paragraphs are taken of the articles kept apart, which no model of ours was trained on.
    """
    drawn = paragraphs_of(articles_apart(corpus, advance))
    if len(drawn) < 2:
        raise InputError("the articles kept apart have no paragraphs of several sentences; give more text")
    random = np.random.default_rng([seed, 8])
    chosen = [drawn[at] for at in random.permutation(len(drawn))[:count]]
    names = "+".join(path.name for path in corpus.paths)
    found = [_damaged_set(names, corpus.digest(), chosen, np.random.default_rng([seed, 8, 0]))]
    for number, path in enumerate(treebanks, 1):
        generator = np.random.default_rng([seed, 8, number])
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        found.append(_damaged_set(Path(path).name, digest, list(pieces_of(path)), generator))
    return found


def _damaged_set(name: str, sha256: str, chosen: list[list[str]], random: np.random.Generator) -> RatedSet:
    others = [sentence for sentences in chosen for sentence in sentences]
    babbler = Babbler(others)
    made: list[Document] = []
    items: list[str] = []
    for number, whole in enumerate(chosen):
        sentences = shortened(whole, number, random)
        damaged = [one_damaged(sentences, kind, others, babbler, random) for kind in two_kinds(sentences, random)]
        these = [Document(" ".join(sentences), "", 0.0, False), *(each for each in damaged if each)]
        made += these
        items += [str(number)] * len(these)
    return RatedSet(
        name=f"{name}, damaged",
        sha256=sha256,
        texts=tuple(document.text for document in made),
        items=tuple(items),
        ratings={question: _wholeness(made, aspect) for question, aspect in _ASPECTS.items()},
        scales=dict.fromkeys(QUESTIONS, (LOWEST, HIGHEST)),
    )


def _wholeness(documents: Sequence[Document], aspect: str) -> FloatArray:
    """How much of each document is whole in an aspect, on DUC's scale; NaN where the damage does not tell."""
    found = np.full(len(documents), HIGHEST)
    for at, document in enumerate(documents):
        if document.kind in _TELLS[aspect]:
            found[at] -= document.amount * (HIGHEST - LOWEST)
        elif document.kind in _INDIFFERENT[aspect]:
            found[at] = np.nan
    return found
