"""``celadon calibrate``: the limits of a gate, learned from texts that are good enough."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

from celadon.cli.scoring_options import (
    add_cache_options,
    add_field_options,
    add_input_options,
    add_markup_options,
    cache_settings,
    fields_of,
    positive,
)

if TYPE_CHECKING:
    from celadon.compare.calibration import GateFile, Share

_EPILOG = """\
examples:
  celadon calibrate good.jsonl --output gate.json
  celadon calibrate good.jsonl --bad bad.jsonl --false-alarms 0.05 --output gate.json
  celadon check outputs.jsonl --gate gate.json
"""


def configure(command: argparse.ArgumentParser) -> None:
    """Say what this command takes."""
    command.description = (
        "Learn from texts that are good enough how low a score may be, so that few of their like fall below it."
    )
    command.epilog = _EPILOG
    command.formatter_class = argparse.RawDescriptionHelpFormatter
    command.add_argument("good", nargs="+", metavar="GOOD", help="files of texts that are good enough")
    command.add_argument("--output", required=True, metavar="FILE", help="where the gate is to be, .json")
    command.add_argument(
        "--bad",
        action="append",
        default=[],
        metavar="FILE",
        help="texts that the gate should catch; may be given again",
    )
    command.add_argument(
        "--metric",
        "-m",
        action="append",
        metavar="NAME",
        help="a metric, or a part of one, with its options; may be given again (default: celadon)",
    )
    command.add_argument(
        "--false-alarms",
        type=float,
        default=0.02,
        metavar="SHARE",
        help="the share of good texts that may fail, over all metrics together (default: 0.02)",
    )
    command.add_argument("--quiet", action="store_true", help="no progress bar")
    add_field_options(command)
    add_markup_options(command)
    add_input_options(command.add_argument_group("input"))
    how = command.add_argument_group("computation")
    how.add_argument(
        "--batch-rows", type=positive, default=512, metavar="N", help="rows scored at a time (default: 512)"
    )
    add_cache_options(how)
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Score the texts, write the gate and say how sure it is."""
    from celadon.cli.progress import RowProgress
    from celadon.compare.calibration import calibrate_files, write_gate
    from celadon.compare.columns import column_of
    from celadon.io import check_distinct
    from celadon.runs.local import Job

    check_distinct(arguments.output, [*arguments.good, *arguments.bad])
    job = Job(
        inputs=arguments.good,
        fields=fields_of(arguments),
        format=arguments.format,
        batch_rows=arguments.batch_rows,
        max_text_chars=arguments.max_text_chars,
        cache=cache_settings(arguments),
    )
    columns = [column_of(name) for name in dict.fromkeys(arguments.metric or ["celadon"])]
    with RowProgress(enabled=not arguments.quiet) as progress:
        gate = calibrate_files(job, columns, arguments.bad, arguments.false_alarms, progress.update)
    write_gate(arguments.output, gate)
    print("\n".join(_lines(gate, arguments.output)))
    return 0


def _lines(gate: GateFile, path: str) -> Iterator[str]:
    from celadon.text.layout import printable, table

    yield printable(f"{path}: learned from {gate.good:,} good texts")
    yield ""
    header = ["limit", "", "false alarms (95%)", *(["caught (95%)"] if gate.bad else [])]
    rows = [
        [
            limit.column,
            f"{'at least' if limit.is_least else 'at most'} {limit.bound:.4f}",
            _share(limit.false_alarms),
            *([_share(limit.caught)] if limit.caught is not None else []),
        ]
        for limit in gate.limits
    ]
    yield table(header, [list(map(printable, row)) for row in rows])
    if gate.caught is not None:
        yield f"\n{_share(gate.caught)} of the {gate.bad:,} bad texts break a limit"
    for warning in gate.warnings:
        yield f"\nwarning: {printable(warning)}"


def _share(share: Share) -> str:
    return f"{share.share:.3f} ({share.low:.3f} .. {share.high:.3f})"
