"""The config of an experiment: what people are asked, and how items are given out."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from celadon.core import InputError
from celadon.judge.config_section import Section
from celadon.judge.words import WORDS

DESIGNS = {"likert": "scale", "magnitude": "number", "duc": "scale", "pairwise": "choice", "postedit": "text"}
"""The kind of the questions of each design."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*")
_WIDEST_SCALE = 11


@dataclass(frozen=True)
class Question:
    """One question about each text, or about each page.

    ``anchors`` describe values of a scale; ``options`` are those of a choice: the first text, the second, and a tie
    where there is a third.
    """

    name: str
    kind: str
    text: str
    low: int = 1
    high: int = 7
    anchors: Mapping[int, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    @property
    def values(self) -> range:
        """The values of a scale, or the numbers of the options."""
        return range(1, len(self.options) + 1) if self.kind == "choice" else range(self.low, self.high + 1)


@dataclass(frozen=True)
class Assignment:
    """Who sees how much; see the comments in the config."""

    ratings_per_item: int
    variants_per_page: int
    one_page_per_cell: bool
    pages_per_person: int
    checks_per_person: int
    break_every: int
    release_after_minutes: float


@dataclass(frozen=True)
class SetPage:
    """A page that is not of the items: practice, or a check with the answer that an attentive person gives."""

    texts: tuple[str, ...]
    context: str = ""
    answer: float | str | None = None


@dataclass(frozen=True)
class Reference:
    """The sentence that magnitudes are given in relation to, and its own number."""

    text: str
    value: float


@dataclass(frozen=True)
class Completion:
    """What a person is given at the end; an empty code means one of each person's own."""

    code: str = ""
    url: str = ""


@dataclass(frozen=True)
class Flags:
    """From where on a person is flagged; nobody is left out because of it unless the analysis is told to."""

    seconds_per_page: float = 2.0
    agreement: float = 0.0


@dataclass(frozen=True)
class Limits:
    """What one person or one address may ask of the server."""

    requests_per_minute: int = 240
    request_kilobytes: int = 256


@dataclass(frozen=True)
class Config:
    """All of it."""

    id: str
    title: str
    design: str
    language: str
    seed: int
    assignment: Assignment
    consent: str
    instructions: str
    questions: tuple[Question, ...]
    practice: tuple[SetPage, ...] = ()
    checks: tuple[SetPage, ...] = ()
    reference: Reference | None = None
    completion: Completion = Completion()
    flags: Flags = Flags()
    limits: Limits = Limits()
    words: Mapping[str, str] = field(default_factory=dict)


def read_config(path: Path) -> Config:
    """Read and check a config.

    Raises
    ------
    InputError
        It cannot be read, or something in it is wrong; the message names the file and the place in it.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: is not there; make an experiment with: celadon judge new") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from None
    return parse_config(content, str(path))


def parse_config(content: Mapping[str, Any], where: str) -> Config:
    """Make a config of what a file holds; ``where`` names the file in messages."""
    top = Section(content, where)
    design = top.text("design", choices=tuple(DESIGNS))
    texts = top.section("texts")
    config = Config(
        id=top.text("id"),
        title=top.text("title"),
        design=design,
        language=top.text("language", "en", pattern=_LANGUAGE),
        seed=top.whole("seed", 0, low=0),
        assignment=_assignment(top.section("assignment"), design),
        consent=texts.text("consent"),
        instructions=texts.text("instructions"),
        questions=_questions(top, design),
        practice=_set_pages(top, "practice", design),
        checks=_set_pages(top, "checks", design),
        reference=_reference(top, design),
        completion=_completion(top.section("completion", {})),
        flags=_flags(top.section("flags", {})),
        limits=_limits(top.section("limits", {})),
        words=_words(top.section("words", {})),
    )
    texts.finish()
    top.finish()
    _check_answers(config, top)
    return config


def _assignment(given: Section, design: str) -> Assignment:
    found = Assignment(
        ratings_per_item=given.whole("ratings_per_item", low=1),
        variants_per_page=given.whole("variants_per_page", low=0),
        one_page_per_cell=given.flag("one_page_per_cell"),
        pages_per_person=given.whole("pages_per_person", 0, low=0),
        checks_per_person=given.whole("checks_per_person", 0, low=0),
        break_every=given.whole("break_every", 0, low=0),
        release_after_minutes=given.number("release_after_minutes", 120.0, above=0.0),
    )
    if design == "pairwise" and found.variants_per_page != 2:
        raise given.wrong("variants_per_page", "is 2 in the design pairwise")
    given.finish()
    return found


def _questions(top: Section, design: str) -> tuple[Question, ...]:
    found = [_question(section, DESIGNS[design]) for section in top.sections("questions")]
    names = [question.name for question in found]
    if not found:
        raise top.wrong("questions", "there must be at least one")
    if len(set(names)) < len(names):
        raise top.wrong("questions", "two have the same name")
    if design in ("pairwise", "postedit") and len(found) > 1:
        raise top.wrong("questions", f"the design {design} has one question")
    return tuple(found)


def _question(given: Section, kind: str) -> Question:
    name, text = given.text("name", pattern=_NAME), given.text("text")
    if given.text("kind") != kind:
        raise given.wrong("kind", f"must be {kind!r} in this design")
    question = Question(name, kind, text)
    if kind == "scale":
        low, high = given.whole("low"), given.whole("high")
        if not 1 <= high - low < _WIDEST_SCALE:
            raise given.wrong("high", f"must be above low, and the scale have at most {_WIDEST_SCALE} values")
        anchors = given.section("anchors", {})
        question = Question(name, kind, text, low, high, anchors.by_number(range(low, high + 1)))
    if kind == "choice":
        options = given.texts("options")
        if len(options) not in (2, 3):
            raise given.wrong("options", "are the first, the second and, if there are ties, a third")
        question = Question(name, kind, text, options=options)
    given.finish()
    return question


def _set_pages(top: Section, name: str, design: str) -> tuple[SetPage, ...]:
    pages = []
    for section in top.sections(name):
        page = SetPage(section.texts("texts"), section.text("context", ""), section.any("answer", None))
        if design == "pairwise" and len(page.texts) != 2:
            raise section.wrong("texts", "there must be two in the design pairwise")
        if not page.texts:
            raise section.wrong("texts", "there must be at least one")
        section.finish()
        pages.append(page)
    return tuple(pages)


def _reference(top: Section, design: str) -> Reference | None:
    if design != "magnitude":
        return None
    given = top.section("reference")
    found = Reference(given.text("text"), given.number("value", above=0.0))
    given.finish()
    return found


def _completion(given: Section) -> Completion:
    found = Completion(given.text("code", ""), given.text("url", ""))
    if found.url and not found.url.startswith("https://"):
        raise given.wrong("url", "must begin with https://")
    given.finish()
    return found


def _flags(given: Section) -> Flags:
    usual = Flags()
    found = Flags(
        given.number("seconds_per_page", usual.seconds_per_page, above=-math.inf),
        given.number("agreement", usual.agreement, above=-math.inf),
    )
    given.finish()
    return found


def _limits(given: Section) -> Limits:
    usual = Limits()
    found = Limits(
        given.whole("requests_per_minute", usual.requests_per_minute, low=1),
        given.whole("request_kilobytes", usual.request_kilobytes, low=1),
    )
    given.finish()
    return found


def _words(given: Section) -> Mapping[str, str]:
    found = {name: given.text(name, usual) for name, usual in WORDS.items()}
    given.finish()
    return found


def _check_answers(config: Config, top: Section) -> None:
    """Complain of a check that no answer passes."""
    if config.assignment.checks_per_person and not config.checks:
        raise top.wrong("checks", "checks_per_person asks for checks, but there is none")
    for number, page in enumerate(config.checks, 1):
        what = f"checks, number {number}"
        if config.design == "postedit":
            if not isinstance(page.answer, str) or not page.answer.strip():
                raise top.wrong(what, "answer must be the text that is to be written")
        elif isinstance(page.answer, bool) or not isinstance(page.answer, int | float):
            raise top.wrong(what, "answer must be a number")
        elif config.design != "magnitude" and any(page.answer not in question.values for question in config.questions):
            raise top.wrong(what, f"answer {page.answer:g} is none of the answers that can be given")
        elif not page.answer > 0:
            raise top.wrong(what, "answer must be above zero")
