"""The config of an experiment: what people are asked, and how items are given out."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from celadon.core import InputError
from celadon.io.json_file import Positive, Text, convert

DESIGNS = {"likert": "scale", "magnitude": "number", "duc": "scale", "pairwise": "choice", "postedit": "text"}
"""The kind of the questions of each design."""

WORDS = {
    "agree": "I agree, begin",
    "answer_all": "Some answers are missing or cannot be read. They are marked below.",
    "answers_changed": "You are changing answers that you gave before.",
    "back": "Back",
    "begin": "Begin",
    "break": "Time for a short break. Your answers are saved; go on when you like.",
    "code": "Your completion code",
    "code_link": "Go back to where you came from",
    "consent": "Before you begin",
    "context": "Context",
    "done": "Thank you. You have finished.",
    "done_note": "All of your answers are saved. You may close this page.",
    "full": "This study has all the answers it needs. Thank you for your interest.",
    "instructions": "What to do",
    "instructions_again": "Read the instructions again",
    "missing_choice": "Please choose one.",
    "missing_number": "Please write a number above zero, such as 50 or 2.5.",
    "missing_text": "The text is empty. Please write the repaired text.",
    "next": "Next",
    "number": "Your number",
    "page_of": "Page {page} of {pages}",
    "person": "You are {person} in this study.",
    "practice": "Practice: this answer does not count.",
    "reference": "The reference sentence",
    "reference_value": "Its number is {value}.",
    "repair": "The text, for you to repair",
    "text": "Text",
    "unchanged": "The text needs no repair",
    "unchanged_not_ticked": "You have not changed the text. Repair it, or tick the box below it.",
}
"""Every phrase by its name; an experiment's ``[words]`` may replace any of them."""

WIDEST_SCALE = 11
"""How many values a scale may have."""
# what a question of each kind needs beside name, kind and text, and what it may have
_NEEDED = {"scale": ("low", "high"), "choice": ("options",)}
_ALLOWED = {"scale": ("low", "high", "anchors"), "choice": ("options",)}

Count: TypeAlias = Annotated[int, Meta(ge=0)]
FromOne: TypeAlias = Annotated[int, Meta(ge=1)]
Texts: TypeAlias = Annotated[tuple[Text, ...], Meta(min_length=1)]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the config."""


class Question(Section, frozen=True):
    """One question about each text, or about each page.

    ``anchors`` describe values of a scale; ``options`` are those of a choice: the first text, the second, and a tie
    where there is a third.
    """

    name: Annotated[str, Meta(pattern="^[a-z][a-z0-9_]{0,39}$")]
    kind: str
    text: Text
    low: int = 1
    high: int = 7
    anchors: Mapping[int, Text] = {}
    options: tuple[Text, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.high - self.low < WIDEST_SCALE:
            raise ValueError(f"high must be above low, and the scale have at most {WIDEST_SCALE} values")
        if outside := [value for value in self.anchors if not self.low <= value <= self.high]:
            raise ValueError(f"anchors.{outside[0]}: is not a value of the scale")
        if self.kind == "choice" and len(self.options) not in (2, 3):
            raise ValueError("options are the first, the second and, if there are ties, a third")
        # in the order of the scale, whatever that of the file
        msgspec.structs.force_setattr(self, "anchors", dict(sorted(self.anchors.items())))

    @property
    def values(self) -> range:
        """The values of a scale, or the numbers of the options."""
        return range(1, len(self.options) + 1) if self.kind == "choice" else range(self.low, self.high + 1)


class Assignment(Section, frozen=True):
    """Who sees how much; see the comments in the config."""

    ratings_per_item: FromOne
    variants_per_page: Count
    one_page_per_cell: bool
    pages_per_person: Count = 0
    checks_per_person: Count = 0
    break_every: Count = 0
    release_after_minutes: Positive = 120.0


class PageTexts(Section, frozen=True):
    """What people read before they begin."""

    consent: Text
    instructions: Text


class SetPage(Section, frozen=True):
    """A page that is not of the items: practice, or a check with the answer that an attentive person gives."""

    texts: Texts
    context: str = ""
    answer: int | float | str | None = None


class Reference(Section, frozen=True):
    """The sentence that magnitudes are given in relation to, and its own number."""

    text: Text
    value: Positive


class Completion(Section, frozen=True):
    """What a person is given at the end; an empty code means one of each person's own."""

    code: str = ""
    url: Annotated[str, Meta(pattern="^(https://.*)?$")] = ""


