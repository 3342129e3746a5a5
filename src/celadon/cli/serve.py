"""``celadon serve``: a score per request."""

from __future__ import annotations

import argparse
import sys

from celadon.cli.scoring_options import add_cache_options, cache_settings, positive


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.description = (
        "Serve scores over HTTP until told to stop: POST /v1/score, POST /v1/explain, GET /v1/metrics, /healthz, "
        "/metrics for Prometheus, /openapi.json, and a page at / to paste a text into. SIGTERM finishes what was taken."
    )
    command.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    command.add_argument("--port", type=int, default=8000, help="the port to listen on (default: 8000)")
    command.add_argument(
        "-m",
        "--metric",
        action="append",
        default=[],
        metavar="A,B",
        help="the metrics that may be asked for; their models are loaded at once (default: celadon)",
    )
    command.add_argument(
        "--standardize-on", metavar="FILE", help="texts that give metrics relative to a set (rouge_lm) their constants"
    )
    command.add_argument(
        "--api-keys", metavar="FILE", help="one key per line; requests then need: Authorization: Bearer KEY"
    )
    add_cache_options(command.add_argument_group("cache"))
    limits = command.add_argument_group("limits")
    for name, default, meaning in (
        ("--batch-wait-ms", 4, "how long a text may wait for others to be scored with"),
        ("--max-batch", 128, "the most texts that are scored together"),
        ("--queue", 1024, "the most texts that wait; more are refused with 429"),
        ("--timeout", 30, "seconds after which a request is given up with 504"),
        ("--max-text-chars", 100_000, "a longer text is refused"),
        ("--max-body-mb", 16, "the most megabytes of one request"),
    ):
        kind = _not_negative if name == "--batch-wait-ms" else positive
        limits.add_argument(name, type=kind, default=default, metavar="N", help=f"{meaning} (default: {default:,})")
    limits.add_argument(
        "--max-texts", type=positive, metavar="N", help="the most texts of one request (default: 1,000, or the queue)"
    )
    command.set_defaults(run=run)


def _not_negative(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 10_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 10,000")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Serve until told to stop."""
    from celadon.core import MissingExtraError
    from celadon.metrics.registry import split_specs
    from celadon.serve.settings import ServeSettings

    specs = [spec for part in arguments.metric for spec in split_specs(part)]
    settings = ServeSettings(
        metrics=tuple(dict.fromkeys(specs)) or ServeSettings.metrics,
        host=arguments.host,
        port=arguments.port,
        batch_wait=arguments.batch_wait_ms / 1000,
        max_batch=arguments.max_batch,
        queue=arguments.queue,
        timeout=float(arguments.timeout),
        max_text_chars=arguments.max_text_chars,
        max_texts=arguments.max_texts or min(ServeSettings.max_texts, arguments.queue),
        max_body_bytes=arguments.max_body_mb << 20,
        api_keys=arguments.api_keys,
        cache=cache_settings(arguments),
        standardize_on=arguments.standardize_on,
    )
    try:
        from celadon.serve.server import serve
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or "a part of it", "serve") from None
    scored = serve(settings, lambda address: print(f"celadon: {address}", file=sys.stderr, flush=True))
    print(f"celadon: stopped; {scored:,} requests were scored", file=sys.stderr)
    return 0
