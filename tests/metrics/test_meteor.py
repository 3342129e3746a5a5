"""METEOR against the METEOR 1.5 program's scores, its own definition, and the laws of every metric."""

from __future__ import annotations

import json
import shutil
import time
import warnings
from itertools import combinations, pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import MetricScores, MissingExtraError, Sample, UsageError
from celadon.metrics import meteor as module
from celadon.metrics.meteor import (
    EXACT,
    STEM,
    SYNONYM,
    WEIGHTS,
    Candidates,
    Match,
    Meteor,
    PairScore,
    align,
    candidates,
    function_words,
)
from celadon.metrics.meteor_nltk import nltk_words
from celadon.models.words import wordnet
from celadon.models.words.wordnet import are_synonyms, load_wordnet, wordnet_version
from celadon.scoring.batch import Batch
from celadon.text.meteor_words import located_meteor_words, meteor_words
from celadon.text.stems import english_stem
from celadon.text.treebank_words import treebank_words
from tests.conftest import missing_part

ORACLE = json.loads((Path(__file__).parent / "data" / "meteor_jar.json").read_text(encoding="utf-8"))["pairs"]
PLAIN = Meteor(synonyms="no")


def require_wordnet() -> None:
    """Synonyms cannot be tested without WordNet."""
    if wordnet_version() is None:
        missing_part("WordNet", "install it with: ./celadon install wordnet")


FEW = ["the", "a", "cat", "cats", "dog", "ran", "running", "run", "of", ",", "."]
few_words = st.lists(st.sampled_from(FEW), min_size=1, max_size=9)
texts = st.one_of(
    st.text(max_size=40),
    few_words.map(" ".join),
    st.sampled_from(["สวัสดีครับ", "नमस्ते दुनिया", "مرحبا بالعالم", "👩‍👩‍👧 🎉", "\x00", "\ud800 x", "a-b--c U.S. 'tis"]),
)


def scores(text: str, *references: str, metric: Meteor = PLAIN) -> MetricScores:
    return metric.score(Batch([Sample(text, references)]))


def value(text: str, *references: str, metric: Meteor = PLAIN) -> float:
    return float(scores(text, *references, metric=metric).values[0])


def pair(text: str, reference: str, metric: Meteor = PLAIN) -> PairScore:
    return metric.pair(meteor_words(text), meteor_words(reference))


@pytest.mark.parametrize(("synonyms", "key"), [("no", "stem"), ("yes", "synonym")])
def test_agrees_with_the_program(synonyms: str, key: str) -> None:
    if synonyms == "yes":
        require_wordnet()
    metric = Meteor(synonyms=synonyms)
    off = np.array([abs(value(row["text"], row["reference"], metric=metric) - row[key]) for row in ORACLE])
    assert len(off) >= 60
    assert off.mean() < 0.003
    assert np.mean(off < 1e-9) > 0.75  # the rest differ by function words; the next test shows it
    assert off.max() < 0.06  # where our function words are not the program's


@pytest.mark.parametrize("key", ["stem", "synonym"])
def test_differs_from_the_program_by_function_words_alone(key: str) -> None:
    """Where our score is not the program's, it becomes so for some other division into content and function words."""
    if key == "synonym":
        require_wordnet()
    metric = Meteor(synonyms="no" if key == "stem" else "yes")
    unexplained = []
    for row in ORACLE:
        text, reference = meteor_words(row["text"]), meteor_words(row["reference"])
        alignment = metric._align(text, reference)
        doubtful = sorted({*text, *reference})
        sets = (set(chosen) for size in range(3) for chosen in combinations(doubtful, size))
        if not any(abs(_by_hand(metric, text, reference, flip) - row[key]) < 1e-9 for flip in sets):
            unexplained.append((row["text"], alignment))
    assert len(unexplained) <= 2


