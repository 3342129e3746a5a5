"""From the fields of a form to answers, and back."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from celadon.judge.assignment import Page
from celadon.judge.config import Question
from celadon.judge.experiment import Experiment, PageText, pair_of
from celadon.judge.store import Answer
from celadon.report.escape import clean

TIE = "tie"
UNCHANGED = "unchanged"

_NUMBER = re.compile(r"[0-9]{1,12}([.,][0-9]{1,9})?|[.,][0-9]{1,9}")
# 1,000 may be a thousand or one: better to ask
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2},[0-9]{3}")


class Reading(NamedTuple):
    """What a form says: answers by unit and question, and for each field that says nothing usable, which word tells."""

    answers: Mapping[tuple[str, str], Answer]
    problems: Mapping[str, str]


def field_name(unit: int, question: Question) -> str:
    """The name of a form's field; ``unit`` counts what is answered about on the page."""
    return f"{unit}.{question.name}"


def read_form(experiment: Experiment, page: Page, form: Mapping[str, str]) -> Reading:
    """Read the answers to all questions of a page."""
    answers: dict[tuple[str, str], Answer] = {}
    problems: dict[str, str] = {}
    texts = experiment.content(page).texts
    for number, unit in enumerate(experiment.units(page)):
        for question in experiment.config.questions:
            name = field_name(number, question)
            unchanged = f"{name}.{UNCHANGED}" in form
            answer = _read(question, form.get(name, ""), unit, texts, unchanged)
            if isinstance(answer, Answer):
                answers[unit.key, question.name] = answer
            else:
                problems[name] = answer
    return Reading(answers, problems)


def _read(
    question: Question, written: str, unit: PageText, texts: tuple[PageText, ...], unchanged: bool
) -> Answer | str:
    """The answer, or the name of the phrase that says what is wrong."""
    if question.kind == "text":
        return _read_text(written, unit.text, unchanged)
    if question.kind == "number":
        return _read_number(written)
    value = int(written) if written.isascii() and written.isdecimal() and len(written) < 4 else None
    if value is None or value not in question.values:
        return "missing_choice"
    if question.kind == "scale":
        return Answer(float(value))
    if value > len(texts):
        return Answer(0.5, TIE)
    chosen = texts[value - 1].key
    return Answer(float(chosen == pair_of(unit.key)[0]), chosen)


def _read_number(written: str) -> Answer | str:
    text = written.strip()
    if not _NUMBER.fullmatch(text) or _THOUSANDS.fullmatch(text):
        return "missing_number"
    value = float(text.replace(",", "."))
    return Answer(value) if 0 < value < math.inf else "missing_number"


def _read_text(written: str, before: str, unchanged: bool) -> Answer | str:
    text = clean(written).strip()
    if not text:
        return "missing_text"
    if text == clean(before).strip():
        return Answer(text=text) if unchanged else "unchanged_not_ticked"
    return Answer(text=text)


def as_fields(experiment: Experiment, page: Page, answers: Mapping[tuple[str, str], Answer]) -> dict[str, str]:
    """The fields of a form that say what was answered before."""
    fields = {}
    keys = [text.key for text in experiment.content(page).texts]
    for number, unit in enumerate(experiment.units(page)):
        for question in experiment.config.questions:
            answer = answers.get((unit.key, question.name))
            if answer is None:
                continue
            name = field_name(number, question)
            if question.kind == "choice":
                fields[name] = str(keys.index(answer.text) + 1 if answer.text in keys else len(keys) + 1)
            elif question.kind == "text":
                fields[name] = answer.text or ""
                if fields[name] == clean(unit.text).strip():
                    fields[f"{name}.{UNCHANGED}"] = "on"
            else:
                fields[name] = f"{answer.number:.15g}"
    return fields


def passes_check(experiment: Experiment, page: Page, answers: Mapping[tuple[str, str], Answer]) -> bool:
    """Whether all answers to a page are those that an attentive person gives."""
    expected = experiment.config.checks[int(page.items[0])].answer
    fields = as_fields(experiment, page, answers)
    wanted = [
        fields.get(field_name(number, question))
        for number, _ in enumerate(experiment.units(page))
        for question in experiment.config.questions
    ]
    if isinstance(expected, str):
        return all(value is not None and _plain(value) == _plain(expected) for value in wanted)
    return all(value is not None and float(value) == expected for value in wanted)


def _plain(text: str) -> str:
    """A text without the differences that a hasty hand makes."""
    return " ".join(text.casefold().split()).strip(".! \"'")
