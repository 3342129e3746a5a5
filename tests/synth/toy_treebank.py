"""A treebank and a corpus of our own, small enough to count by hand."""

from celadon.parsing.brackets import parse_trees

TEXT = """
( (S (NP-SBJ (DT the) (NN cat) ) (VP (VBD saw) (NP (DT a) (JJ small) (NN dog) )) (. .) ))
( (S (NP-SBJ (DT a) (JJ old) (NN man) ) (VP (VBD fed) (NP (DT the) (NN cat) )) (. .) ))
( (S (NP-SBJ (DT the) (NN dog) ) (VP (VBD slept) (PP-LOC (IN near) (NP (DT the) (NN house) ))) (. .) ))
( (S (NP-SBJ (NP (DT a) (NN man) ) (PP (IN in) (NP (DT the) (NN house) )))
     (VP (VBD saw) (NP (DT the) (NN tree) )) (. .) ))
( (S (NP-SBJ (DT the) (JJ old) (NN woman) ) (VP (VBD slept) ) (. !) ))
( (S (S (NP-SBJ (DT the) (NN man) ) (VP (VBD slept) )) (CC and) (S (NP-SBJ (DT the) (NN dog) ) (VP (VBD ate) )) (. .) ))
"""
TREES = list(parse_trees(TEXT))

SENTENCES = [
    line.split()
    for line in (
        "the old man saw a cat near the house .",
        "a small cat slept in the old house .",
        "the dog ate and the man fed the dog .",
        "a woman saw the tree and a man slept .",
        "the dog near the tree saw the small woman in the house .",
        "the man in the house fed a cat and slept .",
    )
]
