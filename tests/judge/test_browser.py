"""People in a real Chromium: every design by mouse, by keyboard, without scripts and on a phone, to the code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any, NamedTuple

import pytest

from celadon.judge.assignment import TRIAL
from celadon.judge.config import DESIGNS
from celadon.judge.experiment import Experiment, open_experiment, renew_admin_token
from celadon.judge.store import Store
from celadon.judge.web.app import make_app
from tests.judge.conftest import item_rows, make_experiment, served
from tests.judge.people import by_keyboard, by_mouse, leave, take_part

PHONE = {"width": 360, "height": 740}
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


class Study(NamedTuple):
    """A served experiment."""

    experiment: Experiment
    store: Store
    address: str
    token: str

    def link(self) -> str:
        return f"{self.address}/p/{self.store.new_links(1)[0]}"


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Study]]:
    """One served experiment of each design, made when it is first asked for."""
    known: dict[str, Study] = {}
    running = []
    rows = item_rows(("alpha", "beta"))
    rows[0]["text"] = "<script>alert('run')</script><b>bold</b> & \"quoted\""
    rows[1] |= {"text": "هذا نص عربي، يُقرأ من اليمين.", "lang": "ar"}
    rows[2]["text"] = "longwordwithoutanyspace" * 12

    def study(design: str) -> Study:
        if design not in known:
            folder = tmp_path_factory.mktemp("studies") / design
            made = make_experiment(folder, design, rows, ratings_per_item=9, break_every=1)
            token = renew_admin_token(made)
            experiment = open_experiment(folder)
            store = Store(experiment)
            server = served(make_app(experiment, store))
            known[design] = Study(experiment, store, server.__enter__(), token)
            running.append((server, store))
        return known[design]

    yield study
    for server, store in running:
        server.__exit__(None, None, None)
        store.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    contexts = []

    def opened(**options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.messages = []
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.on("dialog", lambda dialog: (page.messages.append(f"dialog {dialog.message}"), dialog.dismiss()))
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe() -> str:
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def violations(page: Any, axe: str) -> list[str]:
    """What axe-core finds wrong."""
    page.evaluate(axe)
    options = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}
    found = page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{page.url} {rule['id']}: {[node['html'][:120] for node in rule['nodes']]}" for rule in found["violations"]
    ]


def check_answers(study: Study, code: str) -> None:
    """Everything that this person was shown has an answer, and the code is theirs."""
    person = study.store.people()[-1]
    assert person.completed is not None
    assert code == study.experiment.keys.code(person.id)
    trials = {kept.position: kept for kept in study.store.way(person.id) if kept.page.kind == TRIAL}
    answered = {r.position for r in study.store.all_ratings() if r.participant == person.id and r.position in trials}
    assert answered == set(trials)
    assert len(trials) == 2


@pytest.fixture(scope="module")
def checked() -> set[str]:
    """The texts of pages that axe-core has seen; some are the same in every design."""
    return set()


@pytest.mark.parametrize("design", DESIGNS)
def test_by_mouse_and_nothing_that_axe_would_mend(
    open_page: Callable[..., Any], studies: Callable[[str], Study], axe: str, design: str, checked: set[str]
) -> None:
    study, page, wrong, seen = studies(design), open_page(), [], set()

    def look(shown: Any) -> None:
        kind = shown.locator("h1").first.inner_text() if shown.locator("h1:not(.vh)").count() else "page"
        if kind not in seen:
            seen.add(kind)
            if (text := shown.inner_text("main")) not in checked:
                checked.add(text)
                wrong.extend(violations(shown, axe))

    check_answers(study, take_part(page, study.link(), design, by_mouse, look))
    assert wrong == []
    # consent, instructions, a page, a break, the end
    assert len(seen) == 5
    assert page.messages == []


@pytest.mark.parametrize("design", DESIGNS)
def test_by_keyboard_alone(open_page: Callable[..., Any], studies: Callable[[str], Study], design: str) -> None:
    study, page = studies(design), open_page()
    check_answers(study, take_part(page, study.link(), design, by_keyboard))
    assert page.messages == []


@pytest.mark.parametrize("design", DESIGNS)
def test_without_scripts_on_a_phone(
    open_page: Callable[..., Any], studies: Callable[[str], Study], design: str
) -> None:
    study, page = studies(design), open_page(viewport=PHONE, java_script_enabled=False)
    widths = []

    def look(shown: Any) -> None:
        widths.append(shown.locator("html").evaluate("element => element.scrollWidth"))

    check_answers(study, take_part(page, study.link(), design, by_mouse, look))
    assert set(widths) == {360}
    assert page.messages == []


def test_what_a_finger_or_a_key_needs(open_page: Callable[..., Any], studies: Callable[[str], Study]) -> None:
    """Targets are large enough, focus is seen and goes down the page; a missing answer is named and gets the focus."""
    study, page = studies("likert"), open_page(viewport=PHONE, color_scheme="dark")
    page.goto(study.link())
    leave(page, page.locator("form button").click)
    leave(page, page.locator("form#answers button").click)
    boxes = page.evaluate(
        "[...document.querySelectorAll('.values label')].map(b => b.getBoundingClientRect().toJSON())"
    )
    assert min(box["width"] for box in boxes) >= 24
    assert min(box["height"] for box in boxes) >= 44
    tops = []
    for _ in range(7):
        page.keyboard.press("Tab")
        tops.append(page.evaluate("document.activeElement.getBoundingClientRect().top + window.scrollY"))
        assert (
            page.evaluate(
                "getComputedStyle(document.activeElement.matches('.values input') ? "
                "document.activeElement.nextElementSibling : document.activeElement).outlineStyle"
            )
            == "solid"
        )
    assert tops[:5] == sorted(tops[:5])
    # a form sent past the browser's own checks
    page.evaluate("document.getElementById('answers').noValidate = true")
    page.locator("form#answers button").click()
    assert page.locator(".problems").get_attribute("role") == "alert"
    assert page.evaluate("document.activeElement.name") == "0.understandability"


def test_two_tabs_back_and_a_second_press(open_page: Callable[..., Any], studies: Callable[[str], Study]) -> None:
    study, page = studies("duc"), open_page()
    page.goto(study.link())
    leave(page, page.locator("form button").click)
    for _ in range(2):
        leave(page, lambda: by_mouse(page, "duc"))
    place = page.url
    other = page.context.new_page()
    other.goto(place)
    leave(page, lambda: by_mouse(page, "duc"))
    # the second tab still shows the page before; its answer takes the place of the first
    other.locator("label:has(input[value='5'])").first.click()
    for one in other.locator("fieldset.scale").all()[1:]:
        one.locator("label:has(input[value='4'])").click()
    other.locator("form#answers button").dblclick()
    # the second press may break the first's navigation off, so that the page itself is asked where it is
    other.wait_for_function("place => location.href !== place", arg=place)
    person = study.store.people()[-1].id
    position = int(place.rsplit("/", 1)[1])
    numbers = sorted(answer.number for answer in study.store.answers(person, position).values())
    assert numbers == [4.0, 4.0, 4.0, 4.0, 5.0]
    page.go_back()
    page.reload()
    assert page.locator("input:checked").count() == 5
    assert page.locator("input[value='5']:checked").count() == 1


def test_the_researchers_page(open_page: Callable[..., Any], studies: Callable[[str], Study], axe: str) -> None:
    study = studies("likert")
    for options in ({"color_scheme": "dark"}, {"viewport": PHONE, "color_scheme": "light"}):
        page = open_page(**options)
        page.goto(f"{study.address}/admin")
        assert violations(page, axe) == []
        page.fill("#token", study.token)
        page.keyboard.press("Enter")
        page.wait_for_url(f"{study.address}/admin")
        page.locator("details summary").first.click()
        assert violations(page, axe) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert study.token not in page.url
        assert page.messages == []
