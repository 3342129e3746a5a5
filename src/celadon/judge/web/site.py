"""What all pages share: the experiment, the answers, templates, cookies and forms."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Depends, HTTPException, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from celadon.judge.config import WORDS
from celadon.judge.experiment import Experiment
from celadon.judge.keys import Keys
from celadon.judge.store import Participant, Store
from celadon.report.html import asset, render, style

LINK_COOKIE, ADMIN_COOKIE, LOGIN_COOKIE = "celadon-judge", "celadon-judge-admin", "celadon-judge-login"
# a browser takes a cookie of such a name only over https, for this very host and all of its pages
_SAFE = "__Host-"
_COOKIE_DAYS = 60
_MOST_FIELDS = 300
_LINKS_REMEMBERED = 100_000
_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "syr", "ug", "ur", "yi"})
_FORM_TYPE = "application/x-www-form-urlencoded"

ERRORS = {
    400: "This request cannot be understood.",
    403: "This form is not yours, or is out of date. Open your own link again and go on from there.",
    404: "There is no such page. If you were given a link, please check that it is whole.",
    405: "That cannot be done here.",
    413: "That is more than can be sent at once.",
    415: "That is no form that can be read here.",
    422: "This request cannot be understood.",
    429: "That was a little fast. Please wait half a minute and go on.",
    500: "Something went wrong here. What you had sent before is saved; please try again.",
}


async def _read_form(request: Request) -> dict[str, str]:
    """The fields of a form; the last of those that share a name."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM_TYPE:
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    body = await request.body()
    try:
        return dict(parse_qsl(body.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise HTTPException(HTTPStatus.BAD_REQUEST) from None


Form = Annotated[dict[str, str], Depends(_read_form)]


class Site:
    """One experiment as it is on the web."""

    def __init__(self, experiment: Experiment, store: Store) -> None:
        self.experiment = experiment
        self.store = store
        self.words = {**WORDS, **experiment.config.words}
        self._links: set[str] = set()
        self.static = {name: asset(name).encode() for name in ("judge.js", "icon.svg")}
        self.static["style.css"] = style("colors", "judge").encode()

    @property
    def keys(self) -> Keys:
        """The keys of the experiment."""
        return self.experiment.keys

    def person(self, link: str) -> Participant | None:
        """Whose link this is."""
        participant = self.store.participant(link) if link else None
        if participant is not None:
            if len(self._links) >= _LINKS_REMEMBERED:
                self._links.clear()
            self._links.add(link)
        return participant

    def is_known(self, link: str) -> bool:
        """Whether this was found to be somebody's link before; asks nothing of the database."""
        return link in self._links

    def page(self, template: str, status: int = 200, **facts: Any) -> HTMLResponse:
        """A page."""
        return HTMLResponse(self.rendered(template, **facts), status)

    def rendered(self, template: str, **facts: Any) -> str:
        """The text of a page."""
        config = self.experiment.config
        language = config.language
        direction = "rtl" if language.partition("-")[0].lower() in _RIGHT_TO_LEFT else "ltr"
        context = {"config": config, "words": self.words, "language": language, "direction": direction, **facts}
        return render(f"judge/{template}", **context)

    def error(self, status: int) -> HTMLResponse:
        """The page that tells of a failure."""
        message = ERRORS.get(status, HTTPStatus(status).phrase)
        return self.page("message.html", status, heading=message, text="")

    def code(self, participant: str) -> str:
        """The code that a person who finished is given."""
        return self.experiment.config.completion.code or self.keys.code(participant)

    def check_form(self, session: str, form: Mapping[str, str]) -> None:
        """Refuse a form that was not given to this session."""
        if not session or not self.keys.is_form_token(session, form.get("form_token", "")):
            raise HTTPException(HTTPStatus.FORBIDDEN)


def cookie(request: Request, name: str) -> str:
    """The value of one of our cookies; empty where there is none."""
    return request.cookies.get(_cookie_name(request, name), "")


def _cookie_name(request: Request, name: str) -> str:
    return f"{_SAFE}{name}" if request.url.scheme == "https" else name


def cookie_names(name: str) -> tuple[str, str]:
    """The names that one of our cookies goes by, with and without https."""
    return f"{_SAFE}{name}", name


def set_cookie(request: Request, response: Response, name: str, value: str, *, strict: bool = False) -> None:
    """Give a cookie that no script and no other site can use, over https only where that is how we are reached."""
    response.set_cookie(
        _cookie_name(request, name),
        value,
        max_age=None if strict else _COOKIE_DAYS * 86_400,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict" if strict else "lax",
    )


def drop_cookie(request: Request, response: Response, name: str) -> None:
    """Take a cookie back."""
    secure = request.url.scheme == "https"
    response.delete_cookie(_cookie_name(request, name), path="/", secure=secure, httponly=True)


def see(path: str) -> RedirectResponse:
    """Send the browser to a page after a form, so that going back or loading again does not send the form again."""
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)
