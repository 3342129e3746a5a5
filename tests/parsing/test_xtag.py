"""XTAG releases: trees and words are read as they stand, seen from their anchors, and damage is named."""

from __future__ import annotations

import lzma
import re
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import InputError
from celadon.parsing import xtag
from celadon.parsing.xtag import (
    Anchor,
    AnchoredTree,
    Entry,
    Place,
    Reading,
    Xtag,
    XtagFile,
    XtagNode,
    XtagTree,
    anchored,
    open_xtag,
    read_lexicon,
    read_morphology,
    read_trees,
    read_xtag_files,
)
from tests.conftest import DATA
from tests.parsing.small_xtag import (
    FILES,
    INITIAL,
    LEXICON,
    MORPHOLOGY,
    OTHERS,
    node,
    tree,
    write_archive,
    write_folder,
)

KINDS = {"headp": ":headp T", "substp": ":substp T", "footp": ":footp T", "": ""}


@st.composite
def leaves(draw: st.DrawFn) -> XtagNode:
    kind = draw(st.sampled_from(sorted(KINDS)))
    closed = draw(st.booleans())
    marks = frozenset({kind} if kind else ())
    return XtagNode(draw(st.sampled_from(["NP", "V", "S"])), draw(st.sampled_from(["", "0", "r"])), marks, closed, ())


NODES = st.recursive(
    leaves(),
    lambda below: st.builds(
        XtagNode,
        st.sampled_from(["NP", "VP", "S"]),
        st.sampled_from(["", "1", "r"]),
        st.just(frozenset[str]()),
        st.booleans(),
        st.lists(below, min_size=1, max_size=3).map(tuple),
    ),
    max_leaves=8,
)


def written(each: XtagNode) -> str:
    facts = [KINDS[mark] for mark in each.marks] + ([':constraints "NA"'] if each.closed else [":display-feature? T"])
    return node(each.label, *map(written, each.children), index=each.number, marks=" ".join(facts))


def in_order(each: XtagNode) -> list[XtagNode]:
    return [leaf for child in each.children for leaf in in_order(child)] if each.children else [each]


@given(NODES)
def test_a_tree_that_was_written_is_read_and_seen_from_its_anchor(root: XtagNode) -> None:
    file = XtagFile("family", "here", tree(f"{INITIAL}some", written(root)) * 2)
    assert list(read_trees(file)) == [XtagTree("αsome", "family", root)] * 2
    row = in_order(root)
    verbs = [at for at, leaf in enumerate(row) if leaf.label == "V" and "headp" in leaf.marks]
    seen = anchored(XtagTree("αsome", "family", root), [Anchor("", "V")])
    if not verbs:
        assert seen is None
        return
    assert seen is not None
    anchor = next((at for at in verbs if row[at].number == ""), verbs[0])
    expected = [
        (leaf.label, "left" if at < anchor else "right") for at, leaf in enumerate(row) if "substp" in leaf.marks
    ]
    assert [(place.label, place.side) for place in seen.places] == expected
    feet = [at for at, leaf in enumerate(row) if "footp" in leaf.marks]
    assert (seen.foot is not None) == bool(feet)
    assert seen.foot is None or seen.foot.side == ("left" if feet[0] < anchor else "right")


def test_trees_of_words(tmp_path: Path) -> None:
    grammar = open_xtag(write_folder(tmp_path))
    assert set(grammar.trees_of("sees")) == {
        AnchoredTree(
            "αnx0Vnx1",
            "V",
            "S",
            frozenset({"S", "VP", "V"}),
            (Place("NP", "left", "S"), Place("NP", "right", "VP")),
        ),
        AnchoredTree(
            "βnx0Vs1", "V", "S", frozenset({"S", "VP", "V"}), (Place("NP", "left", "S"),), Place("S", "right", "VP")
        ),
    }
    assert grammar.trees_of("Of")[0] == AnchoredTree(
        "βnxPnx", "P", "NP", frozenset({"NP", "PP", "P"}), (Place("NP", "right", "PP"),), Place("NP", "left", "NP")
    )
    particle = next(each for each in grammar.trees_of("found") if each.companions)
    assert particle.companions == (("out", Place("PL", "right", "V")),)
    assert grammar.trees_of("zebra") == ()


def test_what_only_the_morphology_knows_has_the_trees_of_its_part_of_speech(tmp_path: Path) -> None:
    grammar = open_xtag(write_folder(tmp_path))
    assert [each.name for each in grammar.trees_of("dog")] == ["αNXN", "βNn"]
    assert {word: grammar.has_entry(word) for word in ("dog", "cats", "zebra")} == {
        "dog": False,
        "cats": True,
        "zebra": False,
    }
    # finds: a verb with entries, a noun without
    assert {each.name for each in grammar.trees_of("finds")} == {"αnx0Vnx1", "αnx0Vplnx1", "αNXN", "βNn"}


def test_entries_and_readings() -> None:
    text = "<<INDEX>>not<<ENTRY>>\x06<<POS>>Conj<<ENTRY>>not<<POS>>Ad<<TREES>>\x03x \x02y<<FEATURES>>#a\n\n"
    assert read_lexicon(XtagFile("", "here", text)) == {
        "not": [Entry((Anchor("not", "Ad"), Anchor("ε", "Conj")), ("βx", "αy"), False)]
    }
    assert read_morphology(XtagFile("", "here", MORPHOLOGY))["finds"] == (Reading("find", "V"), Reading("find", "N"))
    assert read_morphology(XtagFile("", "here", "he \t\the\tPron 3sg\n"))["he"] == (Reading("he", "N"),)


