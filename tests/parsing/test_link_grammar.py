"""Link Grammar against its own command line, and its processes against all that may befall them."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from celadon.core import MissingPartError
from celadon.parsing import Failure, LinkParse, Parser, Reason, link_grammar
from celadon.parsing.link_grammar import LINKAGE_LIMIT, LinkGrammar
from celadon.parsing.worker_parser import Limits, Program, Workers
from tests import processes
from tests.conftest import missing_part

COMMITTEE = "The committee approved the new budget after a long debate."
WORDS = COMMITTEE.rstrip(".").split()

# Each with its own way of being parsed: whole, with words left out, split, and with more linkages than are examined
SENTENCES = (
    COMMITTEE,
    "budget the approved new after committee debate long a the .",
    "She can't say that they're wrong, but the dogs' owner hasn't paid.",
    "The naïve visitor said “it cost 12.50 euros” in the café near Zürich.",
    "He of the bought quickly an blue and.",
    "When the ferry finally reached the island, the passengers who had slept through the storm found that their cars, "
    "which stood on the open deck, were full of water.",
    "The of minister the said and company prices that rose for it a in had week last the to by.",
)

# The search for the fewest words to leave out of this takes minutes.
HARD = (
    " ".join(random.Random(1).choices([*WORDS, "who", "had", "said", "that", "and", "of", "for", "were"], k=60)) + "."
)


@pytest.fixture(scope="module")
def parser() -> Iterator[LinkGrammar]:
    with LinkGrammar(workers=1) as made:
        try:
            assert made.facts
        except MissingPartError:
            missing_part("Link Grammar", "install it with: ./celadon install parse")
        yield made


@pytest.fixture(scope="module")
def command_line(parser: LinkGrammar) -> Callable[..., str]:
    """What the parser's own command prints."""
    command = shutil.which("link-parser")
    if command is None:
        missing_part("link-parser", "run: apt-get install link-grammar")

    def printed(*sentences: str) -> str:
        options = [f"-limit={LINKAGE_LIMIT}", "-spell=0", "-timeout=300", "-verbosity=1"]
        done = processes.run(
            [str(command), "en", *options],
            input="\n".join(sentences) + "\n",
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "LC_ALL": "C.UTF-8"},
        )
        return done.stdout + done.stderr

    return printed


def parsed(parser: Parser[LinkParse], sentence: str) -> LinkParse:
    (result,) = parser.parse([sentence])
    assert isinstance(result, LinkParse), result
    return result


def spelled(sentence: str, parse: LinkParse) -> list[str]:
    """The words that were left out."""
    return [sentence[slice(*parse.words[word])] for word in parse.unused]


def test_a_good_sentence_needs_all_its_words(parser: LinkGrammar) -> None:
    parse = parsed(parser, COMMITTEE)
    assert (parse.length, parse.null_count, parse.found, parse.examined, parse.valid) == (11, 0, 24, 24, 24)
    assert [COMMITTEE[start:end] for start, end in parse.words] == [*WORDS, "."]
    assert (parse.unused, parse.null_share, parse.invalid_share) == ((), 0, 0)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_counts_and_costs_are_those_of_the_command_line(
    sentence: str, parser: LinkGrammar, command_line: Callable[..., str]
) -> None:
    printed = command_line(sentence)
    counts = re.search(r"Found (\d+) linkages? \((\d+)(?: of (\d+) random linkages)? had no P.P. violations\)", printed)
    nulls = re.search(r"at null count (\d+)", printed)
    cost = re.search(r"Linkage 1, cost vector = \(UNUSED=(\d+) DIS= *(-?[\d.]+) LEN=(\d+)\)", printed)
    left_out = re.findall(r" \[(\S+)\](?= |$)", printed[printed.rindex("LEFT-WALL") :])
    assert counts is not None
    assert cost is not None
    parse = parsed(parser, sentence)
    assert parse.found == int(counts[1])
    assert parse.valid == int(counts[2])
    assert parse.examined == int(counts[3] or counts[1])
    assert parse.null_count == int(nulls[1] if nulls else 0)
    assert parse.unused_cost == int(cost[1])
    assert parse.disjunct_cost == pytest.approx(float(cost[2]), abs=0.0051)
    assert parse.length_cost == int(cost[3])
    assert spelled(sentence, parse) == left_out


