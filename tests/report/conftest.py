"""Pages opened in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

Opener = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any, address: str) -> Iterator[Opener]:
    """Opens the page at the test module's ``address``, keeping its messages and requests."""
    contexts = []

    def opened(**options: Any) -> Any:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.messages, page.requests = [], []
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
