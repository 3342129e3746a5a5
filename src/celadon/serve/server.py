"""Listening, signals and the end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from celadon.core import UsageError
from celadon.serve.app import make_app
from celadon.serve.service import Service
from celadon.serve.settings import ServeSettings
from celadon.web.protocol import QuickProtocol

_BACKLOG = 2048
_KILLED = 128 + signal.SIGTERM


def serve(settings: ServeSettings, on_listening: Callable[[str], None]) -> int:
    """Serve until told to stop; then finish what was taken and return.

    ``settings``: what to serve, and where.
    ``on_listening``: told the address, once requests can come.
    Returns how many requests were scored.
    """
    # before anything is loaded: a mistake in the request is told at once
    service = Service(settings)
    with _listening(settings.host, settings.port) as listening:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        on_listening(f"http://{host}:{listening.getsockname()[1]}")
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(service, listening))
    return service.scored


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The quicker loop, where there is one for the system."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _listening(host: str, port: int) -> socket.socket:
    """A socket at an address, or a message why it cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        # from here on who comes waits, and is not turned away
        listening.listen(_BACKLOG)
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --host or --port") from None
    return listening


async def _serve(service: Service, listening: socket.socket) -> None:
    config = uvicorn.Config(
        make_app(service),
        http=QuickProtocol,
        ws="none",
        # an access log would keep people's addresses
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=10,
    )
    server = _Server(config)
    service.on_failure = lambda: setattr(server, "should_exit", True)
    stopping: list[asyncio.Task[None]] = []

    async def drain() -> None:
        await service.drain()
        server.should_exit = True

    def stop() -> None:
        if stopping:
            # asked again: whoever asks does not want to wait
            sys.stderr.flush()
            os._exit(_KILLED)
        stopping.append(asyncio.create_task(drain()))

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    await server.serve([listening])
    if service.failure is not None:
        raise service.failure


class _Server(uvicorn.Server):
    """Leaves signals to us."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