def test_the_sentences_above_are_of_all_kinds(parser: LinkGrammar) -> None:
    parses = [parsed(parser, sentence) for sentence in SENTENCES]
    assert {parse.null_count for parse in parses} >= {0, 3, 4}
    assert any(parse.found > LINKAGE_LIMIT for parse in parses)
    assert any(parse.valid < parse.examined for parse in parses)


def test_facts_are_the_versions_that_the_command_line_states(
    parser: LinkGrammar, command_line: Callable[..., str]
) -> None:
    banner = command_line("")
    library = re.search(r"Library version link-grammar-([\d.]+\d)", banner)
    dictionary = re.search(r"Dictionary version ([\d.]+\d)", banner)
    assert library is not None
    assert dictionary is not None
    assert parser.facts["link-grammar"] == library[1]
    assert parser.facts["dictionary"] == f"en-{dictionary[1]}"


@given(
    st.lists(st.sampled_from([*WORDS, "naïve", "don’t", ",", "(", "😀", "co-op's", "x\x00y", "\ud800"]), max_size=12)
)
@settings(max_examples=40)
def test_words_are_where_they_stand(parser: LinkGrammar, words: list[str]) -> None:
    sentence = "The " + " ".join(words)
    parse = parsed(parser, sentence)
    ends = [0, *(place for span in parse.words for place in span), len(sentence)]
    assert ends == sorted(ends)
    gaps = "".join(sentence[end:start] for end, start in zip(ends[::2], ends[1::2], strict=True))
    assert gaps.replace("\x00", " ").isspace() or not gaps
    assert len(parse.unused) <= parse.null_count <= parse.length + 1
    assert 0 <= parse.null_share <= 1
    assert 0 < parse.valid <= parse.examined <= min(parse.found, LINKAGE_LIMIT)


def test_results_depend_neither_on_order_nor_on_workers(parser: LinkGrammar) -> None:
    alone = [parser.parse([sentence])[0] for sentence in SENTENCES]
    with LinkGrammar(workers=2) as two:
        backwards = two.parse([*reversed(SENTENCES), ""])
    assert backwards == [*reversed(alone), Failure(Reason.NO_WORDS)]


@pytest.mark.parametrize(
    ("sentence", "reasons"),
    [
        ("", {Reason.NO_WORDS}),
        ("\n", {Reason.NO_WORDS}),
        (")" * 40, {Reason.NO_WORDS}),
        ("我们今天去学校了。", {Reason.UNKNOWN_SCRIPT}),
        (" ".join([COMMITTEE[:-1]] * 12) + ".", {Reason.TIME_LIMIT}),
        ("a " * 240, {Reason.CRASHED, Reason.TIME_LIMIT, Reason.TOO_LONG}),
        ("'a. " * 200, {Reason.TOO_LONG}),
        ("word " * 100_000, {Reason.TOO_LONG}),
        ("well " + ")" * 40 + " then", set()),
        ("Read https://example.com/a?b=c&d=%20#top now.", set()),
        ("x" * 10_000, set()),
        ("The cat\x00 sat\x01 \ud800 on \udfff the mat\ufeff.", set()),
    ],
    ids=["empty", "line", "brackets", "Chinese", "120 words", "a", "split", "long", "closed", "url", "solid", "marks"],
)
def test_a_hostile_sentence_has_a_result_or_a_reason(sentence: str, reasons: set[Reason], hasty: LinkGrammar) -> None:
    before, result, after = hasty.parse([COMMITTEE, sentence, COMMITTEE])
    assert isinstance(before, LinkParse)
    assert after == before
    if isinstance(result, Failure):
        assert result.reason in reasons
    else:
        assert not reasons - {Reason.TIME_LIMIT, Reason.CRASHED}


@pytest.fixture(scope="module")
def hasty(parser: LinkGrammar) -> Iterator[LinkGrammar]:
    """A parser that gives a sentence a second."""
    with LinkGrammar(workers=1, time_limit=1, patience=300) as made:
        yield made


def test_a_sentence_that_takes_too_long_is_given_up(hasty: LinkGrammar) -> None:
    assert hasty.parse([HARD, COMMITTEE])[0] == Failure(Reason.TIME_LIMIT)