def _by_hand(metric: Meteor, text: list[str], reference: list[str], flipped: set[str]) -> float:
    """METEOR from its definition, with some words' being function words turned about."""
    matches, chunks = metric._align(text, reference)
    if not matches:
        return 0.0

    def weight(word: str) -> float:
        return 0.25 if (word in function_words()) != (word in flipped) else 0.75

    p = sum(WEIGHTS[m.module] * weight(text[m.text]) for m in matches) / sum(map(weight, text))
    r = sum(WEIGHTS[m.module] * weight(reference[m.reference]) for m in matches) / sum(map(weight, reference))
    mean = 1 / (0.85 / r + 0.15 / p)
    if chunks == 1 and len(matches) == len(text) == len(reference):
        return mean
    return mean * (1 - 0.6 * (chunks / len(matches)) ** 0.2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The U.S. economy, worth $1,000.50, didn't grow.", "the us economy , worth $ 1,000.50 , didn 't grow ."),
        ("It's well-known: “5:30 p.m.” – e.g. 50%", 'it \'s well known : " 5 : 30 pm " - eg 50 %'),
        ("Mr. Smith left. He ate. she ran.", "mr. smith left . he ate. she ran ."),
        ("see www.example.com/a 1990's ...", "see www.example.com / a 1990 's ..."),
        ("a -- b foo--bar -5 word- x", "a - b foo bar -5 word- x"),
        ("U.S.-led J.K. Rowling", "us led jk rowling"),
        ("สวัสดี नमस्ते दुनिया", "ส วั ส ดี नमस्ते दुनिया"),
        ("", ""),
        (" \n\x00", ""),
    ],
)
def test_words(text: str, expected: str) -> None:
    assert meteor_words(text) == expected.split()
    assert [word.form for word in located_meteor_words(text)] == expected.split()


@given(st.text())
def test_words_are_where_they_are_said_to_be(text: str) -> None:
    located = located_meteor_words(text)
    assert [word.form for word in located] == meteor_words(text)
    assert all(a.end <= b.start for a, b in pairwise(located))
    assert all(0 <= word.start < word.end <= len(text) for word in located)


@given(st.text(alphabet="ab1.,'-–’`\" U", max_size=20))
def test_ascii_and_unicode_patterns_agree(text: str) -> None:
    assert meteor_words(text + " é")[:-1] == meteor_words(text + " e")[:-1]


def test_function_words_are_a_short_list_of_common_words() -> None:
    assert {"the", "of", "and", ",", ".", "i", "you"} <= function_words()
    assert not {"cat", "company", "mln"} & function_words()
    assert 60 < len(function_words()) < 150


def _best_by_trying_all(options: Candidates) -> tuple[int, int, int, int]:
    """The rank of the best alignment, found by listing all of them."""
    uses = [position for choices in options for position, _ in choices]
    best = (-1, 0, 0, 0)

    def rank(matches: list[tuple[int, int, int]]) -> tuple[int, int, int, int]:
        sure = sum(m == EXACT or (len(options[r]) == 1 and uses.count(t) == 1) for r, t, m in matches)
        placed = {(r, t) for r, t, _ in matches}
        chunks = sum((r - 1, t - 1) not in placed for r, t in placed)
        return sure, -chunks, len(matches), -sum(abs(r - t) for r, t in placed)

    def extend(here: int, matches: list[tuple[int, int, int]]) -> None:
        nonlocal best
        if here == len(options):
            best = max(best, rank(matches))
            return
        extend(here + 1, matches)
        for position, by in options[here]:
            if all(position != taken for _, taken, _ in matches):
                extend(here + 1, [*matches, (here, position, by)])

    extend(0, [])
    return best


@settings(max_examples=150, deadline=None)
@given(*[st.lists(st.sampled_from(["the", "of", "cat", "cats", "run", "running"]), min_size=1, max_size=6)] * 2)
def test_alignment_is_the_best_of_all(text: list[str], reference: list[str]) -> None:
    options = candidates(text, reference, english_stem, None)
    matches, chunks = align(options)
    expected = _best_by_trying_all(options)
    assert (-chunks, len(matches), -sum(abs(m.text - m.reference) for m in matches)) == expected[1:]


def test_candidates_name_their_module() -> None:
    known = {"car": (1,), "automobile": (1,), "cars": (1,)}
    found = candidates(["car", "dogs"], ["automobile", "car", "dog", "cars"], english_stem, lambda w: known.get(w, ()))
    assert found == [[(0, SYNONYM)], [(0, EXACT)], [(1, STEM)], [(0, STEM), (0, SYNONYM)]]
    assert align([[(0, STEM)], []]).matches == (Match(0, 0, STEM),)
    assert align([]) == ((), 0)


