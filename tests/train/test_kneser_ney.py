"""Modified Kneser-Ney: against the formulas written down with dictionaries, and against kenlm's reading of it."""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from celadon.cli.train import language_models as command
from celadon.core import InputError, OutputError, UsageError
from celadon.models.language.ngram_lm import NgramTables, open_ngram
from celadon.train.corpus import Corpus
from celadon.train.language_models.kneser_ney import FALLBACK, discounts, held_out_perplexity, train_ngrams
from celadon.train.language_models.ngrams import TrainedNgrams, write_arpa
from celadon.train.language_models.vocabulary import marks_of, scripts_of, train_tokenizer
from tests.kenlm_part import require_kenlm

BEGIN, END = 1, 2
Probability = Callable[[tuple[int, ...], int], float]


def trained(sentences: Sequence[Sequence[int]], vocabulary: int, order: int) -> NgramTables:
    ids = np.array([token for sentence in sentences for token in sentence], dtype=np.uint16)
    starts = np.cumsum([0, *map(len, sentences)])
    return train_ngrams(ids, starts, vocabulary, BEGIN, END, order)


def logprobs(tables: NgramTables, sentence: Sequence[int]) -> list[float]:
    values: list[float] = tables.score(np.array(sentence, dtype=np.int64), np.array([0, len(sentence)])).tolist()
    return values


def smoothed_counts(sentences: Sequence[Sequence[int]], order: int) -> dict[int, Counter[tuple[int, ...]]]:
    """The counts that modified Kneser-Ney goes by, from their definition."""
    raw: dict[int, Counter[tuple[int, ...]]] = {n: Counter() for n in range(1, order + 1)}
    lefts: dict[tuple[int, ...], set[int]] = defaultdict(set)
    opening: Counter[tuple[int, ...]] = Counter()
    for sentence in sentences:
        tokens = (BEGIN, *sentence, END)
        for n in range(1, order + 1):
            for at in range(len(tokens) - n + 1):
                gram = tokens[at : at + n]
                raw[n][gram] += 1
                if at:
                    lefts[gram].add(tokens[at - 1])
                else:
                    opening[gram] += 1
    counts = {n: Counter({g: len(lefts[g]) + opening[g] for g in raw[n]}) for n in range(1, order)}
    counts[order] = raw[order]
    del counts[1][BEGIN,]
    return counts


def reference(sentences: Sequence[Sequence[int]], vocabulary: int, order: int) -> Probability:
    """Interpolated modified Kneser-Ney as Chen and Goodman write it, one token at a time."""
    counts = smoothed_counts(sentences, order)
    following: dict[tuple[int, ...], list[tuple[int, int]]] = defaultdict(list)
    discount = {}
    for n, table in counts.items():
        for gram, count in table.items():
            following[gram[:-1]].append((gram[-1], count))
        discount[n] = _discounts([count for count in table.values() if count])

    def probability(history: tuple[int, ...], token: int) -> float:
        n = len(history) + 1
        lower = probability(history[1:], token) if history else 1 / vocabulary
        total = sum(count for _, count in following[history])
        if not total:
            return lower
        take = {count: discount[n][min(count, 3) - 1] for _, count in following[history] if count}
        freed = sum(take[count] for _, count in following[history] if count)
        own = counts[n][(*history, token)]
        return (own - take[own] if own else 0.0) / total + freed / total * lower

    return probability


def _discounts(counts: list[int]) -> tuple[float, ...]:
    t = [counts.count(k) for k in range(5)]
    if 0 in t[1:]:
        return FALLBACK
    y = t[1] / (t[1] + 2 * t[2])
    found = tuple(k - (k + 1) * y * t[k + 1] / t[k] for k in (1, 2, 3))
    return found if all(d > 0 for d in found) else FALLBACK


def reference_logprobs(probability: Probability, sentence: Sequence[int], order: int) -> list[float]:
    tokens = (BEGIN, *sentence, END)
    return [math.log(probability(tokens[max(0, at - order + 1) : at], tokens[at])) for at in range(1, len(tokens))]


