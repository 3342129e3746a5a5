"""The rule checker: marks where the faults are, results that depend on nothing else, and all that may befall it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import MissingExtraError, MissingPartError
from celadon.parsing import Failure, Reason, rule_checker
from celadon.parsing.loading import open_parser
from celadon.parsing.rule_checker import LEFT_OUT, RuleCheck, RuleChecker
from tests.conftest import missing_part

GOOD = "The committee approved the new budget after a long debate."

# Faults that any grammar book names, and the words that have them
FAULTS = {
    "I can heard you.": ["heard"],
    "He go to school every day.": ["go"],
    "She ate a apple and an pear.": ["a", "an"],
    "We live in in the old house.": ["in in"],
    "They has left the town already.": ["has"],
}


@pytest.fixture(scope="module")
def checker() -> Iterator[RuleChecker]:
    try:
        made = RuleChecker(time_limit=1, patience=300)
    except MissingPartError as error:
        missing_part("lingotweaker", str(error))
    with made:
        yield made


def checked(checker: RuleChecker, sentence: str) -> RuleCheck:
    (result,) = checker.parse([sentence])
    assert isinstance(result, RuleCheck), result
    return result


@pytest.mark.parametrize(("sentence", "faults"), FAULTS.items())
def test_faults_are_marked_where_they_are(checker: RuleChecker, sentence: str, faults: list[str]) -> None:
    found = checked(checker, sentence)
    assert [sentence[mark.start : mark.end] for mark in found.matches] == faults
    assert all(mark.label and mark.note and "<" not in mark.note for mark in found.matches)
    words = sentence.removesuffix(".").split()
    assert found.share == pytest.approx(len(faults) / (len(words) + 1))  # the full stop counts, too


def test_a_good_sentence_has_no_marks(checker: RuleChecker) -> None:
    assert checked(checker, GOOD) == RuleCheck(11, ())


def test_neither_spelling_nor_pairs_are_asked_for(checker: RuleChecker) -> None:
    found = checked(checker, 'Then Zyrtvex Qqwzt said that "the zzqx bridge (near the town was closed.')
    assert not {mark.label for mark in found.matches}.intersection(LEFT_OUT)
    assert found.matches == ()


@given(st.lists(st.sampled_from(["naïve", "Zürich", "😀", "👩‍👩‍👧", "“so”", "x\x00y", "\ud800", "日本"]), max_size=6))
@settings(max_examples=25, deadline=None)
def test_characters_of_many_bytes_move_no_mark(checker: RuleChecker, words: list[str]) -> None:
    sentence = " ".join(["Then", *words, "he said to them that I can heard you."])
    marked = [sentence[mark.start : mark.end] for mark in checked(checker, sentence).matches]
    assert marked.count("heard") == 1
    assert "hear" not in marked


def test_results_depend_neither_on_order_nor_on_neighbours(checker: RuleChecker) -> None:
    sentences = [*FAULTS, GOOD]
    alone = [checked(checker, sentence) for sentence in sentences]
    assert checker.parse([*reversed(sentences), GOOD, ""]) == [*reversed(alone), alone[-1], Failure(Reason.NO_WORDS)]


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("", Reason.NO_WORDS),
        (")" * 40, Reason.NO_WORDS),
        ("我们今天去学校了。", Reason.UNKNOWN_SCRIPT),
        ("word " * 100_000, Reason.TOO_LONG),
        ("It ended so " + '"' * 60_000, Reason.TIME_LIMIT),
        ("well " + ")" * 40 + " then", None),
        ("a " * 240, None),
        ("x" * 10_000, None),
        ("Read https://example.com/a?b=c&d=%20#top now.", None),
        (" ".join(["the report that the council of the town wrote about the bridge"] * 10) + ".", None),
    ],
    ids=["empty", "brackets", "Chinese", "long", "quotes", "closed", "a", "solid", "url", "120 words"],
)
def test_a_hostile_sentence_has_a_result_or_a_reason(
    checker: RuleChecker, sentence: str, reason: Reason | None
) -> None:
    before, result, after = checker.parse([GOOD, sentence, GOOD])
    assert before == after == RuleCheck(11, ())
    assert result == Failure(reason) if reason else isinstance(result, RuleCheck)


def test_a_process_that_is_killed_is_replaced(checker: RuleChecker) -> None:
    before = checker.parse(list(FAULTS))
    (process,) = checker.process_ids
    os.kill(process, signal.SIGKILL)
    assert checker.parse(list(FAULTS)) == before
    assert process not in checker.process_ids


@pytest.mark.parametrize("absent", ["lingotweaker", "lingotweaker-data-en"])
def test_what_is_not_installed_is_named_with_the_command_that_installs_it(
    absent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_checker, "_MODULES", {"no_such_module": absent})
    with pytest.raises(MissingExtraError) as raised:
        open_parser("lingotweaker")
    assert str(raised.value) == f"{absent} is not installed; install it with: celadon install rules"