def test_by_hand() -> None:
    # 'cat' and 'cats' by stem; 'the' a function word: P = R = (0.25 + 0.6 * 0.75) / 1.0, one chunk, all matched
    assert value("the cat", "the cats") == pytest.approx(0.7, abs=1e-12)
    assert value("the cat", "the cats", metric=Meteor(synonyms="no", stem=False)) < 0.25
    # every word matched, in two chunks of two: 1 - 0.6 * 0.5 ** 0.2
    assert value("red hat blue sock", "blue sock red hat") == pytest.approx(1 - 0.6 * 0.5**0.2, abs=1e-12)
    got = pair("red hat blue sock", "blue sock red hat")
    assert (got.precision, got.recall, got.chunks, got.matches) == (1.0, 1.0, 2, 4)
    assert value("red", "blue") == 0.0


@given(texts)
def test_a_text_equal_to_its_reference_has_one(text: str) -> None:
    got = scores(text, text)
    if meteor_words(text):
        assert got.values[0] == 1.0
        assert got.parts["penalty"][0] == 0.0
    else:
        assert np.isnan(got.values[0])
        assert got.reasons == {0: "the text has no words"}


@pytest.mark.parametrize("text", ["สวัสดีครับผม", "नमस्ते दुनिया, कैसे हो?", "مرحبا بالعالم", "🎉🎉", "你好，世界。", "ß"])
def test_any_script(text: str) -> None:
    assert value(text, text) == 1.0
    assert value(text, "nothing like it") == 0.0


@given(texts, st.lists(texts, max_size=4))
def test_laws(text: str, references: list[str]) -> None:
    got = scores(text, *references)
    again = scores(text, *references)
    assert got.values.tobytes() == again.values.tobytes()
    turned = scores(text, *references[::-1])
    np.testing.assert_equal(got.values, turned.values)
    if not meteor_words(text):
        assert got.reasons == {0: "the text has no words"}
    elif not any(meteor_words(reference) for reference in references):
        assert got.reasons == {0: "no reference has words"}
    else:
        assert not got.reasons
        assert 0.0 <= got.values[0] <= 1.0
        assert got.values[0] == max(value(text, r) for r in references if meteor_words(r))
    assert np.isnan(got.values[0]) == bool(got.reasons)
    assert set(got.parts) == set(Meteor.info.parts)


def test_an_empty_reference_among_others_is_ignored() -> None:
    assert value("a cat", "", "a cat") == 1.0


def test_neighbours_do_not_matter() -> None:
    samples = [Sample(row["text"], (row["reference"],)) for row in ORACLE[:6]]
    alone = [value(sample.text, *sample.references) for sample in samples]
    for order in list(permutations(range(6)))[::200]:
        got = PLAIN.score(Batch([samples[i] for i in order])).values
        assert [float(x) for x in got] == [alone[i] for i in order]


def test_shuffled_words_are_worse() -> None:
    good = "the old man walked slowly along the river to the mill"
    assert value("river the mill old slowly to man the along walked the", good) < value(good, good)


def test_evidence() -> None:
    shown = PLAIN.evidence(Sample("The cats sleep.", ("Nothing here", "the cat sleeps soundly.")))
    assert shown is not None
    assert shown.reference == 1
    assert [(s.label, s.note) for s in shown.text_spans] == [
        ("match", "exact"),
        ("match", "stem"),
        ("match", "stem"),
        ("match", "exact"),
    ]
    assert [(s.label, s.note) for s in shown.reference_spans][3] == ("deletion", "")
    assert "The cats sleep."[slice(*shown.text_spans[1][:2])] == "cats"
    assert PLAIN.evidence(Sample("", ("a",))) is None


@pytest.mark.parametrize(
    "options", [{"synonyms": "maybe"}, {"alpha": 2.0}, {"delta": 1.0}, {"gamma": -1}, {"beta": -1}]
)
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="meteor"):
        Meteor(**options)  # type: ignore[arg-type]


def test_synonyms() -> None:
    require_wordnet()
    assert are_synonyms("car", "automobile")
    assert are_synonyms("purchased", "bought")
    assert are_synonyms("children", "kid")
    assert not are_synonyms("a", "as")
    assert not are_synonyms("was", "washington")
    assert are_synonyms("was", "were")
    assert not are_synonyms("cat", "house")
    assert not are_synonyms("", "")
    assert not are_synonyms("แมว", "แมว")
    wide = Meteor(synonyms="yes")
    assert value("a car", "an automobile", metric=wide) > value("a car", "an automobile")
    assert f"wordnet:{wordnet_version()}" in Meteor().signature
    assert "synonyms:none" in PLAIN.signature


