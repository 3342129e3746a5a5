"""The tree accuracies without parsing: pairs a second, and against the string accuracies of the same pairs in one run.

Half of the outputs are the reference with its words dropped, replaced and moved; the other half have all its words, in
an order that the tree permits or in any. The trees are random and projective, as deep as those of sentences are; every
pair has its own: over the reference's own words, or with a word in two tokens, as treebanks cut "didn't". The best of
several rounds counts, and the rounds of the two sides alternate.
"""

from __future__ import annotations

import random
import time

from pairs import make_pairs

import celadon
from celadon import Sample, Tree
from celadon.text.words import words

TREES = ("simple_tree_accuracy", "generation_tree_accuracy", "understandability_accuracy", "quality_accuracy")
STRINGS = ("simple_string_accuracy", "generation_string_accuracy")
WORDS, COUNT, ROUNDS = 26, 4096, 7


def random_tree(size: int, generator: random.Random) -> list[int]:
    """Heads of a projective tree."""
    heads = [-1] * size

    def hang(begin: int, end: int, mother: int) -> None:
        while begin < end:
            cut = min(end, begin + 1 + int(generator.expovariate(0.3)))
            head = generator.randrange(begin, cut)
            heads[head] = mother
            hang(begin, head, head)
            hang(head + 1, cut, head)
            begin = cut

    root = generator.randrange(size)
    hang(0, root, root)
    hang(root + 1, size, root)
    return heads


def linearised(heads: list[int], generator: random.Random) -> list[int]:
    """Another order of the words that keeps every word together with those below it."""
    below: dict[int, list[int]] = {}
    for word, head in enumerate(heads):
        below.setdefault(head, []).append(word)

    def of(word: int) -> list[int]:
        parts = [[word], *(of(daughter) for daughter in below.get(word, []))]
        if generator.random() < 0.4:
            generator.shuffle(parts)
        return [each for part in parts for each in part]

    return of(below[-1][0])


def make_samples(tokens: int, count: int, seed: int = 1) -> list[Sample]:
    """Return outputs with references and their trees."""
    generator = random.Random(seed)
    samples = []
    for number, (damaged, reference) in enumerate(make_pairs(tokens - 1, count, seed)):
        found = words(reference, "surface")
        heads = random_tree(len(found), generator)
        text = damaged
        if number % 4 == 0:
            text = " ".join(found[at] for at in linearised(heads, generator))
        elif number % 4 == 1:
            text = " ".join(generator.sample(found, len(found)))
        samples.append(Sample(text, (reference,), trees=(Tree(tuple(found), tuple(heads)),)))
    return samples


def with_a_word_in_two(sample: Sample) -> Sample:
    """Return the sample with the longest word of its tree cut, the second half hanging from the first."""
    (tree,) = sample.trees
    assert isinstance(tree, Tree)
    cut = max(range(len(tree.words)), key=lambda at: len(tree.words[at]))
    word = tree.words[cut]
    halves = (word[: len(word) // 2], word[len(word) // 2 :])
    heads = [head + (head > cut) for head in tree.heads]
    heads.insert(cut + 1, cut)
    other = Tree((*tree.words[:cut], *halves, *tree.words[cut + 1 :]), tuple(heads))
    return Sample(sample.text, sample.references, trees=(other,))


def main() -> None:
    """Print the rates and their ratio, by the clock and by the time of the processor, which others cannot take."""
    own = make_samples(WORDS, COUNT)
    for tokens, samples in {"own words": own, "a word in two": [with_a_word_in_two(sample) for sample in own]}.items():
        for name, clock in {"by the clock": time.perf_counter, "of processor time": time.process_time}.items():
            best = dict.fromkeys((TREES, STRINGS), 0.0)
            for _ in range(ROUNDS):
                for metrics in best:
                    begin = clock()
                    celadon.score(samples, metrics=metrics)
                    best[metrics] = max(best[metrics], COUNT / (clock() - begin))
            print(
                f"{COUNT:,} pairs of {WORDS} reference tokens, {tokens}, {name}: four tree accuracies "
                f"{best[TREES]:,.0f} pairs/s, two string accuracies {best[STRINGS]:,.0f} pairs/s, "
                f"ratio {best[TREES] / best[STRINGS]:.2f}"
            )


if __name__ == "__main__":
    main()
