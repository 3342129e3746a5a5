"""Somebody without a browser: a client that keeps cookies, finds its form's token and fills in forms."""

from __future__ import annotations

import re
from typing import Any

from starlette.testclient import TestClient

from celadon.judge.answers import field_name
from celadon.judge.experiment import Experiment
from celadon.judge.store import Store
from celadon.judge.web.app import make_app

TOKEN = re.compile(r'name="form_token" value="([0-9a-f]+)"')


def client_of(experiment: Experiment, store: Store, site: str = "http://testserver", **options: Any) -> TestClient:
    """A client of the application, as it is served."""
    return TestClient(make_app(experiment, store), base_url=site, follow_redirects=False, **options)


def log_in(client: TestClient, token: str) -> Any:
    """Give the researcher's token on the page that asks for it."""
    form_token = TOKEN.findall(client.get("/admin/login").text)[0]
    return client.post("/admin/login", data={"form_token": form_token, "token": token})


class Visitor:
    """One person."""

    def __init__(self, client: TestClient, experiment: Experiment, store: Store) -> None:
        self.client, self.experiment, self.store = client, experiment, store
        self.link = store.new_links(1)[0]
        self.token = ""

    def enter(self) -> None:
        assert self.client.get(f"/p/{self.link}").status_code == 303
        self.token = TOKEN.findall(self.client.get("/consent").text)[0]

    def agree(self) -> None:
        self.enter()
        assert self.client.post("/consent", data={"form_token": self.token}).headers["location"] == "/task"

    @property
    def id(self) -> str:
        person = self.store.participant(self.link)
        assert person is not None
        return person.id

    def fields(self, position: int, value: str) -> dict[str, str]:
        page = self.store.way(self.id)[position].page
        units, questions = self.experiment.units(page), self.experiment.config.questions
        names = [field_name(number, question) for number, _ in enumerate(units) for question in questions]
        return {"form_token": self.token, **dict.fromkeys(names, value)}

    def answer(self, position: int, value: str = "3") -> Any:
        return self.client.post(f"/task/{position}", data=self.fields(position, value))

    def reach_first_trial(self) -> int:
        """Go on until the first page of items."""
        self.agree()
        for kept in self.store.way(self.id):
            if kept.page.kind == "trial":
                return kept.position
            self.answer(kept.position)
        raise AssertionError("no items")

    def finish(self, value: str = "3") -> str:
        self.agree()
        for position in range(len(self.store.way(self.id))):
            assert self.answer(position, value).status_code == 303
        return re.findall(r"<output[^>]*>([^<]+)</output>", self.client.get("/done").text)[0]
