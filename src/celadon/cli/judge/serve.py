"""``celadon judge serve``: the pages."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from celadon.cli.judge.options import add_experiment, opened


def add_parser(steps: Any) -> None:
    """Add this step."""
    command = steps.add_parser(
        "serve",
        help="serve the pages to people, and /admin to the researcher",
        description="Serve the pages of an experiment until interrupted. Put a proxy with https before it when it is "
        "reached over the internet, and name that proxy with --behind-proxy.",
    )
    add_experiment(command)
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    command.add_argument("--port", type=int, default=8000, help="the port to listen on (default: 8000)")
    command.add_argument(
        "--behind-proxy",
        metavar="ADDRESS",
        help="believe what the proxy at this address says of who asks and whether over https",
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from celadon.core import MissingExtraError, UsageError

    if not 0 <= arguments.port < 65_536:
        raise UsageError(f"--port: {arguments.port} is no port; choose one up to 65535")
    with opened(arguments) as (experiment, store):
        try:
            import uvicorn

            from celadon.judge.web.app import make_app
            from celadon.web.protocol import GuardedProtocol
        except ModuleNotFoundError as error:
            raise MissingExtraError(error.name or "a part of it", "serve") from None
        _check_free(arguments.host, arguments.port)
        print(f"{experiment.config.title}: http://{arguments.host}:{arguments.port}", file=sys.stderr, flush=True)
        uvicorn.run(
            make_app(experiment, store),
            http=GuardedProtocol,
            ws="none",
            host=arguments.host,
            port=arguments.port,
            # an access log would keep people's links and addresses
            access_log=False,
            log_level="warning",
            server_header=False,
            proxy_headers=bool(arguments.behind_proxy),
            forwarded_allow_ips=arguments.behind_proxy or "",
            timeout_keep_alive=30,
            h11_max_incomplete_event_size=32_768,
        )
    return 0


def _check_free(host: str, port: int) -> None:
    """Complain in our own words where the address cannot be had."""
    import socket

    from celadon.core import UsageError

    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except OSError as error:
        raise UsageError(f"cannot listen on {host}:{port}: {error.strerror}; choose another --host or --port") from None