def test_a_process_that_its_own_clock_ended_is_replaced_and_its_sentence_given_up(parser: LinkGrammar) -> None:
    with LinkGrammar(workers=1, time_limit=300) as patient:
        patient.parse([COMMITTEE])
        (process,) = patient.process_ids
        threading.Timer(0.5, os.kill, (process, signal.SIGPROF)).start()
        assert patient.parse([HARD, COMMITTEE]) == [Failure(Reason.TIME_LIMIT), *parser.parse([COMMITTEE])]
        assert process not in patient.process_ids


def test_killing_processes_in_mid_run_loses_nothing(parser: LinkGrammar) -> None:
    sentences = [SENTENCES[5].replace("island", word) for word in ("island", "harbour", "city", "coast") * 3]
    with LinkGrammar(workers=2) as disturbed:
        killed: list[int] = []

        def kill() -> None:
            while len(disturbed.process_ids) < 2:
                time.sleep(0.01)
            killed.extend(disturbed.process_ids)
            for process in killed:
                os.kill(process, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        results = disturbed.parse(sentences)
        killer.join(timeout=processes.LIMIT)
        assert len(killed) == 2
        assert not set(killed).intersection(disturbed.process_ids)
    assert results == parser.parse(sentences)


def test_a_process_that_stands_still_is_replaced(parser: LinkGrammar) -> None:
    with LinkGrammar(workers=1, patience=2) as watched:
        watched.parse([COMMITTEE])
        (process,) = watched.process_ids
        os.kill(process, signal.SIGSTOP)
        assert watched.parse([COMMITTEE]) == parser.parse([COMMITTEE])
        assert process not in watched.process_ids


def test_a_sentence_that_needs_too_much_memory_is_given_up(parser: LinkGrammar) -> None:
    program = Program("Link Grammar", link_grammar._SCRIPT, {"seconds": 60, "linkages": LINKAGE_LIMIT})
    workers = Workers(1, program, Limits(seconds=60, bytes=300 << 20, patience=600))
    explosion, good = workers.ask(["a " * 180, COMMITTEE])
    workers.close()
    assert explosion == {"failure": "CRASHED"}
    assert good["found"] == parsed(parser, COMMITTEE).found


def test_closing_ends_the_processes_and_parsing_starts_new_ones(parser: LinkGrammar) -> None:
    with LinkGrammar(workers=1) as short:
        first = short.parse([COMMITTEE])
        (process,) = short.process_ids
        short.close()
        assert has_ended(process)
        assert short.parse([COMMITTEE]) == first


@pytest.mark.usefixtures("parser")
def test_processes_end_with_their_parent_even_in_the_middle_of_a_sentence() -> None:
    script = (
        "import sys, threading\n"
        "from celadon.parsing.link_grammar import LinkGrammar\n"
        "parser = LinkGrammar(workers=2, time_limit=300)\n"
        "parser.parse(['The cat sat.'] * 2)\n"
        "threading.Timer(0.5, lambda: print(*parser.process_ids, flush=True)).start()\n"
        "parser.parse([sys.argv[1]] * 2)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, HARD], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    children = [int(number) for number in parent.stdout.readline().split()]
    assert children
    assert not any(has_ended(process) for process in children)
    parent.kill()
    parent.wait(timeout=processes.LIMIT)
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while not all(has_ended(process) for process in children):
        assert time.monotonic() < deadline, "the parser's processes outlive their parent"
        time.sleep(0.05)


def has_ended(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state in "ZX"


@pytest.mark.parametrize(
    ("present", "absent", "what"),
    [
        ("link-grammar", "no-such-grammar", "Link Grammar is not installed"),
        ('b"en"', 'b"no-such-language"', "the English dictionary of Link Grammar is not installed"),
    ],
)
@pytest.mark.usefixtures("parser")
def test_what_is_not_installed_is_named_with_the_command_that_installs_it(
    present: str, absent: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "link_library.py"
    script.write_text(link_grammar._SCRIPT.read_text().replace(present, absent))
    monkeypatch.setattr(link_grammar, "_SCRIPT", script)
    with pytest.raises(MissingPartError, match=what) as raised, LinkGrammar() as bare:
        bare.parse([COMMITTEE, COMMITTEE, COMMITTEE])
    assert "celadon install parse" in str(raised.value)
