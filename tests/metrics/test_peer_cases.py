"""Other implementations' own test cases and documented examples: their inputs and values, through our metrics."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU, CHRF, TER

from celadon import score
from celadon.core import Sample, UsageError
from celadon.metrics.registry import load
from celadon.scoring.batch import Batch
from celadon.text.mteval_words import MtevalWords
from celadon.text.porter import porter_stem
from celadon.text.shifted_edits import shifted_edits


def corpus_score(spec: str, texts: list[str], references: list[list[str]]) -> float | None:
    return score(texts, references, metrics=[spec]).summary(resamples=2).row(None, spec).corpus


README = (
    ["The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."],
    [
        ["The dog bit the man.", "The dog had bit the man."],
        ["It was not unexpected.", "No one was surprised."],
        ["The man bit him first.", "The man had bitten the dog."],
    ],
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("bleu", 48.530827),
        ("bleu[tokenize=none]", 49.1919566),
        ("bleu[tokenize=intl]", 43.91623493),
        ("bleu[smooth_method=none]", 48.530827),
    ],
)
def test_sacrebleu_corpus(spec: str, expected: float) -> None:
    assert corpus_score(spec, *README) == pytest.approx(expected, abs=1e-6)
    assert corpus_score(spec, ["", "", ""], README[1]) == 0.0


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("smooth_method=exp", 8.493),
        ("smooth_method=none", 0.0),
        ("smooth_method=floor", 4.51688),
        ("smooth_method=floor,smooth_value=0.5", 10.10),
        ("smooth_method=add-k", 14.882),
        ("smooth_method=add-k,smooth_value=2", 21.389),
        ("tokenize=none", 7.347),
        ("tokenize=char", 40.8759),
        ("tokenize=char,lowercase=true", 42.0267),
    ],
)
def test_sacrebleu_sentences(options: str, expected: float) -> None:
    reference = "producţia de zahăr brut se exprimă în zahăr alb;"
    text = "Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;"
    spec = f"bleu[{options}]"
    (value,) = score([text], [[reference]], metrics=[spec])[load(spec).spec]
    assert value == pytest.approx(expected, abs=1e-3)


CHRF_CASES = [
    (["abcdefg"], ["hijklmnop"], 0.0, None),
    ([""], ["reference"], 0.0, 0.0),
    (["aa"], ["ab"], 8.3333, 25.0),
    (["a", "b"], ["a", "c"], 8.3333, 50.0),
    (["a"], ["a"], 16.6667, 100.0),
    (["a b c"], ["abc"], 50.0, 100.0),
    (
        [" Die    Beziehung zwischen  Obama und Netanjahu ist nicht gerade  freundlich. "],
        ["Das Verhältnis zwischen Obama und Netanyahu ist nicht gerade freundschaftlich."],
        64.1302698,
        None,
    ),
]


@pytest.mark.parametrize(("texts", "references", "smoothed", "effective"), CHRF_CASES)
def test_sacrebleu_chrf(texts: list[str], references: list[str], smoothed: float, effective: float | None) -> None:
    several = [[reference] for reference in references]
    assert corpus_score("chrf[beta=3,eps_smoothing=true]", texts, several) == pytest.approx(smoothed, abs=1e-4)
    if effective is not None:
        assert corpus_score("chrf[beta=3]", texts, several) == pytest.approx(effective, abs=1e-4)


def test_sacrebleu_chrf_with_white_space() -> None:
    spec = "chrf[beta=3,whitespace=true]"
    text, reference = (
        "Die Beziehung zwischen Obama und Netanjahu ist nicht gerade freundlich.",
        "Das Verhältnis zwischen Obama und Netanyahu ist nicht gerade freundschaftlich.",
    )
    assert corpus_score(spec, [text], [[reference]]) == pytest.approx(67.3481606, abs=1e-4)


@pytest.mark.parametrize(
    ("text", "reference", "expected"),
    [
        ("aaaa bbbb cccc dddd", "aaaa bbbb cccc dddd", 0),
        ("dddd eeee ffff", "aaaa bbbb cccc", 100),
        ("", "a", 100),
        ("d e f g h a b c", "a b c d e f g h", 100 / 8),
    ],
)
def test_sacrebleu_ter(text: str, reference: str, expected: float) -> None:
    assert TER().corpus_score([text], [[reference]]).score == pytest.approx(expected, abs=1e-9)
    assert corpus_score("ter", [text], [[reference]]) == pytest.approx(expected, abs=1e-9)


TER_EXAMPLE = (
    ["does this sentence match??", "what about this sentence?", "What did the TER metric user say to the developer?"],
    [
        ["does this sentence match", "does this sentence match!?!"],
        ["wHaT aBoUt ThIs SeNtEnCe?", "wHaT aBoUt ThIs SeNtEnCe?"],
        ["Your jokes are...", "...TERrible"],
    ],
)


@pytest.mark.parametrize(
    ("spec", "rows", "expected"),
    [
        ("ter[case_sensitive=true]", 3, 150.0),
        ("ter[case_sensitive=true]", 2, 62.5),
        ("ter[case_sensitive=true,normalized=true]", 2, 57.14285714285714),
        ("ter[no_punct=true]", 2, 0.0),
        ("ter[no_punct=true]", 3, 100.0),
    ],
)
def test_evaluate_ter(spec: str, rows: int, expected: float) -> None:
    assert corpus_score(spec, TER_EXAMPLE[0][:rows], TER_EXAMPLE[1][:rows]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("chrf", 84.64214891738334),
        ("chrf[word_order=2]", 82.87263732906315),
        ("chrf[word_order=2,lowercase=true]", 92.12853119829202),
    ],
)
def test_evaluate_chrf(spec: str, expected: float) -> None:
    texts = [
        "The relationship between cats and dogs is not exactly friendly.",
        "a good bookshop is just a genteel black hole that knows how to read.",
    ]
    references = [
        ["The relationship between dogs and cats is not exactly friendly."],
        ["A good bookshop is just a genteel Black Hole that knows how to read."],
    ]
    assert corpus_score(spec, texts, references) == pytest.approx(expected, abs=1e-9)


GUIDE = "It is a guide to action which ensures that the military always obeys the commands of the party"
GUIDES = [
    "It is a guide to action that ensures that the military will forever heed Party commands",
    "It is the guiding principle which guarantees the military forces always being under the command of the Party",
    "It is the practical guide for the army always to heed the directions of the party",
]


def test_evaluate_meteor() -> None:
    spec = "meteor[variant=nltk]"
    assert score([GUIDE], [GUIDES[:1]], metrics=[spec])[spec][0] == pytest.approx(0.6944, abs=5e-5)
    assert round(float(score([GUIDE], [GUIDES], metrics=[spec])[spec][0]), 2) == 0.69
    assert round(float(score([GUIDE], [[GUIDE]], metrics=[spec])[spec][0]), 2) == 1.0


def test_an_empty_output_lowers_the_corpus_score() -> None:
    """One perfect text and an empty one, as sacrebleu counts them."""
    texts, references = ["The cat sat on the mat today.", ""], [["The cat sat on the mat today."], ["A dog barked."]]
    streams = [[several[0] for several in references]]
    for spec, peer in (("bleu", BLEU()), ("chrf", CHRF()), ("ter", TER())):
        expected = peer.corpus_score(texts, streams).score
        assert corpus_score(spec, texts, references) == pytest.approx(expected, abs=1e-9)
        assert expected != corpus_score(spec, texts[:1], references[:1])
    row = score(texts, references, metrics=["bleu"]).summary(resamples=50).row(None, "bleu")
    assert (row.count, row.nulls, row.null_share, row.wordless) == (1, 1, 0.5, 1)
    assert (row.mean, row.mean_with_wordless) == (pytest.approx(100), pytest.approx(50))
    assert "with empty texts as worst" in str(score(texts, references, metrics=["bleu"]).summary(resamples=50))
    assert "as worst" not in str(score(texts[:1], references[:1], metrics=["bleu"]).summary(resamples=50))


any_text = st.lists(
    st.sampled_from(
        ["a", "b", "the", "The", "1,000", "x.", "&amp;", "3-4", "...", "", "«é»", "天", "-\n", "<skipped>"]
    ),
    max_size=9,
).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(any_text, st.lists(any_text, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_any_corpus_equals_sacrebleu(rows: list[tuple[str, list[str]]]) -> None:
    """Empty texts and references too."""
    texts, references = [text for text, _ in rows], [several for _, several in rows]
    streams = list(itertools.zip_longest(*references))
    for spec, peer in (("bleu", BLEU()), ("bleu2", BLEU(max_ngram_order=2)), ("chrf", CHRF()), ("ter", TER())):
        assert corpus_score(spec, texts, references) == pytest.approx(peer.corpus_score(texts, streams).score, abs=1e-9)


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec="utf-8") | st.sampled_from("..,,--&;<>019 \n"), max_size=30))
def test_words_are_those_of_mteval(text: str) -> None:
    assert MtevalWords().split(text) == BLEU()._preprocess_segment(text).split()


def test_edits_are_those_of_sacrebleu() -> None:
    """Shuffled, cut and altered references, of few words and of many, to and beyond the beam."""
    from sacrebleu.metrics.lib_ter import translation_edit_rate

    drawn = random.Random(3)
    for words, vocabulary in itertools.product((1, 6, 15, 30), (3, 12, 60)):
        for _ in range(4):
            reference = [str(drawn.randrange(vocabulary)) for _ in range(words)]
            text = list(reference)
            for _ in range(3):
                begin = drawn.randrange(len(text))
                block = [text.pop(begin) for _ in range(min(3, len(text) - begin))]
                place = drawn.randint(0, len(text))
                text[place:place] = block
            text[drawn.randrange(len(text))] = "new"
            text = text[: drawn.randint(1, len(text))] + [str(drawn.randrange(9))] * drawn.choice((0, 0, 5))
            numbers = {word: number for number, word in enumerate(Counter(reference + text))}
            ours, theirs = (np.array([numbers[word] for word in each]) for each in (text, reference))
            assert shifted_edits(ours, theirs) == translation_edit_rate(text, reference)[0]


def test_options_are_checked() -> None:
    for spec, message in {
        "bleu[smooth_method=laplace]": "unknown smooth_method 'laplace'; known: none, floor, add-k, exp",
        "bleu[smooth_value=1]": "smooth_value is of floor and add-k",
        "chrf[beta=0]": "beta must be greater than 0",
        "rougeW[variant=2]": "variant must be paper or 1.5.5",
        "meteor[variant=java]": "variant must be 1.5 or nltk",
    }.items():
        with pytest.raises(UsageError, match=message.replace("(", r"\(")):
            load(spec)
    assert "|beta:3|" in load("chrf[beta=3]").signature
    assert "smooth:floor[0.10]" in load("bleu[smooth_method=floor]").signature
    assert "norm:yes|punct:no|asian:yes" in load("ter[normalized=true,no_punct=true,asian_support=true]").signature


ROUGE_CASES = [
    ("rouge1", "testing one two", "testing", (1, 1 / 3, 1 / 2)),
    ("rouge2", "testing one two", "testing one", (1, 1 / 2, 2 / 3)),
    ("rougeL", "testing one two", "testing one", (1, 2 / 3, 4 / 5)),
    ("rougeL", "testing one two", "testing two", (1, 2 / 3, 4 / 5)),
    ("rougeLsum", "w1 w2 w3 w4 w5", "w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", (0.4, 0.8, 8 / 15)),
]


def precision_recall_f(spec: str, text: str, reference: str) -> tuple[float, ...]:
    result = load(spec).score(Batch([Sample(text, (reference,))]))
    return tuple(float(column[0]) for column in (result.parts["precision"], result.parts["recall"], result.values))


# what rouge_score's authors got from ROUGE-1.5.5 on random text: recall, precision and F of two pairs
PROGRAM = {
    "rouge1": ((0.40741, 0.68750, 0.51163), (0.40476, 0.65385, 0.50000)),
    "rouge1[stemmer=true]": ((0.40741, 0.68750, 0.51163), (0.42857, 0.69231, 0.52941)),
    "rouge2": ((0.30769, 0.53333, 0.39024), (0.29268, 0.48000, 0.36364)),
    "rouge2[stemmer=true]": ((0.30769, 0.53333, 0.39024), (0.29268, 0.48000, 0.36364)),
    "rougeL": ((0.40741, 0.68750, 0.51163), (0.40476, 0.65385, 0.50000)),
}
PROGRAM_REFERENCES = (
    "ZfbCUIUuePaiLVUlCaUXxkpu XPeWing tUHfPMuZ',-Xd Y BrUgVJing M-HV.-DgdDaY.rFDJCRing Ht-LM EKBDXkME,yz'RBr q'wtion "
    "wIojNbN wL,b .a-'XdQggyFl jB-RPP'iyOIcUxer tKM L",
    "KsJdPByEtAor fE-Qg Dpdbring cw-WeFyu vC MoBL Xdn g wkvcEiGvKtion BDFhrpMtion psing sbKao Q m qiing LMmer "
    "HqqLFXe,XPY,J XsurkMer ,ed nB'wH'bWVHjWFEing tQ.saefZwJtKrTlixYpMMsJing UCAPwNHeYVjDing c T BUySKtion gMPfJpwGw "
    "p'NvxAoping eu pBwMBKV'I DNxqelhu,PHPxDEq,mtion SN",
)
PROGRAM_TEXTS = (
    "rFDJCRtion Ht-LM EKtDXkME,yz'RBr q'wer wrojNbN wL,b .a-'XdQggyFl jB-RPP'iyOIcUxi",
    "n cw-WeFyu vC MoBL Xdn g wkvcEiGvKtion BDFhrpMer pstion sbKao Q m qier LMmed HqqLFXe,XPY,J XsurkMeo ,ed "
    "nB'wH'bWVHjWFEer tQ.saefZwJtKrTlixYpMMNJtion UCAPwNHeYVjD",
)


@pytest.mark.parametrize("spec", PROGRAM)
def test_rouge_of_the_program(spec: str) -> None:
    for text, reference, (recall, precision, f) in zip(PROGRAM_TEXTS, PROGRAM_REFERENCES, PROGRAM[spec], strict=True):
        assert precision_recall_f(spec, text, reference) == pytest.approx((precision, recall, f), abs=6e-6)


@pytest.mark.parametrize(("spec", "reference", "text", "expected"), ROUGE_CASES)
def test_rouge_score_cases(spec: str, reference: str, text: str, expected: tuple[float, ...]) -> None:
    assert precision_recall_f(spec, text, reference) == pytest.approx(expected)


def test_stems_are_rouge_scores() -> None:
    """Words with every ending that Porter's algorithm knows, in all metrics that stem."""
    stems = "relat condit valenc hesit digit conform radic differ vile analog vietnam predic oper feudal decis hope"
    endings = "ational tional enci anci izer abli alli entli eli ousli ization ation ator alism iveness fulness ies ied"
    drawn = random.Random(5)
    words = [f"{drawn.choice(stems.split())}{drawn.choice(endings.split())}" for _ in range(300)]
    words += "skies dying lying news innings proceed spied died spy enjoy happy controlling feed agreed hopping".split()
    assert [porter_stem(word) for word in words] == [PorterStemmer().stem(word) for word in words]
    types = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    scorer = rouge_scorer.RougeScorer(types, use_stemmer=True)
    for _ in range(40):
        text, reference = (" ".join(drawn.choices([*words, "cats", "cat", "ran", "was"], k=12)) for _ in range(2))
        ours = score([text], [[reference]], metrics=[f"{name}[stemmer=true]" for name in types])
        theirs = scorer.score(reference, text)
        for name in types:
            assert ours[f"{name}[stemmer=true]"][0] == pytest.approx(theirs[name].fmeasure, abs=1e-12)


