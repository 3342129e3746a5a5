"""The Unraveler: what its lattices permit, against all permutations tried one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.parsing.brackets import Tree
from celadon.parsing.supertags import Host, Level, Supertag, derive
from celadon.realize.order_model import TreeletScores
from celadon.realize.unraveler import BEAM, MOST_STATES, Band, Site, bands_at, bands_for, bands_of, unravel_treelet
from celadon.train.realizer.trees import arrange_derivation

_LABELS = ("S", "NP", "VP", "PP")
_TAGS = ("NN", "VB", "IN", "DT", "RB", "CC")


def penn_trees() -> st.SearchStrategy[Tree]:
    """Any tree at all: every one of them is projective."""
    tags = st.builds(lambda tag, word: Tree(tag, (), word), st.sampled_from(_TAGS), st.sampled_from(["x", "y", "z"]))
    return st.recursive(
        tags,
        lambda below: st.builds(
            lambda label, children: Tree(label, tuple(children)),
            st.sampled_from([*_LABELS, "NP-SBJ", "PP-LOC"]),
            st.lists(below, min_size=1, max_size=4),
        ),
        max_leaves=12,
    )


@given(penn_trees())
def test_the_order_of_a_projective_tree_is_in_the_lattice_of_its_supertags(tree: Tree) -> None:
    derivation = derive(tree)
    assert derivation is not None
    in_order = list(derivation.in_order())
    arranged = arrange_derivation(derivation)
    gold = [in_order[place].supertag for place in arranged.origin]
    for word, daughters in enumerate(arranged.tree.daughters):
        if not daughters:
            continue
        permitted = [bands_for(gold[word], gold[each]) for each in daughters]
        # daughters that are the same may have other supertags here, so none are taken for one another
        lattice = unravel_treelet(bands_of(gold[word]), permitted, range(len(daughters)))
        items = [word, *daughters]
        order = sorted(range(len(items)), key=lambda at: arranged.origin[items[at]])
        assert lattice.permits(order)
        assert not lattice.relaxed


def _brute_force(bands: Sequence[Band], permitted: Sequence[frozenset[int]]) -> set[tuple[int, ...]]:
    """All orders for which some choice of bands never goes back, and puts one thing only where there is room for it."""
    head = next(at for at, band in enumerate(bands) if band.side is None)
    places = [frozenset((head,)), *permitted]
    found = set()
    for order in permutations(range(len(places))):
        for choice in product(*(sorted(places[item]) for item in order)):
            ascends = all(a < b or (a == b and not bands[a].holds_one) for a, b in pairwise(choice))
            if ascends:
                found.add(order)
                break
    return found


@st.composite
def treelets(draw: st.DrawFn) -> tuple[tuple[Band, ...], list[frozenset[int]]]:
    levels = draw(st.lists(st.sampled_from([(), ("NP",), ("NP", "PP")]), min_size=1, max_size=2))
    chain = tuple(Level("VP", left, right) for left, right in zip(levels, reversed(levels), strict=True))
    bands = bands_of(Supertag("VB", chain))
    free = [at for at, band in enumerate(bands) if band.side is not None]
    sets = st.frozensets(st.sampled_from(free), min_size=1, max_size=3)
    return bands, draw(st.lists(sets, min_size=1, max_size=4))


@given(treelets())
def test_the_lattice_has_just_the_orders_that_the_bands_permit(
    treelet: tuple[tuple[Band, ...], list[frozenset[int]]],
) -> None:
    bands, permitted = treelet
    expected = _brute_force(bands, permitted)
    lattice = unravel_treelet(bands, permitted, range(len(permitted)))
    if not expected:
        assert lattice.relaxed
        return
    found = {order for order in permutations(range(len(permitted) + 1)) if lattice.permits(order)}
    assert found == expected
    assert lattice.orders == len(expected)
    assert lattice.exact


def test_bands_of_a_transitive_verb() -> None:
    verb = Supertag("VBZ", (Level("VP", (), ("NP",)), Level("S", ("NP",), ())))
    told = [(band.side, band.label, band.slot) for band in bands_of(verb)]
    assert told == [
        ("left", "S", None),
        ("left", "S", "NP"),
        ("left", "S", None),
        ("left", "VP", None),
        (None, "VBZ", None),
        ("right", "VP", None),
        ("right", "VP", "NP"),
        ("right", "VP", None),
        ("right", "S", None),
    ]
    assert bands_for(verb, Supertag("NN", (Level("NP"),))) == {1, 6}
    assert bands_for(verb, Supertag("RB", (Level("ADVP"),), Host("right", "VP"))) == {5, 7}
    # a host that the chain has not: anywhere on that side; an argument without a place: anywhere
    assert bands_for(verb, Supertag("RB", (Level("ADVP"),), Host("right", "NP"))) == {5, 7, 8}
    assert bands_for(verb, Supertag("IN", (Level("SBAR"),))) == {0, 2, 3, 5, 7, 8}
    assert bands_at(verb, [Site("left", "VP"), Site("right")]) == {3, 5, 6, 7, 8}


def test_daughters_that_are_the_same_come_in_one_order_only() -> None:
    bands = bands_of(Supertag("VB", (Level("VP"),)))
    right = frozenset((2,))
    assert unravel_treelet(bands, [right] * 4, [7, 7, 7, 8]).orders == 4
    assert unravel_treelet(bands, [right] * 4, [1, 2, 3, 4]).orders == 24


@pytest.mark.parametrize("daughters", [15, 40])
def test_many_daughters_do_not_blow_up(daughters: int) -> None:
    bands = bands_of(Supertag("VB", (Level("VP"),)))
    size = daughters + 1
    draw = np.random.default_rng(0)
    scores = TreeletScores(draw.normal(size=(size, size)), draw.normal(size=(size + 1, size + 1)))
    lattice = unravel_treelet(bands, [frozenset((0, 2))] * daughters, range(daughters), scores)
    assert not lattice.exact
    assert len(lattice.masks) <= BEAM * (size + 1)
    assert lattice.orders >= 1


def test_the_lattice_is_whole_up_to_the_stated_number_of_states() -> None:
    bands = bands_of(Supertag("VB", (Level("VP"),)))
    # ten modifiers on one side: 2 ** 10 sets of them, before and after the head
    lattice = unravel_treelet(bands, [frozenset((2,))] * 10, range(10))
    assert lattice.exact
    assert len(lattice.masks) == 2**10 + 1 <= MOST_STATES
    assert lattice.orders == 3628800
