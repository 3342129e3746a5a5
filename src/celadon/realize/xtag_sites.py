"""Where XTAG's elementary trees let a daughter be attached to her mother.

A daughter can fill a place of the mother's tree, be adjoined to a node of it, or be a further anchor of it. Where XTAG
and the treebank do not agree on who depends on whom, it is the other way round. Auxiliary verbs, verbs of saying and
complementizers are adjoined, in XTAG, to the verb that is their daughter in the Penn Treebank: it stands where their
foot is. A preposition that stands alone below its noun, as in Universal Dependencies, has the noun in its place, and a
conjunction has it in its place or at its foot. Of all trees that a word has with its part of speech, all sites are
taken together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from celadon.core import UsageError
from celadon.parsing.supertags import Side, Supertag
from celadon.parsing.xtag import AnchoredTree, Place, Xtag, open_xtag
from celadon.realize.tree_chooser import Chosen
from celadon.realize.trees import WordTree
from celadon.realize.unraveler import Site

# the parts of speech that XTAG may have for what a treebank tags so; of other tags all are taken
_PARTS = {
    tag: parts.split()
    for parts, tags in {
        "Conj": "CC",
        "D A N": "CD",
        "D N": "DT",
        "N": "EX NN NNS NNP NNPS PRP WP",
        "P Comp Conj Ad": "IN",
        "A D": "JJ JJR JJS",
        "V": "MD VB VBD VBP VBZ",
        "D": "PDT PRP$ WP$",
        "G": "POS",
        "Ad": "RB RBR RBS WRB",
        "PL Ad P": "RP",
        "V P": "TO",
        "I": "UH",
        "V A N": "VBG",
        "V A": "VBN",
        "D N Comp": "WDT",
    }.items()
    for tag in tags.split()
}
# the labels that the Penn Treebank has for XTAG's
_LABELS = {
    "S": frozenset({"S", "SINV", "SQ", "SBAR", "SBARQ"}),
    "VP": frozenset({"VP"}),
    "V": frozenset({"VP"}),
    "NP": frozenset({"NP", "WHNP", "NX", "QP"}),
    "N": frozenset({"NP", "WHNP", "NX"}),
    "D": frozenset({"NP", "QP"}),
    "PP": frozenset({"PP", "WHPP"}),
    "P": frozenset({"PP", "WHPP"}),
    "AP": frozenset({"ADJP", "WHADJP"}),
    "A": frozenset({"ADJP", "WHADJP"}),
    "Ad": frozenset({"ADVP", "WHADVP"}),
}
_PHRASES = frozenset(chain.from_iterable(_LABELS.values())) | {"PRT", "PRN", "UCP", "FRAG", "CONJP", "INTJ", "LST"}
_NO: frozenset[str] = frozenset()
_CLAUSES = ("S", "VP")
_COMPLEMENTED = ("V", "Comp")
# where an auxiliary verb is the head, the clause and the subject are its own
_CLAUSE_OF_AUXILIARY = AnchoredTree("", "V", "S", frozenset(_CLAUSES), (Place("NP", "left", "S"),))
_CONJUNCTION = "Conj"
_KEPT_WORDS = 50_000
_KIND = "xtag"
_ENTRY, _DEFAULT, _NONE = "entry", "default", "none"
_OTHER: dict[Side, Side] = {"left": "right", "right": "left"}


class _Uses(NamedTuple):
    """What the trees of a word have together."""

    roots: frozenset[str]  # the topmost nodes of initial trees
    rooms: frozenset[str]  # the nodes to which something may be adjoined
    # places, companions: places for substitution, and further anchors
    places: frozenset[Place]
    companions: frozenset[tuple[str, Place]]
    feet: frozenset[Place]  # the feet of all auxiliary trees
    # where its mother can be if the word stands alone: at a foot, or in a place that nothing else is there to fill
    bare: frozenset[Place]
    complements: frozenset[Place]  # the feet that are daughters in the Penn Treebank


@dataclass(frozen=True)
class Coverage:
    """How much of trees XTAG had a say in."""

    # words, entries, defaults: all words, those with an entry in the lexicon, and those that only the morphology
    # knows
    words: int = 0
    entries: int = 0
    defaults: int = 0
    # attached, placed: all words with a mother, and those whose sites are XTAG's
    attached: int = 0
    placed: int = 0
    types: frozenset[tuple[str, str]] = frozenset()  # the different words, each with where its trees come from

    def __add__(self, other: Coverage) -> Coverage:
        sums = {name: count + other.counts()[name] for name, count in self.counts().items()}
        return Coverage(**sums, types=self.types | other.types)

    def __str__(self) -> str:
        sources = Counter(source for _, source in self.types)
        return (
            f"{self.words:,} words ({len(self.types):,} different): {self.entries:,} ({sources[_ENTRY]:,}) have "
            f"entries, {self.defaults:,} ({sources[_DEFAULT]:,}) the trees of their part of speech; "
            f"{self.placed:,} of {self.attached:,} attachments have XTAG's sites"
        )

    def counts(self) -> dict[str, int]:
        """Return the numbers of words and attachments, by name."""
        return {name: getattr(self, name) for name in ("words", "entries", "defaults", "attached", "placed")}


class XtagSites:
    """XTAG's opinion of where daughters may be attached."""

    def __init__(self, grammar: Xtag) -> None:
        self._grammar = grammar
        self._trees: dict[str, tuple[AnchoredTree, ...]] = {}
        self._uses: dict[tuple[str, str], _Uses | None] = {}

    def source(self, word: str) -> str:
        """Where the trees of a word come from: ``entry``, ``default``, or ``none``."""
        if not self._trees_of(word):
            return _NONE
        return _ENTRY if self._grammar.has_entry(word) else _DEFAULT

    def sites(
        self, mother_word: str, mother: Supertag, daughter_word: str, daughter: Supertag
    ) -> frozenset[Site] | None:
        """Where a daughter may be attached; None where XTAG does not tell.

        A modifier's supertag names its side, and of XTAG's trees only those of that side fit it.
        """
        above, below = self._of(mother_word, mother.tag), self._of(daughter_word, daughter.tag)
        if above is None:
            return None
        found = set(self._companions(above, daughter_word))
        if below is not None:
            found |= set(_found(above, below, _stands_alone(daughter)))
        if daughter.host is not None:
            found = {(side, node) for side, node in found if side == daughter.host.side}
        labels = {level.label for level in mother.levels} & _PHRASES
        if not labels:
            # no Penn tree: its nodes cannot be compared with XTAG's
            return frozenset(Site(side) for side, _ in found) or None
        return frozenset(Site(side, label) for side, node in found for label in labels & _LABELS.get(node, _NO)) or None

    def _companions(self, above: _Uses, word: str) -> Iterator[tuple[Side, str]]:
        """Where a word stands as a further anchor of the mother's trees; it needs no entry of its own."""
        if above.companions:
            lemmas = self._grammar.lemmas(word)
            yield from ((place.side, place.node) for companion, place in above.companions if companion in lemmas)

    def coverage(self, tree: WordTree, chosen: Chosen) -> Coverage:
        """How much XTAG had to say of a tree with its supertags."""
        sources = [self.source(word) for word in tree.words]
        placed = 0
        for word, mother in enumerate(tree.mothers[1:], 1):
            sites = self.sites(tree.words[mother], chosen.best[mother], tree.words[word], chosen.best[word])
            placed += sites is not None
        types = frozenset(zip(tree.words, sources, strict=True))
        return Coverage(len(tree), sources.count(_ENTRY), sources.count(_DEFAULT), len(tree) - 1, placed, types)

    def _trees_of(self, word: str) -> tuple[AnchoredTree, ...]:
        if word not in self._trees:
            if len(self._trees) >= _KEPT_WORDS:
                self._trees.clear()
                self._uses.clear()
            self._trees[word] = self._grammar.trees_of(word)
        return self._trees[word]

    def _of(self, word: str, tag: str) -> _Uses | None:
        """What the trees of a word have together, of the parts of speech that a tag can mean."""
        if (word, tag) not in self._uses:
            parts = _PARTS.get(tag, [])
            trees = [tree for tree in self._trees_of(word) if not parts or tree.part in parts]
            self._uses[word, tag] = _together(trees) if trees else None
        return self._uses[word, tag]


