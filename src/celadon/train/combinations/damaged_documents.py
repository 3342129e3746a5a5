"""Documents to fit `celadon` on: paragraphs as they are, and damaged by known amounts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from celadon.core import InputError
from celadon.io.conllu import read_conllu_documents
from celadon.synth.babble import Babbler
from celadon.synth.document_damage import DOCUMENT_KINDS, DamagedDocument, damaged_document
from celadon.synth.neutral_variants import variant
from celadon.text.sentences import split_sentences
from celadon.text.surface_marks import hanging_opening
from celadon.train.corpus import Corpus
from celadon.train.encoders.examples import FEWEST_WORDS, MOST_WORDS, is_usable

CIRCLED = "circled"
"""The kind of damage that a weak language model does."""
KINDS = (*DOCUMENT_KINDS, CIRCLED)
"""All that can be done to a document."""
SEVERAL = "several"
"""Two or three kinds of damage to one document."""
_OF_ONE = ("broken", "looped", "cut", CIRCLED)  # what can be done to a document of one sentence
BREAKING = frozenset(_OF_ONE)
"""What leaves sentences that are no longer sound."""
_SHORT_EVERY, _SHORTEST = 3, 3  # one document in so many has so few sentences, or fewer
_FEWEST, _MOST, _PIECE = 3, 10, 5
_TESTED = 5  # one paragraph in so many is kept apart
# the format of half of the documents is changed, which must change nothing; each variant with its chance
_DRESSED = 0.5
_DRESS = {
    "placeholders": 0.15,
    "digits": 0.15,
    "quotes": 0.3,
    "apostrophes": 0.15,
    "tokenised": 0.5,
    "lower_names": 0.5,
}
# What a reader loses. How much worse one kind is than another no damaged text can tell, so that it is what GRUEN takes
# off: 0.1 for each of its four signs that a sentence repeats another (how many it finds in sentences so made), 0.1 for
# each weak transition, of which a foreign sentence makes two, 0.1 for a wrong order; of grammaticality the share of
# the sentences. For each sentence that it is done to; then for each document.
_COST_OF_SENTENCE = {"repeated": 0.4, "repeated_changed": 0.25, "repeated_beginning": 0.15, "mixed": 0.2}
_COST_OF_DOCUMENT = {"reordered": 0.1, "beheaded": 0.1}
_MIXABLE = tuple(kind for kind in DOCUMENT_KINDS if kind != "beheaded")

_LONGEST, _WIDEST = 6, 4  # the sentences of an extract, and how far each may stand from the one before

Dress = Callable[[str], str]
Article = list[list[str]]
"""The sentences of each of its paragraphs."""


class Document(NamedTuple):
    """A text, and what was done to it."""

    text: str  # the text
    kind: str  # what was done; empty where nothing was
    amount: float  # the share of the text that it was done to
    apart: bool  # whether it is kept apart, and not fitted on
    broken: tuple[tuple[int, int], ...] = ()  # the characters of sentences that are no longer sound
    cost: float = 0.0  # what a reader loses by it: from 0, where nothing was done, to 1 and more


def make_documents(
    corpus: Corpus,
    count: int,
    seed: int,
    advance: Callable[[int], None] = lambda size: None,
    treebanks: Sequence[str] = (),
    extracts: int = 0,
) -> list[Document]:
    """Draw paragraphs of the articles kept apart; each as it is, damaged in two ways, and in several at once.

    All documents of the treebanks, CoNLL-U files, are taken too, in pieces of a few sentences; and so many extracts: a
    few sentences of an article in their order, what stood between them left out, as in a summary. Extracts are sound,
    though each sentence has less to do with the one before.
    """
    random = np.random.default_rng([seed, 5])
    articles = articles_apart(corpus, advance)
    drawn = paragraphs_of(articles)
    if len(drawn) < 2:
        raise InputError("the articles kept apart have no paragraphs of several sentences; give more text")
    pieces = [piece for path in treebanks for piece in pieces_of(path)]
    pieces += extracts_of(articles, extracts, np.random.default_rng([seed, 6]))
    chosen = [*(drawn[at] for at in random.permutation(len(drawn))[:count]), *pieces]
    chosen = [chosen[at] for at in random.permutation(len(chosen))]
    others = [sentence for sentences in chosen for sentence in sentences]
    babbler = Babbler(others)
    found = []
    for number, whole in enumerate(chosen):
        sentences = shortened(whole, number, random)
        dress = _dress(random)
        made: list[Document | None] = [Document(" ".join(map(dress, sentences)), "", 0.0, False)]
        for kind in two_kinds(sentences, random):
            made.append(one_damaged(sentences, kind, others, babbler, random, dress))
        if len(sentences) > 1:
            made.append(_severally(sentences, others, random, dress))
        found += [document._replace(apart=number % _TESTED == 0) for document in made if document]
    return found


def shortened(sentences: list[str], number: int, random: np.random.Generator) -> list[str]:
    """Return the first few sentences of every third document, by its number; the others as they are."""
    return sentences[: int(random.integers(1, _SHORTEST + 1))] if number % _SHORT_EVERY == 0 else sentences


def two_kinds(sentences: list[str], random: np.random.Generator) -> list[str]:
    """Draw two of the ``KINDS`` that can be done to a document of so many sentences."""
    found: list[str] = random.choice(KINDS if len(sentences) > 1 else _OF_ONE, 2, replace=False).tolist()
    return found


def _dress(random: np.random.Generator) -> Dress:
    """A change of format, the same for whatever sentence it is given; often none."""
    if random.random() >= _DRESSED:
        return str
    names = [name for name, share in _DRESS.items() if random.random() < share]
    seed = int(random.integers(2**63))

    def dress(sentence: str) -> str:
        for name in names:
            sentence = variant(name, sentence, np.random.default_rng(seed))
        return sentence

    return dress


def _severally(sentences: list[str], others: list[str], random: np.random.Generator, dress: Dress) -> Document | None:
    """Damage a document in two or three ways, one after another; its amount is the greatest of theirs."""
    made, amount, cost = tuple(sentences), 0.0, 0.0
    for kind in random.choice(_MIXABLE, int(random.integers(2, 4)), replace=False).tolist():
        damaged = damaged_document(made, others, kind, float(random.uniform(0.1, 0.8)), random)
        made, share = damaged.sentences, _share_of(damaged)
        amount, cost = max(amount, share), cost + _cost(kind, share, len(made))
    return Document(" ".join(map(dress, made)), SEVERAL, amount, False, cost=cost) if cost else None


def _share_of(made: DamagedDocument) -> float:
    """Only one sentence is worse where the end is cut off, or nothing is left that the first refers to."""
    size = len(made.sentences)
    return {"cut": made.amount / size, "beheaded": 1 / size}.get(made.kind, made.amount)


def _cost(kind: str, share: float, size: int) -> float:
    if kind in _COST_OF_DOCUMENT:
        return _COST_OF_DOCUMENT[kind] * (share if kind == "reordered" else 1)
    return _COST_OF_SENTENCE[kind] * share * size if kind in _COST_OF_SENTENCE else share


def one_damaged(
    sentences: list[str],
    kind: str,
    others: list[str],
    babbler: Babbler,
    random: np.random.Generator,
    dress: Dress = str,
) -> Document | None:
    """Damage a document in one of the ``KINDS`` by a random amount; None where that changed nothing.

    ``others`` are sentences of other documents, of which the babbler is made; ``dress`` changes the format of each
    sentence, damaged or not.
    """
    amount = float(random.uniform(0.1, 1))
    if kind == "beheaded":
        amount /= 2
    if kind == CIRCLED:
        made = _circled(sentences, babbler, amount, random)
    else:
        made = damaged_document(sentences, others, kind, amount, random)
    sentences = [dress(sentence) for sentence in sentences]
    made = _dressed(made, dress)
    if not made.amount or (kind == "beheaded" and not hanging_opening(made.text)):
        return None
    broken = _changed(sentences, made) if kind in BREAKING else ()
    share = _share_of(made)
    return Document(made.text, kind, share, False, broken, _cost(kind, share, len(made.sentences)))


def _dressed(made: DamagedDocument, dress: Dress) -> DamagedDocument:
    sentences = tuple(map(dress, made.sentences))
    return made._replace(text=" ".join(sentences), sentences=sentences)


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


def articles_apart(corpus: Corpus, advance: Callable[[int], None] = lambda size: None) -> list[Article]:
    """The articles kept apart."""
    return [
        [[text[start:end] for start, end in split_sentences(text)] for text, _ in article]
        for article in corpus.articles(advance)
        if article[0].held_out
    ]


def paragraphs_of(articles: Sequence[Article]) -> list[list[str]]:
    """The paragraphs of a few sentences."""
    return [
        sentences
        for article in articles
        for sentences in article
        if _FEWEST <= len(sentences) <= _MOST and all(map(is_usable, sentences))
    ]


def extracts_of(articles: Sequence[Article], count: int, random: np.random.Generator) -> list[list[str]]:
    """Draw sentences of an article in their order, half of the time from its beginning, with gaps between them."""
    usable = [
        [sentence for sentences in article for sentence in sentences if is_usable(sentence)] for article in articles
    ]
    usable = [sentences for sentences in usable if len(sentences) >= 2 * _FEWEST]
    found: list[list[str]] = []
    while usable and len(found) < count:
        sentences = usable[int(random.integers(len(usable)))]
        steps = random.integers(1, _WIDEST + 1, int(random.integers(2, _LONGEST + 1)))
        first = 0 if random.random() < 0.5 else int(random.integers(len(sentences) - 2))
        places = [first, *(first + np.cumsum(steps[1:])).tolist()]
        if len(drawn := [sentences[place] for place in places if place < len(sentences)]) > 1:
            found.append(drawn)
    return found


def pieces_of(path: str) -> Iterator[list[str]]:
    """The documents of a treebank in pieces."""
    for document in read_conllu_documents(path):
        sentences = [text for text in document if FEWEST_WORDS <= len(text.split()) <= MOST_WORDS]
        for start in range(0, len(sentences), _PIECE):
            if len(piece := sentences[start : start + _PIECE]) >= _FEWEST:
                yield piece
