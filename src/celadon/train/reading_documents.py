"""Documents to fit `celadon` on: paragraphs as they are, and damaged by known amounts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from celadon.core import InputError
from celadon.io.conllu import read_conllu_documents
from celadon.synth.babble import Babbler
from celadon.synth.document_damage import DOCUMENT_KINDS, DamagedDocument, damaged_document
from celadon.text.sentences import split_sentences
from celadon.text.surface_marks import hanging_opening
from celadon.train.acceptability_examples import FEWEST_WORDS, MOST_WORDS, is_usable
from celadon.train.corpus import Corpus

CIRCLED = "circled"
"""The kind of damage that a weak language model does."""
KINDS = (*DOCUMENT_KINDS, CIRCLED)
"""All that can be done to a document."""
BREAKING = frozenset({"broken", "looped", "cut", CIRCLED})
"""What leaves sentences that are no longer sound."""
_FEWEST, _MOST, _PIECE = 3, 10, 5
_TESTED = 5  # one paragraph in so many is kept apart


class Document(NamedTuple):
    """A text, and what was done to it.

    Attributes
    ----------
    text
        The text.
    kind
        What was done; empty where nothing was.
    amount
        The share of the text that it was done to.
    apart
        Whether it is kept apart, and not fitted on.
    broken
        The characters of sentences that are no longer sound.
    """

    text: str
    kind: str
    amount: float
    apart: bool
    broken: tuple[tuple[int, int], ...] = ()


def make_documents(
    corpus: Corpus,
    count: int,
    seed: int,
    advance: Callable[[int], None] = lambda size: None,
    treebanks: Sequence[str] = (),
) -> list[Document]:
    """Draw paragraphs of the articles kept apart; each as it is, and damaged in two ways by random amounts.

    Parameters
    ----------
    corpus
        The articles.
    count
        How many paragraphs.
    seed
        For all that is drawn.
    advance
        Told how many bytes of the corpus have been read.
    treebanks
        CoNLL-U files, of which all documents are taken too, in pieces of a few sentences.
    """
    random = np.random.default_rng([seed, 5])
    drawn = paragraphs_of(corpus, advance)
    if len(drawn) < 2:
        raise InputError("the articles kept apart have no paragraphs of several sentences; give more text")
    pieces = [piece for path in treebanks for piece in pieces_of(path)]
    chosen = [*(drawn[at] for at in random.permutation(len(drawn))[:count]), *pieces]
    chosen = [chosen[at] for at in random.permutation(len(chosen))]
    others = [sentence for sentences in chosen for sentence in sentences]
    babbler = Babbler(others)
    found = []
    for number, sentences in enumerate(chosen):
        apart = number % _TESTED == 0
        found.append(Document(" ".join(sentences), "", 0.0, apart))
        for kind in random.choice(KINDS, 2, replace=False).tolist():
            if made := one_damaged(sentences, kind, others, babbler, random):
                found.append(made._replace(apart=apart))
    return found


def one_damaged(
    sentences: list[str], kind: str, others: list[str], babbler: Babbler, random: np.random.Generator
) -> Document | None:
    """Damage a document in one of the ``KINDS`` by a random amount; None where that changed nothing.

    Parameters
    ----------
    sentences, others
        The document, and sentences of other documents.
    kind
        What is done.
    babbler
        Made of the others.
    random
        Where all chance comes from.
    """
    amount = float(random.uniform(0.1, 1))
    if kind == "beheaded":
        amount /= 2
    if kind == CIRCLED:
        made = _circled(sentences, babbler, amount, random)
    else:
        made = damaged_document(sentences, others, kind, amount, random)
    if not made.amount or (kind == "beheaded" and not hanging_opening(made.text)):
        return None
    # only one sentence is worse where the end is cut off, or nothing is left that the first refers to
    shares = {"cut": made.amount / len(sentences), "beheaded": 1 / len(made.sentences)}
    broken = _changed(sentences, made) if kind in BREAKING else ()
    return Document(made.text, kind, shares.get(kind, made.amount), False, broken)


def _changed(sentences: list[str], made: DamagedDocument) -> tuple[tuple[int, int], ...]:
    """The characters of the sentences that are not what they were."""
    ends = np.cumsum([len(sentence) + 1 for sentence in made.sentences]).tolist()
    return tuple(
        (end - len(new) - 1, end - 1)
        for new, old, end in zip(made.sentences, sentences, ends, strict=True)
        if new != old
    )


def _circled(sentences: list[str], babbler: Babbler, amount: float, random: np.random.Generator) -> DamagedDocument:
    """Let a weak language model go on from the beginnings of that share of the sentences, coming back to its words."""
    made, done = list(sentences), 0
    for at in random.permutation(len(sentences))[: round(amount * len(sentences))]:
        if circle := babbler.circle(sentences[at], random):
            made[at] = circle.text
            done += 1
    return DamagedDocument(" ".join(made), tuple(made), CIRCLED, done / len(sentences))


def paragraphs_of(corpus: Corpus, advance: Callable[[int], None]) -> list[list[str]]:
    """The sentences of each paragraph of a few sentences of the articles kept apart."""
    found = []
    for paragraph in corpus.paragraphs(advance):
        if paragraph.held_out:
            sentences = [paragraph.text[start:end] for start, end in split_sentences(paragraph.text)]
            if _FEWEST <= len(sentences) <= _MOST and all(map(is_usable, sentences)):
                found.append(sentences)
    return found


def pieces_of(path: str) -> Iterator[list[str]]:
    """The documents of a treebank in pieces."""
    for document in read_conllu_documents(path):
        sentences = [text for text in document if FEWEST_WORDS <= len(text.split()) <= MOST_WORDS]
        for start in range(0, len(sentences), _PIECE):
            if len(piece := sentences[start : start + _PIECE]) >= _FEWEST:
                yield piece