def zipf_sentences(seed: int, sentences: int, vocabulary: int) -> list[list[int]]:
    """Sentences in which what comes next depends on what came before, with rare and frequent tokens."""
    chance = random.Random(seed)
    made = []
    for _ in range(sentences):
        sentence = [3 + int((vocabulary - 3) * chance.random() ** 4)]
        while chance.random() < 0.9:
            drawn = 3 + int((vocabulary - 3) * chance.random() ** 3)
            sentence.append(3 + (sentence[-1] * 7) % (vocabulary - 3) if chance.random() < 0.4 else drawn)
        made.append(sentence)
    return made


token = st.integers(min_value=3, max_value=9)
small_corpora = st.lists(st.lists(token, max_size=8), min_size=1, max_size=12)


@given(small_corpora, st.lists(st.integers(0, 11), max_size=8), st.integers(1, 4))
def test_is_the_dictionary_version_on_small_corpora(sentences: list[list[int]], asked: list[int], order: int) -> None:
    tables = trained(sentences, 12, order)
    probability = reference(sentences, 12, order)
    for sentence in (*sentences, asked):
        expected = reference_logprobs(probability, sentence, order)
        assert logprobs(tables, sentence) == pytest.approx(expected, abs=1e-9, rel=0)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_is_the_dictionary_version_where_discounts_are_estimated(order: int) -> None:
    sentences = zipf_sentences(order, 400, 120)
    assert all(
        _discounts([count for count in table.values() if count]) != FALLBACK
        for n, table in smoothed_counts(sentences, order).items()
        if n > 1
    )
    tables = trained(sentences, 130, order)
    probability = reference(sentences, 130, order)
    for sentence in (*sentences[:60], *zipf_sentences(99, 40, 130)):
        expected = reference_logprobs(probability, sentence, order)
        assert logprobs(tables, sentence) == pytest.approx(expected, abs=1e-9, rel=0)


@given(small_corpora, st.lists(st.integers(0, 11), max_size=4), st.integers(1, 4))
def test_sums_to_one_after_any_history(sentences: list[list[int]], history: list[int], order: int) -> None:
    tables = trained(sentences, 12, order)
    ids = np.array([(*history, word) for word in range(12)])
    scores = tables.score(ids.ravel(), np.arange(13) * ids.shape[1]).reshape(12, -1)
    assert np.exp(scores[:, len(history)]).sum() == pytest.approx(1.0, abs=1e-9)


def test_sums_to_one_after_every_seen_context() -> None:
    sentences = zipf_sentences(5, 200, 40)
    tables = trained(sentences, 45, 3)
    contexts = {(s[at], s[at + 1]) for s in sentences for at in range(len(s) - 1)} | {(7, 44), (44, 44)}
    ids = np.array([(*context, word) for context in sorted(contexts) for word in range(45)])
    scores = tables.score(ids.ravel(), np.arange(len(ids) + 1) * 3).reshape(len(ids), -1)
    sums = np.exp(scores[:, 2]).reshape(-1, 45).sum(axis=1)
    assert np.abs(sums - 1).max() < 1e-9


@given(small_corpora, st.randoms())
def test_order_of_the_sentences_does_not_matter(sentences: list[list[int]], chance: random.Random) -> None:
    shuffled = list(sentences)
    chance.shuffle(shuffled)
    one, other = trained(sentences, 12, 3), trained(shuffled, 12, 3)
    for left, right in zip(
        (*one.keys, *one.logprobs, *one.backoffs), (*other.keys, *other.logprobs, *other.backoffs), strict=True
    ):
        assert np.array_equal(left, right)


def test_what_was_never_seen_is_finite() -> None:
    tables = trained([[3]], 500, 3)
    assert np.isfinite(logprobs(tables, [499, 0, 3, BEGIN, 499, 499])).all()


def test_neighbours_do_not_change_a_score() -> None:
    sentences = zipf_sentences(3, 50, 30)
    tables = trained(sentences, 30, 3)
    together = tables.score(np.concatenate(sentences), np.cumsum([0, *map(len, sentences)]))
    assert together.tolist() == [value for sentence in sentences for value in logprobs(tables, sentence)]


