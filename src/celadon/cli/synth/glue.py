"""``celadon synth glue``: sentences glued together from sequences of a corpus."""

from __future__ import annotations

import argparse
from typing import Any

from celadon.cli.synth.options import add_options, check_output, read_corpus, write_rows
from celadon.cli.train.bars import bar


def add_parser(methods: Any) -> None:
    """Add this method."""
    command = methods.add_parser(
        "glue",
        help="sequences of the corpus, one after another; of a text's own length, real sentences",
        description="Glue sequences of a corpus together: the longer they are, the more fluent the text. A sequence "
        "follows another by the probability of its first word after the other's last. Sequences as long as the text "
        "are real sentences.",
    )
    add_options(command)
    command.add_argument(
        "--sequence",
        type=_sizes,
        metavar="N,N",
        help="sizes of the sequences, each a divisor of the length; --count texts are made of every size "
        "(default: all divisors)",
    )
    command.set_defaults(run=run)


def _sizes(value: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(size) for size in value.split(",")))
    except ValueError:
        raise argparse.ArgumentTypeError(f"whole numbers separated by commas are needed, not {value!r}") from None


def run(arguments: argparse.Namespace) -> int:
    """Make and write."""
    from celadon.synth.glue import check_request, divisors, glued_sentences

    length, count, seed = arguments.length, arguments.count, arguments.seed
    check_request(length, count, seed)
    sizes = arguments.sequence or divisors(length)
    for size in sizes:
        check_request(length, count, seed, size)
    check_output(arguments, arguments.corpus)
    corpus = read_corpus(arguments.corpus)
    rows = []
    with bar("gluing", len(sizes), unit="size") as shown:
        for size in sizes:
            for number, made in enumerate(glued_sentences(corpus, length, size, count, seed), 1):
                rows.append({"id": f"glue-{size}-{number}", "text": made.text, "method": "glue", "sequence": size})
            shown.update(1)
    write_rows(arguments.output, rows)
    return 0
