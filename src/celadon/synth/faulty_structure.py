"""Damage to what stands where: words and phrases that are missing, come again, or stand in the wrong place."""

from __future__ import annotations

import re
from itertools import pairwise

from celadon.synth import english
from celadon.synth.pieces import (
    DamageKind,
    Kinds,
    Make,
    Others,
    Pieces,
    Rng,
    Sentence,
    between,
    clash,
    join,
    lowered,
    pick,
    spaced,
    split,
)

KINDS = Kinds()


# words that are not there

_ARTICLE_BEFORE_SINGULAR = re.compile("a(?=[w])")
_INFINITIVE_TO = re.compile("(?<=[vw])t(?=[vwe])")
_PRONOUN_SUBJECT = re.compile("(?:^|(?<=[,s]))n(?=[bhmov])")
_FIRST_SUBJECT = re.compile("^[adwx#]{1,4}(?=[bhmov])|^[adwx]{1,2}p[adwx]{1,3}(?=[bhmov])")
_VALUE = re.compile("(?<=[plbt])[x#]+(?![wx#])|(?<=[pl])ax+(?![wx#])")
_GRAMMATICAL = re.compile("[abdehlmopst]")


def _leave_out(pattern: str) -> Make:
    """Return the damage that leaves out what a pattern over the classes matches."""
    compiled = re.compile(pattern)

    def make(sentence: Sentence, rng: Rng, others: Others) -> Pieces:
        return sentence.without(*pick(rng, sentence.spans(compiled)))

    return make