def _found(above: _Uses, below: _Uses, alone: bool) -> Iterator[tuple[Side, str]]:
    """Sides of a mother where a daughter may stand, each with the label of the node."""
    yield from ((place.side, place.node) for place in above.places if place.label in below.roots)
    yield from ((foot.side, foot.node) for foot in above.complements if foot.label in below.rooms)
    for place in below.bare if alone else below.feet:
        if place.label in above.rooms:
            yield _OTHER[place.side], place.label


def _together(trees: list[AnchoredTree]) -> _Uses:
    complements = frozenset(
        tree.foot for tree in trees if tree.foot and tree.part in _COMPLEMENTED and tree.foot.label in _CLAUSES
    )
    if any(foot.label == "VP" for foot in complements):
        trees = [*trees, _CLAUSE_OF_AUXILIARY]
    return _Uses(
        frozenset(tree.root for tree in trees if tree.foot is None),
        frozenset(chain.from_iterable(tree.rooms for tree in trees)),
        frozenset(chain.from_iterable(tree.places for tree in trees)),
        frozenset(chain.from_iterable(tree.companions for tree in trees)),
        frozenset(tree.foot for tree in trees if tree.foot),
        frozenset(chain.from_iterable(map(_bare, trees))),
        complements,
    )


def _bare(tree: AnchoredTree) -> list[Place]:
    feet = [tree.foot] if tree.foot else []
    if not tree.places:
        return feet
    return [*tree.places, *feet] if tree.part == _CONJUNCTION else list(tree.places)


def _stands_alone(supertag: Supertag) -> bool:
    """Whether a word heads no phrase of its own, so that only its mother can be in the places of its tree."""
    return supertag.root not in _PHRASES and not any(level.left or level.right for level in supertag.levels)


def open_sites(name: str) -> XtagSites:
    """Open the grammar that ``xtag:PATH`` names, the folder or the tar archive of a release."""
    kind, _, path = name.partition(":")
    if kind != _KIND or not path:
        raise UsageError(
            f"no grammar is called {name!r}; say {_KIND}:PATH, with the folder or archive of an XTAG release"
        )
    return XtagSites(open_xtag(path))
