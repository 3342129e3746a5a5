"""The pages of the people who take part."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from celadon.judge.answers import UNCHANGED, as_fields, field_name, read_form
from celadon.judge.assignment import BREAK, INSTRUCTIONS, PRACTICE
from celadon.judge.config import Question
from celadon.judge.experiment import PageText
from celadon.judge.store import KeptPage, Participant
from celadon.judge.web.site import LINK_COOKIE, Form, Site, cookie, see, set_cookie
from celadon.web.security import same

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# what Prolific and MTurk add to a link, and a plain name for all others
_PLATFORM_IDS = ("PROLIFIC_PID", "workerId", "person")
_LONGEST_PLATFORM_ID = 200


class Field(NamedTuple):
    """A question on a page: the name of its field, the answer so far, and what is wrong with that."""

    name: str
    question: Question
    value: str
    problem: str
    unchanged: bool


class Block(NamedTuple):
    """A text and the questions about it."""

    letter: str
    text: PageText
    fields: tuple[Field, ...]


class ParticipantPages:
    """The routes of the people who take part."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.router = APIRouter()
        for path, method, route in (
            ("/", "GET", self.welcome),
            ("/p/{link}", "GET", self.enter),
            ("/join/{token}", "GET", self.invitation),
            ("/join/{token}", "POST", self.join),
            ("/consent", "GET", self.consent),
            ("/consent", "POST", self.agree),
            ("/task", "GET", self.task),
            ("/task/{position}", "GET", self.show),
            ("/task/{position}", "POST", self.answer),
            ("/done", "GET", self.done),
        ):
            self.router.add_api_route(path, route, methods=[method], response_model=None)

    def welcome(self) -> Response:
        """What a stranger sees."""
        text = "To take part you need a link of your own, which the people who run the study give you."
        return self._site.page("message.html", heading=self._site.experiment.config.title, text=text)

    def enter(self, request: Request, link: str) -> Response:
        """A person's own link: remember who it is, then hide the link from the address bar."""
        if self._site.person(link) is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        response = see("/task")
        set_cookie(request, response, LINK_COOKIE, link)
        return response

    def invitation(self, request: Request, token: str) -> Response:
        """The link for anybody: what it is about, and nothing is stored yet."""
        self._check_invitation(token)
        link = cookie(request, LINK_COOKIE)
        if self._site.person(link) is not None:
            return see("/task")
        if self._site.store.is_full():
            return self._site.page("message.html", heading=self._site.words["full"], text="")
        platform_id = next((request.query_params[name] for name in _PLATFORM_IDS if name in request.query_params), "")
        return self._site.page(
            "consent.html",
            action=f"/join/{token}",
            person=platform_id[:_LONGEST_PLATFORM_ID],
            form_token=self._site.keys.form_token(token),
        )

    def join(self, request: Request, token: str, form: Form) -> Response:
        """Somebody agreed to take part."""
        self._check_invitation(token)
        self._site.check_form(token, form)
        store, platform_id = self._site.store, form.get("person", "")[:_LONGEST_PLATFORM_ID]
        known = cookie(request, LINK_COOKIE)
        if self._site.person(known) is not None:
            return see("/task")
        link = store.join(self._site.keys.platform_hash(platform_id) if platform_id else None)
        if link is None:
            heading = "You have begun already. Please go on in the browser in which you began."
            return self._site.page("message.html", HTTPStatus.CONFLICT, heading=heading, text="")
        person = store.participant(link)
        if person is None or not store.begin(person.id):
            return self._site.page("message.html", heading=self._site.words["full"], text="")
        response = see("/task")
        set_cookie(request, response, LINK_COOKIE, link)
        return response

    def _check_invitation(self, token: str) -> None:
        if not same(self._site.keys.join_token, token):
            raise HTTPException(HTTPStatus.NOT_FOUND)

    def consent(self, request: Request) -> Response:
        """What somebody with a link of their own agrees to."""
        link, person = self._person(request)
        if person.place is not None:
            return see("/task")
        if self._site.store.is_full():
            return self._site.page("message.html", heading=self._site.words["full"], text="")
        token = self._site.keys.form_token(link)
        return self._site.page("consent.html", action="/consent", person="", form_token=token)

    def agree(self, request: Request, form: Form) -> Response:
        """Somebody with a link of their own agreed."""
        link, person = self._person(request)
        self._site.check_form(link, form)
        if not self._site.store.begin(person.id):
            return self._site.page("message.html", heading=self._site.words["full"], text="")
        return see("/task")

    def task(self, request: Request) -> Response:
        """Go on where the person left off."""
        _, person = self._person(request)
        return self._next(person)

    def _next(self, person: Participant) -> Response:
        if person.place is None:
            return see("/consent")
        to_come = [kept.position for kept in self._site.store.way(person.id) if kept.answered is None]
        return see(f"/task/{to_come[0]}" if to_come else "/done")

    def show(self, request: Request, position: str) -> Response:
        """A page that the person has come to."""
        link, person = self._person(request)
        way = self._site.store.way(person.id)
        kept = _reached(way, position)
        if kept is None or person.completed is not None:
            return self._next(person)
        if kept.answered is None:
            self._site.store.note_shown(person.id, kept)
        fields = as_fields(self._site.experiment, kept.page, self._site.store.answers(person.id, kept.position))
        return self._page(link, person, way, kept, fields, {})

    def answer(self, request: Request, position: str, form: Form) -> Response:
        """Keep the answers of a page, then show the next."""
        link, person = self._person(request)
        self._site.check_form(link, form)
        way = self._site.store.way(person.id)
        kept = _reached(way, position)
        if kept is None or person.completed is not None:
            return self._next(person)
        reading = read_form(self._site.experiment, kept.page, form)
        if reading.problems:
            return self._page(link, person, way, kept, form, reading.problems)
        self._site.store.answer(person.id, kept.position, reading.answers)
        if kept.position + 1 < len(way):
            return see(f"/task/{kept.position + 1}")
        return see("/done")

    def _page(
        self,
        link: str,
        person: Participant,
        way: tuple[KeptPage, ...],
        kept: KeptPage,
        fields: Mapping[str, str],
        problems: Mapping[str, str],
    ) -> Response:
        facts: dict[str, Any] = {
            "form_token": self._site.keys.form_token(link),
            "position": kept.position,
            "pages": len(way),
            "person_id": person.id,
            "back": kept.position - 1 if kept.position else None,
        }
        if kept.page.kind in (INSTRUCTIONS, BREAK):
            return self._site.page(f"{kept.page.kind}.html", **facts)
        content = self._site.experiment.content(kept.page)
        blocks, shared = self._blocks(kept, fields, problems)
        return self._site.page(
            "page.html",
            HTTPStatus.UNPROCESSABLE_ENTITY if problems else HTTPStatus.OK,
            content=content,
            blocks=blocks,
            shared=shared,
            practice=kept.page.kind == PRACTICE,
            changing=kept.answered is not None,
            problems=bool(problems),
            **facts,
        )

    def _blocks(
        self, kept: KeptPage, form: Mapping[str, str], problems: Mapping[str, str]
    ) -> tuple[list[Block], tuple[Field, ...]]:
        """The texts, each with its questions, and the questions about all of them together."""
        experiment = self._site.experiment
        texts, units = experiment.content(kept.page).texts, experiment.units(kept.page)

        def fields(unit: int) -> tuple[Field, ...]:
            names = [(field_name(unit, question), question) for question in experiment.config.questions]
            return tuple(
                Field(
                    name,
                    question,
                    form.get(name, units[unit].text if question.kind == "text" else ""),
                    self._site.words[problems[name]] if name in problems else "",
                    f"{name}.{UNCHANGED}" in form,
                )
                for name, question in names
            )

        if experiment.config.design == "pairwise":
            return [Block(str(at), text, ()) for at, text in enumerate(texts, 1)], fields(0)
        letters = _LETTERS if len(texts) > 1 else [""]
        return [Block(letters[at % 26], text, fields(at)) for at, text in enumerate(texts)], ()

    def done(self, request: Request) -> Response:
        """The completion code."""
        _, person = self._person(request)
        if person.completed is None:
            return self._next(person)
        code = self._site.code(person.id)
        return self._site.page(
            "done.html",
            code=code,
            url=self._site.experiment.config.completion.url.replace("{code}", code),
            person_id=person.id,
        )

    def _person(self, request: Request) -> tuple[str, Participant]:
        """Who asks; nobody is told that there is a page here without a link."""
        link = cookie(request, LINK_COOKIE)
        person = self._site.person(link)
        if person is None:
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return link, person


def _reached(way: tuple[KeptPage, ...], position: str) -> KeptPage | None:
    """The page at a position, unless the person has not come to it yet."""
    if not (position.isascii() and position.isdecimal() and len(position) < 7 and int(position) < len(way)):
        return None
    kept = way[int(position)]
    return kept if all(before.answered is not None for before in way[: kept.position]) else None