@pytest.mark.parametrize("name", ["g.tar", "g.tar.gz", "g.tar.xz"])
def test_an_archive_is_the_folder(name: str, tmp_path: Path) -> None:
    one = read_xtag_files(write_folder(tmp_path / "folder"))
    other = read_xtag_files(write_archive(tmp_path / name))
    nested = read_xtag_files(write_folder(tmp_path / "above", {f"xtag/{key}": text for key, text in FILES.items()}))
    texts = [[[(file.stem, file.text) for file in kind] for kind in found] for found in (one, other, nested)]
    assert texts[0] == texts[1] == texts[2]
    assert [len(kind) for kind in texts[0]] == [4, 1, 1, 1]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("grammar/others.trees", OTHERS + '("a', r"others\.trees:31: a text in quotation marks does not end"),
        ("grammar/others.trees", OTHERS + '\n("a" (b', r"others\.trees:32: a bracket opens that is not closed"),
        ("grammar/others.trees", OTHERS + ")", r"others\.trees:31: a bracket closes that was not opened"),
        ("grammar/others.trees", OTHERS + "NIL", r"others\.trees:31: 'NIL' stands outside of brackets"),
        ("grammar/others.trees", OTHERS + '("a")', r"others\.trees:31: .* but not the tree"),
        ("grammar/others.trees", OTHERS + '(a) ((("S" . "")))', r"others\.trees:31: a tree's name should stand here"),
        ("grammar/others.trees", '("a")\n(((("S" . ""))) ("NP"))', r"others\.trees:2: a node should stand here"),
        (
            "grammar/others.trees",
            '("a")\n(((("S" . ""))) "NP")',
            r"others\.trees:2: 'NP' stands where a node below 'S' should",
        ),
        ("grammar/others.trees", '("a")\n(((("S" . "")) :headp))', r"others\.trees:2: what is told of a node"),
        ("grammar/others.trees", "(" * 1000, r"others\.trees:1: brackets stand in each other"),
        ("syntax/syntax-coded.flat", LEXICON + "see V Tnx0V", r"coded\.flat:11: an entry .* begins with"),
        ("syntax/syntax-coded.flat", LEXICON + "<<INDEX>>a<<ENTRY>>a<<FAMILY>>T", r"coded\.flat:11: .*<<POS>>"),
        ("syntax/syntax-coded.flat", "<<INDEX>>a<<ENTRY>>a<<POS>>V", r"coded\.flat:1: .*<<FAMILY>>"),
        ("morphology/trunc_morph.flat", MORPHOLOGY + "go V", r"trunc_morph\.flat:8: is not a word"),
    ],
    ids=range(14),
)
def test_damage_is_named_with_its_file_and_line(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message) as raised:
        open_xtag(write_archive(tmp_path / "g.tar.xz", {**FILES, name: text}))
    assert "g.tar.xz: xtag_english/" in str(raised.value)


def test_what_is_no_release_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = Path(write_archive(tmp_path / "g.tar.xz"))
    whole = lzma.decompress(packed.read_bytes())
    cases = {
        "cut.tar.xz": packed.read_bytes()[:-200],
        "within.tar": whole[:700],
        "text.tar": b"no archive, but a text of some length " * 40,
        "empty.tar": b"",
    }
    for name, raw in cases.items():
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(InputError, match=name):
            open_xtag(str(tmp_path / name))
    for name in ("missing.tar.xz", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(InputError, match=name):
            open_xtag(str(tmp_path / name))
    monkeypatch.setattr(xtag, "MOST_BYTES", 1000)
    for path in (str(packed), write_folder(tmp_path / "folder")):
        with pytest.raises(InputError, match="has over"):
            open_xtag(path)


def test_nothing_is_unpacked_and_links_are_not_followed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    path = Path(write_archive(home / "g.tar", top="../../"))
    with tarfile.open(path, "a") as archive:
        link = tarfile.TarInfo("../../grammar/link.trees")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert len(read_xtag_files(str(path)).trees) == 4
    assert [each.name for each in tmp_path.rglob("*")] == ["home", "g.tar"]


def test_the_real_release() -> None:
    folder = DATA / "grammars"
    path = folder / "xtag-english-2001.tar.xz"
    if not path.is_file():
        pytest.skip(f"no XTAG release at {folder}; set CELADON_DATA to the folder that holds it")
    files = read_xtag_files(str(path))
    trees = [found for file in files.trees for found in read_trees(file)]
    # a tree has one line of settings that its header begins with
    assert len(trees) == sum(len(re.findall(r'^\("[\x02\x03]', file.text, re.MULTILINE)) for file in files.trees)
    assert len(files.trees) == 67
    lexicon, morphology = read_lexicon(files.lexicon[0]), read_morphology(files.morphology[0])
    assert sum(map(len, lexicon.values())) == 33_396
    assert len(morphology) == 41_891
    grammar = Xtag(trees, lexicon, morphology)
    quickly = {each.name: each for each in grammar.trees_of("quickly")}
    assert quickly["βARBvx"].foot == Place("VP", "right", "VP")
    assert quickly["βvxARB"].foot == Place("VP", "left", "VP")
    eaten = {each.name: each for each in grammar.trees_of("eaten")}
    assert eaten["αnx0Vnx1"].places == (Place("NP", "left", "S"), Place("NP", "right", "VP"))
    assert any(each.foot == Place("VP", "right", "VP") for each in grammar.trees_of("will"))
    assert not grammar.trees_of("Xyzzyx")
