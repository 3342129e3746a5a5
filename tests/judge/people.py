"""People in a real browser: they read each page and answer it by mouse or by keyboard until there is a code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LONGEST_WAY = 60


def answer_for(page: Any, design: str, text: str) -> str:
    """What a reader who heeds the checks says."""
    checks = {"likert": ("Please choose 2", "2"), "duc": ("with 4", "4"), "magnitude": ("number 12", "12")}
    words, value = checks.get(design, ("", ""))
    return value if words and words in text else {"magnitude": "150.5"}.get(design, "3")


def by_mouse(page: Any, design: str) -> None:
    """Click an answer to every question, then the button."""
    text = page.inner_text("main")
    if design == "pairwise":
        wanted = "2" if "choose the second" in text else "1"
        for one in page.locator("fieldset.choice").all():
            one.locator(f"label:has(input[value='{wanted}'])").click()
    elif design in ("likert", "duc"):
        for one in page.locator("fieldset.scale").all():
            one.locator(f"label:has(input[value='{answer_for(page, design, text)}'])").click()
    elif design == "magnitude":
        for one in page.locator(".number input").all():
            one.fill(answer_for(page, design, text))
    else:
        repair(page, text)
    page.locator("form#answers button").click()


def repair(page: Any, text: str) -> None:
    for one in page.locator("textarea").all():
        one.fill("ready" if "word ready" in text else one.input_value() + " Mended.")


def by_keyboard(page: Any, design: str) -> None:
    """Press keys only."""
    text = page.inner_text("main")
    keys = page.keyboard
    if design == "pairwise":
        keys.press("2" if "choose the second" in text else "1")
    elif design in ("likert", "duc"):
        for _ in range(page.locator("fieldset.scale").count()):
            keys.press(answer_for(page, design, text))
    elif design == "magnitude" and page.locator(".number input").count():
        # the only field has the focus already
        keys.type(answer_for(page, design, text))
    elif page.locator("textarea").count():
        while page.evaluate("document.activeElement.tagName") != "TEXTAREA":
            keys.press("Tab")
        keys.press("Control+a")
        keys.type("ready" if "word ready" in text else "Mended.")
        keys.press("Control+Enter")
        return
    keys.press("Enter")


def leave(page: Any, act: Callable[[], None]) -> None:
    """Do what leads to another page, and wait until that is there."""
    before = page.url
    act()
    page.wait_for_url(lambda url: url != before)


def take_part(page: Any, link: str, design: str, act: Any, look: Any = None) -> str:
    """Go from a link to the completion code; ``look`` is called with every page that is seen."""
    page.goto(link)
    if look:
        look(page)
    leave(page, lambda: page.locator("form button").click())
    for _ in range(LONGEST_WAY):
        if page.url.endswith("/done"):
            break
        if look:
            look(page)
        leave(page, lambda: act(page, design))
    if look:
        look(page)
    return page.inner_text("output")
