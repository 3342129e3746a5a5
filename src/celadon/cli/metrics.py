"""``celadon metrics``: what metrics there are."""

from __future__ import annotations

import argparse
import json
import math
import os
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from celadon.core import Metric


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.add_argument("names", nargs="*", metavar="NAME", help="only these")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """List the metrics."""
    from celadon.metrics.registry import load, names

    metrics = [load(name) for name in arguments.names or names()]
    if arguments.json:
        print(json.dumps([_as_json(metric) for metric in metrics], indent=2))
    else:
        print("\n\n".join(_entry(metric) for metric in metrics))
    return 0


def _bound(value: float) -> str:
    return f"{value:g}" if math.isfinite(value) else ("-" if value < 0 else "") + "infinity"


def _entry(metric: Metric) -> str:
    from celadon.core import option_text

    info = metric.info
    needs = " and ".join(sorted(info.needs)) or "the text alone"
    lines = [
        info.name,
        f"  {info.meaning}",
        f"  needs {needs}; {_bound(info.low)} to {_bound(info.high)}, {info.direction}",
        *textwrap.wrap(f"reading: {info.reading}", 110, initial_indent="  ", subsequent_indent="    "),
    ]
    if info.parts:
        lines.append(f"  parts: {', '.join(info.parts)}")
    if metric.options:
        lines.append(
            f"  options: {', '.join(f'{name}={option_text(value)}' for name, value in metric.options.items())}"
        )
    return "\n".join(lines)


def _as_json(metric: Metric) -> dict[str, Any]:
    info = metric.info
    return {
        "name": info.name,
        "meaning": info.meaning,
        "reading": info.reading,
        "needs": sorted(info.needs),
        "low": info.low if math.isfinite(info.low) else None,
        "high": info.high if math.isfinite(info.high) else None,
        "direction": info.direction,
        "parts": list(info.parts),
        "options": metric.options,
        "signature": _signature(metric),
    }


def _signature(metric: Metric) -> str | None:
    """How its scores are made; None where it needs a model that is not here, since a list fetches nothing."""
    from celadon.core import CeladonError

    before = os.environ.get("CELADON_OFFLINE")
    os.environ["CELADON_OFFLINE"] = "1"
    try:
        return metric.signature
    except CeladonError:
        return None
    finally:
        os.environ.pop("CELADON_OFFLINE")
        if before is not None:
            os.environ["CELADON_OFFLINE"] = before
