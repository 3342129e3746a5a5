"""Penn bracketings against NLTK's reader, and trees freed of what is not in the sentence."""

from __future__ import annotations

import gzip
import lzma
import zipfile
from pathlib import Path

import nltk
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import InputError
from celadon.parsing.brackets import Tree, base_label, parse_trees, plain, read_treebank

TEXT = """
( (S
    (NP-SBJ-1 (DT The) (NN cat) )
    (VP (VBD wanted)
      (S (NP-SBJ (-NONE- *-1) )
        (VP (TO to)
          (VP (VB eat)
            (NP (NN fish)
                (CC and\\/or) (NNS 1\\*2)) (-LRB- -LRB-) (NP-TMP (RB now)) (-RRB- -RRB-)))))
    (. .) ))
(NP (NP (NP (NNP Rome))))
"""

words = st.text("abcXYZ0.,$%'-", min_size=1, max_size=5)
trees = st.recursive(
    st.builds(lambda label, word: Tree(label, (), word), words, words),
    lambda below: st.builds(lambda label, children: Tree(label, tuple(children)), words, st.lists(below, min_size=1)),
    max_leaves=12,
)


@given(st.lists(trees, min_size=1, max_size=3))
def test_what_is_written_is_read_again_as_by_nltk(given_trees: list[Tree]) -> None:
    text = "\n".join(map(str, given_trees))
    found = list(parse_trees(text))
    assert found == given_trees
    for tree in found:
        theirs = nltk.Tree.fromstring(str(tree))
        assert tree.words() == theirs.leaves()
        assert [leaf.label for leaf in tree.leaves()] == [tag for _, tag in theirs.pos()]


def test_outer_bracket_escapes_and_lines() -> None:
    first, second = parse_trees(TEXT)
    assert first.label == "S"
    assert first.words() == "The cat wanted *-1 to eat fish and/or 1*2 -LRB- now -RRB- .".split()
    assert str(second) == "(NP (NP (NP (NNP Rome))))"


def test_plain_has_no_traces_roles_or_doubles() -> None:
    first, second = parse_trees(TEXT)
    assert str(plain(first)) == (
        "(S (NP (DT The) (NN cat)) (VP (VBD wanted) (S (VP (TO to) (VP (VB eat) (NP (NN fish) (CC and/or) (NNS 1*2))"
        " (-LRB- -LRB-) (NP (RB now)) (-RRB- -RRB-))))) (. .))"
    )
    assert "(NP-TMP (RB now))" in str(plain(first, frozenset({"TMP"})))
    assert str(plain(second)) == "(NP (NNP Rome))"
    assert plain(Tree("S", (Tree("NP-SBJ", (Tree("-NONE-", (), "*"),)),))) is None


@pytest.mark.parametrize(
    ("label", "base"),
    [
        ("NP-SBJ-1", "NP"),
        ("-LRB-", "-LRB-"),
        ("-NONE-", "-NONE-"),
        ("PRP$", "PRP$"),
        ("NP=2", "NP"),
        ("ADVP|PRT", "ADVP"),
    ],
)
def test_base_label(label: str, base: str) -> None:
    assert base_label(label) == base


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("(S (NN a))\n)", 2, "not opened"),
        ("(S\n(NN a)\n", 3, "ends within"),
        ("(S (NN a b))", 1, "neither"),
        ("(S (NN a) b)", 1, "neither"),
        ("(S ())", 1, "neither"),
        ("\nword (S (NN a))", 2, "outside"),
    ],
)
def test_damage_is_told_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(InputError, match=rf"^trees:{line}: .*{what}"):
        list(parse_trees(text, "trees"))


def test_file_folder_and_archive_give_the_same_trees(tmp_path: Path) -> None:
    folder = tmp_path / "bank"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "two.mrg").write_text("(X (NN b))")
    (folder / "a.mrg").write_text(TEXT)
    (folder / "README").write_text("no trees (")
    archive = tmp_path / "bank.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.rglob("*"), reverse=True):
            file.write(path, path.relative_to(folder))
    read = read_treebank(folder)
    assert [file.name for file in read] == ["a.mrg", "b/two.mrg"]
    assert read_treebank(archive) == read
    assert read_treebank(folder / "a.mrg") == read[:1]


def test_compressed_files_and_trees_below_a_root(tmp_path: Path) -> None:
    plain_file, rooted = tmp_path / "plain.mrg", "(ROOT\n  (S (NN a) (NN b)))\n\n(TOP (X (NN c)))\n(ROOT (NN d) (NN e))"
    plain_file.write_text(rooted)
    (trees,) = [file.trees for file in read_treebank(plain_file)]
    assert list(map(str, trees)) == ["(S (NN a) (NN b))", "(X (NN c))", "(ROOT (NN d) (NN e))"]
    for ending, pack in ((".xz", lzma.compress), (".gz", gzip.compress)):
        packed = tmp_path / f"packed.ptb{ending}"
        packed.write_bytes(pack(rooted.encode()))
        assert [file.trees for file in read_treebank(packed)] == [trees]
        packed.write_bytes(pack(rooted.encode())[:-9])
        with pytest.raises(InputError, match=r"packed\.ptb.*cannot be unpacked"):
            read_treebank(packed)
    packed.write_bytes(b"(NN a)")
    with pytest.raises(InputError, match=r"packed\.ptb"):
        read_treebank(packed)


def test_what_is_no_treebank_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_treebank(tmp_path / "missing")
    with pytest.raises(InputError, match="no trees"):
        read_treebank(tmp_path)
    broken = tmp_path / "latin.mrg"
    broken.write_bytes(b"(NN caf\xe9)")
    with pytest.raises(InputError, match="UTF-8"):
        read_treebank(broken)
