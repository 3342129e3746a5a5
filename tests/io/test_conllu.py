"""CoNLL-U: what is read, what is passed over, and what is refused."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import InputError, Sample, Tree, UsageError
from celadon.io.conllu import NOT_GIVEN, digest_of, read_conllu, read_trees, tree_fault, trees_in_order, with_trees

DOGS = """\
# newdoc id = animals
# sent_id = dogs
# text = Dogs don't bark
1\tDogs\tdog\tNOUN\tNNS\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\tVBP\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\tRB\t_\t4\tadvmod\t_\t_
3.1\tnot\t_\t_\t_\t_\t_\t_\t_\t_
4\tbark\tbark\tVERB\tVB\t_\t0\troot\t_\t_
"""
BAD = {
    "cycle": ([(1, 2), (2, 1), (3, 0)], "words 1, 2 depend on each other in a circle"),
    "alone": ([(1, 1)], "it has no root"),
    "roots": ([(1, 0), (2, 0)], "it has 2 roots: words 1, 2"),
    "none": ([(1, 2), (2, 1)], "it has no root: words 1, 2"),
    "far": ([(1, 0), (2, 7)], "word 2 depends on word 7, which is missing"),
    "blank": ([(1, 0), (2, "_")], "word 2 has no head"),
    "empty": ([], "it has no words"),
}


def sentence(name: str, rows: list[tuple[int, object]]) -> str:
    lines = [f"{number}\tw{number}\t_\t_\t_\t_\t{head}\t_\t_\t_" for number, head in rows]
    return "\n".join([f"# sent_id = {name}", *lines, "", ""])


def write(folder: Path, text: str, name: str = "trees.conllu") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_words_heads_tags_relations(tmp_path: Path) -> None:
    (dogs,) = read_conllu(write(tmp_path, DOGS))
    assert (dogs.id, dogs.text, dogs.fault) == ("dogs", "Dogs don't bark", None)
    assert dogs.words == ("Dogs", "do", "n't", "bark")
    assert dogs.heads == (3, 3, 3, -1)
    assert dogs.tags == ("NOUN", "AUX", "PART", "VERB")
    assert dogs.fine_tags == ("NNS", "VBP", "RB", "VB")
    assert dogs.relations == ("nsubj", "aux", "advmod", "root")
    assert dogs.origin.endswith("trees.conllu:1")


def test_compressed_files_and_windows_line_ends(tmp_path: Path) -> None:
    plain = list(read_conllu(write(tmp_path, DOGS)))
    (tmp_path / "a.conllu.xz").write_bytes(lzma.compress(DOGS.encode()))
    (tmp_path / "a.conllu.gz").write_bytes(gzip.compress(DOGS.replace("\n", "\r\n").encode()))
    for name in ("a.conllu.xz", "a.conllu.gz"):
        (found,) = read_conllu(str(tmp_path / name))
        assert (found.words, found.heads, found.id) == (plain[0].words, plain[0].heads, plain[0].id)


def test_a_bad_tree_has_its_fault_and_the_rest_goes_on(tmp_path: Path) -> None:
    text = "".join(sentence(name, rows) for name, (rows, _) in BAD.items()) + DOGS
    *bad, good = read_conllu(write(tmp_path, text))
    assert [each.id for each in bad] == list(BAD)
    for each in bad:
        assert each.fault is not None
        assert each.fault.startswith(BAD[each.id or ""][1])
    assert good.fault is None


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("# sent_id = a\n1\tDogs\n", ":2: has 2 columns"),
        (DOGS + "6\tloudly\t_\t_\t_\t_\t4\t_\t_\t_\n", ":10: is word '6'; word 5 is expected"),
        ("# just a comment\n", "has no sentences"),
        ("# sent_id = a\x00\n", ":1: has a NUL byte"),
    ],
)
def test_what_is_not_conllu_is_refused_with_its_place(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(InputError, match=r"trees\.conllu") as caught:
        list(read_conllu(write(tmp_path, text)))
    assert what in str(caught.value)


def reaches_root(heads: list[int], word: int) -> bool:
    for _ in heads:
        if word == -1:
            return True
        word = heads[word]
    return word == -1


@given(st.lists(st.integers(-1, 6), min_size=1, max_size=6))
def test_a_tree_is_what_leads_to_one_root_from_everywhere(heads: list[int]) -> None:
    inside = all(head < len(heads) for head in heads)
    is_tree = inside and heads.count(-1) == 1 and all(reaches_root(heads, word) for word in range(len(heads)))
    assert (tree_fault(heads) is None) == is_tree


def test_trees_are_found_by_id_and_number_of_the_reference(tmp_path: Path) -> None:
    text = sentence("a", [(1, 0)]) + sentence("a#2", [(1, 2), (2, 0)]) + sentence("bad", [(1, 1)])
    trees = read_trees(write(tmp_path, text))
    first, second, third = trees.attach_to(Sample("x", ("w1", "w1 w2", "w1"), id="a")).trees
    assert first == Tree(("w1",), (-1,))
    assert second == Tree(("w1", "w2"), (1, -1))
    assert isinstance(third, str)
    assert "no tree with the sent_id 'a#3'" in third
    (bad,) = trees.attach_to(Sample("x", ("w1",), id="bad")).trees
    assert isinstance(bad, str)
    assert "'bad'" in bad
    assert "trees.conllu:8" in bad
    assert "no root" in bad
    (without,) = trees.attach_to(Sample("x", ("w1",))).trees
    assert "has no id" in without
    assert trees_in_order(trees.name)[:2] == (first, second)


@pytest.mark.parametrize(("name", "what"), [("a", "sent_id 'a' stands at"), ("", "has no sent_id")])
def test_ids_must_tell_trees_apart(tmp_path: Path, name: str, what: str) -> None:
    other = sentence(name, [(1, 0)]) if name else "1\tw\t_\t_\t_\t_\t0\t_\t_\t_\n"
    with pytest.raises(InputError, match=what):
        read_trees(write(tmp_path, sentence("a", [(1, 0)]) + other))


def test_the_digest_is_of_the_trees_and_their_names(tmp_path: Path) -> None:
    (tmp_path / "a.conllu.xz").write_bytes(lzma.compress(DOGS.replace("dog\tNOUN", "_\t_").encode()))
    same = {read_trees(write(tmp_path, DOGS)).digest, read_trees(str(tmp_path / "a.conllu.xz")).digest}
    assert len(same) == 1
    for other in (
        DOGS.replace("= dogs", "= cats"),
        DOGS.replace("4\taux", "1\taux"),
        DOGS.replace("bark\tb", "sit\tb"),
    ):
        assert read_trees(write(tmp_path, other)).digest not in same
    assert digest_of([("", Tree(("\ud800",), (-1,)))])


def test_lists_of_trees_are_checked() -> None:
    one = Sample("x", ("a b",), origin="row 0")
    good = Tree(("a", "b"), (-1, 0))
    assert with_trees([one], [good])[0].trees == with_trees([one], [[good]])[0].trees == (good,)
    assert with_trees([one], [None])[0].trees == with_trees([one], [[None]])[0].trees == (NOT_GIVEN,)
    with pytest.raises(UsageError, match="1 texts but 2 trees"):
        with_trees([one], [good, good])
    for wrong, what in {
        (good, good): "has 1 references but 2 trees",
        Tree(("a", "b"), (1, 0)): "tree 1 is no tree: it has no root",
        Tree(("a",), (-1, 0)): "must be a celadon.Tree with a head for each word",
        7: "must be a celadon.Tree",
    }.items():
        with pytest.raises(InputError, match=f"row 0: .*{what}"):
            with_trees([one], [wrong])
