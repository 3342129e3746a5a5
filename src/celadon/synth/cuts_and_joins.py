"""Damage by cutting and joining: ends and beginnings lost, halves glued, stops in the wrong place."""

from __future__ import annotations

import re

from celadon.synth.pieces import Kinds, Others, Pieces, Rng, Sentence, between, capital, clash, pick, spaced, split

KINDS = Kinds()

_DANGLING = re.compile("[apmtcs]|[dlbho](?=[a-z#])|[dap][w](?=[w])")
_STRANDED_START = re.compile("(?<=[wx])(?:p(?=[adwx])|[bhm](?=[^n]))|(?<=w),(?=[a-z])|(?<=[a-z])[jt]")


@KINDS.add(4, 0.6, local=False)
def end_cut(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Stop in the middle, on a word that waits for more or inside a word, with a full stop or without."""
    places = [at for at in sentence.where(_DANGLING) if 2 <= at < sentence.stop - 1]
    at = pick(rng, places)
    pieces = list(sentence.pieces[: at + 1])
    following = sentence.pieces[at + 1]
    if rng.random() < 0.15 and len(following.strip()) > 5 and following.strip().isalpha():
        return [*pieces, following[: len(following) - between(rng, 2, 4)]]
    return [*pieces, *sentence.pieces[sentence.stop :]] if rng.random() < 0.5 else pieces


@KINDS.add(2, 0.5, local=False)
def beginning_cut(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Begin in the middle: "of the town was built in 1900."."""
    places = [at for at in sentence.where(_STRANDED_START) if 0 < at < sentence.stop - 3]
    at = pick(rng, places)
    first = sentence.pieces[at]
    return [capital(first) if rng.random() < 0.5 else first, *sentence.pieces[at + 1 :]]


@KINDS.add(3, 0.7, local=False)
def halves_glued(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Go on with the end of another sentence, at a place where the two cannot meet."""
    if sentence.stop < 4:
        return None
    other = split(pick(rng, others))
    if other.stop < 4:
        return None
    for _ in range(12):
        here, there = between(rng, 2, sentence.stop - 1), between(rng, 1, other.stop - 2)
        if clash(sentence.classes[here - 1], other.classes[there]):
            return [*sentence.pieces[:here], *other.pieces[there:]]
    return None


@KINDS.add(2, 0.55, local=False)
def crossed_over(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Go over to another sentence at a word that both have: fluent at the seam, senseless as a whole."""
    other = split(pick(rng, others))
    seams = [
        (here, there)
        for there in range(2, other.stop - 2)
        if other.classes[there] not in ",."
        for here in range(2, sentence.stop - 2)
        if sentence.low[here] == other.low[there]
    ]
    here, there = pick(rng, seams)
    return [*sentence.pieces[:here], *other.pieces[there:]]


@KINDS.add(1, 0.4, local=False)
def run_on(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Go on with another sentence as if nothing had ended."""
    if sentence.stop < 3:
        return None
    other = split(pick(rng, others))
    if not 2 < other.stop < 30:
        return None
    link = [] if rng.random() < 0.6 else [","]
    return [*sentence.pieces[: sentence.stop], *link, *spaced(other.pieces)]


@KINDS.add(1.5, 0.5)
def stray_stop(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """End a sentence in its middle and begin another: "from the. Images taken by the probe."."""
    places = [
        at for at in sentence.where(_DANGLING) if 1 <= at < sentence.stop - 1 and sentence.classes[at] not in "cs"
    ]
    at = pick(rng, places) + 1
    stop = " ." if any(piece in {" .", " ,"} for piece in sentence.pieces) else "."
    return [*sentence.pieces[:at], stop, capital(sentence.pieces[at]), *sentence.pieces[at + 1 :]]


@KINDS.add(0.7, 0.25)
def stray_comma(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put commas between words that belong together."""
    places = [at for at in sentence.where(_DANGLING) if at < sentence.stop - 1 and sentence.classes[at] in "apmtdlw"]
    if not places:
        return None
    chosen = {pick(rng, places) for _ in range(between(rng, 1, 3))}
    return [part for at, piece in enumerate(sentence.pieces) for part in ((piece, ",") if at in chosen else (piece,))]


@KINDS.add(1.5, 0.6, local=False)
def endless(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Hang a phrase of another sentence on the end, after a word that waits for something else."""
    if sentence.stop < 3:
        return None
    other = split(pick(rng, others))
    size = between(rng, 1, 4)
    begin = between(rng, 1, max(1, other.stop - size))
    if begin + size > other.stop:
        return None
    tail = [
        pick(rng, (" of", " is", " the", " for", " was the", " at the", " has", " to be")),
        *other.pieces[begin : begin + size],
    ]
    return [*sentence.pieces[: sentence.stop], *tail, *sentence.pieces[sentence.stop :]]