def by_program(reference: list[str], text: list[str], weight: float) -> tuple[float, float]:
    """ROUGE-W of one line as the program computes it, in the plainest way: runs of the reference's hits."""
    scores = np.zeros((len(reference) + 1, len(text) + 1))
    runs = np.zeros((len(reference) + 1, len(text) + 1), dtype=int)
    for i, j in itertools.product(range(1, len(reference) + 1), range(1, len(text) + 1)):
        if reference[i - 1] == text[j - 1]:
            runs[i, j] = runs[i - 1, j - 1] + 1
            scores[i, j] = scores[i - 1, j - 1] + runs[i, j] ** weight - (runs[i, j] - 1) ** weight
        else:
            scores[i, j] = max(scores[i - 1, j], scores[i, j - 1])
    i, j, hits = len(reference), len(text), set[int]()
    while i and j:
        if reference[i - 1] == text[j - 1]:
            i, j = i - 1, j - 1
            hits.add(i)
        elif scores[i - 1, j] >= scores[i, j - 1]:
            i -= 1
        else:
            j -= 1
    lengths = [len(list(group)) for hit, group in itertools.groupby(at in hits for at in range(len(reference))) if hit]
    weighted = sum(length**weight for length in lengths)
    recall = (weighted / len(reference) ** (weight * weight)) ** (1 / weight)
    return recall, (weighted / len(text) ** weight) ** (1 / weight)


def test_rouge_w_of_the_program_and_of_the_paper() -> None:
    drawn = random.Random(2)
    for _ in range(30):
        # of distinct words, so that none is used up
        reference = drawn.sample("abcdefghijkl", 9)
        text = drawn.sample("abcdefghijkl", 8)
        precision, recall, _ = precision_recall_f("rougeW[variant=1.5.5]", " ".join(text), " ".join(reference))
        assert (recall, precision) == pytest.approx(by_program(reference, text, 1.2))
    # Lin (2004): with f(k) = k^2 an unbroken run of four of seven words is 0.571, a broken one 0.286
    spec = "rougeW[weight=2]"
    paper = score(["a b c d h i k", "a h b k c i d"], [["a b c d e f g"]] * 2, metrics=[spec])
    assert paper[spec].tolist() == pytest.approx([4 / 7, 2 / 7])