class Flags(Section, frozen=True):
    """From where on a person is flagged; nobody is left out because of it unless the analysis is told to."""

    seconds_per_page: float = 2.0
    agreement: float = 0.0


class Limits(Section, frozen=True):
    """What one person or one address may ask of the server."""

    requests_per_minute: FromOne = 240
    request_kilobytes: FromOne = 256


class Config(Section, frozen=True):
    """All of it."""

    id: Text
    title: Text
    design: Annotated[str, Meta(pattern=f"^({'|'.join(DESIGNS)})$")]
    assignment: Assignment
    texts: PageTexts
    questions: Annotated[tuple[Question, ...], Meta(min_length=1)]
    language: Annotated[str, Meta(pattern="^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")] = "en"
    seed: Count = 0
    practice: tuple[SetPage, ...] = ()
    checks: tuple[SetPage, ...] = ()
    reference: Reference | None = None
    completion: Completion = Completion()
    flags: Flags = Flags()
    limits: Limits = Limits()
    words: Mapping[str, Text] = {}

    @property
    def consent(self) -> str:
        """What people agree to."""
        return self.texts.consent

    @property
    def instructions(self) -> str:
        """What people are to do."""
        return self.texts.instructions


def read_config(path: Path) -> Config:
    """Read and check a config.

    Raises InputError if it cannot be read, or something in it is wrong; the message names the file and the place in it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: is not there; make an experiment with: celadon judge new") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    return parse_config(text, str(path))


def parse_config(text: str, where: str) -> Config:
    """Make a config of what a file holds; ``where`` names the file in messages."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where}: not valid TOML: {error}") from None
    content = _stripped(content)
    config = convert(content, Config, where)
    problem = next(_problems(config, content["questions"]), None)
    if problem is not None:
        raise InputError(f"{where}: {problem}")
    return config


def _problems(config: Config, questions: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what of a config does not fit its other parts."""
    design, kind, pages = config.design, DESIGNS[config.design], (*config.practice, *config.checks)
    for number, question in enumerate(questions):
        where = f"questions[{number}]"
        if question["kind"] != kind:
            yield f"{where}.kind: must be {kind!r} in this design"
        for name in set(_NEEDED.get(kind, ())) - question.keys():
            yield f"{where}.{name}: is missing"
        for name in question.keys() - {"name", "kind", "text", *_ALLOWED.get(kind, ())}:
            yield f"{where}.{name}: is not for this kind; remove it"
    if len({question.name for question in config.questions}) < len(questions):
        yield "questions: two have the same name"
    if design in ("pairwise", "postedit") and len(questions) > 1:
        yield f"questions: the design {design} has one question"
    if (config.reference is not None) != (design == "magnitude"):
        yield "reference: is for the design magnitude, which needs it"
    if design == "pairwise" and config.assignment.variants_per_page != 2:
        yield "assignment.variants_per_page: is 2 in the design pairwise"
    if design == "pairwise" and any(len(page.texts) != 2 for page in pages):
        yield "practice and checks: there must be two texts in the design pairwise"
    for name in config.words.keys() - WORDS.keys():
        close = get_close_matches(name, WORDS, n=1)
        yield f"words.{name}: is not known; {f'did you mean {close[0]}?' if close else 'remove it'}"
    if config.assignment.checks_per_person and not config.checks:
        yield "checks: checks_per_person asks for checks, but there is none"
    for number, page in enumerate(config.checks):
        yield from _problems_of_check(config, f"checks[{number}]", page.answer)


def _problems_of_check(config: Config, where: str, answer: object) -> Iterator[str]:
    """Yield why no answer passes a check."""
    if config.design == "postedit":
        if not isinstance(answer, str) or not answer.strip():
            yield f"{where}: answer must be the text that is to be written"
    elif not isinstance(answer, int | float):
        yield f"{where}: answer must be a number"
    elif config.design != "magnitude" and any(answer not in question.values for question in config.questions):
        yield f"{where}: answer {answer:g} is none of the answers that can be given"
    elif not answer > 0:
        yield f"{where}: answer must be above zero"


def _stripped(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table without the space around its texts, but for answers, which count as they are."""

    def inner(key: str, value: Any) -> Any:
        if isinstance(value, str):
            return value if key == "answer" else value.strip()
        if isinstance(value, list):
            return [_stripped(item) if isinstance(item, dict) else item for item in value]
        return _stripped(value) if isinstance(value, dict) else value

    return {key: inner(key, value) for key, value in table.items()}
