"""Templates of tags filled with words: real pairs of tags, the best words, none twice."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.core import InputError
from celadon.parsing.brackets import Tree, parse_trees
from celadon.synth.lexicon import TaggedWord, part_of_speech_words, supertag_words
from celadon.synth.tag_templates import TagTemplates, template_sentences
from celadon.synth.tokens import number_sentences, tokens_of
from tests.synth.toy_treebank import SENTENCES, TREES

Tagger = Callable[[Iterable[Tree]], list[list[TaggedWord]]]
TAGGERS = pytest.mark.parametrize("tagger", [part_of_speech_words, supertag_words])
CORPUS = number_sentences(SENTENCES)
STOPS = {"part_of_speech_words": frozenset({"."}), "supertag_words": frozenset({"right:S <.>"})}


@TAGGERS
@given(length=st.integers(4, 30), seed=st.integers(0, 1000))
def test_a_template_is_a_chain_of_real_pairs_from_begin_to_end(tagger: Tagger, length: int, seed: int) -> None:
    tagged = tagger(TREES)
    stops = STOPS[tagger.__name__]
    template = TagTemplates(tagged, stops, length).drawn(np.random.default_rng(seed))
    real = {pair for line in tagged for pair in pairwise(["", *(each.tag for each in line), ""])}
    assert len(template) == length
    assert set(pairwise(["", *template, ""])) <= real
    assert [at for at, tag in enumerate(template) if tag in stops] == [length - 1]


def test_templates_come_as_often_as_their_pairs_make_them() -> None:
    tagged = part_of_speech_words(TREES)
    counts = Counter(pair for line in tagged for pair in pairwise(["", *(each.tag for each in line), ""]))
    begun = Counter(before for before, _ in counts.elements())
    chances = {}
    for middle in product(["DT", "NN", "JJ", "VBD", "IN", "CC"], repeat=5):
        chain = ["", *middle, ".", ""]
        chances[middle] = math.prod(counts[pair] / begun[pair[0]] for pair in pairwise(chain))
    total = sum(chances.values())
    rng, count = np.random.default_rng(5), 3000
    templates = TagTemplates(tagged, STOPS["part_of_speech_words"], 6)
    drawn = Counter(tuple(templates.drawn(rng)[:-1]) for _ in range(count))
    for middle, chance in chances.items():
        assert drawn[middle] / count == pytest.approx(chance / total, abs=0.035)


def best_words(template: Sequence[str], tagged: list[list[TaggedWord]]) -> tuple[list[str], bool]:
    """The best of all ways to fill a template, and whether it has a content word twice; by the formulas alone."""
    corpus = Counter(word for line in SENTENCES for word in line)
    pairs = Counter(pair for line in SENTENCES for pair in pairwise(line))
    seen = Counter(before for before, _ in pairs.elements())
    kinds = Counter(before for before, _ in pairs)
    both = Counter((each.word, each.tag) for line in tagged for each in line)
    words = Counter(each.word for line in tagged for each in line)
    known = set(corpus) | set(words)

    def by_tag(word: str, tag: str) -> float:
        weights = {each: both[each, tag] / words[each] * (corpus[each] + 1) for each in words}
        return weights[word] / sum(weights.values())

    def after(word: str, before: str) -> float:
        single = (corpus[word] + 1) / (corpus.total() + len(known))
        if not seen[before]:
            return single
        return (pairs[before, word] + kinds[before] * single) / (seen[before] + kinds[before])

    def score(line: tuple[str, ...]) -> float:
        return math.prod(by_tag(word, tag) for word, tag in zip(line, template, strict=True)) * math.prod(
            after(word, before) for before, word in pairwise(line)
        )

    choices = [sorted(word for word, each in both if each == tag) for tag in template[:-1]]
    best = max(product(*choices, ["."]), key=score)
    content = [word for word, tag in zip(best, template, strict=True) if tag in ("NN", "JJ", "VBD")]
    return list(best), len(set(content)) < len(content)


def test_the_words_are_the_best_that_there_are() -> None:
    tagged = part_of_speech_words(TREES)
    tag_of = {each.word: each.tag for line in tagged for each in line}
    compared = 0
    for text in set(template_sentences(CORPUS, tagged, 7, 60, seed=2)):
        words = [word.lower() for word in text.tokens]
        expected, repeats = best_words([tag_of[word] for word in words], tagged)
        if not repeats:
            assert words == expected
            compared += 1
    assert compared > 3


@TAGGERS
@pytest.mark.parametrize("length", [6, 12])
def test_texts_have_their_length_one_full_stop_and_no_content_word_twice(tagger: Tagger, length: int) -> None:
    tagged = tagger(TREES)
    content = {each.word for line in tagged for each in line if each.part_of_speech in ("NN", "VBD", "JJ")}
    made = template_sentences(CORPUS, tagged, length, 30, seed=1)
    assert len(set(made)) > 1
    for text in made:
        assert tokens_of(text.text) == list(text.tokens)
        assert len(text.tokens) == length
        assert text.tokens.index(".") == length - 1
        used = [word for word in (token.lower() for token in text.tokens) if word in content]
        assert len(set(used)) == len(used)


@TAGGERS
def test_a_seed_makes_the_same_texts_and_another_makes_others(tagger: Tagger) -> None:
    tagged = tagger(TREES)
    first = template_sentences(CORPUS, tagged, 9, 10, seed=1)
    assert first == template_sentences(CORPUS, tagged, 9, 10, seed=1)
    assert first != template_sentences(CORPUS, tagged, 9, 10, seed=2)


def test_a_treebank_that_has_too_little_says_so() -> None:
    with pytest.raises(InputError, match="no chain of tags of the treebank has 2 tokens"):
        template_sentences(CORPUS, part_of_speech_words(TREES), 2, 1, seed=1)
    # the template is NN NN NN . and there are only two nouns
    one = part_of_speech_words(parse_trees("(S (NP (NN cat) (NN dog) ) (. .) )"))
    with pytest.raises(InputError, match="too few words"):
        template_sentences(CORPUS, one, 4, 1, seed=1)
