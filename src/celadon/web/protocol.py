"""What speaks HTTP: uvicorn's protocols, whose answer to what is no HTTP has our headers too."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from celadon.web.security import UNREADABLE


class GuardedProtocol(H11Protocol):
    """A request that cannot be read never reaches the application, so that its guard cannot see to the answer."""

    def send_400_response(self, msg: str) -> None:
        """Answer and hang up; what the client sent is not repeated."""
        self.transport.write(UNREADABLE)
        self.transport.close()


MOST_BESIDES = 32_768
"""Bytes of a request that are no body, for a body in pieces with a few more for each."""
_PER_BODY_BYTE = 8


class QuickProtocol(HttpToolsProtocol):
    """Bounds what comes besides a body, which httptools would gather without end; h11 has such a bound of its own."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._besides = self._body = 0
        self._began = False

    def data_received(self, data: bytes) -> None:
        """Read on; a request whose head or trailer has no end is refused."""
        self._began, before = False, self._body
        super().data_received(data)
        # the piece in which a request begins may hold the end of another, and is small
        if not self._began and not self.transport.is_closing():
            self._besides += len(data) - (self._body - before)
            if self._besides > MOST_BESIDES + _PER_BODY_BYTE * self._body:
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """Count anew."""
        self._besides = self._body = 0
        self._began = True
        super().on_message_begin()

    def on_body(self, body: bytes) -> None:
        """Count what belongs to the body."""
        self._body += len(body)
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        """Answer and hang up; what the client sent is not repeated."""
        self.transport.write(UNREADABLE)
        self.transport.close()
