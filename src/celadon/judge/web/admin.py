"""The researcher's pages, behind a token."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response

from celadon.core import MissingExtraError
from celadon.io.arrow import require_pyarrow
from celadon.judge.web.site import ADMIN_COOKIE, LOGIN_COOKIE, Form, Site, cookie, drop_cookie, see, set_cookie
from celadon.web.security import RateLimit

_LOGINS_PER_MINUTE = 10
_MOST_LINKS = 1_000
_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet"}


class AdminPages:
    """The routes of the researcher."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._logins = RateLimit(_LOGINS_PER_MINUTE)
        self.router = APIRouter(prefix="/admin")
        for path, method, route in (
            ("", "GET", self.state),
            ("/login", "GET", self.login),
            ("/login", "POST", self.enter),
            ("/logout", "POST", self.leave),
            ("/links", "POST", self.links),
            ("/export.{kind}", "GET", self.export),
        ):
            self.router.add_api_route(path, route, methods=[method], response_model=None)

    def login(self, request: Request) -> Response:
        """Ask for the token."""
        return self._login_page(request, HTTPStatus.OK, "")

    def _login_page(self, request: Request, status: int, problem: str) -> Response:
        visit = cookie(request, LOGIN_COOKIE) or secrets.token_hex(16)
        form_token = self._site.keys.form_token(visit)
        response = self._site.page("login.html", status, problem=problem, form_token=form_token)
        set_cookie(request, response, LOGIN_COOKIE, visit, strict=True)
        return response

    def enter(self, request: Request, form: Form) -> Response:
        """Somebody gave a token."""
        if not self._logins.allows(request.client.host if request.client else ""):
            return self._login_page(request, HTTPStatus.TOO_MANY_REQUESTS, "Too many attempts. Please wait a minute.")
        visit = cookie(request, LOGIN_COOKIE)
        # else another site's form could log a researcher in, to an experiment that is not theirs
        if not visit or not self._site.keys.is_form_token(visit, form.get("form_token", "")):
            return self._login_page(request, HTTPStatus.FORBIDDEN, "This page was too old. Please try again.")
        if not self._site.keys.is_admin_token(form.get("token", "").strip()):
            return self._login_page(request, HTTPStatus.FORBIDDEN, "That is not the token.")
        response = see("/admin")
        set_cookie(request, response, ADMIN_COOKIE, self._site.keys.admin_session(), strict=True)
        drop_cookie(request, response, LOGIN_COOKIE)
        return response

    def leave(self, request: Request, form: Form) -> Response:
        """Forget who this is."""
        self._site.check_form(self._session(request), form)
        response = see("/admin/login")
        drop_cookie(request, response, ADMIN_COOKIE)
        return response

    def state(self, request: Request) -> Response:
        """How the study stands."""
        if not self._is_known(request):
            return see("/admin/login")
        return self._state_page(self._session(request))

    def _state_page(self, session: str, **facts: Any) -> Response:
        # statistics are heavy to import, and those who take part need none
        from celadon.judge.conduct import collect, overview

        experiment = self._site.experiment
        state = overview(experiment, collect(experiment, self._site.store))
        return self._site.page(
            "admin.html",
            state=state,
            codes={row.participant: self._site.code(row.participant) for row in state.conduct if row.completed},
            form_token=self._site.keys.form_token(session),
            join_path=f"/join/{self._site.keys.join_token}",
            formats=tuple(_formats()),
            most_links=_MOST_LINKS,
            **{"links": (), **facts},
        )

    def links(self, request: Request, form: Form) -> Response:
        """Make links for people, and show them once."""
        session = self._session(request)
        self._site.check_form(session, form)
        count = form.get("count", "")
        if not (count.isascii() and count.isdecimal() and len(count) < 5 and 1 <= int(count) <= _MOST_LINKS):
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY)
        base = str(request.base_url).rstrip("/")
        urls = [f"{base}/p/{link}" for link in self._site.store.new_links(int(count))]
        return self._state_page(session, links=urls)

    def export(self, request: Request, kind: str) -> Response:
        """All answers about items."""
        self._session(request)
        if kind not in _formats():
            raise HTTPException(HTTPStatus.NOT_FOUND)
        from celadon.judge.conduct import collect
        from celadon.judge.export import export_bytes, export_rows

        experiment = self._site.experiment
        content = export_bytes(export_rows(experiment, collect(experiment, self._site.store)), kind)
        headers = {"content-disposition": f'attachment; filename="answers.{kind}"'}
        return Response(content, media_type=_TYPES[kind], headers=headers)

    def _is_known(self, request: Request) -> bool:
        return self._site.keys.is_admin_session(cookie(request, ADMIN_COOKIE))

    def _session(self, request: Request) -> str:
        if not self._is_known(request):
            raise HTTPException(HTTPStatus.FORBIDDEN)
        return cookie(request, ADMIN_COOKIE)


def _formats() -> list[str]:
    """Return the formats that answers can be had in: Parquet only where pyarrow is installed."""
    try:
        require_pyarrow("")
    except MissingExtraError:
        return [name for name in _TYPES if name != "parquet"]
    return list(_TYPES)