def test_discounts_by_hand() -> None:
    # 4 once, 2 twice, 1 thrice, 1 four times: Y = 4 / (4 + 2 * 2) = 1/2
    assert discounts(np.array([1, 1, 1, 1, 2, 2, 3, 4, 9])) == pytest.approx((0.5, 1.25, 1.0))
    assert discounts(np.array([1, 1, 2, 2, 3])) == FALLBACK


def test_refuses_what_it_cannot_do() -> None:
    with pytest.raises(InputError, match="no sentences"):
        train_ngrams(np.array([], dtype=np.uint16), np.array([0]), 10, BEGIN, END)
    with pytest.raises(UsageError, match="order 5 does not go with a vocabulary of 16,000"):
        trained([[3]], 16_000, 5)
    with pytest.raises(UsageError, match="at least 1"):
        trained([[3]], 10, 0)


def word_texts(seed: int, count: int) -> list[str]:
    names = [a + b for a in "bdfgklm" for b in ("a", "e", "i", "o", "u", "é")]
    return [" ".join(names[number % len(names)] for number in sentence) for sentence in zipf_sentences(seed, count, 60)]


def word_model(texts: Sequence[str], size: int, order: int) -> TrainedNgrams:
    tokenizer = train_tokenizer(texts, "word", size)
    marks = marks_of(tokenizer)
    encoded = [tokenizer.encode(text).ids for text in texts]
    ids, starts = np.concatenate(encoded), np.cumsum([0, *map(len, encoded)])
    tables = train_ngrams(ids, starts, tokenizer.get_vocab_size(), marks.begin, marks.end, order)
    return TrainedNgrams(tokenizer, tables, np.bincount(ids, minlength=tokenizer.get_vocab_size()))


@pytest.mark.parametrize(("order", "ending"), [(2, ".arpa"), (3, ".arpa"), (3, ".arpa.gz"), (4, ".arpa")])
def test_kenlm_reads_the_same_probabilities(tmp_path: Path, order: int, ending: str) -> None:
    require_kenlm()
    model = word_model(word_texts(order, 300), 40, order)
    lines: list[int] = []
    write_arpa(str(tmp_path / f"model{ending}"), model, lines.append)
    assert sum(lines) == sum(map(len, model.tables.logprobs))
    texts = [*word_texts(1000, 60), "bé never seen words ba"]
    unknown = marks_of(model.tokenizer).unknown
    for text, scores in zip(texts, open_ngram(tmp_path / f"model{ending}").score(texts), strict=True):
        ids = model.tokenizer.encode(text).ids
        assert scores.logprobs.tolist() == pytest.approx(logprobs(model.tables, ids), abs=1e-5)
        assert scores.known.tolist() == [*(number != unknown for number in ids), True]


