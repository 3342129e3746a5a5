"""A little English: closed classes of words, common verbs and their forms, and plurals by rule.

Written for the damage of sentences, where precision counts and coverage does not: a word that is not known here is
left alone by the kinds of damage that need to know it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

ARTICLES = frozenset("a an the".split())
# never stand without a noun after them
POSSESSIVES = frozenset("my your our their its every".split())
DETERMINERS = frozenset(
    "this these those some any no each another his her all both many several few various most such two three "
    "four five six seven eight nine ten".split()
)
# never stand at the end of a sentence or clause
STRICT_PREPOSITIONS = frozenset(
    "of from with at for into during between among via per upon toward towards against despite without onto".split()
)
LOOSE_PREPOSITIONS = frozenset(
    "in on up out off over down about around through by along under near across before after since until above below "
    "behind within inside outside beyond throughout".split()
)
BE = frozenset("is are was were am isn't aren't wasn't weren't".split())
HAVE = frozenset("has have had hasn't haven't hadn't".split())
DO = frozenset("do does did don't doesn't didn't".split())
MODALS = frozenset(
    "can could will would may might must should shall cannot can't couldn't won't wouldn't shouldn't mustn't".split()
)
UNFINITE_BE = frozenset("be been being".split())
SUBJECTS = frozenset("he she it they we i you".split())
OBJECTS = frozenset("him them us me himself herself itself themselves".split())
COORDINATORS = frozenset("and or but nor".split())
SUBORDINATORS = frozenset(
    "because although though while if when where which who whose whom what how why whether as than that unless".split()
)
ADVERBS = frozenset(
    "also not never very more less always often usually still just only even however then there too now already again "
    "later once soon here almost quite rather well much so ever yet sometimes therefore thus".split()
)
# other words that often begin a sentence and are no names
OPENERS = frozenset(
    "one two three other others first second instead please another according like unlike new recent early modern what "
    "there here people good great today such following given certain further next".split()
)
# -ly words that are no adverbs
_NOT_ADVERBS = frozenset(
    "family only early daily italy july reply supply apply fly assembly friendly likely rely".split()
)

_IRREGULAR_VERBS = """
arise arose arisen;become became become;begin began begun;bind bound bound;blow blew blown;break broke broken
bring brought brought;build built built;buy bought bought;catch caught caught;choose chose chosen;come came come
deal dealt dealt;draw drew drawn;drink drank drunk;drive drove driven;eat ate eaten;fall fell fallen;feel felt felt
fight fought fought;find found found;fly flew flown;forget forgot forgotten;get got gotten;give gave given
go went gone;grow grew grown;hear heard heard;hide hid hidden;hold held held;keep kept kept;know knew known
lay laid laid;lead led led;leave left left;lend lent lent;lose lost lost;make made made;mean meant meant
meet met met;pay paid paid;ride rode ridden;rise rose risen;run ran run;say said said;see saw seen;seek sought sought
sell sold sold;send sent sent;shake shook shaken;show showed shown;sing sang sung;sit sat sat;sleep slept slept
speak spoke spoken;spend spent spent;stand stood stood;steal stole stolen;swim swam swum;take took taken
teach taught taught;tell told told;think thought thought;throw threw thrown;understand understood understood
wake woke woken;wear wore worn;win won won;write wrote written
"""
_REGULAR_VERBS = """
accept achieve act add admit advise affect agree allow announce appear apply appoint argue arrive ask assume attack
attempt attend avoid base believe belong call carry cause change charge check choose claim close collect compare
compete complete compose concern conclude connect consider consist construct contain continue contribute control
convert convince cook cover create cross decide defeat defend define deliver demand depend derive describe design
destroy determine develop die direct discover discuss divide earn elect employ enable encourage end enjoy ensure enter
establish exist expand expect experience explain express extend fail feature finish follow force form found gain gather
graduate handle happen help hire hope identify imagine improve include increase indicate influence inform intend
introduce invent invite involve join kill lack last launch learn lie like limit link listen live look love maintain
manage marry measure mention miss move name need note obtain occupy occur offer open operate order organize own paint
participate pass perform place plan play point prefer prepare present press prevent produce promise promote protect
prove provide publish pull push raise reach realize receive recommend record reduce refer reflect refuse regard relate
release remain remember remove replace report represent require rescue reserve respond result retire return reveal save
seem separate serve settle share sign start state stay stop study submit succeed suffer suggest support suppose
surround survive talk tend thank touch train transfer travel treat try turn use visit vote wait walk want warn watch
wish wonder work worry
"""
_DOUBLING = frozenset(
    "admit control occur prefer refer submit transfer plan stop begin forget get run sit swim win".split()
)
_IRREGULAR_PLURALS = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet", "life": "lives",
    "wife": "wives", "leaf": "leaves", "half": "halves", "city": "cities",
}  # fmt: skip
_SINGULARS = {many: one for one, many in _IRREGULAR_PLURALS.items()}
_S_BUT_ONE = re.compile(r"(ss|us|is|ous|ics|ness|less|series|species|news|always|perhaps|besides|towards)$")


class VerbForms(NamedTuple):
    """The five forms of a verb."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str


def add_s(word: str) -> str:
    """Return a noun's plural or a verb's third person."""
    if word in _IRREGULAR_PLURALS:
        return _IRREGULAR_PLURALS[word]
    if re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ies"
    return word + ("es" if re.search(r"(s|x|z|ch|sh|[^aeiou]o)$", word) else "s")


def drop_s(word: str) -> str | None:
    """Return the singular of a plural that is one to all appearance."""
    if word in _SINGULARS:
        return _SINGULARS[word]
    if not word.endswith("s") or len(word) < 4 or _S_BUT_ONE.search(word):
        return None
    if word.endswith("ies"):
        return word[:-3] + "y" if len(word) > 5 else word[:-1]
    return word[:-2] if re.search(r"(ss|x|ch|sh)es$", word) else word[:-1]


def _stem(base: str) -> str:
    return base + base[-1] if base in _DOUBLING else base


def _gerund(base: str) -> str:
    if base.endswith("ie"):
        return base[:-2] + "ying"
    return base[:-1] + "ing" if re.search(r"[^eoy]e$", base) else _stem(base) + "ing"


def _regular_past(base: str) -> str:
    if re.search(r"[^aeiou]y$", base):
        return base[:-1] + "ied"
    return base + "d" if base.endswith("e") else _stem(base) + "ed"


def _third(base: str) -> str:
    return "has" if base == "have" else add_s(base)


def _verbs() -> dict[str, VerbForms]:
    found: dict[str, VerbForms] = {}
    for entry in _IRREGULAR_VERBS.replace("\n", ";").split(";"):
        if entry:
            base, past, participle = entry.split()
            found[base] = VerbForms(base, _third(base), past, participle, _gerund(base))
    for base in _REGULAR_VERBS.split():
        past = _regular_past(base)
        found.setdefault(base, VerbForms(base, _third(base), past, past, _gerund(base)))
    return found


_VERBS = _verbs()
# every known form, with the verb it belongs to; a form of two verbs (found, lay) goes to the first
VERB_OF: dict[str, VerbForms] = {}
for _forms in _VERBS.values():
    for _form in _forms:
        VERB_OF.setdefault(_form, _forms)


def is_base(word: str) -> bool:
    """Return whether a word is the base form of a known verb."""
    return word in _VERBS


def is_adverb(word: str) -> bool:
    """Return whether a word is an adverb by the list or by its ending."""
    return word in ADVERBS or (len(word) > 4 and word.endswith("ly") and word not in _NOT_ADVERBS)
