"""What speaks HTTP: uvicorn's own, whose answer to what is no HTTP has our headers too."""

from __future__ import annotations

from http import HTTPStatus

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from celadon.judge.web.security import HEADERS


class GuardedProtocol(H11Protocol):
    """A request that cannot be read never reaches the application, so that its guard cannot see to the answer."""

    def send_400_response(self, msg: str) -> None:
        """Answer and hang up; what the client sent is not repeated."""
        status = HTTPStatus.BAD_REQUEST
        told = {**HEADERS, "content-type": "text/plain; charset=utf-8", "connection": "close"}
        head = h11.Response(
            status_code=status,
            headers=[(name.encode(), value.encode()) for name, value in told.items()],
            reason=status.phrase.encode(),
        )
        for event in (head, h11.Data(data=b"This is not a request that can be read."), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
