"""What speaks HTTP: uvicorn's own, whose answer to what is no HTTP has our headers too."""

from __future__ import annotations

from uvicorn.protocols.http.h11_impl import H11Protocol

from celadon.judge.web.security import UNREADABLE


class GuardedProtocol(H11Protocol):
    """A request that cannot be read never reaches the application, so that its guard cannot see to the answer."""

    def send_400_response(self, msg: str) -> None:
        """Answer and hang up; what the client sent is not repeated."""
        self.transport.write(UNREADABLE)
        self.transport.close()
