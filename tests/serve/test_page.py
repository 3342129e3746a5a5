"""The page in a real Chromium: typed, scored, compared, by a phone, in the dark, without scripts, with a key."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import celadon
from tests.judge.test_browser import PHONE, axe, open_page, violations
from tests.serve.conftest import Running, until

__all__ = ["axe", "open_page"]

GOOD = "The ferry runs every hour from May. A trial last summer doubled the number of passengers."
BAD = "The ferry it run every hours. The ferry it run every hours. Bananas the and of."
SCRIPT = "<script>alert('x')</script><img src=x onerror=alert(1)> \"'&{{7*7}}</textarea></p>"


def value(page: Any, metric: str, place: int = 0) -> str:
    """A score as the page shows it."""
    row = page.locator("tr.whole", has=page.locator("th", has_text=re.compile(rf"^{re.escape(metric)}\W")))
    return str(row.locator(".value span").nth(place).inner_text())


def scored(page: Any, metric: str = "slor") -> str:
    """Wait until nothing is on its way."""
    page.wait_for_selector("#results:not([aria-busy]) .scores", timeout=20_000)
    return value(page, metric)


def written(text: str, metric: str = "slor") -> str:
    return f"{celadon.score([text], metrics=metric)[metric][0]:.3f}"


def test_scores_appear_as_one_types(open_page: Callable[..., Any], modelled: Running, axe: str) -> None:
    page = open_page()
    page.goto(modelled.address)
    assert violations(page, axe) == []
    page.locator("#text").press_sequentially("The ferry run", delay=5)
    assert float(scored(page)) == pytest.approx(float(written("The ferry run")), abs=0.0011)
    # what is typed while a request is on its way is what is shown in the end
    page.locator("#text").press_sequentially(GOOD.removeprefix("The ferry run"), delay=2)
    page.wait_for_function("() => document.querySelector('#why')?.innerText.includes('passengers')", timeout=20_000)
    assert float(scored(page)) == pytest.approx(float(written(GOOD)), abs=0.0011)
    assert page.inner_text("#state") == f"slor: {value(page, 'slor')}"
    # tokens on their grounds, each with its bits, and the legend that tells them apart
    tokens = page.locator("#why .pair u[title$=bits]")
    assert "".join(tokens.all_inner_texts()) == GOOD.replace(" ", "")
    assert page.locator(".legend u.e").count() == 1
    assert violations(page, axe) == []
    page.fill("#text", "")
    page.wait_for_function("() => !document.querySelector('.scores')")
    assert page.messages == []


def test_two_texts_are_compared(open_page: Callable[..., Any], modelled: Running, axe: str) -> None:
    page = open_page(color_scheme="dark")
    page.goto(modelled.address)
    page.fill("#text", GOOD)
    page.click("text=Compare with a second text")
    page.fill("#other", BAD)
    page.wait_for_selector(".scores.two", timeout=20_000)
    first, second = float(scored(page)), float(value(page, "slor", 1))
    assert (first, second) == pytest.approx((float(written(GOOD)), float(written(BAD))), abs=0.0011)
    row = page.locator("tr.whole").first
    assert row.locator(".difference").inner_text().split("\n") == [f"−{first - second:.3f}", "first is better"]
    repeated = page.locator("tr.whole", has_text="gruen.redundancy").locator(".difference")
    assert "first is better" in repeated.inner_text()
    assert page.locator("#changes ins, #changes del, #changes mark").count() > 3
    # what two sentences of the second text share
    assert "The ferry it run every hours" in page.locator("#why .both > div").nth(1).locator("em").first.inner_text()
    assert violations(page, axe) == []
    # put away, it is compared no longer
    page.click("text=Compare with a second text")
    page.wait_for_selector(".scores:not(.two)", timeout=20_000)
    assert page.messages == []


def test_whatever_is_pasted_is_text(open_page: Callable[..., Any], modelled: Running) -> None:
    page = open_page()
    page.goto(modelled.address)
    page.fill("#text", f"{SCRIPT} and more words.")
    page.click("text=Compare with a second text")
    page.fill("#other", f"{SCRIPT}\u202e and\x07 fewer.")
    page.wait_for_selector(".scores.two", timeout=20_000)
    assert "<script>alert('x')</script>" in page.inner_text("#why")
    assert page.locator("#results script, #results img").count() == 0
    page.fill("#reference", SCRIPT)
    page.wait_for_selector("tr.whole:has-text('rougeL')", timeout=20_000)
    assert page.locator("#results script, #results img").count() == 0
    assert page.messages == []


def test_on_a_phone_nothing_is_wider_than_the_screen(open_page: Callable[..., Any], modelled: Running) -> None:
    page = open_page(viewport=PHONE)
    page.goto(modelled.address)
    page.fill("#text", f"{BAD} {'longwordwithoutanyspace' * 12}")
    page.click("text=Compare with a second text")
    page.fill("#other", GOOD)
    page.wait_for_selector(".scores.two", timeout=20_000)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_without_scripts_a_form_does_it(open_page: Callable[..., Any], modelled: Running, axe: str) -> None:
    page = open_page(java_script_enabled=False)
    page.goto(modelled.address)
    typed = f"\n{GOOD}\nA new line."
    page.fill("#text", typed)
    page.click("text=Compare with a second text")
    page.fill("#other", SCRIPT)
    page.fill("#reference", GOOD)
    page.click("button")
    assert page.locator(".scores.two").count() == 1
    assert float(value(page, "rougeL")) > float(value(page, "rougeL", 1))
    # what was typed is still there
    assert page.input_value("#text") == typed
    assert page.input_value("#other") == SCRIPT
    assert page.locator("details.second[open]").count() == 1
    page.fill("#text", "x" * 100_001)
    page.click("button")
    assert "more than the 100,000 characters" in page.inner_text("[role=alert]")


def test_a_key_is_asked_for_and_stays_in_its_field(
    open_page: Callable[..., Any], start: Callable[..., Running], tmp_path: Path, axe: str
) -> None:
    keys = tmp_path / "keys"
    keys.write_text("0123456789abcdef-key\n", encoding="utf-8")
    running, page = start(api_keys=str(keys)), open_page()
    sent = []
    page.on("request", lambda request: sent.append((request.url, request.post_data or "")))
    page.goto(running.address)
    page.fill("#text", GOOD)
    page.wait_for_selector("[role=alert]")
    assert "key" in page.inner_text("[role=alert]")
    assert violations(page, axe) == []
    page.fill("#key", "0123456789abcdef-key")
    page.wait_for_selector(".scores")
    assert not any("abcdef" in part for request in sent for part in request)
    kept = "[document.cookie, localStorage.length, sessionStorage.length, location.href]"
    assert page.evaluate(kept) == ["", 0, 0, f"{running.address}/"]


def test_a_busy_service_is_asked_again(open_page: Callable[..., Any], start: Callable[..., Running]) -> None:
    running, page = start(queue=1, max_texts=1, max_batch=1, batch_wait=0.0), open_page()
    page.goto(running.address)
    answers: list[Any] = []

    def note(answer: Any) -> None:
        answers.append(answer)

    page.on("response", note)
    with ThreadPoolExecutor(2) as others:
        with running.held():
            # one is in the thread's hands, one waits, and there is no room for more
            others.submit(running.score, {"text": GOOD})
            until(lambda: running.service.active == 1 and running.service.batcher.waiting == 0)
            others.submit(running.score, {"text": BAD})
            until(lambda: running.service.batcher.waiting == 1)
            page.fill("#text", GOOD)
            page.wait_for_function("() => document.getElementById('state').textContent.startsWith('Busy')")
        page.wait_for_selector(".scores", timeout=20_000)
    assert [answer.status for answer in answers if answer.request.method == "POST"] == [429, 200]


def test_a_long_text_is_scored_whole_and_shown_in_part(modelled: Running) -> None:
    text = " ".join(f"This is sentence number {at} of a long text." for at in range(260))
    page = modelled.client.post("/", data={"text": text})
    assert page.status_code == 200
    assert "of the first 10,000 characters" in page.text
    assert f">{written(text)}</span>" in page.text


def test_the_default_metric_shows_its_aspects_as_bars_and_its_sentences_on_their_grounds(
    start: Callable[..., Running],
) -> None:
    running = start(metrics=("celadon",))
    page = running.client.post("/", data={"text": f"{GOOD} {BAD}"}).text
    wanted = celadon.score([f"{GOOD} {BAD}"], metrics="celadon").columns["celadon"]
    rows = dict(re.findall(r'<tr class="part">\s*<th scope="row">(\w+)</th>(.*?)</tr>', page, re.DOTALL))
    assert list(rows) == ["grammaticality", "redundancy", "focus", "coherence", "complete", "prose"]
    for aspect, row in rows.items():
        width = re.findall(r'class="beam" width="([\d.]+)"', row)
        assert float(width[0]) == pytest.approx(100 * wanted.parts[aspect][0], abs=0.11)
        assert f"<span>{wanted.parts[aspect][0]:.3f}</span>" in row
    # a sound sentence has no ground, the worst has one and is called so
    assert re.search(r'<u title="[\d.]+: [^"]*">A trial last summer doubled the number of passengers\.</u>', page)
    assert re.search(r'<u class=[a-e] title="worst sentence, [\d.]+: ', page)
    assert "Said twice" in page