def test_a_token_that_arpa_cannot_hold_is_refused(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models

    model = word_model(["ba be"], 10, 2)
    words = {**model.tokenizer.get_vocab(), "b a": model.tokenizer.get_vocab_size()}
    bad = TrainedNgrams(Tokenizer(models.WordLevel(words, unk_token="[UNK]")), model.tables, model.counts)
    with pytest.raises(UsageError, match="'b a' cannot stand in an ARPA file"):
        write_arpa(str(tmp_path / "bad.arpa"), bad)
    assert list(tmp_path.iterdir()) == []


def test_scripts_are_those_of_the_letters() -> None:
    tokens = ["[UNK]", "##der", "дом", "漢", "σ", "12"]
    assert scripts_of(tokens, np.array([900, 20, 10, 5, 1, 500])) == ["Latin", "Cyrillic", "Han"]
    assert scripts_of(tokens, np.array([900, 0, 0, 0, 0, 500])) == []


def train(*arguments: str | Path) -> int:
    parser = argparse.ArgumentParser()
    command.add_parsers(parser.add_subparsers())
    chosen = parser.parse_args(["ngram", *map(str, arguments)])
    code: int = chosen.run(chosen)
    return code


@pytest.fixture
def corpus_file(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    texts = [text.capitalize() + "." for text in word_texts(8, 600)]
    path.write_text("\n\n".join("\n".join(texts[at : at + 6]) for at in range(0, len(texts), 6)), encoding="utf-8")
    return path


@pytest.mark.parametrize("unit", ["wordpiece", "word"])
def test_command_trains_what_it_reports(
    tmp_path: Path, corpus_file: Path, unit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "new" / "model"
    assert train(corpus_file, "--output", folder, "--unit", unit, "--vocab", "60", "--hold-out", "0.2") == 0
    told = capsys.readouterr().out
    sentences = [each.text for each in Corpus((corpus_file,), 0.2).sentences() if each.held_out]
    measured = held_out_perplexity(open_ngram(folder), sentences)
    assert measured.sentences == len(sentences) > 50
    assert measured.words == sum(len(text.split()) for text in sentences)
    assert f"{measured.per_word:.1f} per word" in told
    assert f"{measured.per_word:.1f} per word" in (folder / "card.md").read_text(encoding="utf-8")
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_command_with_the_tokens_of_another_model(tmp_path: Path, corpus_file: Path) -> None:
    train(corpus_file, "--output", tmp_path / "one", "--vocab", "60")
    train(corpus_file, "--output", tmp_path / "two", "--tokenizer", tmp_path / "one" / "tokenizer.json")
    texts = word_texts(4, 20)
    for left, right in zip(
        open_ngram(tmp_path / "one").score(texts), open_ngram(tmp_path / "two").score(texts), strict=True
    ):
        assert left.logprobs.tolist() == right.logprobs.tolist()


def test_known_only_leaves_out_words_with_unknown_parts(tmp_path: Path, corpus_file: Path) -> None:
    train(corpus_file, "--output", tmp_path / "model", "--unit", "word", "--vocab", "60")
    model = open_ngram(tmp_path / "model")
    text = "ba be-xyzzy, da."
    (scores,) = model.score([text])
    # ba | be - xyzzy , | da . and the end
    assert scores.known[[0, 5]].all()
    assert not scores.known[3]
    kept = scores.logprobs[[0, 5, 6, 7]]
    measured = held_out_perplexity(model, [text, ""], known_only=True)
    assert (measured.tokens, measured.words, measured.sentences) == (4, 2, 1)
    assert measured.loss == pytest.approx(-kept.sum())
    assert held_out_perplexity(model, [text]).loss == pytest.approx(-scores.logprobs.sum())


def test_command_refuses_before_it_reads(tmp_path: Path, corpus_file: Path) -> None:
    output = ("--output", tmp_path / "model")
    with pytest.raises(InputError, match=r"none\.txt: no such file"):
        train(tmp_path / "none.txt", *output)
    with pytest.raises(UsageError, match="is there already"):
        train(corpus_file, "--output", tmp_path)
    with pytest.raises(UsageError, match="order 9 does not go"):
        train(corpus_file, *output, "--order", "9")
    with pytest.raises(OutputError, match="does not exist"):
        train(corpus_file, *output, "--arpa", tmp_path / "none" / "a.arpa")
    with pytest.raises(UsageError, match="also an input"):
        train(corpus_file, *output, "--arpa", corpus_file)
    with pytest.raises(UsageError, match="does not go with --tokenizer"):
        train(corpus_file, *output, "--unit", "word", "--tokenizer", "tokenizer.json")
    with pytest.raises(InputError, match=r"corpus\.txt: cannot be read as a tokenizer"):
        train(corpus_file, *output, "--tokenizer", corpus_file)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


def test_a_tokenizer_without_marks_is_refused(tmp_path: Path, corpus_file: Path) -> None:
    from tokenizers import Tokenizer, models

    Tokenizer(models.WordLevel({"ba": 0}, unk_token="ba")).save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(UsageError, match=r"must have the tokens \[BOS\]"):
        train(corpus_file, "--output", tmp_path / "model", "--tokenizer", tmp_path / "tokenizer.json")