@KINDS.add(3, 0.25)
def article_missing(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Leave out an article before a noun that is not plural, where it is missed."""
    places = [
        at
        for at in sentence.where(_ARTICLE_BEFORE_SINGULAR)
        if sentence.low[at] in english.ARTICLES and not sentence.low[at + 1].endswith("s")
    ]
    return sentence.without(at := pick(rng, places), at + 1)


# leave out a preposition between a word and its object: "he lives London"
KINDS["preposition_missing"] = DamageKind(
    _leave_out("(?<=[wvx#])[pl](?=[adwx])|(?<=b)[pl](?=[adx])|(?<=v)t(?=[adx])"), 3, 0.4
)


# leave out a copula or an auxiliary: "the hotel near the river"
KINDS["auxiliary_missing"] = DamageKind(
    _leave_out("(?<=[wnx#sr])b(?=[advwrpx#lt])|b(?=v)|[hm](?=r?e)|(?<=s)[om](?=n)|(?<=[wnx])h(?=[ad])"), 5, 0.45
)


@KINDS.add(4, 0.35)
def infinitive_to_missing(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Leave out "to" before a verb, but for "help to", which may do without."""
    places = [at for at in sentence.where(_INFINITIVE_TO) if not sentence.low[at - 1].startswith("help")]
    places = [at for at in places if sentence.low[at + 1] == "be" or english.is_base(sentence.low[at + 1])]
    return sentence.without(at := pick(rng, places), at + 1)


# leave out the noun that an article or a preposition waits for: "the of the town"
KINDS["noun_missing"] = DamageKind(
    _leave_out("(?<=a)w(?=[plbhmcts.,])|(?<=aw)w(?=[plbhm.,])|(?<=p)[wx](?=[plbhmcts.,])"), 2.5, 0.55
)


@KINDS.add(4, 0.5)
def subject_missing(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Leave out the subject, a pronoun's or the first: "is located in the centre"."""
    spans = sentence.spans(_PRONOUN_SUBJECT)
    # "am sending you a letter": people do so
    spans = [(begin, end) for begin, end in spans if sentence.low[begin] != "i"]
    if first := _FIRST_SUBJECT.search(sentence.classes):
        spans += [first.span()] * 2
    return sentence.without(*pick(rng, spans))


# leave out a verb with its auxiliaries: "the authorities for his heavy drinking"
KINDS["verb_missing"] = DamageKind(
    _leave_out("[bh]e?r?v(?=[pltadj])|m[re]?[vwe]|(?<=[wxnr])v(?=[adlpjtx])|(?<=[wx])b(?=[adwr])"), 3, 0.6
)


@KINDS.add(4, 0.6)
def value_missing(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Leave out names and numbers, one or all, as a template does with an empty slot: "is located at ."."""
    spans = sentence.spans(_VALUE)
    if not spans:
        return None
    gone = spans if rng.random() < 0.3 else [pick(rng, spans)]
    inside = {at for begin, end in gone for at in range(begin, end)}
    return [piece for at, piece in enumerate(sentence.pieces) if at not in inside]


# leave out what joins two clauses or phrases: "the road the river"
KINDS["conjunction_missing"] = DamageKind(_leave_out("(?<=[wx#])c(?=[adnxw])"), 2, 0.35)


@KINDS.add(2, 0.75, local=False)
def words_missing(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Leave out words here and there, a grammatical one among them."""
    places = sentence.where(_GRAMMATICAL)
    if not places or sentence.stop < 4:
        return None
    share = 0.1 + 0.4 * rng.random()
    gone = {pick(rng, places)} | {at for at in range(sentence.stop) if rng.random() < share}
    left = [piece for at, piece in enumerate(sentence.pieces) if at not in gone]
    classes = split(join(left)).classes
    broken = any(clash(one, two) for one, two in pairwise(classes))
    return left if broken or len(gone) > 3 else None


@KINDS.add(1, 0.75, local=False)
def grammar_missing(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Leave out most articles, prepositions and auxiliaries, beyond what a headline does."""
    places = sentence.where(_GRAMMATICAL)
    gone = {at for at in places if rng.random() < 0.8}
    prepositions = sum(sentence.classes[at] in "plt" for at in gone)
    if prepositions < 1 or len(gone) < 3:
        return None
    return [piece for at, piece in enumerate(sentence.pieces) if at not in gone]


@KINDS.add(3, 0.6)
def middle_skipped(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Jump over a stretch to a word that cannot follow, as a copying summariser does: "in the was built"."""
    classes = sentence.classes
    for _ in range(12):
        begin = between(rng, 1, sentence.stop - 3)
        end = begin + between(rng, 2, 10)
        if end < sentence.stop and clash(classes[begin - 1], classes[end]):
            return sentence.without(begin, end)
    return None


# words that come again

_MAY_BE_DOUBLED = frozenset("had that very so much more really bye ha no yes".split())
_WORDS = re.compile("[^,.]+")
_PHRASE = re.compile("[adpl][a-z]?[wx]{1,3}(?=[^wx]|$)")
_NOUN_PHRASE = re.compile("(?<=[ad])[wx]{1,3}(?=[^wx]|$)")
_CONTENT = re.compile("[wvx]")
_SUBJECT = re.compile("(?:(?<=^a)|(?<=^d)|(?<=^aw)|(?<=^ax)|(?<=,a)|(?<=sa)|(?<=ca)|(?<=^)|(?<=^x))[wx](?=[bhm])")


def _words_between_marks(sentence: Sentence, at_least: int) -> list[tuple[int, int]]:
    spans = (match.span() for match in _WORDS.finditer(sentence.classes))
    return [(begin, end) for begin, end in spans if end - begin >= at_least]


@KINDS.add(2, 0.35)
def word_doubled(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Write a word twice, a short grammatical one rather than another."""
    places = [at for at in range(sentence.stop) if sentence.low[at] not in _MAY_BE_DOUBLED]
    places = [at for at in places if sentence.classes[at] not in ",.#"]
    small = [at for at in places if sentence.classes[at] in "abdehlmopstc"]
    at = pick(rng, small if small and rng.random() < 0.6 else places)
    again = spaced(sentence.pieces[at : at + 1])
    return [*sentence.pieces[: at + 1], *again, *sentence.pieces[at + 1 :]]


@KINDS.add(2.5, 0.5)
def phrase_doubled(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Write a phrase twice in a row: "of the town of the town", "in the north in the north"."""
    spans = _words_between_marks(sentence, 3)
    begin, end = pick(rng, spans)
    phrases = sentence.spans(_PHRASE)
    if phrases and rng.random() < 0.6:
        left, right = pick(rng, phrases)
    else:
        left = between(rng, begin, end - 2)
        right = min(end, left + between(rng, 2, 6))
    return [*sentence.pieces[:right], *spaced(sentence.pieces[left:right]), *sentence.pieces[right:]]


@KINDS.add(2.5, 0.85, local=False)
def loop(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Go round in a phrase several times and break off, or find the way out: "of the bottle of the bottle of the"."""
    spans = _words_between_marks(sentence, 2)
    begin, end = pick(rng, spans)
    size = between(rng, 1, min(5, end - begin))
    left = between(rng, begin, end - size)
    again = spaced(sentence.pieces[left : left + size])
    if rng.random() < 0.3:
        again = [*again, pick(rng, (",", " and", " ,"))]
    rounds = between(rng, 2, 3 if size > 3 else 8)
    made = [*sentence.pieces[: left + size], *(again * rounds)]
    if rng.random() < 0.5:
        return [*made, *sentence.pieces[left + size :]]
    made += again[: between(rng, 0, len(again) - 1)]
    return [*made, *sentence.pieces[sentence.stop :]] if rng.random() < 0.5 else made


@KINDS.add(2, 0.6)
def jump_back(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Go back some words and say them again before going on: "was born in was born in Paris"."""
    if sentence.stop < 6:
        return None
    at = between(rng, 4, sentence.stop - 1)
    back = between(rng, 2, min(10, at - 1))
    return [*sentence.pieces[:at], *spaced(sentence.pieces[at - back : at]), *sentence.pieces[at:]]


@KINDS.add(1.5, 0.5)
def coordinated_twice(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Join a phrase with itself: "a phone number and phone number"."""
    phrases = sentence.spans(_NOUN_PHRASE)
    begin, end = pick(rng, phrases)
    if rng.random() < 0.5:
        begin -= 1
    link = pick(rng, (" and", " and", " or", ",", ", and"))
    return [*sentence.pieces[:end], link, *spaced(sentence.pieces[begin:end]), *sentence.pieces[end:]]


@KINDS.add(2, 0.6, local=False)
def clause_repeated(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Say the sentence again after itself, whole, cut or with the end of another sentence."""
    stop = sentence.stop
    if stop < 5:
        return None
    link = pick(rng, (" and", ", and", ",", ", and later", " that", " but", " because"))
    kept = stop if rng.random() < 0.4 else between(rng, max(3, stop // 2), stop)
    again = spaced(sentence.pieces[:kept])
    ending: Others = ()
    if kept < stop and others and rng.random() < 0.6:
        other = split(pick(rng, others))
        ending = other.pieces[max(1, other.stop - between(rng, 2, 6)) : other.stop]
    return [*sentence.pieces[:stop], link, *again, *ending, *sentence.pieces[stop:]]


@KINDS.add(2, 0.5)
def word_echoed(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put an earlier word in a later one's place: "the game is about the idea of the game of the game"."""
    places = [at for at in sentence.where(_CONTENT) if at and len(sentence.low[at]) > 3]
    if len(places) < 3:
        return None
    source = pick(rng, places[:-1])
    later = [at for at in places if at > source and sentence.low[at] != sentence.low[source]]
    changed = {at for at in later if rng.random() < 0.35} | {pick(rng, later)}
    word = sentence.pieces[source].strip()
    return [
        piece[: len(piece) - len(piece.lstrip())] + word if at in changed else piece
        for at, piece in enumerate(sentence.pieces)
    ]


@KINDS.add(3, 0.4)
def subject_repeated(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Take the subject up again with a pronoun: "the hotel it is near the station"."""
    places = sentence.where(_SUBJECT)
    at = pick(rng, places) + 1
    many = sentence.low[at] in {"are", "were", "have"}
    pronoun = " they" if many else pick(rng, (" it", " it", " it", " he", " she", " which it"))
    return [*sentence.pieces[:at], pronoun, *sentence.pieces[at:]]


@KINDS.add(0.5, 0.6)
def marks_repeated(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Run wild in commas and stops, in the sentence or at its end: ".,.,.,"."""
    if sentence.stop < 2:
        return None
    marks = pick(rng, (",", ", and", ".,", " ,", " ..", " '' ''", ",,", ", ,")) * between(rng, 1, 4)
    at = between(rng, 1, sentence.stop)
    return [*sentence.pieces[:at], marks, *(sentence.pieces[at:] if rng.random() < 0.5 else ["."])]


# words in the wrong place

# pairs of which one word cannot stand on the other side of its neighbour
_RIGID_PAIR = re.compile("(?=a[wx#]|[pt][adwxv]|l[adx]|b[av]|m[vew]|[he]v|p[xj])..")
_PREPOSITIONAL_PHRASE = re.compile("[pl][ad]?[wx#]{1,3}(?=[^wx#]|$)")
# where nothing may be put in: after an article, a preposition, to
_CLOSED = re.compile("(?<=[apt])[wxvad]")


@KINDS.add(2, 0.45)
def neighbours_swapped(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Swap two neighbours, one of them a grammatical word: "house the", "Paris in"."""
    places = sentence.where(_RIGID_PAIR)
    at = pick(rng, places)
    pieces = list(sentence.pieces)
    pieces[at], pieces[at + 1] = pieces[at + 1], lowered(pieces[at])
    return pieces


@KINDS.add(1, 0.9, local=False)
def several_swapped(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Swap neighbours in several places."""
    if sentence.stop < 6:
        return None
    pieces = [lowered(sentence.pieces[0]), *sentence.pieces[1:]]
    at = between(rng, 0, 2)
    while at + 1 < sentence.stop:
        if not set(sentence.classes[at : at + 2]) & {",", "."}:
            pieces[at], pieces[at + 1] = pieces[at + 1], pieces[at]
        at += between(rng, 2, 5)
    return pieces


@KINDS.add(2, 0.5)
def phrase_moved(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Move a prepositional phrase into the middle of another phrase: "the in 2012 team"."""
    phrases = sentence.spans(_PREPOSITIONAL_PHRASE)
    begin, end = pick(rng, phrases)
    places = [at for at in sentence.where(_CLOSED) if not begin <= at <= end]
    at = pick(rng, places)
    pieces, moved = sentence.pieces, [lowered(piece) for piece in sentence.pieces[begin:end]]
    if at < begin:
        return [*pieces[:at], *moved, *pieces[at:begin], *pieces[end:]]
    return [*pieces[:begin], *pieces[end:at], *moved, *pieces[at:]]


def _shuffled(sentence: Sentence, rng: Rng, begin: int, end: int) -> Pieces:
    order = rng.permutation(end - begin) + begin
    pieces = [lowered(sentence.pieces[0]), *sentence.pieces[1:]]
    return [*pieces[:begin], *(pieces[at] for at in order), *pieces[end:]]


@KINDS.add(1.5, 0.65)
def window_shuffled(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Shuffle four to seven neighbours."""
    if sentence.stop < 5:
        return None
    size = between(rng, 4, min(7, sentence.stop))
    begin = between(rng, 0, sentence.stop - size)
    return _shuffled(sentence, rng, begin, begin + size)


@KINDS.add(1, 1.0, local=False)
def all_shuffled(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Shuffle all the words."""
    return _shuffled(sentence, rng, 0, sentence.stop) if sentence.stop > 3 else None


@KINDS.add(1, 0.65, local=False)
def halves_swapped(sentence: Sentence, rng: Rng, others: Others) -> Pieces | None:
    """Put the end first, divided where a word waits for the next: "town was built in 1900 the"."""
    places = [at for at in sentence.where(_CLOSED) if 2 <= at < sentence.stop - 1]
    at = pick(rng, places)
    pieces = [lowered(sentence.pieces[0]), *sentence.pieces[1:]]
    return [*pieces[at : sentence.stop], *pieces[:at], *pieces[sentence.stop :]]
