"""A treebank of a few words, made by a few rules, in Penn brackets and in CoNLL-U; and a realizer trained on it."""

from __future__ import annotations

from functools import lru_cache
from random import Random

from celadon.parsing.brackets import parse_trees
from celadon.parsing.supertags import Derivation, derive
from celadon.realize.model_files import TrainedFergus

NOUNS = "dog cat park man idea house".split()
ADJECTIVES = "old small red".split()
VERBS = "sees likes finds".split()


def _phrase(draw: Random, depth: int = 0) -> str:
    adjectives = [f"(JJ {draw.choice(ADJECTIVES)})"] if draw.random() < 0.4 else []
    words = ["(DT the)", *adjectives, f"(NN {draw.choice(NOUNS)})"]
    if depth == 0 and draw.random() < 0.3:
        return f"(NP (NP {' '.join(words)}) (PP (IN of) {_phrase(draw, 1)}))"
    return f"(NP {' '.join(words)})"


def bracketed(count: int, seed: int = 0) -> str:
    """Trees in Penn brackets."""
    draw = Random(seed)
    trees = []
    for _ in range(count):
        subject = _phrase(draw).replace("(NP ", "(NP-SBJ ", 1)
        adverb = "(ADVP (RB often)) " if draw.random() < 0.4 else ""
        place = f" (PP-LOC (IN in) {_phrase(draw, 1)})" if draw.random() < 0.4 else ""
        trees.append(f"( (S {subject} {adverb}(VP (VBZ {draw.choice(VERBS)}) {_phrase(draw)}{place}) (. .)) )")
    return "\n".join(trees)


def derivations(count: int, seed: int = 0) -> list[Derivation]:
    """The trees, taken apart, with their full stops."""
    return [found for tree in parse_trees(bracketed(count, seed)) if (found := derive(tree)) is not None]


CONLLU = """\
# sent_id = one
1\tThe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tcat\tcat\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsees\tsee\tVERB\tVBZ\t_\t0\troot\t_\t_
4\tthe\tthe\tDET\tDT\t_\t5\tdet\t_\t_
5\tdog\tdog\tNOUN\tNN\t_\t3\tobj\t_\t_
6\t.\t.\tPUNCT\t.\t_\t3\tpunct\t_\t_

# sent_id = two
1\tAnn\tAnn\tPROPN\tNNP\t_\t2\tnsubj\t_\t_
2\tsleeps\tsleep\tVERB\tVBZ\t_\t0\troot\t_\t_

# sent_id = circle
1\ta\ta\tX\tX\t_\t2\tdep\t_\t_
2\tb\tb\tX\tX\t_\t1\tdep\t_\t_

# sent_id = four
1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_
2\tidea\tidea\tNOUN\tNN\t_\t0\troot\t_\t_
"""


@lru_cache(maxsize=1)
def trained() -> TrainedFergus:
    """A realizer trained on the treebank; torch must be there."""
    from celadon.train.realizer.fergus import FergusRecipe, fit_fergus
    from celadon.train.realizer.order_model import OrderRecipe
    from celadon.train.realizer.trees import Parts, TreebankTree, without_marks
    from celadon.train.realizer.trigrams import number_sentences

    trees = [TreebankTree(str(at), without_marks(each)) for at, each in enumerate(derivations(80))]
    recipe = FergusRecipe(order=OrderRecipe(epochs=3, rate=0.1))
    return fit_fergus(Parts(tuple(trees), ()), number_sentences([]), recipe).trained
