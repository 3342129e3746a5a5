"""Documents damaged by known amounts: sentences repeated, out of order, of other topics, broken; either end cut off."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from celadon.core import UsageError
from celadon.synth.pieces import between, join, pick, split
from celadon.synth.sentence_damage import Damaged, damage, damage_by

_SMALL_CHANGES = ("article_missing", "word_doubled", "nonsense_words", "wrong_preposition", "agreement")
_LOOPS = ("loop", "phrase_doubled", "jump_back", "coordinated_twice", "clause_repeated", "word_echoed")
_TRIES = 20


class DamagedDocument(NamedTuple):
    """A damaged document, what was done to it, and how much of it, from 0 to 1.

    ``amount`` is what was done, which is as near to what was asked for as the number of sentences allows.
    """

    text: str
    sentences: tuple[str, ...]
    kind: str
    amount: float


_Made = tuple[list[str], float]


def damaged_document(
    sentences: Sequence[str], others: Sequence[str], kind: str, amount: float, rng: np.random.Generator
) -> DamagedDocument:
    """Damage a document in one way by a known amount; but for ``beheaded`` the number of its sentences stays.

    Parameters
    ----------
    sentences
        The document.
    others
        Sentences of other documents.
    kind
        ``repeated``, ``repeated_changed`` and ``repeated_beginning``: that share of the sentences gives way to copies
        of sentences before them, verbatim, with a small change, or with another end. ``reordered``: that share of the
        pairs of sentences stands the wrong way round. ``mixed``: that share of the sentences is of other documents.
        ``broken``: that share is damaged by :func:`celadon.synth.sentence_damage.damage`. ``looped``: that share
        repeats words inside the sentence. ``cut``: the last sentence loses that share of its words. ``beheaded``: that
        share of the sentences, the first ones, is gone.
    amount
        How much, from 0 to 1.
    rng
        Where all chance comes from.

    Raises
    ------
    UsageError
        There is no such kind, the amount is not between 0 and 1, or there is nothing to work with.
    """
    if kind not in DOCUMENT_KINDS:
        raise UsageError(f"unknown kind of damage {kind!r}; known: {', '.join(DOCUMENT_KINDS)}")
    if not 0 <= amount <= 1:
        raise UsageError(f"the amount of damage must be between 0 and 1, not {amount}")
    if not sentences:
        raise UsageError("a document without sentences cannot be damaged")
    if kind == "mixed" and not others:
        raise UsageError("sentences of other documents are needed to mix them in")
    made, done = DOCUMENT_KINDS[kind](list(sentences), others, amount, rng)
    return DamagedDocument(" ".join(made), tuple(made), kind, done)


def _repeated_changed(sentences: list[str], others: Sequence[str], amount: float, rng: np.random.Generator) -> _Made:
    def change(copied: str, replaced: str) -> str:
        for _ in range(_TRIES):
            if made := damage_by(pick(rng, _SMALL_CHANGES), copied, rng, others):
                return made.text
        return copied

    return _repeat(sentences, amount, rng, change)


def _repeated_beginning(sentences: list[str], others: Sequence[str], amount: float, rng: np.random.Generator) -> _Made:
    def change(copied: str, replaced: str) -> str:
        first, second = split(copied), split(replaced)
        kept = max(1, round(first.stop * (0.5 + 0.3 * rng.random())))
        gone = max(1, round(second.stop * (0.5 + 0.3 * rng.random())))
        return join([*first.pieces[:kept], *second.pieces[gone:]])

    return _repeat(sentences, amount, rng, change)


def _repeat(sentences: list[str], amount: float, rng: np.random.Generator, change: Callable[[str, str], str]) -> _Made:
    size = len(sentences)
    chosen = sorted(int(at) + 1 for at in rng.permutation(size - 1)[: round(amount * size)])
    originals = [at for at in range(size) if at not in chosen]
    made = list(sentences)
    for at in chosen:
        before = [place for place in originals if place < at]
        # the sentence just before is what loops come back to
        source = before[-1] if rng.random() < 0.5 else pick(rng, before)
        made[at] = change(sentences[source], sentences[at])
    return made, len(chosen) / size


def _reordered(sentences: list[str], others: Sequence[str], amount: float, rng: np.random.Generator) -> _Made:
    size = len(sentences)
    pairs = size * (size - 1) // 2
    inverted = round(amount * pairs)
    if not inverted:
        return sentences, 0.0
    # how many of the later sentences go before each: any such numbers make one order, and their sum is what is inverted
    room = np.arange(size - 1, -1, -1)
    jumped = rng.multivariate_hypergeometric(room, inverted, method="marginals")
    left = list(sentences)
    return [left.pop(int(jump)) for jump in jumped], inverted / pairs


def _mixed(sentences: list[str], others: Sequence[str], amount: float, rng: np.random.Generator) -> _Made:
    chosen = rng.permutation(len(sentences))[: round(amount * len(sentences))]
    made = list(sentences)
    for at in chosen:
        made[at] = pick(rng, others)
    return made, len(chosen) / len(sentences)


def _looped(sentences: list[str], others: Sequence[str], amount: float, rng: np.random.Generator) -> _Made:
    def loop(sentence: str) -> Damaged | None:
        tries = (damage_by(pick(rng, _LOOPS), sentence, rng, others) for _ in range(_TRIES))
        return next((made for made in tries if made), None)

    return _worsened(sentences, amount, rng, loop)


def _worsened(
    sentences: list[str], amount: float, rng: np.random.Generator, worsen: Callable[[str], Damaged | None]
) -> _Made:
    wanted, done = round(amount * len(sentences)), 0
    made = list(sentences)
    for at in rng.permutation(len(sentences)):
        if done < wanted and (worse := worsen(sentences[at])):
            made[at] = worse.text
            done += 1
    return made, done / len(sentences)


def _beheaded(sentences: list[str], others: Sequence[str], amount: float, rng: np.random.Generator) -> _Made:
    lost = min(round(amount * len(sentences)), len(sentences) - 1)
    return sentences[lost:], lost / len(sentences)


def _cut(sentences: list[str], others: Sequence[str], amount: float, rng: np.random.Generator) -> _Made:
    last = split(sentences[-1])
    kept = last.stop - round(amount * last.stop)
    if kept == last.stop:
        return sentences, 0.0
    kept = max(1, kept)
    while kept > 1 and last.classes[kept - 1] in ",.":
        kept -= 1
    ending = last.pieces[last.stop :] if between(rng, 0, 1) else ()
    return [*sentences[:-1], join([*last.pieces[:kept], *ending])], (last.stop - kept) / last.stop


DOCUMENT_KINDS: dict[str, Callable[[list[str], Sequence[str], float, np.random.Generator], _Made]] = {
    "repeated": lambda sentences, others, amount, rng: _repeat(sentences, amount, rng, lambda copied, replaced: copied),
    "repeated_changed": _repeated_changed,
    "repeated_beginning": _repeated_beginning,
    "reordered": _reordered,
    "mixed": _mixed,
    "broken": lambda sentences, others, amount, rng: _worsened(
        sentences, amount, rng, lambda sentence: damage(sentence, rng, others)
    ),
    "looped": _looped,
    "cut": _cut,
    "beheaded": _beheaded,
}