@pytest.fixture
def no_wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "load_wordnet", lambda: None)
    monkeypatch.setattr(module, "wordnet_version", lambda: None)


@pytest.mark.usefixtures("no_wordnet")
def test_without_wordnet() -> None:
    assert value("a car", "a car", metric=Meteor()) == 1.0
    assert "synonyms:none" in Meteor().signature
    with pytest.raises(MissingExtraError, match="celadon install wordnet"):
        value("a car", "a car", metric=Meteor(synonyms="yes"))


def test_wordnet_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("noun", "verb", "adj", "adv"):
        (tmp_path / f"index.{part}").write_text("  1 WordNet 9.1 is only a test  \n", encoding="utf-8")
    with (tmp_path / "index.noun").open("a", encoding="utf-8") as index:
        index.write("box n 2 1 @ 2 0 00000007 00000009  \n" + "chest n 1 1 @ 1 0 00000009  \n")
        index.write("ice_box n 1 0 1 0 00000011  \n" + "ox n 1 0 1 0 00000012  \n")
    (tmp_path / "noun.exc").write_text("oxen ox\n", encoding="utf-8")
    monkeypatch.setenv("WNSEARCHDIR", str(tmp_path))
    found = wordnet.load_wordnet.__wrapped__()
    assert found is not None
    assert wordnet.wordnet_version.__wrapped__() == "9.1"
    assert list(found.base_forms("boxes")) == ["box"]
    assert set(found.synsets("boxes")) & set(found.synsets("chests"))
    assert found.synsets("oxen") == found.synsets("ox") != ()
    assert "ice_box" not in found.lemmas["noun"]
    assert load_wordnet() is not found


@pytest.fixture(scope="module")
def nltk_wordnet(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """NLTK's reader on a copy of the installed WordNet, with names of files that it lacks."""
    folder = wordnet.find_wordnet()
    if folder is None:
        missing_part("WordNet", "install it with: ./celadon install wordnet")
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    class Reader(WordNetCorpusReader):  # type: ignore[misc]
        def map_wn(self, version: str = "wordnet") -> None:
            """Leave out the mapping to another version, which is not there."""

    copy = tmp_path_factory.mktemp("nltk_data")
    for file in folder.iterdir():
        shutil.copy(file, copy / file.name)
    (copy / "lexnames").write_text("".join(f"{number:02d}\tname{number}\t1\n" for number in range(45)))
    nltk.data.path.append(str(copy))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield Reader(str(copy), None)
    nltk.data.path.remove(str(copy))


def test_the_variant_equals_nltk(nltk_wordnet: Any) -> None:
    from nltk.translate.meteor_score import single_meteor_score

    metric = Meteor(variant="nltk", synonyms="yes")
    differing = 0
    for row in ORACLE:
        text, reference = nltk_words(row["text"]), nltk_words(row["reference"])
        expected = single_meteor_score(reference, text, wordnet=nltk_wordnet)
        assert metric.pair(text, reference).value == pytest.approx(expected, abs=1e-12)
        assert value(row["text"], row["reference"], metric=metric) == pytest.approx(expected, abs=1e-12)
        differing += abs(value(row["text"], row["reference"]) - expected) > 0.01
    assert differing > len(ORACLE) / 2


@pytest.mark.parametrize(
    "sentence",
    [
        "He said he'd 'made some mistakes' by the nation's finances (twice).",
        'Good muffins cost $3.88 (roughly 3,36 euros) -- they "can\'t" be: cheap; really?!',
        "The U.S. won't wait... cannot, gonna; John's e-mail is a@b.c, 5% & more.",
    ],
)
def test_words_of_the_variant_are_nltks(sentence: str) -> None:
    from nltk.tokenize import NLTKWordTokenizer

    assert treebank_words(sentence) == NLTKWordTokenizer().tokenize(sentence)


def test_long_texts_take_time_that_grows_with_their_length() -> None:
    """Five thousand words of which the most frequent are as frequent as in English."""
    generator = np.random.default_rng(1)
    frequency = 1 / np.arange(1, 3001)
    text, reference = (
        [f"w{number}" for number in generator.choice(3000, 5000, p=frequency / frequency.sum())] for _ in range(2)
    )
    times = []
    for words in (1000, 5000):
        begin = time.process_time()
        PLAIN.pair(text[:words], reference[:words])
        times.append(time.process_time() - begin)
    assert times[1] < 15 * max(times[0], 0.02)
